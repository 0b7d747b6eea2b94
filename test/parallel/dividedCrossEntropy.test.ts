/**
 * A loss over classes that workers divide, by kernels and by what it makes for itself. Bytes of each score were counted by running
 * `cross_entropy` of DTensor on the CPU under PyTorch's memory profiler (PyTorch 2.13, scores in bf16): 12 at most in forward, of
 * which 4 are kept, and 12 beside them in backward.
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { shardTraining } from '../../server/src/parallel/shardTraining.ts';
import { elementwise, operatorText, reduction, widened } from '../support/kernelTable.ts';

const spec = `dims: { batch: 2 }
inputs:
  tokens: float32[batch, 32, 64]
  label: int64[batch*32]
layers:
  - up: Linear(64, 128, bias=False)
  - down: Linear(128, 64, bias=False)
  - head: Linear(64, 256, bias=False)
  - rows: reshape((batch*32, 256))
  - loss: CrossEntropyLoss() from rows, label
`;
/** Of a worker of two. */
const scores = (2 * 32 * 256) / 2;

function lossOf(framework: string, ways: number, options: Readonly<Record<string, string>> = {}) {
  const { training, issues } = estimateModel(openLayerSpec(spec, 'net.layers.yaml'), [
    {
      cluster: 'dgx-h100',
      gpus: 8,
      loss: 'none',
      precision: 'bf16',
      framework: { name: framework, options: {} },
    },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const sharded = shardTraining(training, new Map([['batch', 2]]), {
    ways,
    sequence: true,
    keepsGathered: true,
  });
  const { behaviour } = resolveFramework({ name: framework, options });
  const { operators } = behaviour.lower(sharded.training, 'bf16', 'training');
  const index = training.analysis.graph.operators.findIndex(({ type }) => type === 'SoftmaxCrossEntropyLoss');
  const lowered = operators[index];
  if (lowered === undefined) throw new Error('the loss is not lowered');
  return { lowered, index };
}

test('of two workers, as DTensor computes it', () => {
  const { lowered, index } = lossOf('torchtitan', 2);
  const [once, twice, thrice] = [4 * scores, 8 * scores, 12 * scores];
  expect(operatorText('Loss', lowered)).toBe(
    `Loss fp32 4 | F ${widened(scores)}, ${reduction(once)}, ${elementwise(twice, twice)}, ${reduction(once)}, ${elementwise(twice)}` +
      ` | D ${elementwise(once, twice, thrice, twice)}, ${elementwise(6 * scores)}` +
      ` | S ${index}/0/log-probabilities ${4 * scores}, label:8 ${8 * 64}`,
  );
  expect(lowered.forwardTemporary).toBe(12 * scores - 4 * scores);
  // What is handed on in bf16 is counted where it goes.
  expect(lowered.backwardTemporary).toBe(12 * scores - 2 * scores);
});

test('on one worker PyTorch has kernels over rows', () => {
  const { lowered } = lossOf('torchtitan', 1);
  expect(lowered.forwardTemporary).toBeUndefined();
  expect(lowered.forward.length).toBeLessThan(4);
});

/** `_VocabParallelCrossEntropy` of Megatron-LM: greatest, difference, exponential, sum and quotient in one copy; its gradient too. */
test.each([1, 2])('Megatron-LM on %i workers computes in place', (ways) => {
  const { lowered, index } = lossOf('megatron', ways);
  const own = (2 * scores) / ways;
  const [once, twice] = [4 * own, 8 * own];
  expect(operatorText('Loss', lowered)).toBe(
    `Loss fp32 4 | F ${widened(own)}, ${reduction(once)}, ${elementwise(twice, twice)}, ${reduction(once)}, ${elementwise(twice)}` +
      ` | D ${elementwise(twice)}, ${elementwise(6 * own)} | S ${index}/0/log-probabilities ${once}, label:8 ${8 * 64}`,
  );
  expect([lowered.forwardTemporary, lowered.backwardTemporary]).toEqual([undefined, undefined]);
});

test('nanotron has its scores in fp32 beside the copy that it writes over', () => {
  const options = { weights: 'half', 'cross-entropy': 'in-place' };
  const [beside, own] = [lossOf('pytorch-ddp', 2, options), lossOf('megatron', 2)];
  expect(operatorText('Loss', beside.lowered)).toBe(operatorText('Loss', own.lowered));
  expect(beside.lowered.forwardTemporary).toBe(4 * scores);
});
