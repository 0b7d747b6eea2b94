/**
 * Naive synchronous SGD: eager PyTorch kernels, all gradients in one message after backward has ended, nothing
 * overlapped. The reference that overlap is measured against (case M4 of Shi, Wang, Chu, arXiv 1711.05979).
 */

import { sum } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import { packMessages } from './packMessages.ts';
import { eagerPytorch } from './pytorchDdp.ts';

export function naive(options: ReadonlyMap<string, string>): FrameworkBehaviour {
  return {
    ...eagerPytorch(options),
    name: 'naive',
    overlap: false,
    pack: (gradients) => packMessages(gradients, [Number.POSITIVE_INFINITY]),
    bufferBytes: (messages) => sum(messages.map(({ bytes: size }) => size)),
    notes: ['naive synchronous SGD: one message after backward'],
  };
}
