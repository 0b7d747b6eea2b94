/** What a GPU keeps of the optimizer's state for each parameter. */

import { shardsOf } from '../../frameworks/exchange.ts';
import { tableState } from './heldTables.ts';
import type { StepPlan } from './stepPlan.ts';
import { shardOf, updatedTensors } from './updatedTensors.ts';

/** Bytes by index of the parameter. */
export function stateOfParameters(plan: StepPlan): Float64Array {
  const { training, scenario, tables, update, exchange, weightBytesPerElement } = plan;
  const { parameters } = training.analysis;
  const state = new Float64Array(parameters.length);
  if (scenario.mode === 'inference' || exchange.update === 'at servers') return state;
  updatedTensors(training, scenario.optimizer).forEach((tensor, index) => {
    const table = tables.get(index);
    const ways = parameters[index];
    if (ways === undefined) return;
    state[index] =
      table === undefined
        ? update.stateBytesOf(shardOf(tensor, shardsOf(ways, exchange.shards.optimizerState)))
        : tableState(table, scenario.optimizer, weightBytesPerElement);
  });
  return state;
}
