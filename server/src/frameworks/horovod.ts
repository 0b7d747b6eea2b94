/**
 * Horovod over eager PyTorch: gradients fused into one buffer as they become ready, all-reduced during backward.
 *
 * Fusion threshold 128 MB from Horovod 0.21 on, 64 MB before; 0 sends every tensor by itself (Horovod
 * documentation, "Tensor Fusion"). What is ready at the end of a cycle of 1 ms is sent even if the buffer is
 * not full; that is not modelled, so a model smaller than the threshold is sent as one message at the end of
 * backward, later than Horovod would.
 */

import { largestOf } from '../model/extremes.ts';
import { bytes } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import { noExchange } from './exchange.ts';
import type { FrameworkOption } from './options.ts';
import { allReduceEach, packBuckets } from './packBuckets.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';

export const horovodOptions: readonly FrameworkOption[] = [
  {
    name: 'fusion-mb',
    default: '128',
    documentation:
      'size of the fusion buffer in MiB (HOROVOD_FUSION_THRESHOLD), 0 for one message per tensor',
    expects: (text) =>
      text.trim() !== '' && Number(text) >= 0 && Number.isFinite(Number(text))
        ? undefined
        : '0 or a positive number',
  },
  ...eagerOptions,
];

export function horovod(options: ReadonlyMap<string, string>): FrameworkBehaviour {
  const threshold = Number(options.get('fusion-mb')) * 2 ** 20;
  return {
    ...eagerPytorch(options),
    name: 'horovod',
    exchange: (gradients, { gpus }) => {
      if (gpus === 1) return noExchange;
      const buckets = packBuckets(gradients, [threshold]);
      return {
        ...noExchange,
        messages: allReduceEach(buckets),
        buffers: bytes(Math.min(threshold, Math.max(0, largestOf(buckets.map((bucket) => bucket.bytes))))),
      };
    },
    notes: [`Horovod, fusion buffer of ${options.get('fusion-mb')} MiB`],
  };
}
