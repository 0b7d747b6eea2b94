/** `findings/late-gradient`: one tensor has a large share of all gradient bytes and is ready only as backward ends. */

import type { Message } from '../../frameworks/exchange.ts';
import type { Gradient } from '../../frameworks/gradient.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { layerOfParameters } from '../layerOf.ts';
import { communicationByLayer } from '../messageCosts.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { tableAdvice } from './tableAdvice.ts';

/** Of the step, that its message is waited for. */
const leastExposed = 0.01;

/** From this share of backward on there is next to nothing left that could hide a message. */
const endOfBackward = 0.95;

export function lateGradient({ plan, timeline }: EstimatedStep, late: LateGradient): readonly Finding[] {
  const { layer, gradient, share, left, time, exposed } = late;
  const when =
    left > 0 ? `only ${formatTime(seconds(left))} before backward ends` : 'only when backward ends';
  const takes = formatTime(seconds(time));
  const waits = formatTime(seconds(exposed));
  return [
    {
      code: 'findings/late-gradient',
      severity: 'warning',
      layer,
      message: `The gradient of ${layer} is ready ${when}. Sending it takes ${takes}, ${waits === takes ? 'all' : waits} of it exposed, ${formatPercent(exposed / timeline.step)} of the step. It is ${formatPercent(share)} of all gradient bytes: other bucket sizes do not help`,
      ...(tableAdvice(plan, timeline.step) ?? {
        fix: `Make the layer's ${formatBytes(gradient.bytes)} smaller, split it over the GPUs, or send its gradient in half precision`,
      }),
    },
  ];
}

interface LateGradient {
  readonly layer: string;
  readonly gradient: Gradient;
  /** Of all gradient bytes. */
  readonly share: number;
  /** Seconds of backward that are left when it is ready. */
  readonly left: number;
  /** Seconds that fall to the layer, as its line shows them: a message may carry gradients of others too. */
  readonly time: number;
  readonly exposed: number;
  /** Positions of the messages that carry it. */
  readonly messages: ReadonlySet<number>;
}

export function findLateGradient(step: EstimatedStep): LateGradient | undefined {
  const { plan, timeline, messages } = step;
  const { thresholds, mode } = plan.scenario;
  if (mode === 'inference') return undefined;
  if (timeline.exposedTime < thresholdOf(thresholds, 'exposed-communication') * timeline.step)
    return undefined;
  const { largest: gradient, total } = largestGradient(plan.exchange.messages);
  if (gradient === undefined || gradient.bytes < thresholdOf(thresholds, 'late-gradient') * total)
    return undefined;
  const ready = floatAt(timeline.backwardEnds, gradient.readyAfter);
  const left = floatAt(timeline.backwardEnds, timeline.backwardEnds.length - 1) - ready;
  if (left > (1 - endOfBackward) * timeline.backwardTime) return undefined;
  const { parameters, layers } = plan.training.analysis;
  const owner = layerOfParameters(plan.training)(itemAt(parameters, gradient.index));
  if (owner === undefined) return undefined;
  const carries = plan.exchange.messages.map(
    ({ after, gradients }) =>
      after.pass === 'backward' && gradients.some(({ index }) => index === gradient.index),
  );
  const { time, exposed } = itemAt(
    communicationByLayer(
      layers,
      messages.filter((_, position) => carries[position]),
    ),
    owner,
  );
  if (exposed < leastExposed * timeline.step) return undefined;
  return {
    layer: itemAt(layers, owner).name,
    gradient,
    share: gradient.bytes / total,
    left,
    time,
    exposed,
    messages: new Set(carries.flatMap((does, position) => (does ? [position] : []))),
  };
}

/** The largest gradient, and the bytes of all; one may be sent in many parts. */
function largestGradient(messages: readonly Message[]): {
  readonly largest: Gradient | undefined;
  readonly total: number;
} {
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
  return { largest, total };
}
