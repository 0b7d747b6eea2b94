/** Which degrees a search tries: those that a report costs, and no others. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import type { LayoutSearch } from '../../../server/src/estimate/planner/layoutCandidate.ts';
import { layoutSearch } from '../../../server/src/estimate/planner/layoutSearch.ts';
import { degreesOf } from '../../../server/src/estimate/planner/searchedDegrees.ts';
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

function searchOf(asked: ScenarioRequest): LayoutSearch {
  const search = layoutSearch(estimateModel(mixture, [asked]), asked, costOf);
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
