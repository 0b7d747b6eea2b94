/** Expert parallelism of models: what is divided, what is sent, and that workers compute what the model does. */

import { describe, expect, it, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { collectiveTime } from '../../server/src/communication/collectiveTime.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes } from '../../server/src/model/units.ts';
import { expertCounts } from '../../server/src/parallel/expertParallel.ts';
import type { ShardedTraining } from '../../server/src/parallel/shardedTraining.ts';
import { shardTraining } from '../../server/src/parallel/shardTraining.ts';
import { openGraph } from '../support/savedActivations.ts';

/** 512 tokens a sample; an expert has three matrices of 256 × 1,024. `room`: `, capacity_factor=1.25` or nothing. */
const specOf = (room = ''): string => `
dims: { batch: 1, seq: 512, d: 256 }
inputs:
  tokens: int64[batch, seq]
blocks:
  decoder:
    - norm: RMSNorm(d)
    - attn: MultiheadAttention(d, 4, bias=False, causal=True)
    - res: add(attn, input)
    - norm2: RMSNorm(d)
    - experts: MixtureOfExperts(d, 1024, num_experts=8, top_k=2, gated=True${room})
    - shared: Linear(d, d) from norm2
    - mixed: add(shared, experts)
    - res2: add(mixed, res)
layers:
  - embed: Embedding(1000, d)
  - h: decoder() * 6
  - head: Linear(d, 1000)
`;
const [blocks, width, experts, tokens, chosen] = [6, 256, 8, 2 * 512, 2];
const expertWeights = 3 * width * 1024;

const kinds = [
  ['without a limit', '', tokens * chosen],
  ['with room for 1.25 of a share', ', capacity_factor=1.25', 1.25 * tokens * chosen],
] as const;

const opened = (text: string) => {
  const { training, scenario } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [{ gpus: 1, batch: 2 }]);
  if (training === undefined || scenario === undefined) throw new Error('cannot be costed');
  return { training, bindings: new Map(Object.entries(scenario.dimensions)) };
};

const flopsOf = ({ costs }: TrainingGraph): number =>
  costs.reduce(
    (total, cost) =>
      cost.kind === 'known'
        ? total + cost.forward.flops + cost.backwardData.flops + cost.backwardWeight.flops
        : total,
    0,
  );

const elementsOf = ({ analysis }: TrainingGraph): number =>
  analysis.parameters.reduce((total, { elements }) => total + elements, 0);

const savedOf = ({ costs }: TrainingGraph): number =>
  costs.reduce((total, cost) => {
    if (cost.kind !== 'known') return total;
    return cost.saved.reduce(
      (sum, kept) => (kept.kind === 'extra' ? sum + kept.traffic.float32Elements : sum),
      total,
    );
  }, 0);

function countsOf({ collectives }: ShardedTraining): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { axis, pass, collective, elements } of collectives) {
    if (axis !== 'expert') continue;
    const key = `${pass} ${collective} ${elements}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const degreeOf = (expert: number, imbalance = 1) => ({
  ways: 1,
  sequence: false,
  keepsGathered: true,
  expert: { ways: expert, imbalance },
});

describe.each(kinds)('experts %s', (_, room, rows) => {
  const { training, bindings } = opened(specOf(room));
  const shard = (expert: number, imbalance = 1) =>
    shardTraining(training, bindings, degreeOf(expert, imbalance));

  it('are found', () => {
    expect(expertCounts(training.analysis)).toEqual([experts]);
  });

  it('one way is the model as it is', () => {
    expect(shard(1).training.costs).toEqual(training.costs);
    expect(shard(1).collectives).toEqual([]);
  });

  /** A worker computes the rows of its own tokens in number: ep workers with a part of the batch each compute ep times as much. */
  test.each([2, 4, 8])('FLOPs of a worker of %i are those of its tokens', (expert) => {
    expect(flopsOf(shard(expert).training) / flopsOf(training)).toBeCloseTo(1, 12);
  });

  test.each([2, 4, 8])('a worker of %i has its part of the experts and all else', (expert) => {
    const ofExperts = blocks * experts * expertWeights;
    expect(elementsOf(training) - elementsOf(shard(expert).training)).toBe(ofExperts - ofExperts / expert);
  });

  /** Reference, section 5: dispatch and combine, and the gradients of both; T·K·h of each worker, ep times as much of all. */
  test.each([2, 8])('%i workers exchange k rows for each token, four times', (expert) => {
    expect(countsOf(shard(expert))).toEqual({
      [`forward all-to-all ${expert * rows * width}`]: 2 * blocks,
      [`backward all-to-all ${expert * rows * width}`]: 2 * blocks,
    });
  });

  it('blocks that repeat are divided as all of them', () => {
    const { folded: __, ...analysis } = training.analysis;
    const { folded: ___, ...whole } = { ...training, analysis: { ...analysis, layers: [] } };
    const [own, other] = [training, whole].map((each) => shardTraining(each, bindings, degreeOf(4)));
    expect(own?.training.folded).toBeDefined();
    expect(other?.training.folded).toBeUndefined();
    expect(own?.training.costs).toEqual(other?.training.costs);
    expect(own?.training.analysis.parameters).toEqual(other?.training.analysis.parameters);
    expect(own?.collectives).toEqual(other?.collectives);
    expect(own?.mixtures).toEqual(other?.mixtures);
  });
});

it('tokens that sequence parallelism divides are sent once', () => {
  const { training, bindings } = opened(specOf());
  const sharded = shardTraining(training, bindings, { ...degreeOf(4), ways: 2, sequence: true });
  const sent = sharded.collectives.filter(({ axis }) => axis === 'expert');
  expect(sent.length).toBe(4 * blocks);
  for (const { elements } of sent) expect(elements).toBe((4 * tokens * chosen * width) / 2);
});

/** As many rows as on one GPU, from other tokens; those of the busiest are more. */
it('a worker keeps the rows of its experts', () => {
  const { training, bindings } = opened(specOf());
  const saved = (imbalance: number) =>
    savedOf(shardTraining(training, bindings, degreeOf(4, imbalance)).training);
  expect(saved(1)).toBe(savedOf(training));
  // Of each row what came and what goes back, four tensors of 1,024 between them, and its places.
  const row = 2 * width + 4 * 1024 + 2;
  expect(saved(1.5) - saved(1)).toBe(0.5 * blocks * tokens * chosen * row);
});

it('experts with room for a number of rows are as busy whatever the router says', () => {
  const { training, bindings } = opened(specOf(', capacity_factor=1.25'));
  const of = (imbalance: number) => shardTraining(training, bindings, degreeOf(4, imbalance));
  expect(of(2).collectives).toEqual(of(1).collectives);
  expect(of(2).training.costs).toEqual(of(1).training.costs);
});

/** Products with weights [heads, from, to] are no experts: no router has chosen their rows. */
it.each(['samples/tinyllama.layers.yaml', 'samples/bert-base.onnx'])('%s has no experts', (path) => {
  expect(expertCounts(openGraph(path).analysis ?? expect.fail('no analysis'))).toEqual([]);
});

describe('a step', () => {
  const costOf = (parallel: ScenarioRequest['parallel'], request: ScenarioRequest = {}) => {
    const { cost, issues } = estimateModel(openLayerSpec(specOf(), 'm.layers.yaml'), [
      {
        cluster: 'dgx-h100',
        gpus: 16,
        batch: 2,
        precision: 'bf16',
        ...(parallel === undefined ? {} : { parallel }),
        ...request,
      },
    ]);
    return { cost, errors: issues.filter(({ severity }) => severity === 'error') };
  };
  const whole = elementsOf(opened(specOf()).training);
  const ofExperts = blocks * experts * expertWeights;
  const dense = whole - ofExperts;

  /** Two moments of fp32: of what a GPU holds; or of a part of all, since the copies of experts are ep times fewer. */
  test.each([
    ['pytorch-ddp', {}, 4, (dense + ofExperts / 4) * 8],
    ['pytorch-fsdp', {}, 4, (whole / 16) * 8],
    // An fp32 copy beside them.
    ['deepspeed-zero', { stage: '1' }, 4, (whole / 16) * 12],
    ['deepspeed-zero', { stage: '1' }, 8, (whole / 16) * 12],
  ] as const)('%s %o keeps the optimizer state of ep=%i', (name, options, expert, state) => {
    const { cost } = costOf({ expert }, { framework: { name, options } });
    expect(cost?.totals.memory.optimizerState).toBeCloseTo(state, 0);
  });

  /** Gradients of experts are added up over 16 ÷ ep GPUs: none where each has experts of its own. */
  test.each([
    [4, dense + ofExperts / 4],
    [8, dense + ofExperts / 8],
  ])('ep=%i sends the gradients of its experts', (expert, elements) => {
    const { cost } = costOf({ expert });
    expect(cost?.messages?.reduce((total, { bytes }) => total + bytes, 0)).toBe(elements * 4);
  });

  /**
   * With sequence parallelism each GPU of a group of `tp` has tokens of its own, and groups of experts span those groups: a GPU holds
   * 1/ep of the experts, and gradients of these are added up over gpus ÷ ep GPUs, none where that is one.
   */
  test.each([
    { gpus: 16, tensor: 2, expert: 4, isSent: true },
    { gpus: 16, tensor: 2, expert: 8, isSent: true },
    { gpus: 16, tensor: 4, expert: 8, isSent: true },
    { gpus: 8, tensor: 2, expert: 8, isSent: false },
    { gpus: 8, tensor: 8, expert: 8, isSent: false },
    // A group of 2 does not span one of 4: it has a GPU of each.
    { gpus: 16, tensor: 4, expert: 2, isSent: true },
  ])('$gpus GPUs, tp=$tensor and ep=$expert hold experts once', ({ gpus, tensor, expert, isSent }) => {
    const of = (ways: number) => {
      const { cost, errors } = costOf({ tensor, expert: ways, sequence: true }, { gpus });
      expect(errors).toEqual([]);
      return {
        held: cost?.totals.memory.parameters ?? Number.NaN,
        sent: (cost?.messages ?? []).reduce((total, { bytes: size }) => total + size, 0),
      };
    };
    const [whole, divided] = [of(1), of(expert)];
    expect(whole.held - divided.held).toBe((ofExperts - ofExperts / expert) * 4);
    const left = isSent ? ofExperts / expert : 0;
    expect(whole.sent - divided.sent).toBe(gpus === tensor ? 0 : (ofExperts - left) * 4);
  });

  it('GPUs of tensor parallelism that have experts of their own add up no gradients of them', () => {
    const { training, bindings } = opened(specOf());
    const partial = (expert: number) => [
      ...shardTraining(training, bindings, { ...degreeOf(expert), ways: 4, sequence: true }).partialGradients,
    ];
    const isOfExpert = (name: string): boolean => name.includes('experts') && name.includes('fc');
    const names = partial(2).filter((name) => !partial(4).includes(name));
    expect(names.length).toBeGreaterThan(0);
    expect(names.every((name) => name.includes('experts'))).toBe(true);
    expect(partial(4).some(isOfExpert)).toBe(false);
  });

  it('experts with one holder each are not sent', () => {
    const { cost } = costOf({ expert: 8 }, { gpus: 8 });
    expect(cost?.messages?.reduce((total, { bytes }) => total + bytes, 0)).toBe(dense * 4);
  });

  /** Each GPU sends its own rows: nccl-tests count them as the bytes of an all-to-all, however many GPUs there are. */
  test.each([
    [2, 1],
    [8, 1],
    [16, 2],
  ])('ep=%i exchanges the rows of one GPU', (expert, nodes) => {
    const half = { name: 'pytorch-ddp', options: { weights: 'half' } };
    const spec = specOf().replace('num_experts=8', 'num_experts=16');
    const { cost } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
      { cluster: 'dgx-h100', gpus: 16, batch: 2, precision: 'bf16', framework: half, parallel: { expert } },
    ]);
    const { time } = collectiveTime(
      findCluster('dgx-h100') ?? expect.fail('no cluster'),
      { nodes, gpusPerNode: expert / nodes },
      { kind: 'all-to-all', bytes: bytes(2 * tokens * chosen * width) },
    );
    expect(cost?.parallel?.expertCommunication).toBeCloseTo(4 * blocks * time, 9);
  });

  it('imbalanced experts are slower, and a finding says so', () => {
    const [even, uneven] = [1, 2].map(
      (expertImbalance) =>
        // Of fewer tokens the launches decide, which are the same.
        costOf({ expert: 8, expertImbalance }, { batch: 64, thresholds: { 'load-imbalance': 0.01 } }).cost,
    );
    expect(uneven?.totals.time.step).toBeGreaterThan(even?.totals.time.step ?? Number.NaN);
    expect(uneven?.findings.map(({ code }) => code)).toContain('findings/load-imbalance');
    expect(even?.findings.map(({ code }) => code)).not.toContain('findings/load-imbalance');
  });

  test.each([
    [{ expert: 3 }, {}, '8 experts do not divide over `ep=3`; leave `ep` out, or use a divisor'],
    [{ expert: 16 }, {}, '8 experts do not divide over `ep=16`; use a divisor, such as `ep=8`'],
    [
      { expert: 8, tensor: 4 },
      {},
      '4 GPUs with a part of the batch (16 ÷ tp 4 ÷ pp 1) do not divide into groups of `ep=8`; use a divisor, such as `ep=4`, or `sp`, with which groups of experts span those of `tp`',
    ],
    [
      { expert: 8 },
      { gpus: 12 },
      '12 GPUs with a part of the batch (12 ÷ tp 1 ÷ pp 1) do not divide into groups of `ep=8`; use a divisor, such as `ep=4`',
    ],
  ] as const)('%o is refused', (parallel, request, message) => {
    expect(costOf(parallel, request).errors.map((issue) => issue.message)).toEqual([message]);
  });

  it('a model without experts is refused', () => {
    const { issues } = estimateModel(openGraph('samples/tinyllama.layers.yaml'), [
      { gpus: 8, batch: 1, parallel: { expert: 2 } },
    ]);
    expect(issues.map(({ message }) => message)).toContain(
      'The model has no mixture of experts whose weights lie in one tensor [experts, …]; leave `ep` out, or describe it with `MixtureOfExperts`',
    );
  });
});
