/** `findings/late-gradient`: one tensor has a large share of all gradient bytes and is ready only as backward ends. */

import type { Gradient } from '../../frameworks/gradient.ts';
import { floatAt, intAt, itemAt } from '../../model/at.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding, MessageCost } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { layerOfOperators } from '../layerCosts.ts';
import type { EstimatedStep } from './estimatedStep.ts';

/** Of the step, that its message is waited for. */
const leastExposed = 0.01;

/** From this share of backward on there is next to nothing left that could hide a message. */
const endOfBackward = 0.95;

export function lateGradient({ plan, timeline, messages }: EstimatedStep): readonly Finding[] {
  const { thresholds, mode } = plan.scenario;
  if (mode === 'inference') return [];
  if (timeline.exposedTime < thresholdOf(thresholds, 'exposed-communication') * timeline.step) return [];
  let total = 0;
  let largest: (Gradient & { readonly message: number }) | undefined;
  let message = 0;
  for (const { gradients } of plan.exchange.messages) {
    for (const gradient of gradients) {
      total += gradient.bytes;
      if (gradient.bytes > (largest?.bytes ?? 0)) largest = { ...gradient, message };
    }
    message += 1;
  }
  const cost = messages[largest?.message ?? -1];
  if (largest === undefined || cost === undefined || cost.exposed < leastExposed * timeline.step) return [];
  if (largest.bytes < thresholdOf(thresholds, 'late-gradient') * total) return [];
  const ready = floatAt(timeline.backwardEnds, largest.readyAfter);
  const left = floatAt(timeline.backwardEnds, timeline.backwardEnds.length - 1) - ready;
  if (left > (1 - endOfBackward) * timeline.backwardTime) return [];
  const { parameters, layers } = plan.training.analysis;
  const operator = itemAt(parameters, largest.index).operators[0];
  if (operator === undefined) return [];
  const layer = itemAt(layers, intAt(layerOfOperators(plan.training), operator)).name;
  return [
    {
      code: 'findings/late-gradient',
      severity: 'warning',
      layer,
      message: `The gradient of ${layer} is ${formatPercent(largest.bytes / total)} of all gradient bytes, and ready ${left > 0 ? `with only ${formatTime(seconds(left))} of backward left to hide it` : 'only when backward ends'}: ${exposureText(cost)}. Other bucket sizes do not help`,
      fix: `Make the layer's ${formatBytes(largest.bytes)} smaller, split it over the GPUs, or send its gradient in half precision`,
    },
  ];
}

const exposureText = ({ time, exposed }: MessageCost): string =>
  exposed >= time
    ? `its message (${formatTime(time)}) is fully exposed`
    : `${formatTime(exposed)} of its message (${formatTime(time)}) are exposed`;
