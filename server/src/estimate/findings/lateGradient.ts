/** `findings/late-gradient`: one tensor has a large share of all gradient bytes and is ready only as backward ends. */

import type { Message } from '../../frameworks/exchange.ts';
import type { Gradient } from '../../frameworks/gradient.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding, MessageCost } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { layerOfParameters } from '../layerCosts.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { tableAdvice } from './tableAdvice.ts';

/** Of the step, that its message is waited for. */
const leastExposed = 0.01;

/** From this share of backward on there is next to nothing left that could hide a message. */
const endOfBackward = 0.95;

export function lateGradient({ plan, timeline, messages }: EstimatedStep): readonly Finding[] {
  const { thresholds, mode } = plan.scenario;
  if (mode === 'inference') return [];
  if (timeline.exposedTime < thresholdOf(thresholds, 'exposed-communication') * timeline.step) return [];
  const { largest, total } = largestGradient(plan.exchange.messages, messages);
  if (largest === undefined || largest.exposed < leastExposed * timeline.step) return [];
  if (largest.bytes < thresholdOf(thresholds, 'late-gradient') * total) return [];
  const ready = floatAt(timeline.backwardEnds, largest.readyAfter);
  const left = floatAt(timeline.backwardEnds, timeline.backwardEnds.length - 1) - ready;
  if (left > (1 - endOfBackward) * timeline.backwardTime) return [];
  const { parameters, layers } = plan.training.analysis;
  const owner = layerOfParameters(plan.training)(itemAt(parameters, largest.index));
  if (owner === undefined) return [];
  const layer = itemAt(layers, owner).name;
  return [
    {
      code: 'findings/late-gradient',
      severity: 'warning',
      layer,
      message: `The gradient of ${layer} is ${formatPercent(largest.bytes / total)} of all gradient bytes, and ready ${left > 0 ? `with only ${formatTime(seconds(left))} of backward left to hide it` : 'only when backward ends'}: ${exposureText(largest)}, ${formatPercent(largest.exposed / timeline.step)} of the step. Other bucket sizes do not help`,
      ...(tableAdvice(plan, timeline.step) ?? {
        fix: `Make the layer's ${formatBytes(largest.bytes)} smaller, split it over the GPUs, or send its gradient in half precision`,
      }),
    },
  ];
}

interface SentGradient extends Gradient {
  readonly messages: number;
  readonly time: number;
  readonly exposed: number;
}

/** The largest gradient with the messages that carry it, and the bytes of all; one may be sent in many parts. */
function largestGradient(
  messages: readonly Message[],
  costs: readonly MessageCost[],
): { readonly largest: SentGradient | undefined; readonly total: number } {
  const sent = new Map<number, Gradient>();
  // Of tables that are not sent whole, rows are.
  for (const { gradients } of messages) {
    for (const gradient of gradients) if (gradient.table === undefined) sent.set(gradient.index, gradient);
  }
  let total = 0;
  let largest: Gradient | undefined;
  for (const gradient of sent.values()) {
    total += gradient.bytes;
    if (gradient.bytes > (largest?.bytes ?? 0)) largest = gradient;
  }
  if (largest === undefined) return { largest, total };
  const { index } = largest;
  const carried = costs.filter((_, position) => {
    const message = messages[position];
    return message?.after.pass === 'backward' && message.gradients.some((each) => each.index === index);
  });
  const sum = (part: 'time' | 'exposed'): number => carried.reduce((whole, cost) => whole + cost[part], 0);
  return {
    largest: { ...largest, messages: carried.length, time: sum('time'), exposed: sum('exposed') },
    total,
  };
}

function exposureText({ messages, time, exposed }: SentGradient): string {
  const [what, are, of] =
    messages === 1
      ? ['its message', 'is', 'its message']
      : [`its ${messages} messages`, 'are', 'its messages'];
  return exposed >= time
    ? `${what} (${formatTime(seconds(time))}) ${are} fully exposed`
    : `${formatTime(seconds(exposed))} of ${of} (${formatTime(seconds(time))}) are exposed`;
}
