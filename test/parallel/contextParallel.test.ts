/** Context parallelism of models: what is split along the sequence, what is exchanged, and that workers add up to the whole. */

import { describe, expect, it, test } from 'vitest';
import type { TrainingGraph } from '../../server/src/analysis/modelAnalysis.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { type ContextExchange, contextExchanges } from '../../server/src/model/scenario.ts';
import type { ShardedTraining } from '../../server/src/parallel/shardedTraining.ts';
import { shardTraining } from '../../server/src/parallel/shardTraining.ts';
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

const shard = (path: string, context: number, exchange: ContextExchange, ways = 1): ShardedTraining => {
  const { training, bindings } = trainingOf(path);
  return shardTraining(training, bindings, {
    ways,
    sequence: false,
    keepsGathered: true,
    context: { ways: context, exchange },
  });
};

const flopsOf = ({ costs }: TrainingGraph): number =>
  costs.reduce(
    (total, cost) =>
      cost.kind === 'known'
        ? total + cost.forward.flops + cost.backwardData.flops + cost.backwardWeight.flops
        : total,
    0,
  );

/** "forward send 131072 × 3" and how many of them. */
function countsOf({ collectives }: ShardedTraining): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { axis, pass, collective, elements, times } of collectives) {
    if (axis !== 'context') continue;
    const key = `${pass} ${collective} ${elements}${times === undefined ? '' : ` × ${times}`}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

/**
 * Workers of both axes together compute the FLOPs of the model, once: of a TinyLlama all is split, of a BERT all but its pooler,
 * which computes on one position.
 */
describe.each(contextExchanges)('%s', (exchange) => {
  test.each([
    ['samples/tinyllama.layers.yaml', 4, 1, 0],
    ['samples/tinyllama.layers.yaml', 8, 4, 0],
    ['samples/tinyllama.onnx', 4, 2, 0],
    ['samples/more/t5-small.layers.yaml', 4, 2, 0],
    // 2 samples × 768 × 768: a product and its two gradients, on each of 4 workers.
    ['samples/bert-base.onnx', 4, 1, 3 * (4 - 1) * 2 * 2 * 768 * 768],
  ] as const)('FLOPs of %s over cp %i × tp %i add up', (path, context, ways, repeated) => {
    const { training } = trainingOf(path);
    const together = flopsOf(shard(path, context, exchange, ways).training) * context * ways;
    expect(together / (flopsOf(training) + repeated)).toBeCloseTo(1, 9);
  });
});

/**
 * TinyLlama: 2 × 2,048 tokens, 4 key heads of 64 that 32 heads of queries share, 22 blocks: keys of a block are 1,048,576
 * elements (2·s·k·d), queries 8,388,608. Of a ring each of 4 workers sends a quarter on, 3 times in forward; in backward 3
 * times keys and values and 4 times their gradients (reference: Liu et al., arXiv:2310.01889, section 3). Gathered: once in
 * forward, and again with the gradients scattered in backward (Llama 3, section 3.3.2). Exchanged for heads (Jacobs et al.,
 * arXiv:2309.14509, section 3.1): queries, keys and values in, the result out, and their gradients.
 */
describe.each(['samples/tinyllama.layers.yaml', 'samples/tinyllama.onnx'])('%s', (path) => {
  const [keys, queries] = [2 * 2048 * 4 * 64, 2 * 2048 * 32 * 64];
  test.each<readonly [ContextExchange, number, number, Readonly<Record<string, number>>]>([
    ['ring', 4, 1, { [`forward send ${keys / 4} × 3`]: 44, [`backward send ${keys / 4} × 7`]: 44 }],
    // Heads of keys are divided by tensor parallelism, too.
    ['ring', 4, 2, { [`forward send ${keys / 8} × 3`]: 44, [`backward send ${keys / 8} × 7`]: 44 }],
    [
      'all-gather',
      4,
      1,
      {
        [`forward all-gather ${keys}`]: 44,
        [`backward all-gather ${keys}`]: 44,
        [`backward reduce-scatter ${keys}`]: 44,
      },
    ],
    [
      'all-to-all',
      4,
      1,
      {
        [`forward all-to-all ${queries}`]: 44,
        [`backward all-to-all ${queries}`]: 44,
        [`forward all-to-all ${keys}`]: 44,
        [`backward all-to-all ${keys}`]: 44,
      },
    ],
    // Eight workers and four heads of keys: those are repeated before.
    ['all-to-all', 8, 1, { [`forward all-to-all ${queries}`]: 88, [`backward all-to-all ${queries}`]: 88 }],
  ])('%s, cp %i, tp %i', (exchange, context, ways, counts) => {
    const sharded = shard(path, context, exchange, ways);
    expect(sharded.wholeSequence).toEqual([]);
    expect(countsOf(sharded)).toEqual(counts);
  });
});

it('weights are whole on each worker', () => {
  const { training } = trainingOf('samples/tinyllama.layers.yaml');
  const { training: own } = shard('samples/tinyllama.layers.yaml', 4, 'ring');
  expect(own.analysis.parameters).toEqual(training.analysis.parameters);
});

it('attention by heads that do not divide gathers instead', () => {
  const { collectives } = shard('samples/gpt2.layers.yaml', 8, 'all-to-all');
  expect(new Set(collectives.map(({ collective }) => collective))).toEqual(
    new Set(['all-gather', 'reduce-scatter']),
  );
});

/** Tokens are mixed by a product with a weight, as MLP-Mixer does: each worker needs them all. */
it('says what computes over the whole sequence', () => {
  const spec = `dims: { batch: 2 }
inputs: { x: "float32[batch, 64, 32]" }
layers:
  - up: Linear(128)
  - turned: transpose(1, 2)
  - mix: Linear(64)
`;
  const { training, scenario } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [{ gpus: 1 }]);
  if (training === undefined || scenario === undefined) throw new Error('not read');
  const { wholeSequence } = shardTraining(training, new Map(Object.entries(scenario.dimensions)), {
    ways: 1,
    sequence: false,
    keepsGathered: true,
    context: { ways: 4, exchange: 'ring' },
  });
  expect(wholeSequence.map(({ reason }) => reason)).toEqual(['it needs all 64 positions for each result']);
});
