/** How far the times of kernels may be off as parts of a step, by what was measured of them. */

import efficiency from './efficiency.json';
import { isMatmulKind, kernelKind } from './kernelKind.ts';
import type { BodyTime } from './kernels/bodyTime.ts';
import type { KernelWork } from './kernelWork.ts';

/** Half-widths as natural logarithms, between which 80 % of steps lie. */
export interface StepDoubts {
  /** Of every step, whatever was measured: releases of libraries and drivers, temperatures. */
  readonly always: number;
  /**
   * Of kernels on a curve of their GPU: a curve is of kernels one at a time, and a library has more kernels than a curve knows.
   * Others are bound by memory, but for fused attention.
   */
  readonly matmul: number;
  readonly convolution: number;
  readonly other: number;
  /** What a curve, or a correction by steps, adds that was measured on another GPU of the architecture, or of another generation. */
  readonly architecture: number;
  readonly generation: number;
  /** Of composites that are taken for one kernel, and may be several: of the time that these would take longer. */
  readonly assumed: number;
  /** Upwards, of a framework of 2015 to 2019: no measured step has told what it does beside its kernels. */
  readonly framework: number;
}

export const stepDoubts: StepDoubts = efficiency.stepDoubts;

/** What a time rests on: steps of other models, a curve of its class, or the shares of a roofline. */
export type DoubtCause = 'steps' | 'matmul' | 'convolution' | 'other' | 'roofline';

/** Where that was measured. */
export type DoubtPlace = 'own' | 'architecture' | 'generation';

export interface KernelDoubt {
  readonly cause: DoubtCause;
  readonly place: DoubtPlace;
  /** Of steps and rooflines, what they were seen to be off by, downwards and upwards, as natural logarithms; else 0. */
  readonly seen: Sides;
}

export interface Sides {
  readonly low: number;
  readonly high: number;
}

/** Boards of one die differ in clock and memory, hardly in kernels. */
const sameDie = 0.02;

export function kernelDoubt(work: KernelWork, body: BodyTime): KernelDoubt {
  const { basis, distance, origin } = body;
  if (basis === 'roofline') return { cause: 'roofline', place: 'own', seen: alike(seenOf(body)) };
  const place = basis === 'measured' || distance <= sameDie ? 'own' : basis;
  if (origin !== undefined && 'models' in origin) {
    const { ratio } = origin;
    return {
      cause: 'steps',
      place,
      seen: { low: Math.max(0, -Math.log(ratio.low)), high: Math.max(0, Math.log(ratio.high)) },
    };
  }
  return { cause: classOf(work), place, seen: none };
}

/** Of kernels that the machine itself was timed with: what their runs differ by. */
export const doubtOfRuns = (runs: { readonly low: number; readonly high: number }): KernelDoubt => ({
  cause: 'steps',
  place: 'own',
  seen: alike(seenOf(runs)),
});

const none: Sides = { low: 0, high: 0 };

const alike = (width: number): Sides => ({ low: width, high: width });

const seenOf = ({ low, high }: { readonly low: number; readonly high: number }): number =>
  low > 0 ? Math.log(high / low) / 2 : 0;

function classOf(work: KernelWork): DoubtCause {
  const kind = kernelKind(work);
  if (isMatmulKind(kind)) return 'matmul';
  return work.matmuls?.[0]?.shape.kind === 'convolution' ? 'convolution' : 'other';
}

/** Half-widths of a kernel's time: what its measurements leave open, and that they are of another GPU. */
export function kernelWidth({ cause, place, seen }: KernelDoubt, doubts: StepDoubts = stepDoubts): Sides {
  const further = place === 'own' ? 0 : doubts[place];
  if (cause === 'steps') return { low: Math.hypot(seen.low, further), high: Math.hypot(seen.high, further) };
  if (cause === 'roofline') return seen;
  return alike(Math.hypot(doubts[cause], further));
}

/** Parts of a step by what they rest on, each times its half-width, as fractions of the step. */
export interface DoubtfulParts {
  readonly steps: Sides;
  readonly matmul: number;
  readonly convolution: number;
  readonly other: number;
  readonly roofline: number;
  /** What composites would take longer, were they no single kernels; as a fraction alone. */
  readonly assumed: number;
  /** Whether a framework of 2015 to 2019 runs it. */
  readonly isOld: boolean;
}

/**
 * Half-widths of a whole step. What is doubtful for one reason adds up, because errors of a curve are those of all kernels on it;
 * reasons know nothing of each other, so they add as squares.
 */
export function stepWidth(parts: DoubtfulParts, doubts: StepDoubts = stepDoubts): Sides {
  const { steps, matmul, convolution, other, roofline, assumed, isOld } = parts;
  const both = Math.hypot(doubts.always, matmul, convolution, other, roofline, doubts.assumed * assumed);
  return {
    low: Math.hypot(both, steps.low),
    high: Math.hypot(both, steps.high, isOld ? doubts.framework : 0),
  };
}
