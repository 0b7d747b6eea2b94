/**
 * How much longer matmuls take in a step than one at a time: a GPU that multiplies without a pause reaches its
 * limit of power and lowers its clock, and what travels beside a matmul takes from it.
 */

import type { LanguageStep } from '../measured/languageSteps.ts';
import { rounded } from './fit.ts';

export interface SustainedFit {
  /** Whose curve of matmuls is meant. */
  readonly gpu: string;
  /** By cuBLAS of CUDA 12.4 or before, where a newer one differs. */
  readonly older?: true;
  readonly factor: number;
  readonly models: number;
  readonly steps: number;
  readonly sources: readonly string[];
  /**
   * Of what a step leaves for its matmuls over what the factor of the other sources gives them: the least 10th and the most
   * 90th percentile of a source. It is wider than the spread of the steps, of which matmuls are a part.
   */
  readonly spread: readonly [low: number, high: number];
}

/** By curve, from eager steps that compute nothing again. */
export function fitSustained(steps: readonly LanguageStep[]): readonly SustainedFit[] {
  const fitted = steps.filter(isFitted);
  return [...new Set(fitted.map(({ curve }) => curve))].sort().map((curve) => {
    const own = fitted.filter((step) => step.curve === curve);
    const sources = [...new Set(own.map(sourceOf))].sort();
    const left = own.filter(isOfMatmuls).map((step) => ({
      ratio: (step.measured - besideMatmuls(step)) / (heldOut(step, fitted) - besideMatmuls(step)),
      weight: weightIn(own, step),
    }));
    return {
      gpu: curve,
      ...(own.every(({ older }) => older) ? { older: true as const } : {}),
      factor: rounded(factorOf(own)),
      models: new Set(own.map(({ model }) => model)).size,
      steps: own.length,
      sources,
      spread: [rounded(weightedQuantile(left, 0.1)), rounded(weightedQuantile(left, 0.9))],
    };
  });
}

/** Seconds of the step by the factor of the other sources that measured its GPU. */
export function heldOut(step: LanguageStep, steps: readonly LanguageStep[]): number {
  const others = steps.filter(
    (other) => isFitted(other) && other.curve === step.curve && sourceOf(other) !== sourceOf(step),
  );
  const { predicted, matmuls } = step;
  return predicted - matmuls.predicted + matmuls.alone + (factorOf(others) - 1) * matmuls.active;
}

const besideMatmuls = ({ predicted, matmuls }: LanguageStep): number => predicted - matmuls.predicted;

/** Of one step: all of its source weigh n/(n + 1) together. */
const weightIn = (steps: readonly LanguageStep[], step: LanguageStep): number =>
  1 / (steps.filter((other) => sourceOf(other) === sourceOf(step)).length + 1);

/** The ratio below which the steps of ratios less than it weigh `share` of all. */
function weightedQuantile(
  steps: readonly { readonly ratio: number; readonly weight: number }[],
  share: number,
): number {
  const sorted = steps.toSorted((a, b) => a.ratio - b.ratio);
  const whole = sorted.reduce((sum, { weight }) => sum + weight, 0);
  let below = 0;
  for (const { ratio, weight } of sorted) {
    below += weight;
    if (below >= share * whole) return ratio;
  }
  return Number.NaN;
}

const isOfMatmuls = ({ predicted, matmuls }: LanguageStep): boolean => matmuls.predicted > predicted / 2;

const isFitted = ({ row }: LanguageStep): boolean =>
  row.checkpoint === 'none' && row.framework?.includes('compile') !== true;
const sourceOf = ({ row }: LanguageStep): string => row.source ?? '';

/**
 * The weighted mean over the sources of the middle of the factors that explain one step each. Steps of a source share a
 * release of the libraries, so that many of them say hardly more than a few: n steps weigh n/(n + 1), as where steps of a
 * source differ as much as sources do (random effects: DerSimonian, Laird, 1986).
 */
function factorOf(steps: readonly LanguageStep[]): number {
  const sources = [...new Set(steps.map(sourceOf))];
  const parts = sources.map((source) => {
    const factors = steps
      .filter((step) => sourceOf(step) === source)
      .map(
        ({ measured, predicted, matmuls }) =>
          1 + (measured - predicted + matmuls.predicted - matmuls.alone) / matmuls.active,
      )
      .sort((a, b) => a - b);
    const at = (index: number): number => factors[index] ?? 1;
    const middle = (at(Math.floor((factors.length - 1) / 2)) + at(Math.ceil((factors.length - 1) / 2))) / 2;
    return { middle, weight: factors.length / (factors.length + 1) };
  });
  const weights = parts.reduce((sum, { weight }) => sum + weight, 0);
  return weights === 0 ? 1 : parts.reduce((sum, { middle, weight }) => sum + weight * middle, 0) / weights;
}
