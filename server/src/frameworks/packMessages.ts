/** Gradients into messages: buckets of limited size, or one message per tensor, or one for all. */

import { largestOf } from '../model/extremes.ts';
import { bytes } from '../model/units.ts';
import type { Gradient, Message } from './behaviour.ts';

/**
 * Walks gradients in ready order and closes a message when its size reaches its limit; the last one holds the
 * rest. `limits` are bytes per message in order, the last one for all that follow.
 * Source: PyTorch 2.x torch/csrc/distributed/c10d/reducer.cpp, `compute_bucket_assignment_by_size`.
 */
export function packMessages(
  gradients: readonly Gradient[],
  limits: readonly number[],
  wireBytesPerElement?: number,
): readonly Message[] {
  const messages: Message[] = [];
  let open: Gradient[] = [];
  let size = 0;
  const close = (): void => {
    if (open.length === 0) return;
    messages.push({
      gradients: open,
      bytes: bytes(size),
      readyAfter: largestOf(open.map((gradient) => gradient.readyAfter)),
    });
    open = [];
    size = 0;
  };
  for (const gradient of gradients) {
    open.push(gradient);
    size += wireBytesPerElement === undefined ? gradient.bytes : gradient.elements * wireBytesPerElement;
    const limit = limits[Math.min(messages.length, limits.length - 1)] ?? Number.POSITIVE_INFINITY;
    if (size >= limit) close();
  }
  close();
  return messages;
}
