import { expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { openGraph } from '../support/savedActivations.ts';

const opened = openGraph('samples/gpt2.onnx');
const gpus = 16;
/** Of GPT-2 small, by its own count. */
const count = 124_439_808;

/**
 * Bytes that a parameter takes on each GPU with Adam in mixed precision: 2 for it, 2 for its gradient, 12 for the fp32
 * copy and two moments, each in whole or as a shard (Rajbhandari et al., "ZeRO", SC 2020, figure 1).
 */
test.each([
  ['1', 2, 2, 12 / gpus],
  ['2', 2, 2 / gpus, 12 / gpus],
  ['3', 2 / gpus, 2 / gpus, 12 / gpus],
])('stage %s by default', (stage, parameters, gradients, optimizerState) => {
  const { cost } = estimateModel(opened, [
    {
      cluster: 'dgx-a100',
      gpus,
      batch: 4,
      precision: 'bf16',
      optimizer: 'adamw',
      framework: { name: 'deepspeed-zero', options: { stage } },
    },
  ]);
  const memory = cost?.totals.memory;
  expect((memory?.parameters ?? 0) / count).toBeCloseTo(parameters, 3);
  expect((memory?.gradients ?? 0) / count).toBeCloseTo(gradients, 3);
  expect((memory?.optimizerState ?? 0) / count).toBeCloseTo(optimizerState, 3);
});
