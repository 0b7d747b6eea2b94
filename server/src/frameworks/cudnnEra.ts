/**
 * Kernels of the frameworks of 2015 to 2019 (Caffe, CNTK, MXNet 1, TensorFlow 1, Chainer): cuBLAS and cuDNN calls,
 * one kernel for every other operator, no fused attention, no TF32.
 */

import type { FrameworkBehaviour } from './behaviour.ts';
import { prefetchedInput } from './exchange.ts';
import { type FrameworkOption, positiveNumber } from './options.ts';
import { eagerLaunch, launchOf } from './pytorch/eagerLaunch.ts';
import { lowerEager } from './pytorch/lowerEager.ts';
import { optimizerUpdate } from './pytorch/optimizerUpdate.ts';

export const cudnnEraOptions: readonly FrameworkOption[] = [
  {
    name: 'launch-us',
    default: String(eagerLaunch[0] * 1e6),
    documentation: 'host time of one kernel launch in microseconds',
    expects: positiveNumber,
  },
];

export function cudnnEra(
  options: ReadonlyMap<string, string>,
): Pick<FrameworkBehaviour, 'launch' | 'lower' | 'input' | 'update'> {
  return {
    launch: launchOf(Number(options.get('launch-us')) * 1e-6),
    lower: (training, precision, mode, recomputed) =>
      lowerEager(
        training,
        precision,
        mode,
        { convolutionTf32: false, fusedCalls: false, fusedAttention: false, channelsLast: false },
        recomputed,
      ),
    input: prefetchedInput,
    update: (optimizer, precision, sizes) => optimizerUpdate(optimizer, 'foreach', precision, sizes),
  };
}

/** Said by each of them. */
export const cudnnEraNote = 'kernels as eager PyTorch launches them, without TF32 and fused attention';
