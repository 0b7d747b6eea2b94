/** What a measured time depends on, beside the device: the operators that ran and how. Names and labels do not count. */

import { createHash } from 'node:crypto';
import type { Scenario } from '../model/scenario.ts';
import { type BenchmarkPlan, benchmarkPlanSchema } from './benchmarkPlan.ts';

/** Of a plan: what the scenario says about how one GPU computes. */
export const conditionsSchema = benchmarkPlanSchema.pick({
  batch: true,
  mode: true,
  precision: true,
  optimizer: true,
  accumulate: true,
  channelsLast: true,
  compile: true,
  optimizerKernels: true,
  clipsNorm: true,
  addsGradients: true,
  weights: true,
  convTf32: true,
  checkpoint: true,
  caches: true,
});
export type Conditions = ReturnType<typeof conditionsSchema.parse>;

export interface Computation {
  readonly conditions: Conditions;
  /** Values of symbolic dimensions, to say which of them differ. */
  readonly dimensions: Scenario['dimensions'];
  /** Equal for plans that run the same operators on the same tensors, whatever these are called. */
  readonly fingerprint: string;
}

export const computationOf = (plan: BenchmarkPlan, { dimensions }: Scenario): Computation => ({
  conditions: conditionsSchema.parse(plan),
  dimensions,
  fingerprint: fingerprintOf(plan),
});

/** Values are numbered in the order in which operators use them, and attributes are sorted by name. */
function fingerprintOf({
  opset,
  values,
  operators,
  layers,
  outputs,
  recomputed,
  reentrant,
}: BenchmarkPlan): string {
  const numbers = new Map<string, number>([['', -1]]);
  const numberOf = (name: string): number => {
    const number = numbers.get(name) ?? numbers.size - 1;
    numbers.set(name, number);
    return number;
  };
  const written = (operator: PlannedOperator): unknown => [
    operator.type,
    operator.domain,
    operator.inputs.map(numberOf),
    operator.outputs.map(numberOf),
    Object.entries(operator.attributes).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    operator.obstacle ?? null,
  ];
  const program = operators.map((operator) => [written(operator), operator.parts?.map(written) ?? null]);
  const tensors = values
    .filter(({ name }) => numbers.has(name))
    .map(({ name, ...tensor }) => [
      numberOf(name),
      tensor.role,
      tensor.elementType,
      tensor.shape,
      tensor.gradient,
      tensor.elements ?? null,
      tensor.limit ?? null,
    ])
    .toSorted(([one], [other]) => Number(one) - Number(other));
  const text = JSON.stringify([
    opset,
    program,
    tensors,
    layers.map((layer) => layer.operators),
    outputs.map(numberOf),
    // Results from before it could be run keep their fingerprint.
    ...(recomputed.length === 0 ? [] : [recomputed, reentrant]),
  ]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

type PlannedOperator = NonNullable<BenchmarkPlan['operators'][number]['parts']>[number];
