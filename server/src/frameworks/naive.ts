/**
 * Naive synchronous SGD: eager PyTorch kernels, all gradients in one message after backward has ended, nothing
 * overlapped. The reference that overlap is measured against (case M4 of Shi, Wang, Chu, arXiv 1711.05979).
 */

import { sum } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import { backwardEnd, noExchange } from './exchange.ts';
import { allReduceEach, packBuckets } from './packBuckets.ts';
import { eagerPytorch } from './pytorchDdp.ts';

export function naive(options: ReadonlyMap<string, string>): FrameworkBehaviour {
  return {
    ...eagerPytorch(options),
    name: 'naive',
    exchange: (gradients, group) => {
      if (group.gpus === 1) return noExchange;
      const buckets = packBuckets(gradients, [Number.POSITIVE_INFINITY]);
      return {
        ...noExchange,
        messages: allReduceEach(buckets).map((message) => ({ ...message, after: backwardEnd(group) })),
        buffers: sum(buckets.map(({ bytes: size }) => size)),
      };
    },
    notes: ['naive synchronous SGD: one message after backward'],
  };
}
