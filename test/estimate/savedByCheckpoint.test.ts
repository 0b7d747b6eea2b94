/** What checkpointing a whole model keeps, and what it computes again. */

import { describe, expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { type Checkpoint, checkpoints } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

const stack = `inputs:
  x: float32[8, 32]
blocks:
  mlp:
    - ln: LayerNorm(64)
    - up: Linear(64, 256)
    - act: GELU()
    - down: Linear(256, 64)
    - out: add(down, input)
layers:
  - stem: Linear(32, 64)
  - h: mlp() * 4
  - head: Linear(64, 10)
`;

function totalsOf(checkpoint: Checkpoint) {
  const opened = openLayerSpec(stack, 'stack.layers.yaml');
  const { cost } = estimateModel(opened, [
    { cluster: 'a100-sxm-40gb', gpus: 1, checkpoint, optimizer: 'sgd', precision: 'fp32' },
  ]);
  if (cost === undefined) throw new Error('no cost');
  return cost.totals;
}

/**
 * PyTorch 2.13 on the CPU: bytes that `torch.autograd.graph.saved_tensors_hooks` sees of this network, storages once and
 * parameters not; for `block` with `torch.utils.checkpoint.checkpoint(…, use_reentrant=False)` around each of the four.
 * Selective: the same inputs, with the results of `up` and `down` of every block.
 */
it.each([
  ['none', 85_248],
  ['block', 11_264],
  ['selective', 11_264 + 4 * (8 * 256 * 4 + 8 * 64 * 4)],
] as const)('%s keeps %i bytes of activations', (checkpoint, kept) => {
  expect(totalsOf(checkpoint).memory.activations).toBe(kept);
});

const models = ['samples/resnet50.layers.yaml', 'samples/gpt2.onnx', 'samples/more/swin-t.layers.yaml'];

describe.each(models)('%s', (path) => {
  const opened = openGraph(path);
  const [none, block, selective] = checkpoints.map((checkpoint) => {
    const { cost } = estimateModel(opened, [{ cluster: 'a100-sxm-80gb', gpus: 1, batch: 16, checkpoint }]);
    if (cost === undefined) throw new Error('no cost');
    return cost.totals;
  });
  const stepOf = (totals: typeof none): number => totals?.time.step ?? Number.NaN;

  it('keeps less the more is computed again, and takes longer', () => {
    const kept = [block, selective, none].map((totals) => totals?.memory.activations ?? 0);
    expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b));
    expect(stepOf(none)).toBeLessThan(stepOf(selective));
    expect(stepOf(selective)).toBeLessThan(stepOf(block));
  });

  it('computes forward again at most, and does no more of the model', () => {
    expect(stepOf(block) - stepOf(none)).toBeLessThanOrEqual((none?.time.forward ?? 0) * (1 + 1e-9));
    expect(block?.flops).toEqual(none?.flops);
  });
});
