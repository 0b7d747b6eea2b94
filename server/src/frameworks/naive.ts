/**
 * Naive synchronous SGD: eager PyTorch kernels, all gradients in one message after backward has ended, nothing
 * overlapped. The reference that overlap is measured against (case M4 of Shi, Wang, Chu, arXiv 1711.05979).
 */

import { sum } from '../model/units.ts';
import { backwardEnd, noExchange } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { allReduceEach, packBuckets } from './packBuckets.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { wireBytes, wireOption } from './wireType.ts';

export const naive: FrameworkEntry = {
  name: 'naive',
  documentation: 'naive synchronous SGD: one all-reduce after backward, nothing overlapped',
  trainsIn: 'half',
  overlaps: 'input: read, decoded and copied ahead; gradients: after backward; update: after all',
  sources: ['Shi, Wang, Chu, arXiv 1711.05979, case without overlap of communication'],
  options: [wireOption, ...eagerOptions],
  create: (options) => ({
    ...eagerPytorch(options),
    name: 'naive',
    exchange: (gradients, group) => {
      if (group.gpus === 1) return noExchange;
      const buckets = packBuckets(gradients, [Number.POSITIVE_INFINITY], wireBytes(options));
      return {
        ...noExchange,
        messages: allReduceEach(buckets).map((message) => ({ ...message, after: backwardEnd(group) })),
        buffers: sum(buckets.map(({ bytes: size }) => size)),
      };
    },
    notes: ['naive synchronous SGD: one message after backward'],
  }),
};
