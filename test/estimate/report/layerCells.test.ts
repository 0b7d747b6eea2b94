/** What renderings say of one layer: nothing where it has nothing, `?` where it is unknown, `≥` where a part of it is. */

import { expect, test } from 'vitest';
import {
  costsSomething,
  drawnAmount,
  layerTime,
  layerWriter,
} from '../../../server/src/estimate/report/layerCells.ts';
import type { LayerReport } from '../../../server/src/estimate/report/report.ts';
import { smallReport } from '../../support/smallReport.ts';

const [linear, odd, view] = smallReport.layers;
if (linear === undefined || odd === undefined || view === undefined) throw new Error('three layers');

const whole = {
  output: '4×128×3072',
  forward: '2.42 GFLOP',
  backward: '4.83 GFLOP',
  time: '60.0 µs',
  saved: '768 KiB',
  communication: '120 µs',
  exposed: '80.0 µs',
};
const { flops, time, memory, output } = linear;

test.each<[string, LayerReport, object]>([
  ['a layer', linear, whole],
  [
    'of which a part is unknown',
    { ...linear, exact: false },
    { ...whole, forward: '≥ 2.42 GFLOP', backward: '≥ 4.83 GFLOP', time: '≥ 60.0 µs' },
  ],
  [
    'that is unknown',
    odd,
    { output: '?', forward: '?', backward: '?', time: '?', saved: '?', communication: '', exposed: '' },
  ],
  [
    'that does nothing',
    view,
    {
      output: 'batch×3072×?',
      forward: '',
      backward: '',
      time: '0 s',
      saved: '',
      communication: '',
      exposed: '',
    },
  ],
  [
    'half of whose backward is unknown',
    { ...linear, flops: { ...flops, backwardData: null } },
    { ...whole, backward: '?' },
  ],
  [
    'the other half of whose backward is unknown',
    { ...linear, flops: { ...flops, backwardWeight: null } },
    { ...whole, backward: '?' },
  ],
  [
    'whose backward takes unknown time',
    { ...linear, time: { ...time, backward: null } },
    { ...whole, time: '?' },
  ],
  [
    'whose exposed part is unknown',
    { ...linear, time: { ...time, exposedCommunication: null } },
    { ...whole, exposed: '?' },
  ],
  [
    'that exposes nothing',
    { ...linear, time: { ...time, exposedCommunication: 0 } },
    { ...whole, exposed: '0 s' },
  ],
  ['that keeps nothing', { ...linear, memory: { ...memory, activations: 0 } }, { ...whole, saved: '' }],
  ['that gives one number', { ...linear, output: { ...output, shape: [] } }, { ...whole, output: 'scalar' }],
])('%s', (_, layer, cells) => {
  expect(layerWriter()(layer)).toEqual(cells);
});

test('a writer says of each layer what is its own', () => {
  const write = layerWriter();
  expect([linear, view, linear].map((layer) => write(layer).output)).toEqual([
    '4×128×3072',
    'batch×3072×?',
    '4×128×3072',
  ]);
});

const { bytes } = view;
test.each<[string, LayerReport, boolean]>([
  ['a view', view, false],
  ['one with work', { ...view, flops: { ...view.flops, forward: 1 } }, true],
  ['one of unknown work', { ...view, flops: { ...view.flops, forward: null } }, true],
  ['one that moves bytes', { ...view, bytes: { ...bytes, forward: 1 } }, true],
  ['one with parameters', { ...view, parameters: 1 }, true],
  ['one that takes time', { ...view, time: { ...view.time, forward: 1e-6 } }, true],
  ['one of unknown time', { ...view, time: { ...view.time, forward: null } }, true],
])('%s costs something: %s', (_, layer, costs) => {
  expect(costsSomething(layer)).toBe(costs);
});

test('times are of forward and backward, and nothing is drawn of what is unknown', () => {
  expect([layerTime(linear), layerTime(odd)]).toEqual([expect.closeTo(60e-6, 12), null]);
  expect([drawnAmount(null), drawnAmount(3)]).toEqual([0, 3]);
});
