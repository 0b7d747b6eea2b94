/** Gradients in parts of limited size, each a message of its own, so that an urgent one need not wait for a large one. */

import type { Operation } from '../communication/operation.ts';
import { type Bytes, bytes } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { backwardAt, type Channel, forwardAt, type Message } from './exchange.ts';
import type { Gradient } from './gradient.ts';

/** How the part of a gradient travels. */
export type StagesOf = (size: Bytes) => readonly PartStage[];

interface PartRules extends Partial<Pick<Message, 'after' | 'before'>> {
  readonly finishing?: readonly PartStage[];
}

interface PartStage {
  readonly channel: Channel;
  readonly operation: Operation;
}

/**
 * Each part is sent when its gradient is ready, is needed by the next forward of its layer, and goes before those of
 * layers that forward reaches later. `finishing` is what the last part of a gradient goes through besides. The parts of a
 * gradient that are alike are the same object.
 */
export const partitionedMessages = (
  gradients: readonly Gradient[],
  partition: number,
  stagesOf: StagesOf,
  { finishing = [], ...moved }: PartRules = {},
): readonly Message[] => {
  const ways = bySize(stagesOf);
  const lastWays = bySize((size) => [...ways(size), ...finishing]);
  const messages: Message[] = [];
  for (const gradient of gradients) {
    const parts = Math.max(1, Math.ceil(gradient.bytes / partition));
    const size = bytes(gradient.bytes / parts);
    const message: Message = {
      gradients: [gradient],
      bytes: size,
      after: backwardAt(gradient.readyAfter),
      before: forwardAt(gradient.usedFrom),
      stages: ways(size),
      priority: gradient.usedFrom,
      ...moved,
    };
    for (let part = 1; part < parts; part += 1) messages.push(message);
    messages.push(finishing.length > 0 ? { ...message, stages: lastWays(size) } : message);
  }
  return messages;
};
