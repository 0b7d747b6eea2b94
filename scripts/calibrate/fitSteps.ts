/** Factors for each kind of kernel, so that the sum over a step is what was measured of the step. */

import { descend, logLoss, quantile, type Residuals, residuals } from './descend.ts';
import { rounded } from './fit.ts';
import type { StepParts } from './stepParts.ts';

export interface MeasuredStep {
  readonly model: string;
  /** What the factors of kinds that know a layout are fitted apart for: a GPU and a layout. */
  readonly key: string;
  readonly parts: StepParts;
  readonly seconds: number;
}

export interface StepFit {
  readonly factors: Readonly<Record<string, number>>;
  readonly models: number;
  /** Residuals of each half of the families, predicted by factors fitted to the other half. */
  readonly left: Residuals;
  readonly ninetieth: number;
  readonly spread: readonly [low: number, high: number];
}

/** The factors of all models by key, and what is left over where they are judged by those of others. */
export function fitSteps(steps: readonly MeasuredStep[]): ReadonlyMap<string, StepFit> {
  const judged = judgeSteps(steps);
  const factors = factorsOf(steps);
  return new Map(
    [...new Set(steps.map(({ key }) => key))].map((key) => {
      const own = steps.filter((step) => step.key === key);
      const ratios = judged
        .filter(({ step }) => step.key === key)
        .map(({ predicted, step }) => predicted / step.seconds);
      const sorted = ratios.toSorted((a, b) => a - b);
      const errors = ratios.map((ratio) => Math.abs(ratio - 1)).sort((a, b) => a - b);
      const kinds = [...new Set(own.flatMap(({ parts }) => [...parts.seconds.keys()]))].sort();
      return [
        key,
        {
          factors: Object.fromEntries(
            kinds.map((kind) => [kind, rounded(factors.get(factorOf(key, kind)) ?? 1)]),
          ),
          models: own.length,
          left: residuals(
            ratios,
            ratios.map(() => 1),
          ),
          ninetieth: quantile(errors, 0.9),
          spread: [rounded(1 / quantile(sorted, 0.9)), rounded(1 / quantile(sorted, 0.1))],
        },
      ];
    }),
  );
}

/**
 * Every step as predicted by factors that were fitted to other families: each half of the families judges the other.
 * Families are kept together, because the variants of an architecture are too alike to judge each other.
 */
export function judgeSteps(
  steps: readonly MeasuredStep[],
): readonly { readonly step: MeasuredStep; readonly predicted: number }[] {
  const families = [...new Set(steps.map(({ model }) => familyOf(model)))].sort();
  const first = new Set(families.filter((_, index) => index % 2 === 0));
  const isFirst = ({ model }: MeasuredStep): boolean => first.has(familyOf(model));
  return [true, false].flatMap((half) => {
    const factors = factorsOf(steps.filter((step) => isFirst(step) === half));
    return steps
      .filter((step) => isFirst(step) !== half)
      .map((step) => ({ step, predicted: total(step, factors) }));
  });
}

/** Matrices and rows lie in memory alike whatever the layout of images is: one factor serves all keys. */
const layoutFree: ReadonlySet<string> = new Set([
  'gemm',
  'batched gemm',
  'softmax',
  'row normalization',
  'embedding',
  'elementwise',
]);

const factorOf = (key: string, kind: string): string => (layoutFree.has(kind) ? kind : `${key} ${kind}`);

/** `tf_efficientnet_b3` and `efficientnetv2_m` are EfficientNets. */
const familyOf = (model: string): string => /^[a-z]+/.exec(model.replace(/^tf_/, ''))?.[0] ?? model;

/** By `factorOf`. */
function factorsOf(steps: readonly MeasuredStep[]): ReadonlyMap<string, number> {
  const kinds = [
    ...new Set(
      steps.flatMap(({ key, parts }) => [...parts.seconds.keys()].map((kind) => factorOf(key, kind))),
    ),
  ].sort();
  const measured = steps.map(({ seconds }) => seconds);
  const asMap = (parameters: readonly number[]): ReadonlyMap<string, number> =>
    new Map(kinds.map((kind, index) => [kind, parameters[index] ?? 1]));
  const { parameters } = descend(
    kinds.map(() => 1),
    kinds.map(() => 10),
    (candidate) => {
      const factors = asMap(candidate);
      const far = candidate.reduce(
        (sum, factor, index) => sum + cautionOf(kinds[index] ?? '') * Math.log(Math.max(factor, 1e-3)) ** 2,
        0,
      );
      return (
        logLoss(
          steps.map((step) => total(step, factors)),
          measured,
        ) +
        far / kinds.length
      );
    },
  );
  return asMap(parameters);
}

/**
 * What it costs, in mean error, to move a factor by e: kinds that few models have stay near 1. Kernels of channels-last were not measured
 * by themselves, and cost less to move. Over three ways to halve the families, families held out are 7.5, 13.6, 9.7 and 9.8 % off
 * (training and inference, channels first and last); by 0.01 for all kinds 8.3, 13.7, 10.1 and 10.1 %.
 */
const cautionOf = (factor: string): number => (factor.includes('channels-last') ? 0.01 : 0.1);

function total({ key, parts }: MeasuredStep, factors: ReadonlyMap<string, number>): number {
  let sum = parts.fixed;
  for (const [kind, seconds] of parts.seconds) {
    sum += Math.max(seconds * (factors.get(factorOf(key, kind)) ?? 1), parts.least.get(kind) ?? 0);
  }
  return sum;
}
