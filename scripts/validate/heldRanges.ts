/** Ranges of steps, each with its source left out of what they were fitted to. */

import { type StepDoubts, stepDoubts } from '../../server/src/hardware/kernelDoubt.ts';
import type { Range } from '../../server/src/model/estimate.ts';
import { quantile } from '../calibrate/descend.ts';
import { fitDoubts, type StepShares, widthBy } from '../calibrate/stepDoubts.ts';
import { percent } from './percent.ts';

export interface RangedStep {
  /** What one line of a table judges. */
  readonly set: string;
  /** What is left out together: a publication. */
  readonly source: string;
  readonly predicted: number;
  readonly measured: number;
  readonly range: Range;
  readonly shares: StepShares;
}

/** What is said of the ranges of a set. */
export interface JudgedRange {
  /** Fraction of the measured steps that lie in the range. */
  readonly inRange: number;
  /** The same with the source of the steps left out of the fit. */
  readonly heldOut: number;
  /** Median of √(high / low) − 1: 0.1 is ±10 %. */
  readonly width: number;
}

export function judgeRanges(steps: readonly RangedStep[]): ReadonlyMap<string, JudgedRange> {
  const doubted = doubtedSteps(steps);
  const without = new Map(
    [...new Set(steps.map(({ source }) => source))].map((source) => [
      source,
      fitDoubts(doubted.filter((step) => step.source !== source)),
    ]),
  );
  return new Map(
    [...new Set(steps.map(({ set }) => set))].map((set) => {
      const own = steps.filter((step) => step.set === set);
      const shareOf = (isIn: (step: RangedStep) => boolean): number => own.filter(isIn).length / own.length;
      const widths = own.map(({ range: { low, high } }) => Math.sqrt(high / low) - 1).sort((a, b) => a - b);
      return [
        set,
        {
          inRange: shareOf(({ measured, range }) => isWithin(measured, range)),
          heldOut: shareOf(({ source, shares, measured, range: { low, high } }) => {
            const ofOthers = widthBy(shares, without.get(source) ?? stepDoubts);
            const inUse = widthBy(shares, stepDoubts);
            return isWithin(measured, {
              low: low / Math.exp(ofOthers.low - inUse.low),
              high: high * Math.exp(ofOthers.high - inUse.high),
            });
          }),
          width: quantile(widths, 0.5),
        },
      ];
    }),
  );
}

const isWithin = (value: number, { low, high }: Range): boolean => low <= value && value <= high;

const doubtedSteps = (steps: readonly RangedStep[]) =>
  steps.map((step) => ({ ...step, error: Math.log(step.measured / step.predicted) }));

/** How many steps set the ranges, and the half-widths that they ask for. */
export function doubtsOfAll(steps: readonly RangedStep[]): {
  readonly steps: number;
  readonly doubts: StepDoubts;
} {
  const doubted = doubtedSteps(steps);
  return { steps: doubted.length, doubts: fitDoubts(doubted) };
}

/** Several sets as one: their rows count alike. */
export function joinedRanges(
  sets: readonly { readonly rows: number; readonly range: JudgedRange }[],
): JudgedRange {
  const rows = sets.reduce((total, set) => total + set.rows, 0);
  const mean = (of: (range: JudgedRange) => number): number =>
    sets.reduce((total, set) => total + set.rows * of(set.range), 0) / rows;
  return {
    inRange: mean(({ inRange }) => inRange),
    heldOut: mean(({ heldOut }) => heldOut),
    width: mean(({ width }) => width),
  };
}

/** In range, in range with the source left out, width. */
export const rangeCells = (range: JudgedRange | undefined): readonly string[] =>
  range === undefined
    ? ['–', '–', '–']
    : [percent(range.inRange), percent(range.heldOut), `±${percent(range.width)}`];
