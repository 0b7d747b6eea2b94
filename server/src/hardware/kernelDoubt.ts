/** How far the times of kernels may be off as parts of a step, by what was measured of them. */

import efficiency from './efficiency.json';
import type { BodyTime } from './kernels/bodyTime.ts';

/**
 * Half-widths as natural logarithms, between which 80 % of steps lie. A curve is of kernels one at a time: what a step
 * makes of them is known less well, and less again on a GPU that has other kernels.
 */
export interface StepDoubts {
  /** Of every step, whatever was measured: releases of libraries and drivers, temperatures. */
  readonly always: number;
  /** Of kernels on a curve of the GPU itself, of its architecture, and of another generation. */
  readonly measured: number;
  readonly architecture: number;
  readonly generation: number;
  /** Of the part of a step that the host takes to launch its kernels, hidden or not. */
  readonly launches: number;
}

export const stepDoubts: StepDoubts = efficiency.stepDoubts;

/** What a time rests on: steps of other models, a curve as near as it is, or the shares of a roofline. */
export type DoubtCause = 'steps' | 'measured' | 'architecture' | 'generation' | 'roofline';

export interface KernelDoubt {
  readonly cause: DoubtCause;
  /** Half-width as a natural logarithm. */
  readonly width: number;
}

/** Boards of one die differ in clock and memory, hardly in kernels. */
const sameDie = 0.02;

export function kernelDoubt(body: BodyTime): KernelDoubt {
  const cause = causeOf(body);
  // Steps of other models and shares of a roofline have a spread of their own.
  if (cause !== 'steps' && cause !== 'roofline') return { cause, width: stepDoubts[cause] };
  return { cause, width: body.low > 0 ? Math.log(body.high / body.low) / 2 : 0 };
}

/** Of kernels that the machine itself was timed with: what their runs differ by. */
export const doubtOfRuns = ({ low, high }: { readonly low: number; readonly high: number }): KernelDoubt => ({
  cause: 'measured',
  width: low > 0 ? Math.log(high / low) / 2 : 0,
});

function causeOf({ basis, distance, origin }: BodyTime): DoubtCause {
  if (basis === 'roofline') return basis;
  if (basis !== 'measured' && distance > sameDie) return basis;
  return origin !== undefined && 'models' in origin ? 'steps' : 'measured';
}

/** Parts of a step, each times the half-width of what it rests on. */
export interface DoubtfulParts {
  /** By steps and curves of the GPU itself, by those of another, and by a roofline. */
  readonly own: number;
  readonly other: number;
  readonly roofline: number;
  /** The part that the host takes, 0 to 1. */
  readonly launches: number;
}

/**
 * Half-width of a whole step. What is doubtful for one reason adds up, because errors of a curve are those of all kernels on it;
 * reasons know nothing of each other, so they add as squares.
 */
export const stepWidth = (
  { own, other, roofline, launches }: DoubtfulParts,
  doubts: StepDoubts = stepDoubts,
): number => Math.hypot(doubts.always, own, other, roofline, doubts.launches * launches);
