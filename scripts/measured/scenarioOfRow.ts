/** The scenario that a row of a table describes in its columns, as far as it has them. */

import { readFrameworkText } from '../../server/src/formats/frameworkText.ts';
import {
  checkpoints,
  optimizers,
  precisions,
  type ScenarioRequest,
} from '../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn } from './readMeasured.ts';

/** Without the cluster, which is a machine of its own in some tables. */
export function scenarioOfRow(row: MeasuredRow): ScenarioRequest {
  const checkpoint = checkpoints.find((name) => name === row.checkpoint);
  const precision = precisions.find((name) => name === row.precision);
  const framework = readFrameworkText(row.framework ?? '').choice;
  const optimizer = optimizers.find((name) => name === row.optimizer);
  return {
    gpus: numberIn(row, 'gpus'),
    batch: numberIn(row, 'batch'),
    ...(framework === undefined ? {} : { framework }),
    ...(row.accumulate ? { accumulate: numberIn(row, 'accumulate') } : {}),
    ...(precision === undefined ? {} : { precision }),
    ...(optimizer === undefined ? {} : { optimizer }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
  };
}
