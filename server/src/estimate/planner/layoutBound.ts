/**
 * What a layout takes and holds at least, from others that were costed: stages of equal time without a wait for what copies
 * exchange, and stages of equal weights.
 *
 * A pipeline of p ranks with m micro-batches takes (m + p − 1) times a p-th of what one pass takes (1F1B: Narayanan et al.,
 * arXiv:2104.04473, section 2.2; other schedules take m at least). Passes of as many samples with the same shares of layers,
 * sequences and experts take as long in another number of stages. Frameworks differ in their kernels by little.
 */

import type { ParallelScenario } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import { copies, sharesUpdate } from './copyFrameworks.ts';

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
  /** Seconds of a pass forward and backward of a whole copy, by what decides them: the shortest that was found. */
  private readonly passes = new Map<string, number>();
  /** Of copies without a pipeline, by framework. */
  private readonly states = new Map<string, HeldState[]>();
  /** Seconds of steps of copies that share their update, without most of the bubble, by degrees and size of a micro-batch. */
  private readonly sharing = new Map<string, number>();
  /** Seconds of the fastest step of each layout that would have a line of its own. */
  private readonly lines = new Map<string, number>();

  /** `top`: how many layouts are listed. */
  constructor(private readonly top: number) {}

  /** Takes the pass and the weights of a layout that was costed, whether it fits or not. */
  learn(layout: CostedLayout): void {
    this.learnState(layout);
    this.learnSharing(layout);
    const pass = passTime(layout.cost);
    if (pass === undefined) return;
    const key = keyOf(layout, layout.microBatch);
    for (const each of [key, `${key} ${layout.framework.name}`])
      this.passes.set(each, Math.min(pass, this.passes.get(each) ?? pass));
  }

  private learnState({ tensor, context, expert, pipeline, framework, cost }: CostedLayout): void {
    if (pipeline > 1) return;
    const state = stateOf(cost);
    const known = this.states.get(framework.name) ?? [];
    this.states.set(framework.name, [...known, { tensor, context, expert, ...state }]);
  }

  private learnSharing(layout: CostedLayout): void {
    const { pipeline, microBatch, cost } = layout;
    if (!sharesUpdate(cost.scenario.framework)) return;
    const key = `${keyOf(layout, microBatch)} ${pipeline}`;
    const least = withoutBubble(layout);
    this.sharing.set(key, Math.min(least, this.sharing.get(key) ?? least));
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
    return (pass * (passes + degrees.pipeline - 1)) / degrees.pipeline;
  }

  /** Takes a layout that fits. */
  list(layout: CostedLayout): void {
    const { pipeline, framework, step } = layout;
    const key = `${keyOf(layout, pipeline)} ${framework.name}`;
    this.lines.set(key, Math.min(step, this.lines.get(key) ?? step));
  }

  /** Whether no layout of these degrees can be listed; counted where it is so. `passes`: micro-batches of a step. */
  isTooSlow({ degrees, framework }: AskedLayout, microBatch: number, passes: number): boolean {
    const key = keyOf(degrees, microBatch);
    const sharing = this.sharing.get(`${key} ${degrees.pipeline}`);
    // Copies that each update all send no less, and update more.
    if (framework.name === copies.name && sharing !== undefined && this.isOverLimit(likeKernels * sharing)) {
      this.bounded += 1;
      return true;
    }
    const own = this.passes.get(`${key} ${framework.name}`);
    const any = this.passes.get(key);
    if (any === undefined) return false;
    // Other schedules have shorter bubbles.
    const least = degrees.pipeline === 1 ? passes : passes + (degrees.pipeline - 1) / shortestBubble;
    const pass = own === undefined ? likeKernels * any : likeStages * own;
    const isTooSlow = this.isOverLimit((pass * least) / degrees.pipeline);
    if (isTooSlow) this.bounded += 1;
    return isTooSlow;
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
/** Of the time in another number of stages: what is kept and cast where one ends differs. */
const likeStages = 0.98;
/** Chunks of a rank that are tried at most. */
const shortestBubble = 4;

/** Seconds of the step with a schedule that never waits. Chunks also hide more of what is exchanged at the end. */
export const withoutBubble = ({ step, cost: { parallel } }: Pick<CostedLayout, 'step' | 'cost'>): number =>
  parallel === undefined ? step : step - parallel.bubble;

const keyOf = ({ tensor, context, expert }: SharedDegrees, number: number): string =>
  `${tensor} ${context} ${expert} ${number}`;

/** Of all stages; `undefined` where a part is not known. */
function passTime({
  totals: { time },
  parallel,
  scenario: { accumulate = 1 },
}: StepCost): number | undefined {
  if (parallel !== undefined)
    return parallel.stages.reduce((total, { forward, backward }) => total + forward + backward, 0);
  return time.forward === null || time.backward === null
    ? undefined
    : (time.forward + time.backward) / accumulate;
}
