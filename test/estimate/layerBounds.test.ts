/**
 * What bounds layers of each kind, as their kernels do: matmuls the tensor cores, what moves elements the memory. Windows of
 * pooling are walked by instructions (hardware/kernels/poolingTime.ts): that is no memory bandwidth, and no matmul.
 */

import { expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';

const rows: readonly (readonly [layer: string, bound: string])[] = [
  ['Conv2d(256, kernel_size=3, padding=1)', 'compute'],
  ['BatchNorm2d()', 'memory'],
  ['ReLU()', 'memory'],
  ['GELU()', 'memory'],
  ['MaxPool2d(3, stride=2, padding=1)', 'instructions'],
  ['AdaptiveAvgPool2d(1)', 'memory'],
  ['Flatten()', 'none'],
  ['LayerNorm(256)', 'memory'],
  ['Softmax(dim=-1)', 'memory'],
];

it.each(['rtx-3090-workstation', 'dgx-1-v100', 'dgx-a100'])('layers on %s', (cluster) => {
  const layers = rows.map(([layer], index) => `  - l${index}: ${layer}`).join('\n');
  const opened = openLayerSpec(
    `inputs: { x: "float32[batch, 256, 56, 56]" }\nlayers:\n${layers}\n`,
    'm.layers.yaml',
  );
  const { cost, issues } = estimateModel(opened, [
    { cluster, gpus: 1, batch: 256, framework: { name: 'pytorch-ddp', options: { 'launch-us': '0.01' } } },
  ]);
  if (cost === undefined) throw new Error(JSON.stringify(issues));
  const large = rows.slice(0, 7);
  expect(
    large.map(([layer], index) => [layer, cost.layers.find(({ name }) => name === `l${index}`)?.bound]),
  ).toEqual(large);
});
