/**
 * What a layout takes and holds at least, from others that were costed: stages of equal time without a wait for what copies
 * exchange, and stages of equal weights.
 *
 * A pipeline of p ranks with m micro-batches takes (m + p − 1) times a p-th of what one pass takes (1F1B: Narayanan et al.,
 * arXiv:2104.04473, section 2.2). Passes of as many samples with the same shares of layers, sequences and experts take as long in
 * another number of stages, and those of fewer samples no longer. Frameworks differ in their kernels by little.
 */

import type { ParallelScenario } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import { expertsOverCopies } from '../../parallel/expertGroups.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import { copies, shardedUpdate, sharesUpdate } from './copyFrameworks.ts';
import { tokensAreSplit } from './layoutCandidate.ts';

export interface CostedLayout extends SharedDegrees {
  readonly pipeline: number;
  readonly microBatch: number;
  readonly framework: { readonly name: string };
  readonly cost: StepCost;
  /** Seconds. */
  readonly step: number;
}

interface AskedLayout {
  readonly degrees: Layout;
  readonly framework: { readonly name: string };
}

type Layout = SharedDegrees & Pick<ParallelScenario, 'pipeline'>;
type SharedDegrees = Pick<ParallelScenario, 'tensor' | 'context' | 'expert'>;

export class LayoutBounds {
  /** Layouts that were found too slow before they were costed. */
  bounded = 0;
  /** The pass of a micro-batch through a whole copy, by what decides it: the shortest that was found. */
  private readonly passes = new Map<string, CopyPass>();
  /** Of copies without a pipeline, by framework. */
  private readonly states = new Map<string, HeldState[]>();
  /** Seconds of the shortest step of copies that share their update, by degrees, and by size of a micro-batch. */
  private readonly sharing = new Map<string, number>();
  /** How many times as long copies take that each update all, at least, where both were costed. */
  private leastOfCopies = Number.POSITIVE_INFINITY;
  /** What copies that each update all hold at least, by degrees. */
  private readonly whole = new Map<string, Pick<HeldState, 'bytes' | 'room'>>();
  /** Seconds of the fastest step of each layout that would have a line of its own. */
  private readonly lines = new Map<string, number>();

  /** `top`: how many layouts are listed. */
  constructor(private readonly top: number) {}

  /** Takes the pass and the weights of a layout that was costed, whether it fits or not. */
  learn(layout: CostedLayout): void {
    this.learnState(layout);
    this.learnSharing(layout);
    this.learnCopies(layout);
    const pass = passOf(layout.cost);
    if (pass === undefined) return;
    const key = keyOf(layout, layout.microBatch);
    for (const each of [key, `${key} ${layout.framework.name}`]) {
      const { whole, backward, through } = this.passes.get(each) ?? pass;
      this.passes.set(each, {
        whole: Math.min(pass.whole, whole),
        backward: Math.min(pass.backward, backward),
        through: Math.min(pass.through, through),
      });
    }
  }

  private learnState({ tensor, context, expert, pipeline, framework, cost }: CostedLayout): void {
    if (pipeline > 1) return;
    const state = stateOf(cost);
    const known = this.states.get(framework.name) ?? [];
    this.states.set(framework.name, [...known, { tensor, context, expert, ...state }]);
  }

  private learnSharing({ microBatch, cost, step, ...degrees }: CostedLayout): void {
    if (!sharesUpdate(cost.scenario.framework)) return;
    const { parameters, gradients, optimizerState } = cost.totals.memory;
    const { gpus } = cost.scenario;
    // Experts are shared over fewer GPUs.
    const { tensor, pipeline, expert } = degrees;
    const over = expertsOverCopies({ tensor, sequence: tokensAreSplit(tensor), expert });
    const sharers = gpus / (tensor * pipeline * over);
    // Megatron-LM adds gradients up in fp32, which other copies need not.
    if (cost.scenario.framework.name === shardedUpdate.name)
      this.whole.set(copyKey(degrees), {
        bytes: parameters + gradients + likeShards * optimizerState * sharers,
        room: stateOf(cost).room,
      });
    for (const key of [copyKey(degrees), copyKey(degrees, microBatch)])
      this.sharing.set(key, Math.min(step, this.sharing.get(key) ?? step));
  }

  private learnCopies({ microBatch, framework, step, ...degrees }: CostedLayout): void {
    if (framework.name !== copies.name) return;
    const sharing = this.sharing.get(copyKey(degrees, microBatch));
    if (sharing !== undefined) this.leastOfCopies = Math.min(this.leastOfCopies, step / sharing);
  }

  /**
   * Whether weights, gradients and optimizer state alone are too much for the fullest rank; counted where it is so. More GPUs of
   * a copy divide them at most evenly, and what copies share is no less where there are fewer copies.
   */
  isTooFull({ degrees, framework }: AskedLayout): boolean {
    const { tensor, expert, context, pipeline } = degrees;
    const isTooFull = (this.states.get(framework.name) ?? []).some(
      (known) =>
        known.context === context &&
        tensor >= known.tensor &&
        expert >= known.expert &&
        known.bytes / ((tensor / known.tensor) * (expert / known.expert) * pipeline) > known.room,
    );
    if (isTooFull) this.bounded += 1;
    return isTooFull;
  }

  /** Seconds that 1F1B takes at least, by passes that were costed with the same framework; 0 where none was. */
  leastStep({ degrees, framework }: AskedLayout, microBatch: number, passes: number): number {
    const pass = this.passes.get(`${keyOf(degrees, microBatch)} ${framework.name}`);
    if (pass === undefined) return 0;
    return (pass.whole * (passes + degrees.pipeline - 1)) / degrees.pipeline;
  }

  /** Takes a layout that fits. */
  list(layout: CostedLayout): void {
    const { pipeline, framework, step } = layout;
    const key = `${keyOf(layout, pipeline)} ${framework.name}`;
    this.lines.set(key, Math.min(step, this.lines.get(key) ?? step));
  }

  /** Whether copies that each update all hold too much, by what copies hold that share it; counted where it is so. */
  areCopiesTooFull(degrees: Layout): boolean {
    const held = this.whole.get(copyKey(degrees));
    const areTooFull = held !== undefined && held.bytes > held.room;
    if (areTooFull) this.bounded += 1;
    return areTooFull;
  }

  /**
   * Whether no layout of copies that each update all can be listed, of these degrees or of a size of a micro-batch; counted where it
   * is so. They send no less than copies that share the update, and update more. Where some were costed that took longer, others
   * take half as much longer at least: what they cast and add in each pass is that of the model. True where no layout of copies that
   * share was costed: it would not have been listed either.
   */
  areCopiesTooSlow(degrees: Layout, microBatch?: number): boolean {
    const sharing = this.sharing.get(copyKey(degrees, microBatch));
    const { leastOfCopies } = this;
    const least = Number.isFinite(leastOfCopies) ? (1 + leastOfCopies) / 2 : 0;
    const areTooSlow = sharing === undefined || this.isOverLimit(Math.max(likeKernels, least) * sharing);
    if (areTooSlow) this.bounded += 1;
    return areTooSlow;
  }

  /** Whether no layout of these degrees can be listed; counted where it is so. `passes`: micro-batches of a step. */
  isTooSlow(asked: AskedLayout, microBatch: number, passes: number): boolean {
    const isTooSlow = this.isOverLimit(this.leastOf(asked, microBatch, passes));
    if (isTooSlow) this.bounded += 1;
    return isTooSlow;
  }

  /** Whether what bounds a layout is known of micro-batches of its size. */
  knowsSize({ degrees }: Pick<AskedLayout, 'degrees'>, microBatch: number): boolean {
    return this.passes.has(keyOf(degrees, microBatch));
  }

  /** Seconds that a step takes at least, whatever its schedule; 0 where nothing is known. */
  leastOf({ degrees, framework }: AskedLayout, microBatch: number, passes: number): number {
    const key = keyOf(degrees, microBatch);
    const own = this.passes.get(`${key} ${framework.name}`);
    if (own !== undefined) return likeStages * leastOfAnySchedule(own, degrees.pipeline, passes);
    // A part of a micro-batch takes no longer.
    let other: CopyPass | undefined;
    for (let part = microBatch; part >= 1 && other === undefined; part /= 2)
      other = this.passes.get(keyOf(degrees, part));
    return other === undefined ? 0 : likeKernels * leastOfAnySchedule(other, degrees.pipeline, passes);
  }

  /** Seconds of the fastest step of all that fit; infinite where none does. */
  fastest(): number {
    return Math.min(...this.lines.values());
  }

  /** Whether a step of so many seconds is slower than all that are listed, or much slower than the fastest. */
  isOverLimit(step: number): boolean {
    const steps = [...this.lines.values()].sort((one, other) => one - other);
    const [fastest = Number.POSITIVE_INFINITY] = steps;
    const last = steps[this.top - 1] ?? Number.POSITIVE_INFINITY;
    return step > Math.min(last, fastest * mostOfFastest);
  }
}

interface HeldState extends SharedDegrees {
  readonly bytes: number;
  /** What there is for it on a GPU. */
  readonly room: number;
}

/** Weights, gradients, optimizer state and buffers of a GPU, in bytes. */
export function stateOf({ totals: { memory } }: StepCost): Pick<HeldState, 'bytes' | 'room'> {
  const { parameters, gradients, optimizerState, communicationBuffers, capacity } = memory;
  return {
    bytes: parameters + gradients + optimizerState + communicationBuffers,
    room: capacity === null ? Number.POSITIVE_INFINITY : capacity - runtimeReserve,
  };
}

/** Beyond this a runner-up tells little. */
const mostOfFastest = 1.3;
/** Of the time of another framework: casts of weights and copies of gradients differ. */
const likeKernels = 0.95;
/** Shards of tensors are rounded up. */
const likeShards = 0.95;
/** Of the time in another number of stages: what is kept and cast where one ends differs. */
const likeStages = 0.98;
/** Of a rank, that are tried. */
export const mostChunks = 8;

/**
 * What a layout of 1F1B takes at least with another schedule: so many chunks wait for a part of its bubble (Narayanan et al.,
 * arXiv:2104.04473, section 2.2), and for as small a part of what is exchanged at the end: the last of them has so much less to
 * send, and so much less of backward to hide it. ZB-H1 waits for a third (Qi et al., arXiv:2401.10241, section 2), and a V hardly
 * at all.
 */
export function leastWith(
  { step, cost: { parallel, totals } }: Pick<CostedLayout, 'step' | 'cost'>,
  how: Pick<ParallelScenario, 'chunks' | 'schedule'>,
): number {
  if (parallel === undefined) return step;
  const shorter = parallel.bubble * shareOfBubble(how);
  if (how.schedule === 'zb-h1') return step - shorter;
  const { exposedCommunication: exchanged } = totals.time;
  // What is exchanged beside unknown work may be all of the step.
  return exchanged === null ? 0 : step - exchanged * (1 - 1 / how.chunks) - shorter;
}

/** The same where another framework runs it: its kernels are alike, and it may hide all that copies exchange. */
export function leastElsewhere(
  { step, cost: { parallel, totals } }: Pick<CostedLayout, 'step' | 'cost'>,
  how: Pick<ParallelScenario, 'chunks' | 'schedule'>,
): number {
  const { exposedCommunication: exchanged } = totals.time;
  if (exchanged === null) return 0;
  return (
    likeKernels * (step - exchanged - (parallel === undefined ? 0 : parallel.bubble * shareOfBubble(how)))
  );
}

/** Of the bubble of 1F1B, what a schedule does not wait for. */
function shareOfBubble({ chunks, schedule }: Pick<ParallelScenario, 'chunks' | 'schedule'>): number {
  if (schedule === 'zb-h1') return 1 - 1 / 3;
  return schedule === 'zb-v' ? 1 : 1 - 1 / chunks;
}

/** What is left of a step without the bubble of its pipeline and without waiting for what copies exchange. */
export function withoutWaits({
  step,
  cost: { parallel, totals },
}: Pick<CostedLayout, 'step' | 'cost'>): number {
  if (parallel === undefined) return step;
  const { exposedCommunication: exchanged } = totals.time;
  // What is exchanged beside unknown work may be all of the step.
  return exchanged === null ? 0 : step - exchanged - parallel.bubble;
}

/**
 * Seconds of stages of equal time. Whatever the order: the first gradient is back at the first stage when a micro-batch has gone
 * through all of them and back, and those of all others are computed there after it. Where a rank has one stage, the last one takes
 * all micro-batches forward and backward, what comes before it and what goes back behind it. Chunks make rounds of as many
 * micro-batches as there are ranks.
 */
function leastOfAnySchedule(
  { whole, backward, through }: CopyPass,
  pipeline: number,
  passes: number,
): number {
  if (pipeline === 1) return whole * passes;
  // The shortest bubble is that of the most chunks.
  const least = (whole * (passes + (pipeline - 1) / mostChunks)) / pipeline;
  const behind = ((passes - 1) * backward) / pipeline;
  return passes % pipeline === 0
    ? Math.max(least, through + behind / mostChunks)
    : Math.max(least, through + behind, (through * (passes + pipeline - 1)) / pipeline);
}

/** Of all stages, in seconds. */
interface CopyPass {
  readonly whole: number;
  readonly backward: number;
  /** Without gradients of weights, which may be put off: they are half of backward at most. */
  readonly through: number;
}

const keyOf = ({ tensor, context, expert }: SharedDegrees, number: number): string =>
  `${tensor} ${context} ${expert} ${number}`;

const copyKey = (degrees: Layout, microBatch?: number): string =>
  `${keyOf(degrees, degrees.pipeline)} ${microBatch ?? 'any'}`;

/** `undefined` where a part is not known. */
function passOf({
  totals: { time },
  parallel,
  scenario: { accumulate = 1 },
}: StepCost): CopyPass | undefined {
  if (parallel === undefined) {
    if (time.forward === null || time.backward === null) return undefined;
    const [forward, backward] = [time.forward / accumulate, time.backward / accumulate];
    return { whole: forward + backward, backward, through: forward + backward / 2 };
  }
  return parallel.stages.reduce(
    (pass, { forward, backward }) => ({
      whole: pass.whole + forward + backward,
      backward: pass.backward + backward,
      through: pass.through + forward + backward / 2,
    }),
    { whole: 0, backward: 0, through: 0 },
  );
}
