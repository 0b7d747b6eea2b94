/** The Caffe nets of the samples: what their papers say, in both phases. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openCaffe } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

const image = { channels: 1, height: 28, width: 28 };

/** LeNet: 20 · 26 + 50 · 501 + 500 · 801 + 10 · 501. AlexNet: its paper's 60 million, to the last bias. */
it.each([
  ['lenet', image, 431_080, [64, 100], 2 * (24 * 24 * 20 * 25 + 8 * 8 * 50 * 500 + 800 * 500 + 500 * 10)],
  ['alexnet', {}, 60_965_224, [128, 50], 2 * 724_406_816],
] as const)('%s is its paper in both phases', (name, dimensions, parameters, batches, flops) => {
  const opened = openCaffe(readFileSync(`samples/${name}.prototxt`, 'utf8'), name, { ...dimensions });
  expect(opened.issues).toEqual([]);
  expect(opened.analysis?.parameters.reduce((sum, { elements }) => sum + elements, 0)).toBe(parameters);
  for (const [index, mode] of (['training', 'inference'] as const).entries()) {
    const { cost, scenario, issues } = estimateModel(opened, [
      { mode, cluster: 'rtx-3090', dimensions: { ...dimensions } },
    ]);
    expect(issues).toEqual([]);
    expect(scenario?.batchPerGpu).toBe(batches[index]);
    expect((cost?.totals.flops.forward ?? 0) / (batches[index] ?? 1)).toBe(flops);
    expect(cost?.layers.map((layer) => layer.name).includes('accuracy')).toBe(mode === 'inference');
  }
});

it('a net without the size of its data says what to give', () => {
  const opened = openCaffe(readFileSync('samples/lenet.prototxt', 'utf8'), 'lenet');
  expect(opened.issues.map(({ code, severity }) => [code, severity])).toEqual([
    ['caffe/data-shape', 'warning'],
  ]);
  expect(opened.issues[0]?.unset).toEqual(['channels', 'height', 'width']);
});

it('another batch is costed as asked', () => {
  const opened = openCaffe(readFileSync('samples/alexnet.prototxt', 'utf8'), 'alexnet');
  const { scenario, cost, issues } = estimateModel(opened, [{ batch: 7, cluster: 'rtx-3090' }]);
  expect(issues).toEqual([]);
  expect(scenario?.batchPerGpu).toBe(7);
  expect(cost?.totals.flops.forward).toBe(7 * 2 * 724_406_816);
});
