/** GoogLeNet on K80 nodes: the step of one node and what the closed forms add to it (`layer-communication.csv`). */

import { fitLinearCost, linearTime } from '../../../server/src/communication/formulas/linkCost.ts';
import { mergeGradients } from '../../../server/src/frameworks/mergeGradients.ts';
import { bytes, microseconds, seconds, sum } from '../../../server/src/model/units.ts';
import { numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { ScaledRow } from './judged.ts';
import { exposedTime } from './waitFree.ts';

/**
 * Wait-free with the all-reduces that were measured for each layer, merged and one message with their linear fit. The
 * backward times are those of the run on 8 nodes, the only ones published by layer.
 */
export function judgeTrace(folder: string): readonly ScaledRow[] {
  const rows = readMeasured(folder, 'layer-communication.csv').toReversed();
  const steps = readMeasured(folder, 'scaling-studies.csv').filter(
    ({ source, model }) => source === 'b-caffe' && model === 'googlenet',
  );
  let end = 0;
  const gradients = rows.map((row) => {
    end += numberIn(row, 'backward');
    const elements = numberIn(row, 'parameters');
    return { ready: microseconds(end), bytes: bytes(4 * elements), elements };
  });
  const backward = microseconds(end);
  const alone = steps.find(({ method }) => method === 'alone');
  if (alone === undefined) throw new Error('no step of one node');
  return steps.flatMap((step): readonly ScaledRow[] => {
    const { method, nodes } = step;
    if (method === 'alone') return [];
    const times = rows.map((row) => microseconds(numberIn(row, `allreduce${nodes}`)));
    const cost = fitLinearCost(
      times.map((time, index) => ({ size: gradients[index]?.bytes ?? bytes(0), time })),
    );
    if (cost === undefined) throw new Error(`no fit of ${nodes} nodes`);
    const measured = times.map((time, index) => ({ time, ready: gradients[index]?.ready ?? seconds(0) }));
    const merged = mergeGradients(gradients, cost).map(({ ready, bytes: size }) => ({
      ready,
      time: linearTime(cost, size),
    }));
    const exposed =
      method === 'wfbp'
        ? exposedTime(measured, backward)
        : method === 'mg-wfbp'
          ? exposedTime(merged, backward)
          : linearTime(cost, sum(gradients.map((gradient) => gradient.bytes)));
    return [
      {
        label: `googlenet, ${method}, ${nodes} nodes`,
        predicted: numberIn(alone, 'milliseconds') * 1e-3 + exposed,
        measured: numberIn(step, 'milliseconds') * 1e-3,
      },
    ];
  });
}
