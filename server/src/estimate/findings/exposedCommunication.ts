/**
 * `findings/exposed-communication`: the update waits for gradient messages that backward did not hide.
 *
 * Reported from a share of the step in all, at most the three messages that wait the longest, each of at least 1 %.
 */

import type { Message } from '../../frameworks/exchange.ts';
import { hasOption } from '../../frameworks/registry.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding, MessageCost } from '../../model/stepCost.ts';
import { type StepPlan, timesOf } from '../plan/stepPlan.ts';
import { batchWhere, largestGrowth } from './batchWhere.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { largestBatch } from './outOfMemory.ts';

const exposedShareOfMessage = 0.01;

export function exposedCommunication(step: EstimatedStep): readonly Finding[] {
  const { timeline, messages } = step;
  const threshold = thresholdOf(step.plan.scenario.thresholds, 'exposed-communication');
  if (timeline.step === 0 || timeline.exposedTime < threshold * timeline.step) return [];
  const waiting = messages
    .map((message, position) => ({ message, position }))
    .filter(({ message }) => message.exposed >= exposedShareOfMessage * timeline.step)
    .sort((a, b) => b.message.exposed - a.message.exposed)
    .slice(0, 3);
  if (waiting.length === 0) return [];
  const { fix, change } = remedyOf(step);
  return waiting.map(({ message, position }) => ({
    code: 'findings/exposed-communication',
    severity: 'warning',
    layer: largestLayer(step, message),
    message: messageText(step, message, position),
    fix,
    ...(change === undefined ? {} : { change }),
  }));
}

function messageText(step: EstimatedStep, message: MessageCost, position: number): string {
  const { plan, timeline, messages } = step;
  const place =
    position === messages.length - 1 ? 'The last message' : `Message ${position + 1} of ${messages.length}`;
  const others = message.layers.length - 1;
  const layer = largestLayer(step, message);
  const named =
    layer === ''
      ? ''
      : `${layer}${others > 0 ? ` and ${others} more ${others === 1 ? 'layer' : 'layers'}` : ''}, `;
  const content = `${named}${formatBytes(message.bytes)}`;
  const fetched = plan.exchange.messages.some(({ before }) => before.pass !== 'update');
  const learns = plan.scenario.mode === 'training';
  const what = !learns ? 'parameters' : fetched ? 'gradients and parameters' : 'gradients';
  return `${formatPercent(timeline.exposedTime / timeline.step)} of the step waits for ${what}. ${place} (${content}) ${lateness(step, position)}: ${formatTime(message.time)} by ${message.description}, ${formatTime(message.exposed)} of it exposed`;
}

/** A message that comes before the update waits for backward to end; others are fetched for the layers they belong to. */
function lateness({ plan, timeline }: EstimatedStep, position: number): string {
  const before = plan.exchange.messages[position]?.before.pass ?? 'update';
  if (before === 'forward' || before === 'backward') return `is still in flight when ${before} needs it`;
  const start = timeline.messages[position]?.start ?? 0;
  const backwardEnd = timeline.backwardEnds.at(-1) ?? 0;
  return start >= backwardEnd * (1 - 1e-9)
    ? 'starts after backward has ended'
    : 'is still in flight when backward ends';
}

/** What would hide it: a larger batch, found by growing the GPU's work until less than the threshold is exposed. */
function remedyOf(step: EstimatedStep): Pick<Finding, 'fix' | 'change'> {
  const { plan, memory } = step;
  const batch = plan.training.batch;
  const threshold = thresholdOf(plan.scenario.thresholds, 'exposed-communication');
  if (plan.exchange.messages.every((message) => isAfterBackward(message, plan)))
    return { fix: 'Use a framework that overlaps communication with backward, such as pytorch-ddp' };
  const learns = plan.scenario.mode === 'training';
  const whole = 'keep the parameters whole on each GPU (pytorch-ddp)';
  const narrower = !learns
    ? whole
    : hasOption(plan.behaviour.name, 'gradient-dtype')
      ? 'send gradients in half precision (gradient-dtype=bf16)'
      : 'send fewer bytes: gradients in half precision, or fewer parameters';
  const hides = batchWhere(batch, (growth) => {
    const { exposedTime, step: time } = timesOf(plan, 'middle', growth);
    return exposedTime < threshold * time;
  });
  if (hides === undefined) {
    const fix = `No batch up to ${batch * largestGrowth} per GPU hides it: ${narrower}, use a faster network or fewer GPUs`;
    return { fix };
  }
  const fits = largestBatch(memory);
  return hides <= fits
    ? {
        fix: `Raise the batch per GPU to ${hides}, or ${narrower}`,
        change: { kind: 'batch', batch: hides },
      }
    : {
        fix: `A batch of ${hides} per GPU would hide it, but only ${fits} fit in memory: ${learns ? 'accumulate gradients over several batches, or ' : ''}${narrower}`,
      };
}

const isAfterBackward = ({ after }: Message, { training }: StepPlan): boolean =>
  after.pass === 'backward' && after.position >= training.costs.length - 1;

function largestLayer({ plan }: EstimatedStep, message: MessageCost): string {
  const { layers } = plan.training.analysis;
  let name = '';
  let most = -1;
  for (const share of message.layers) {
    if (share.bytes > most) {
      most = share.bytes;
      name = layers[share.index]?.name ?? '';
    }
  }
  return name;
}
