/**
 * The plan the Python runner executes: the training graph written out in plain JSON, so that the runner needs
 * `torch` and nothing else. Pure: it starts nothing.
 *
 * Values whose contents are known without running the model (shape arithmetic, axes, scales) travel as
 * constants, and operators that compute only those are left out: eager frameworks do that work on the host.
 */

import { z } from 'zod';
import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { keepings, type RecomputedGroups } from '../analysis/recomputedGroups.ts';
import { recomputedSteps } from '../estimate/plan/loweredStep.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { evaluateDimension } from '../model/dimension.ts';
import { isInteger } from '../model/elementType.ts';
import type { GraphAttribute, Operator, Value } from '../model/graph.ts';
import { isSameContent } from '../model/sameContent.ts';
import {
  checkpoints,
  modes,
  optimizers,
  type Precision,
  precisions,
  type Scenario,
} from '../model/scenario.ts';
import { hasTrait, passesElements } from '../operators/operatorFacts.ts';
import { type ComposedCall, composedCalls } from './composedCalls.ts';

/** Raised when an older runner could misread a newer plan. */
const planVersion = 3;

const cacheStates = ['cold', 'hot'] as const;

/** JSON has no infinities; masks are full of them. */
const numberSchema = z.union([z.number(), z.enum(['Infinity', '-Infinity', 'NaN'])]);
const count = z.number().int().nonnegative();
const shapeSchema = z.array(count);
const tensorSchema = z.object({
  elementType: z.string(),
  shape: shapeSchema,
  elements: z.array(numberSchema).optional(),
});

const operatorSchema = z.object({
  name: z.string(),
  type: z.string(),
  domain: z.string(),
  inputs: z.array(z.string()),
  outputs: z.array(z.string()),
  attributes: z.record(
    z.string(),
    z.union([numberSchema, z.string(), z.array(z.union([numberSchema, z.string()])), tensorSchema]),
  ),
  /** Why the runner cannot execute it although it may know the operator. */
  obstacle: z.string().optional(),
});

export const benchmarkPlanSchema = z.object({
  version: z.literal(planVersion),
  model: z.string(),
  batch: z.number().int().positive(),
  mode: z.enum(modes),
  precision: z.enum(precisions),
  optimizer: z.enum(optimizers),
  /** Passes of forward and backward before one update. */
  accumulate: z.number().int().positive(),
  channelsLast: z.boolean(),
  /** Of `torch.compile`, for the whole step; null for eager PyTorch. */
  compile: z.enum(['default', 'reduce-overhead', 'max-autotune']).nullable(),
  optimizerKernels: z.enum(['foreach', 'fused', 'loop']),
  clipsNorm: z.boolean(),
  /** Gradients stay allocated, and are filled with zeros. */
  addsGradients: z.boolean(),
  /**
   * `half`: weights, gradients and the state of the optimizer are in half precision, without autocast; with a copy, the
   * optimizer updates weights in fp32 and they are cast back.
   */
  weights: z.enum(['fp32', 'half', 'half-with-copy']),
  /** fp32 convolutions use TF32 where the GPU has it. */
  convTf32: z.boolean(),
  /** Before each timing of a layer: `cold`, as a step leaves them, or `hot`, as the run before. */
  caches: z.enum(cacheStates).default('hot'),
  /** Time the runner aims at for everything after the first step; repeats are chosen to fit. */
  budgetSeconds: z.number().positive(),
  opset: count,
  /** In graph order. Activations give the shape that is expected, for the check while running. */
  values: z.array(
    z.object({
      name: z.string(),
      role: z.enum(['input', 'parameter', 'buffer', 'constant', 'activation']),
      elementType: z.string(),
      shape: shapeSchema.nullable(),
      gradient: z.boolean(),
      /** Contents in row-major order, where they are known. */
      elements: z.array(numberSchema).optional(),
      /** Integers drawn for this value stay below it: they index a table of this many rows. */
      limit: z.number().int().positive().optional(),
    }),
  ),
  /** In topological order. */
  operators: z.array(
    operatorSchema.extend({
      /** One call for several operators: these, in order. The call runs where it computes what they do. */
      parts: z.array(operatorSchema).optional(),
    }),
  ),
  /** Operators by position in `operators`; empty where nothing of the layer runs on the device. */
  layers: z.array(z.object({ name: z.string(), type: z.string(), operators: z.array(count) })),
  outputs: z.array(z.string()),
  /** What of the scenario decides `recomputed`: `marks` of layers where it says nothing. */
  checkpoint: z.enum([...checkpoints, 'marks']).default('none'),
  /** Operators by position that backward recomputes together, and what is kept of them beside what goes in. */
  recomputed: z.array(z.object({ operators: z.array(count), keeping: z.enum(keepings) })),
  /** They are recomputed to the end: `use_reentrant=True`. */
  reentrant: z.boolean(),
  /** A step that does not fit into memory ends the run; its layers alone are measured unless given. */
  endsWhereTooLarge: z.boolean().optional(),
});

export type BenchmarkPlan = z.infer<typeof benchmarkPlanSchema>;
type PlannedValue = BenchmarkPlan['values'][number];
type PlannedOperator = z.infer<typeof operatorSchema>;
type PlannedNumber = z.infer<typeof numberSchema>;

export interface PlanOptions {
  /** Name of the model, for labels. */
  readonly model?: string;
  /** Seconds to aim at, 60 unless given. */
  readonly budgetSeconds?: number;
  /** `cold` unless given. */
  readonly caches?: (typeof cacheStates)[number];
}

/** Writes out what one GPU of this scenario computes in a step; communication is not part of it. */
export function planBenchmark(
  training: TrainingGraph,
  scenario: Scenario,
  { model, budgetSeconds = 60, caches = 'cold' }: PlanOptions = {},
): BenchmarkPlan {
  const options = optionValues(scenario.framework);
  const { graph, layers, batchSymbol } = training.analysis;
  const bindings = new Map(Object.entries(scenario.dimensions));
  if (batchSymbol !== undefined) bindings.set(batchSymbol, training.batch);

  const contents = new Map<string, readonly PlannedNumber[]>();
  for (const value of graph.values.values()) {
    const elements = knownElements(value, bindings);
    if (elements !== undefined) contents.set(value.name, elements);
  }

  const running = graph.operators.filter((operator) => runsOnDevice(operator, contents));
  const { operators, positions } = plannedOperators(running, composedCalls(training, scenario));
  const recomputed = plannedRecomputation(recomputedSteps(training, scenario), positions);
  const limits = indexLimits(running, training);
  const used = new Set(running.flatMap((operator) => [...operator.inputs, ...operator.outputs]));
  used.delete('');

  return {
    version: planVersion,
    model: model ?? graph.name,
    batch: training.batch,
    mode: scenario.mode,
    precision: scenario.precision,
    optimizer: scenario.optimizer,
    accumulate: scenario.accumulate ?? 1,
    channelsLast: options.get('memory-format') === 'channels-last',
    compile: compileMode(options.get('compile')),
    optimizerKernels: kernelsOfOptimizer(options.get('optimizer-kernels')),
    clipsNorm: options.get('clip-norm') === 'true',
    addsGradients: options.get('gradients') === 'added',
    weights: weightsOf(options.get('weights'), scenario.precision),
    convTf32: options.get('conv-tf32') !== 'false',
    caches,
    budgetSeconds,
    opset: graph.operatorSets.get('') ?? 0,
    values: [...used].map((name) => plannedValue(name, training, contents, limits)),
    operators,
    layers: layers.map((layer) => ({
      name: layer.name,
      type: layer.type,
      operators: [...new Set(layer.operators.flatMap((index) => positions.get(index) ?? []))],
    })),
    outputs: graph.outputs.filter((name) => used.has(name)),
    checkpoint: recomputed.length === 0 ? 'none' : (scenario.checkpoint ?? 'marks'),
    recomputed,
    reentrant: options.get('reentrant') === 'true',
  };
}

/** A call is in the group of the last operator that it stands for. */
function plannedRecomputation(
  groups: RecomputedGroups | undefined,
  positions: ReadonlyMap<number, number>,
): BenchmarkPlan['recomputed'] {
  if (groups === undefined) return [];
  const groupAt = new Map<number, number>();
  for (const [index, position] of positions) groupAt.set(position, groups.groupOf[index] ?? -1);
  return groups.keeping.flatMap((keeping, group) => {
    const operators = [...groupAt].flatMap(([position, other]) => (other === group ? [position] : []));
    return operators.length === 0 ? [] : [{ operators: operators.sort((a, b) => a - b), keeping }];
  });
}

const compileMode = (asked: string | undefined): BenchmarkPlan['compile'] =>
  asked === 'true' || asked === 'default'
    ? 'default'
    : asked === 'reduce-overhead' || asked === 'max-autotune'
      ? asked
      : null;

const weightsOf = (asked: string | undefined, precision: Precision): BenchmarkPlan['weights'] =>
  precision === 'fp32' || precision === 'tf32' || (asked !== 'half' && asked !== 'half-with-copy')
    ? 'fp32'
    : asked;

const kernelsOfOptimizer = (asked: string | undefined): BenchmarkPlan['optimizerKernels'] =>
  asked === 'fused' || asked === 'loop' ? asked : 'foreach';

/** Operators with calls in place of those that they stand for, and where each operator of the graph went. */
function plannedOperators(
  running: readonly Operator[],
  calls: readonly ComposedCall[],
): { readonly operators: BenchmarkPlan['operators']; readonly positions: ReadonlyMap<number, number> } {
  const runs = new Set(running.map(({ index }) => index));
  const whole = calls.filter(({ operators: members }) => runs.has(members.at(-1) ?? -1));
  const callOf = new Map(whole.flatMap((call) => call.operators.map((index) => [index, call])));
  const operators: BenchmarkPlan['operators'] = [];
  const positions = new Map<number, number>();
  for (const operator of running) {
    const call = callOf.get(operator.index);
    // It runs where the last of them does: what each reads is there by then.
    if (call !== undefined && operator.index !== call.operators.at(-1)) continue;
    for (const index of call?.operators ?? [operator.index]) {
      if (runs.has(index)) positions.set(index, operators.length);
    }
    const written = plannedOperator(operator);
    operators.push(
      call === undefined
        ? written
        : {
            name: written.name,
            type: call.type,
            domain: call.domain,
            inputs: [...call.inputs],
            outputs: [call.output],
            attributes: Object.fromEntries(
              Object.entries(call.attributes).map(([name, value]) => [name, attributeOfCall(value)]),
            ),
            parts: running.filter(({ index }) => callOf.get(index) === call).map(plannedOperator),
          },
    );
  }
  return { operators, positions };
}

const attributeOfCall = (value: ComposedCall['attributes'][string]): PlannedOperator['attributes'][string] =>
  typeof value === 'string' ? value : typeof value === 'number' ? jsonNumber(value) : value.map(jsonNumber);

/** An operator all of whose outputs are known beforehand is folded at export or done on the host. */
function runsOnDevice(operator: Operator, contents: ReadonlyMap<string, unknown>): boolean {
  return operator.outputs.some((name) => name !== '' && !contents.has(name));
}

function knownElements(
  value: Value,
  bindings: ReadonlyMap<string, number>,
): readonly PlannedNumber[] | undefined {
  if (value.role === 'parameter' || value.role === 'input') return undefined;
  const elements = value.content?.elements ?? value.literal?.elements;
  if (elements === undefined) return undefined;
  const numbers: PlannedNumber[] = [];
  for (const element of elements) {
    const number = evaluateDimension(element, bindings);
    if (typeof number !== 'number') return undefined;
    numbers.push(jsonNumber(number));
  }
  return numbers;
}

function plannedValue(
  name: string,
  training: TrainingGraph,
  contents: ReadonlyMap<string, readonly PlannedNumber[]>,
  limits: ReadonlyMap<string, number>,
): PlannedValue {
  const value = training.analysis.graph.values.get(name);
  const bound = training.tensors.get(name);
  const elements = contents.get(name);
  const limit = limits.get(name);
  const declared = value?.type.kind === 'tensor' ? value.type.elementType : undefined;
  return {
    name,
    role: elements === undefined ? roleOf(value) : 'constant',
    elementType: bound?.elementType ?? value?.literal?.elementType ?? declared ?? 'undefined',
    shape: [...(bound?.dimensions ?? value?.content?.shape ?? value?.literal?.dimensions ?? [])],
    gradient: training.requiresGradient.has(name),
    ...(elements === undefined ? {} : { elements: [...elements] }),
    ...(limit === undefined ? {} : { limit }),
    ...(bound === undefined && value?.content === undefined && value?.literal === undefined
      ? { shape: null }
      : {}),
  };
}

/** What an operator computes is an activation to the runner, also where it is a parameter seen transposed. */
function roleOf(value: Value | undefined): PlannedValue['role'] {
  if (value === undefined || value.producer !== undefined) return 'activation';
  return value.role === 'frozen' ? 'buffer' : value.role;
}

function plannedOperator(operator: Operator): PlannedOperator {
  const attributes: PlannedOperator['attributes'] = {};
  let obstacle: string | undefined;
  for (const [name, attribute] of operator.attributes) {
    const planned = plannedAttribute(attribute);
    if (planned === undefined) {
      obstacle = `its attribute ${name} (${attribute.kind}) cannot be sent to the runner`;
    } else {
      attributes[name] = planned;
    }
  }
  return {
    name: operator.name === '' ? (operator.outputs.find((output) => output !== '') ?? '') : operator.name,
    type: operator.type,
    domain: operator.domain,
    inputs: [...operator.inputs],
    outputs: [...operator.outputs],
    attributes,
    ...(obstacle === undefined ? {} : { obstacle }),
  };
}

function plannedAttribute(attribute: GraphAttribute): PlannedOperator['attributes'][string] | undefined {
  switch (attribute.kind) {
    case 'int':
    case 'float':
      return jsonNumber(attribute.value);
    case 'string':
      return attribute.value;
    case 'ints':
    case 'floats':
      return attribute.value.map(jsonNumber);
    case 'strings':
      return [...attribute.value];
    case 'tensor':
      return plannedLiteral(attribute.value);
    case 'tensors':
    case 'sparse_tensor':
    case 'type_proto':
    case 'graph':
    case 'graphs':
    case 'reference':
    case 'other':
      return undefined;
  }
}

function plannedLiteral(literal: TensorLiteral): z.infer<typeof tensorSchema> {
  return {
    elementType: literal.elementType,
    shape: [...literal.dimensions],
    ...(literal.elements === undefined ? {} : { elements: literal.elements.map(jsonNumber) }),
  };
}

/** Whether elements come out unchanged, so that a bound on its results bounds what goes in. */
const keepsElements = (operator: Operator): boolean =>
  passesElements(operator, 0) || hasTrait(operator, 'copies-elements') || hasTrait(operator, 'joins');

/** For integer values that index a table or name a class: how many there are, followed back to where the integers come from. */
function indexLimits(operators: readonly Operator[], training: TrainingGraph): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  const lower = (name: string | undefined, limit: number | undefined): void => {
    const type = name === undefined ? undefined : training.tensors.get(name)?.elementType;
    if (name === undefined || type === undefined || !isInteger(type)) return;
    if (limit === undefined || !(limit > 0)) return;
    limits.set(name, Math.min(limit, limits.get(name) ?? Number.POSITIVE_INFINITY));
  };
  for (const operator of operators.toReversed()) {
    const [first, second] = operator.inputs;
    if (hasTrait(operator, 'looks-up')) {
      const table = training.tensors.get(first ?? '')?.dimensions;
      const axis = operator.attributes.get('axis');
      lower(second, table?.at(axis?.kind === 'int' ? axis.value : 0));
    } else if (hasTrait(operator, 'loss-of-scores')) {
      const scores = training.tensors.get(first ?? '')?.dimensions;
      const labels = training.tensors.get(second ?? '')?.dimensions;
      const isLast = labels !== undefined && isSameContent(scores?.slice(0, -1), labels);
      lower(second, scores?.at(isLast ? -1 : 1));
    } else if (keepsElements(operator)) {
      for (const output of operator.outputs) {
        const limit = limits.get(output);
        for (const input of hasTrait(operator, 'joins') ? operator.inputs : [first]) lower(input, limit);
      }
    }
  }
  return limits;
}

function jsonNumber(value: number): PlannedNumber {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}
