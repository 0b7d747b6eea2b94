/** Which figure stands in which column. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { renderCsv } from '../../../server/src/estimate/report/renderCsv.ts';
import type { Report } from '../../../server/src/estimate/report/report.ts';

const spec = 'name: m\ninputs: { x: "float32[batch, 8]" }\nlayers:\n  - fc: Linear(8, 8)\n';

function report(): Report {
  const opened = openLayerSpec(spec, 'm.layers.yaml');
  const { cost, training, issues } = estimateModel(opened, [{ cluster: 'dgx-a100', batch: 4 }]);
  if (cost === undefined || training === undefined) throw new Error(JSON.stringify(issues));
  return makeReport(opened, training.analysis, cost, issues);
}

/** The first layer with figures that all differ. */
const apart = (layer: Report['layers'][number]): Report['layers'][number] => ({
  ...layer,
  parameters: 1,
  flops: { ...layer.flops, forward: 2, backwardData: 3, backwardWeight: 4 },
  operations: { forward: 5, backward: 6 },
  bytes: { forward: 7, backward: 8 },
  time: {
    ...layer.time,
    forward: 9,
    backward: 10,
    communication: 11,
    exposedCommunication: 12,
    communicationSlack: 13,
  },
  range: [14, 15],
  memory: { ...layer.memory, parameters: 16, activations: 17, gradient: 18 },
});

test('columns have what their titles say', () => {
  const whole = report();
  const [titles = '', row = ''] = renderCsv({ ...whole, layers: whole.layers.map(apart) }).split('\r\n');
  const names = titles.split(',');
  const cells = Object.fromEntries(row.split(',').map((cell, index) => [names[index], cell]));
  expect(cells).toMatchObject({
    layer: 'fc',
    type: 'Linear',
    output_shape: '4x8',
    output_dtype: 'float32',
    parameters: '1',
    flops_forward: '2',
    flops_backward_data: '3',
    flops_backward_weight: '4',
    operations_forward: '5',
    operations_backward: '6',
    bytes_forward: '7',
    bytes_backward: '8',
    time_forward_s: '9',
    time_backward_s: '10',
    communication_s: '11',
    exposed_communication_s: '12',
    communication_slack_s: '13',
    time_low_s: '14',
    time_high_s: '15',
    memory_parameters_bytes: '16',
    memory_activations_bytes: '17',
    memory_gradient_bytes: '18',
    exact: 'true',
  });
});
