/** A measured step of a language model in which several GPUs share a copy, and what is predicted for it. */

import type { OpenedModel } from '../../../server/src/analysis/openedModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { readFrameworkText } from '../../../server/src/formats/frameworkText.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { StepCost } from '../../../server/src/model/stepCost.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';

export interface ParallelRow {
  readonly row: MeasuredRow;
  /** Seconds of a step; 0 where only memory was measured. */
  readonly measured: number;
  readonly predicted: number;
  /** Bytes of the GPU that was measured; 0 where none was. */
  readonly measuredPeak: number;
  readonly predictedPeak: number;
}

/**
 * Columns `gpus`, `micro_batch`, `grad_accum`, `step_s` and `peak_memory_gb`; nothing where a layout is refused. `peakOf`: of the GPU
 * that was measured; left out, of the one that needs the most.
 */
export function predictRow(
  row: MeasuredRow,
  opened: OpenedModel,
  cluster: ClusterProfile,
  request: ScenarioRequest,
  peakOf: (cost: StepCost) => number = (cost) => cost.totals.memory.peak,
): readonly ParallelRow[] {
  const { cost } = estimateModel(
    opened,
    [
      {
        optimizer: 'adamw',
        ...request,
        gpus: numberIn(row, 'gpus'),
        batch: numberIn(row, 'micro_batch'),
        accumulate: numberIn(row, 'grad_accum'),
      },
    ],
    cluster,
  );
  const step = cost?.totals.time.step;
  if (cost === undefined || step === undefined || step === null) return [];
  return [
    {
      row,
      measured: numberIn(row, 'step_s'),
      predicted: step,
      measuredPeak: row.peak_memory_gb ? numberIn(row, 'peak_memory_gb') * 1e9 : 0,
      predictedPeak: peakOf(cost),
    },
  ];
}

export function frameworkOf(text: string): Pick<ScenarioRequest, 'framework'> {
  const { choice } = readFrameworkText(text);
  return choice === undefined ? {} : { framework: choice };
}
