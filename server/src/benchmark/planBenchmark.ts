/**
 * Plans what the Python runner executes: the training graph written out in plain JSON, so that the runner needs
 * `torch` and nothing else. Pure: it starts nothing.
 *
 * Values whose contents are known without running the model (shape arithmetic, axes, scales) travel as
 * constants, and operators that compute only those are left out: eager frameworks do that work on the host.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { RecomputedGroups } from '../analysis/recomputedGroups.ts';
import { recomputedSteps } from '../estimate/plan/loweredStep.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { Operator } from '../model/graph.ts';
import type { Precision, Scenario } from '../model/scenario.ts';
import { composedCalls } from './composedCalls.ts';
import { indexLimits } from './indexLimits.ts';
import { plannedOperators } from './plannedOperators.ts';
import { knownContents, plannedValue } from './plannedValues.ts';
import { type BenchmarkPlan, type cacheStates, planVersion } from './planSchema.ts';

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
  const { graph, layers } = training.analysis;
  const contents = knownContents(training, scenario);
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

/** An operator all of whose outputs are known beforehand is folded at export or done on the host. */
function runsOnDevice(operator: Operator, contents: ReadonlyMap<string, unknown>): boolean {
  return operator.outputs.some((name) => name !== '' && !contents.has(name));
}
