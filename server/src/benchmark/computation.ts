/** What a measured time depends on, beside the device: the operators that ran and how. Names and labels do not count. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { blockFormats } from '../model/blockFormat.ts';
import { lossChoices, type Scenario } from '../model/scenario.ts';
import { type BenchmarkPlan, benchmarkPlanSchema } from './planSchema.ts';

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

/** What else of the scenario decides which operators run, where it was given; a result is opened again with it. */
export const askedSchema = z.object({
  loss: z.enum(lossChoices).exactOptional(),
  freeze: z.array(z.string()).readonly().exactOptional(),
  lora: z
    .object({
      rank: z.number().int().positive(),
      layers: z.array(z.string()).readonly().exactOptional(),
      dropout: z.number().positive().exactOptional(),
      base: z.enum(blockFormats).exactOptional(),
    })
    .exactOptional(),
  past: z.number().int().positive().exactOptional(),
  /** Options of the framework. */
  options: z.record(z.string(), z.string()).exactOptional(),
});
type Asked = z.infer<typeof askedSchema>;

export interface Computation {
  readonly conditions: Conditions;
  /** Absent where nothing was. */
  readonly asked?: Asked;
  /** Values of symbolic dimensions, to say which of them differ. */
  readonly dimensions: Scenario['dimensions'];
  /** Equal for plans that run the same operators on the same tensors, whatever these are called. */
  readonly fingerprint: string;
}

export const computationOf = (plan: BenchmarkPlan, scenario: Scenario): Computation => {
  const asked = askedOf(scenario);
  return {
    conditions: conditionsSchema.parse(plan),
    ...(Object.keys(asked).length === 0 ? {} : { asked }),
    dimensions: scenario.dimensions,
    fingerprint: fingerprintOf(plan),
  };
};

/** Options that choose operators: the others are conditions, or of messages. */
const choosing: ReadonlySet<string> = new Set(['attention', 'torch']);

function askedOf({ loss, freeze, lora, past, framework }: Scenario): Asked {
  const options = Object.entries(framework.options).filter(([name]) => choosing.has(name));
  return {
    ...(loss === undefined ? {} : { loss }),
    ...(freeze === undefined ? {} : { freeze }),
    ...(lora === undefined ? {} : { lora }),
    ...(past === undefined ? {} : { past }),
    ...(options.length === 0 ? {} : { options: Object.fromEntries(options) }),
  };
}

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
