/**
 * `findings/exposed-communication`: the update waits for gradient messages that backward did not hide.
 *
 * The sum over all messages decides, and there is one finding of it. Where at most three messages make most of it, they are
 * named; else the layers are that make most of it.
 */

import type { Message } from '../../frameworks/exchange.ts';
import { findFramework, hasOption } from '../../frameworks/registry.ts';
import { halfPrecision } from '../../hardware/computePath.ts';
import { itemAt } from '../../model/at.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding, MessageCost } from '../../model/stepCost.ts';
import { totalElements } from '../../model/totalElements.ts';
import { seconds } from '../../model/units.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import { communicationByLayer } from '../messageCosts.ts';
import { timesOf } from '../plan/plannedTimes.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { batchWhere, largestGrowth } from './batchWhere.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { largestBatch } from './outOfMemory.ts';
import { tableAdvice } from './tableAdvice.ts';

/** Of what is exposed in all: what is named makes at least so much of it. */
export const mostOfExposed = 0.5;
const mostMessages = 3;
/** Of the step: a message that is waited for less is not worth a line beside others. */
const leastOfMessage = 0.01;

/** `late`: positions of messages that a finding of their own explains. */
export function exposedCommunication(
  step: EstimatedStep,
  late: ReadonlySet<number> = new Set(),
): readonly Finding[] {
  const { timeline } = step;
  const exposed = step.messages.map((message, position) =>
    late.has(position) ? { ...message, exposed: seconds(0) } : message,
  );
  const explained = step.messages.reduce((total, each, at) => total + (late.has(at) ? each.exposed : 0), 0);
  const waiting = timeline.exposedTime - explained;
  const threshold = thresholdOf(step.plan.scenario.thresholds, 'exposed-communication');
  if (waiting <= 0 || waiting < threshold * timeline.step) return [];
  const { fix, change } = remedyOf(step);
  const share = formatPercent(waiting / timeline.step);
  const [layer, text] = textOf({ ...step, messages: exposed }, waiting);
  return [
    {
      code: 'findings/exposed-communication',
      severity: 'warning',
      layer,
      message: `${late.size > 0 ? `Another ${share}` : share} of the step waits for ${contentOf(step)}. ${text}`,
      fix,
      ...(change === undefined ? {} : { change }),
    },
  ];
}

/** The layer that the finding stands on, and the messages or layers that make most of what is exposed. */
function textOf(step: EstimatedStep, waiting: number): readonly [layer: string, text: string] {
  const longest = step.messages
    .map((message, position) => ({ message, position }))
    .sort((a, b) => b.message.exposed - a.message.exposed)
    .slice(0, mostMessages);
  const named = longest.reduce((total, { message }) => total + message.exposed, 0);
  const [first, ...others] = longest;
  if (first === undefined || named < mostOfExposed * waiting) return textOfLayers(step, waiting);
  const worthNaming = others.filter(({ message }) => message.exposed >= leastOfMessage * step.timeline.step);
  const rest = worthNaming.map(
    ({ message }) => `${contentsOfMessage(step, message)}: ${formatTime(message.exposed)} exposed`,
  );
  const text = messageText(step, first.message, first.position);
  return [largestLayer(step, first.message), [text, ...rest].join('; ')];
}

/** The layers that make most of what is exposed, the first of them, and what each makes of the step. */
function textOfLayers(
  { plan, timeline, messages }: EstimatedStep,
  waiting: number,
): readonly [layer: string, text: string] {
  const { layers } = plan.training.analysis;
  const exposed = communicationByLayer(layers, messages).map(({ exposed: time }, index) => ({
    name: layers[index]?.name ?? '',
    time,
  }));
  const longest = exposed.filter(({ time }) => time > 0).sort((a, b) => b.time - a.time);
  const sum = (some: readonly { readonly time: number }[]): number =>
    some.reduce((total, { time }) => total + time, 0);
  let count = 0;
  for (let made = 0; made < mostOfExposed * waiting; count += 1) {
    const next = longest[count];
    if (next === undefined) break;
    made += next.time;
  }
  const share = (time: number): string => formatPercent(time / timeline.step);
  const shown = longest.slice(0, Math.min(count, mostMessages));
  const rest = count - shown.length;
  const names = shown.map(({ name, time }) => `${name} (${share(time)})`).join(', ');
  const others = rest > 0 ? ` and ${rest} more ${rest === 1 ? 'layer' : 'layers'}` : '';
  const waited = messages.filter((message) => message.exposed > 0).length;
  const text = `No message makes most of it: ${waited} of ${messages.length} are exposed`;
  const made = share(sum(longest.slice(0, count)));
  return [shown[0]?.name ?? '', shown.length === 0 ? text : `${text}, ${made} by ${names}${others}`];
}

function contentOf({ plan }: EstimatedStep): string {
  if (plan.scenario.mode !== 'training') return 'parameters';
  if (plan.tables.size > 0 && plan.exchange.messages.some(({ before }) => before.pass === 'forward'))
    return 'gradients and looked-up rows';
  const fetched = plan.exchange.messages.some(({ before }) => before.pass !== 'update');
  return fetched ? 'gradients and parameters' : 'gradients';
}

function messageText(step: EstimatedStep, message: MessageCost, position: number): string {
  const { messages } = step;
  const place =
    position === messages.length - 1 ? 'The last message' : `Message ${position + 1} of ${messages.length}`;
  return `${place} (${contentsOfMessage(step, message)}) ${lateness(step, position)}: ${isAll(message) ? 'all' : formatTime(message.exposed)} of its ${formatTime(message.time)} exposed, by ${message.description}`;
}

const isAll = ({ time, exposed }: MessageCost): boolean => formatTime(time) === formatTime(exposed);

/** `fc6 and 2 more layers, 64.0 MiB`. */
function contentsOfMessage(step: EstimatedStep, message: MessageCost): string {
  const others = message.layers.length - 1;
  const layer = largestLayer(step, message);
  const named =
    layer === ''
      ? ''
      : `${layer}${others > 0 ? ` and ${others} more ${others === 1 ? 'layer' : 'layers'}` : ''}, `;
  return `${named}${formatBytes(message.bytes)}`;
}

/** A message that comes before the update waits for backward to end; others are fetched for the layers they belong to. */
function lateness({ plan, timeline }: EstimatedStep, position: number): string {
  const before = plan.exchange.messages[position]?.before.pass ?? 'update';
  if (before === 'forward' || before === 'backward') return `is still in flight when ${before} needs it`;
  const start = itemAt(timeline.messages, position).start;
  const backwardEnd = timeline.backwardEnds.at(-1) ?? 0;
  return start >= backwardEnd * (1 - 1e-9)
    ? 'starts after backward has ended'
    : 'is still in flight when backward ends';
}

/** What would hide it: a larger batch, with which less than the threshold is exposed. */
function remedyOf(step: EstimatedStep): Pick<Finding, 'fix' | 'change'> {
  const { plan, memory } = step;
  const batch = plan.training.batch;
  const threshold = thresholdOf(plan.scenario.thresholds, 'exposed-communication');
  const backwardEnd = plan.training.costs.length - 1;
  const sent = plan.exchange.messages.flatMap(({ after }) =>
    after.pass === 'backward' ? [after.position] : [],
  );
  const isLate = sent.length > 0 && sent.every((position) => position >= backwardEnd);
  const overlap = isLate ? overlapAdvice(plan) : undefined;
  if (overlap !== undefined) return { fix: overlap };
  const ofTables = tableAdvice(plan, step.timeline.step);
  if (ofTables !== undefined) return ofTables;
  const learns = plan.scenario.mode === 'training';
  // Where gradients go to the host, they do in every pass.
  const accumulates = learns && plan.exchange.onHost?.gradients !== true;
  const whole = 'keep the parameters whole on each GPU (pytorch-ddp)';
  const narrow = narrowGradients(plan);
  const isNarrow = plan.exchange.messages.every(isSentInHalf);
  const narrower = !learns
    ? whole
    : narrow !== undefined && !isNarrow
      ? `send gradients in half precision (gradient-dtype=${narrow})`
      : `send fewer bytes: ${isNarrow ? '' : 'gradients in half precision, or '}fewer parameters`;
  const found = batchWhere(plan, (there, growth) => {
    const { exposedTime, step: time } = timesOf(there, 'middle', growth);
    return threshold * time - exposedTime;
  });
  if (found === undefined) {
    const device = deviceNoun(plan.cluster.gpu);
    const fix = `No batch up to ${batch * largestGrowth} per ${device} hides it: ${narrower}, use a faster network or fewer ${device}s`;
    return { fix };
  }
  const { batch: hides, plan: there } = found;
  if (there === undefined) return { fix: `Raise the batch per GPU to about ${hides}, or ${narrower}` };
  const less = memoryOf(there);
  const fits = Math.min(largestBatch(memory), largestBatch(less));
  return less.peak <= less.capacity - runtimeReserve
    ? {
        fix: `Raise the batch per GPU to ${hides}, or ${narrower}`,
        change: { kind: 'batch', batch: hides },
      }
    : {
        fix: `A batch of ${hides} per GPU would hide it, but ${fits === 0 ? 'no batch fits' : `only ${fits} fit`} in memory: ${accumulates ? 'accumulate gradients over several batches, or ' : ''}${narrower}`,
      };
}

/**
 * What overlaps communication with backward where nothing does. A framework with messages of a size that can be set
 * overlaps already: the model is small enough for one message, and only more work hides it.
 */
function overlapAdvice({ behaviour: { name }, scenario }: StepPlan): string | undefined {
  const option = ['overlap-comm', 'overlap'].find((each) => hasOption(name, each));
  if (option !== undefined && scenario.framework.options[option] !== 'true')
    return `Let communication overlap with backward (${option}=true)`;
  const sizes = ['bucket-mb', 'fusion-mb', 'reduce-bucket-size', 'partition-mb', 'partition-elements'];
  if (sizes.some((each) => hasOption(name, each))) return undefined;
  return 'Use a framework that overlaps communication with backward, such as pytorch-ddp';
}

/**
 * What the framework's option calls the half precision that the step computes in, or could: a GPU without bf16 has no use for its
 * range. `undefined` where it has no such option.
 */
export function narrowGradients({
  scenario: { framework, precision },
  cluster,
}: Pick<StepPlan, 'scenario' | 'cluster'>): string | undefined {
  const option = findFramework(framework.name)?.options.find(({ name }) => name === 'gradient-dtype');
  const half = precision === 'fp16' ? 'fp16' : (halfPrecision(cluster.gpu) ?? 'fp16');
  return [half, 'half'].find((value) => option !== undefined && option.expects(value) === undefined);
}

const isSentInHalf = ({ bytes, gradients }: Message): boolean => bytes <= 2 * totalElements(gradients);

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
