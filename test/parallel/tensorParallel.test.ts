/** Pairs of tensor parallelism are found in the structure of models: what is split, and which collectives follow. */

import { describe, expect, it, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ShardedTraining } from '../../server/src/parallel/shardedTraining.ts';
import { shardTraining, type TensorDegree } from '../../server/src/parallel/shardTraining.ts';
import { openGraph } from '../support/savedActivations.ts';

const known = new Map<string, { training: TrainingGraph; bindings: ReadonlyMap<string, number> }>();

function trainingOf(path: string) {
  let found = known.get(path);
  if (found === undefined) {
    const { training, scenario } = estimateModel(openGraph(path), [{ gpus: 1, batch: 2 }]);
    if (training === undefined || scenario === undefined) throw new Error(`${path} cannot be costed`);
    found = { training, bindings: new Map(Object.entries(scenario.dimensions)) };
    known.set(path, found);
  }
  return found;
}

function shard(path: string, degree: TensorDegree): { whole: TrainingGraph; sharded: ShardedTraining } {
  const { training, bindings } = trainingOf(path);
  return { whole: training, sharded: shardTraining(training, bindings, degree) };
}

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

/** "forward all-reduce" and how many of them. */
function countsOf({ collectives }: ShardedTraining): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { pass, collective } of collectives) {
    const key = `${pass} ${collective}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/**
 * Of a transformer with L blocks: two all-reduces of each block in forward and two in backward (Shoeybi et al.,
 * arXiv:1909.08053, figure 4), one behind the table of words, one for the gradient before the head, three of the loss. Where the
 * words do not divide, table and head are whole. BERT's pooler is split without a product behind it.
 */
describe('what is split', () => {
  test.each<readonly [string, TensorDegree, number, Readonly<Record<string, number>>]>([
    // 22 blocks with fewer key and value heads than query heads; the norms are whole.
    [
      'samples/tinyllama.layers.yaml',
      { ways: 4, sequence: false, keepsGathered: true },
      0,
      { 'forward all-reduce': 48, 'backward all-reduce': 45 },
    ],
    [
      'samples/tinyllama.onnx',
      { ways: 4, sequence: false, keepsGathered: true },
      0,
      { 'forward all-reduce': 48, 'backward all-reduce': 45 },
    ],
    [
      'samples/tinyllama.layers.yaml',
      { ways: 4, sequence: true, keepsGathered: true },
      0,
      {
        'forward all-reduce': 3,
        'forward all-gather': 45,
        'forward reduce-scatter': 45,
        'backward all-gather': 45,
        'backward reduce-scatter': 45,
      },
    ],
    // 12 blocks with queries, keys and values from one product; 50,257 words do not divide.
    [
      'samples/gpt2.layers.yaml',
      { ways: 4, sequence: false, keepsGathered: true },
      2,
      { 'forward all-reduce': 24, 'backward all-reduce': 24 },
    ],
    [
      'samples/gpt2.onnx',
      { ways: 4, sequence: false, keepsGathered: true },
      2,
      { 'forward all-reduce': 24, 'backward all-reduce': 24 },
    ],
    [
      'samples/bert-base.layers.yaml',
      { ways: 4, sequence: false, keepsGathered: true },
      1,
      { 'forward all-reduce': 24, 'backward all-reduce': 25 },
    ],
  ])('%s, %o', (path, degree, whole, counts) => {
    const { sharded } = shard(path, degree);
    expect(sharded.whole).toHaveLength(whole);
    expect(countsOf(sharded)).toEqual(counts);
  });
});

it('says why a product is whole', () => {
  const { sharded } = shard('samples/gpt2.layers.yaml', { ways: 4, sequence: false, keepsGathered: true });
  expect(sharded.whole.map(({ reason }) => reason)).toEqual([
    '50257 does not divide by 4',
    '50257 does not divide by 4',
  ]);
});

/** A normalization between the products of a pair, and features in three rows, over two workers. */
test.each([
  ['norm: LayerNorm(384)', /^LayerNormalization `.*`: it computes over all of axis 2$/],
  [
    'rows: reshape((2, 16, 3, 128))\n  - last: softmax(dim=-1)\n  - flat: reshape((2, 16, 384))',
    /^Reshape `rows.*`: its 3 of axis 2 do not divide by 2$/,
  ],
] as const)('a product stays whole before %s', (layer, reason) => {
  const spec = `inputs: { x: "float32[2, 16, 96]" }\nlayers:\n  - up: Linear(384)\n  - ${layer}\n  - down: Linear(96)\n`;
  const { training } = estimateModel(openLayerSpec(spec, 'n.layers.yaml'), [{ cluster: 'dgx-a100' }]);
  if (training === undefined) throw new Error('not read');
  const { whole } = shardTraining(training, new Map(), { ways: 2, sequence: false, keepsGathered: true });
  expect(whole.map((each) => each.reason)).toContainEqual(expect.stringMatching(reason));
});

/** Every product of these is split: workers together compute the FLOPs of the model, once. */
test.each([
  ['samples/tinyllama.layers.yaml', 2],
  ['samples/tinyllama.layers.yaml', 4],
  ['samples/tinyllama.onnx', 4],
  ['samples/more/llama-3-8b.layers.yaml', 8],
] as const)('FLOPs of %s over %i workers add up', (path, ways) => {
  for (const sequence of [false, true]) {
    const { whole, sharded } = shard(path, { ways, sequence, keepsGathered: true });
    expect(flopsOf(sharded.training) * ways).toBeCloseTo(flopsOf(whole), -3);
  }
});

/** Llama 3 8B: two norms of 4,096 in 32 blocks and one behind them are whole, all else is split. */
it('parameters of a worker are its blocks and what is whole', () => {
  const { whole, sharded } = shard('samples/more/llama-3-8b.layers.yaml', {
    ways: 8,
    sequence: false,
    keepsGathered: true,
  });
  const norms = 65 * 4096;
  expect(elementsOf(sharded.training)).toBe((elementsOf(whole) - norms) / 8 + norms);
});

it('one way is the graph as it is', () => {
  const { whole, sharded } = shard('samples/tinyllama.layers.yaml', {
    ways: 1,
    sequence: true,
    keepsGathered: true,
  });
  expect(sharded.training.costs).toBe(whole.costs);
  expect(sharded.training.analysis.graph).toBe(whole.analysis.graph);
  expect(sharded.training.analysis.parameters).toBe(whole.analysis.parameters);
  expect(sharded.collectives).toEqual([]);
});

it('what is not kept is gathered again in backward', () => {
  const path = 'samples/tinyllama.layers.yaml';
  const { sharded } = shard(path, { ways: 4, sequence: true, keepsGathered: false });
  expect(countsOf(sharded)['backward all-gather']).toBe(45 + 45);
});

it('norms between the pairs have parts of their gradients under sequence parallelism alone', () => {
  const path = 'samples/tinyllama.layers.yaml';
  expect(shard(path, { ways: 4, sequence: true, keepsGathered: true }).sharded.partialGradients.size).toBe(
    45,
  );
  expect(shard(path, { ways: 4, sequence: false, keepsGathered: true }).sharded.partialGradients.size).toBe(
    0,
  );
});
