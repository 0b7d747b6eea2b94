/** What one GPU holds of parameters and their gradients, embedding tables included. */

import type { Parameter } from '../../analysis/modelAnalysis.ts';
import { shardsOf } from '../../frameworks/exchange.ts';
import { itemAt } from '../../model/at.ts';
import { parameterBytes } from '../plan/gradients.ts';
import { gradientBytes } from '../plan/heldTables.ts';
import type { StepPlan } from '../plan/stepPlan.ts';

/** Sizes by parameter, those of experts as much larger as they are split over fewer GPUs than `shards`. */
export const beforeShards = (
  parameters: readonly Pick<Parameter, 'expertWays'>[],
  sizes: Float64Array,
  shards: number,
): Float64Array =>
  sizes.map((size, index) => {
    const parameter = itemAt(parameters, index);
    return parameter.expertWays === undefined ? size : (size * shards) / shardsOf(parameter, shards);
  });

type Holding = Pick<StepPlan, 'training' | 'tables' | 'weightBytesPerElement'>;

/** Bytes of each trained parameter on one GPU, before any sharding of all of them. */
export const heldParameters = ({ training, tables, weightBytesPerElement }: Holding): Float64Array =>
  Float64Array.from(
    training.analysis.parameters,
    (parameter, index) => parameterBytes(parameter, weightBytesPerElement) / (tables.get(index)?.shards ?? 1),
  );

/** Gradients that passes add to, which may be wider than those of one pass. */
export const heldSums = (plan: Holding & Pick<StepPlan, 'behaviour' | 'scenario'>): Float64Array => {
  const { behaviour, scenario, weightBytesPerElement } = plan;
  const sum = behaviour.gradientSumBytesPerElement?.(scenario.precision) ?? weightBytesPerElement;
  const wider = sum / weightBytesPerElement;
  return heldGradients(plan).map((size) => size * wider);
};

/** The same of gradients: of tables the rows that were looked up. */
export const heldGradients = ({ training, tables, weightBytesPerElement }: Holding): Float64Array =>
  Float64Array.from(training.analysis.parameters, (parameter, index) => {
    const table = tables.get(index);
    return table === undefined
      ? parameterBytes(parameter, weightBytesPerElement)
      : gradientBytes(table, weightBytesPerElement);
  });
