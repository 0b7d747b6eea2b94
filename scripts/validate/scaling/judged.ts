/** Rows of several GPUs beside what was predicted of them. */

import { workersSpread } from '../../../server/src/estimate/plan/givenStepFactors.ts';
import type { Range } from '../../../server/src/model/estimate.ts';
import { quantile } from '../../calibrate/descend.ts';
import type { PredictedStep } from './predictStep.ts';

export interface ScaledRow {
  /** "resnet50, wfbp-a2a, 32 GPUs". */
  readonly label: string;
  /** Seconds of a step. */
  readonly predicted: number;
  readonly measured: number;
  readonly gpus?: number;
  /** Its range and what that is made of; absent where no engine predicts one. */
  readonly ranged?: PredictedStep;
}

/** A set of rows, and what the aim for it is. */
export interface ScaledSet {
  readonly title: string;
  readonly rows: readonly ScaledRow[];
  /** The same rows with nothing calibrated, where something was. */
  readonly byDefault?: readonly ScaledRow[];
  /** Standard deviation of workers at most, fitted without the source of the set; absent where the set is in no fit. */
  readonly heldSpread?: number;
  readonly aim: string;
  readonly reached: boolean;
  /** What was calibrated on what, and so is not judged. */
  readonly calibrated: string;
  /** Rows that are not judged, with the reason. */
  readonly left: readonly { readonly rows: number; readonly reason: string }[];
}

/** What a set is given beside the step of one GPU. */
export interface Given {
  /** Standard deviation of workers' times over their mean. */
  readonly spread: number;
  /** Whether links have the bandwidth that other rows of the set show, else what a profile of them says. */
  readonly links: boolean;
}

/** What a person gives who knows no measurement of several GPUs. */
export const nothingGiven: Given = { spread: workersSpread.middle, links: false };

export interface JudgedBounds {
  /** Fraction of the measured steps that lie in the range. */
  readonly inRange: number;
  /** Median of √(high / low) − 1. */
  readonly width: number;
}

/** `undefined` where a row has no range. `rangeOf`: left out, what the engine says. */
export function judgeBounds(
  rows: readonly ScaledRow[],
  rangeOf: (row: ScaledRow) => Range | undefined = ({ ranged }) => ranged?.range,
): JudgedBounds | undefined {
  const bounded = rows.flatMap((row) => {
    const range = rangeOf(row);
    return range === undefined ? [] : [{ ...range, measured: row.measured }];
  });
  if (bounded.length < rows.length || rows.length === 0) return undefined;
  const inside = bounded.filter(({ low, high, measured }) => low <= measured && measured <= high);
  const widths = bounded.map(({ low, high }) => Math.sqrt(high / low) - 1).sort((a, b) => a - b);
  return { inRange: inside.length / rows.length, width: quantile(widths, 0.5) };
}

export const ratios = (rows: readonly ScaledRow[]): readonly number[] =>
  rows.map(({ predicted, measured }) => predicted / measured);
