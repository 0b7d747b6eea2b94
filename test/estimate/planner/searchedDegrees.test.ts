/** Which degrees a search tries: those that a report costs, and no others. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import type { LayoutSearch } from '../../../server/src/estimate/planner/layoutCandidate.ts';
import { layoutSearch } from '../../../server/src/estimate/planner/layoutSearch.ts';
import { degreesOf, frameworksOf } from '../../../server/src/estimate/planner/searchedDegrees.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';

const mixture = openLayerSpec(
  `dims: { batch: 1, seq: 256, d: 256 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: RMSNorm(d)
    - experts: MixtureOfExperts(d, 512, num_experts=32, top_k=2, gated=True)
    - res: add(experts, input)
layers:
  - embed: Embedding(1000, d)
  - h: decoder() * 2
  - head: Linear(d, 1000)
`,
  'mixture.layers.yaml',
);

const costOf = (asked: ScenarioRequest) => estimateModel(mixture, [asked]).cost;

function searchOf(asked: ScenarioRequest, opened = mixture): LayoutSearch {
  const cost = (request: ScenarioRequest) => estimateModel(opened, [request]).cost;
  const search = layoutSearch(estimateModel(opened, [asked]), asked, cost);
  if (search === undefined || 'problem' in search) throw new Error(search?.problem ?? 'not costed');
  return search;
}

describe('experts of 16 GPUs that have 4 samples', () => {
  const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 16, globalBatch: 4, precision: 'bf16' };
  const degrees = degreesOf(searchOf(asked));

  it('are shared by more GPUs than have samples of their own', () => {
    const ways = (tensor: number) =>
      degrees
        .filter((own) => own.tensor === tensor && own.pipeline === 1)
        .map(({ expert }) => expert)
        .sort((one, other) => one - other);
    // Four and two copies: groups span those of `tp` where they hold whole ones.
    expect(ways(4)).toEqual([1, 2, 4, 8, 16]);
    expect(ways(8)).toEqual([1, 2, 8, 16]);
  });

  it('each set of degrees is one that a report costs', () => {
    for (const { tensor, pipeline, context, expert } of degrees) {
      const parallel = { tensor, pipeline, context, expert, sequence: tensor > 1, microBatch: 1 };
      expect(costOf({ ...asked, parallel })?.scenario.parallel?.expert, JSON.stringify(parallel)).toBe(
        expert,
      );
    }
  });
});

/** Eight heads in six blocks. */
const blocks = (inputs: string, embed: string) =>
  openLayerSpec(
    `dims: { batch: 1, seq: 256, d: 256 }
inputs:
  x: ${inputs}
blocks:
  encoder:
    - norm: LayerNorm(d)
    - attention: MultiheadAttention(d, 8)
    - res: add(attention, input)
layers:
${embed}  - h: encoder() * 6
  - head: Linear(d, 1000)
`,
    'blocks.layers.yaml',
  );
const language = blocks('int64[batch, seq]', '  - embed: Embedding(1000, d)\n');
const vision = blocks('float32[batch, seq, d]', '');

describe('frameworks that are tried of six blocks with eight heads', () => {
  const asked: ScenarioRequest = { cluster: 'dgx-h100', gpus: 16, globalBatch: 48, precision: 'bf16' };
  const [ddp, zero, fsdp, megatron] = ['pytorch-ddp', 'deepspeed-zero', 'pytorch-fsdp', 'megatron'];

  it.each<readonly [string, typeof language, number, number, readonly (string | undefined)[]]>([
    ['whole copies', language, 1, 1, [zero, megatron, fsdp, ddp]],
    ['layers that GPUs share', language, 8, 1, [megatron, fsdp, ddp]],
    ['stages of as many blocks', language, 1, 2, [megatron, ddp]],
    // Megatron-LM gives every stage as many.
    ['stages of unlike numbers of blocks', language, 1, 4, [zero, ddp]],
    ['one copy', language, 8, 2, [megatron]],
    // Megatron-LM has models of tokens.
    ['whole copies without tokens', vision, 1, 1, [zero, fsdp, ddp]],
    ['layers without tokens that GPUs share', vision, 8, 1, [zero, fsdp, ddp]],
    ['one copy without tokens', vision, 8, 2, [ddp]],
    // Without attention it is no transformer.
    ['experts alone', mixture, 2, 1, [zero, fsdp, ddp]],
  ])('%s', (_, opened, tensor, pipeline, names) => {
    const degrees = { tensor, pipeline, context: 1, expert: 1 };
    expect(frameworksOf(searchOf(asked, opened), degrees).map(({ name }) => name)).toEqual(names);
  });

  it('one that a person names is the only one', () => {
    const framework = { name: 'deepspeed-zero', options: { stage: '2' } };
    const degrees = { tensor: 2, pipeline: 1, context: 1, expert: 1 };
    expect(frameworksOf(searchOf({ ...asked, framework }, language), degrees)).toEqual([framework]);
  });
});
