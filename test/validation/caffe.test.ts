/**
 * Every net of BVLC Caffe and its forks in ../shared/models: read, costed, and equal to what is published.
 *
 * Exact numbers of parameters follow from the papers' tables, weights and biases of every layer added up; they are the
 * ones that PyTorch's and other ports of the same networks print. FLOPs are those of convnet-burden, which counts
 * multiply-adds and rounds to one to three digits (../shared/measured/convnet_burden.csv).
 */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openCaffe } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import type { Mode } from '../../server/src/model/scenario.ts';
import { readShared, sharedFiles, sharedTestName } from '../support/sharedModels.ts';

const folders = [
  'caffe-bvlc',
  'caffe-convnet-benchmarks',
  'caffe-dlbench',
  'caffe-kaiming-resnet',
  'caffe-mobilenet',
  'caffe-senet',
  'caffe-squeezenet',
  'paleo-nets/caffe',
];
const nets = sharedFiles(/\.prototxt$/, ...folders);

type Dimensions = Readonly<Record<string, number>>;

/** What the data bases hold that nets do not say: MNIST, CIFAR-10, the tables of the HDF5 example, ImageNet. */
function dataOf(path: string): Dimensions {
  if (path.includes('siamese')) return { channels: 2, height: 28, width: 28 };
  if (/mnist|lenet|fcn5/.test(path)) return { channels: 1, height: 28, width: 28 };
  if (path.includes('hdf5')) return { features: 4 };
  if (path.includes('ffn')) return { features: 26_752 };
  if (/cifar10|tools\/caffe\/cnn\/(alexnet\/alexnet|resnet\/resnet)\.prototxt/.test(path)) {
    return { channels: 3, height: 32, width: 32 };
  }
  return path.includes('synthetic') ? { channels: 3, height: 224, width: 224 } : {};
}

function estimate(path: string, mode: Mode, edit: (text: string) => string = (text) => text): ModelEstimate {
  const text = edit(new TextDecoder().decode(readShared(path)));
  const open = (dimensions: Dimensions) => openCaffe(text, path, dimensions);
  const needsData = open({}).issues.some(
    ({ code, severity }) => code === 'caffe/data-shape' && severity === 'warning',
  );
  const dimensions = needsData ? dataOf(path) : {};
  return estimateModel(open(dimensions), [{ cluster: 'rtx-3090', mode, dimensions }]);
}

/** Placeholders of a script that writes nets: what cannot be known, and is said. */
const remarks: readonly (readonly [path: RegExp, message: RegExp])[] = [
  [/caffe-dlbench\/tools/, /^`batch_size` takes a whole number from 0, not `BATCHSIZE`$/],
];

describe.each(['training', 'inference'] as const)('in %s', (mode) => {
  test.each(nets.length === 0 ? [''] : nets)(sharedTestName('%s is read and costed'), (path) => {
    if (path === '') return;
    const { issues, training, cost, scenario } = estimate(path, mode);
    const left = issues.filter(
      ({ severity, message }) =>
        severity !== 'information' && !remarks.some(([of, said]) => of.test(path) && said.test(message)),
    );
    expect(left).toEqual([]);
    const unknown = training?.costs.filter(({ kind }) => kind === 'unknown') ?? [];
    expect(unknown).toEqual([]);
    expect(cost?.totals.flops.forward).toBeGreaterThan(0);
    expect(scenario?.batchPerGpu).toBeGreaterThan(0);
  });
});

/** Parameters exactly; multiply-adds as convnet-burden rounds them, where it has the network. */
const published: readonly (readonly [path: string, parameters: number, multiplyAdds: number | undefined])[] =
  [
    // Krizhevsky, Sutskever, Hinton 2012, with its two groups.
    ['caffe-bvlc/models/bvlc_alexnet/deploy.prototxt', 60_965_224, 727e6],
    ['caffe-bvlc/models/bvlc_alexnet/train_val.prototxt', 60_965_224, 727e6],
    ['caffe-bvlc/models/bvlc_reference_caffenet/deploy.prototxt', 60_965_224, 724e6],
    // Szegedy and others 2015: 6,998,552 with one classifier, 13,378,280 with the two that help in training.
    ['caffe-bvlc/models/bvlc_googlenet/deploy.prototxt', 6_998_552, 2e9],
    ['caffe-bvlc/models/bvlc_googlenet/train_val.prototxt', 13_378_280, undefined],
    // Iandola and others 2016.
    ['caffe-squeezenet/SqueezeNet_v1.0/deploy.prototxt', 1_248_424, undefined],
    ['caffe-squeezenet/SqueezeNet_v1.1/deploy.prototxt', 1_235_496, 360e6],
    // He and others 2016. The file of ResNet-50 gives its first convolution a bias of 64, which the others have not.
    ['caffe-kaiming-resnet/ResNet-50-deploy.prototxt', 25_557_032 + 64, 4e9],
    ['caffe-kaiming-resnet/ResNet-101-deploy.prototxt', 44_549_160, 8e9],
    ['caffe-kaiming-resnet/ResNet-152-deploy.prototxt', 60_192_808, 11e9],
    ['paleo-nets/caffe/resnet50.prototxt', 25_557_032 + 64, 4e9],
    // Howard and others 2017: convolutions and the classifier, factors and shifts, a bias of 1,000.
    ['caffe-mobilenet/mobilenet_deploy.prototxt', 4_209_088 + 21_888 + 1_000, 579e6],
    // Sandler and others 2018; this file expands its first block too: 32 · 32 weights, 2 · 32 factors and shifts more.
    ['caffe-mobilenet/mobilenet_v2_deploy.prototxt', 3_504_872 + 1_024 + 64, undefined],
    // Hu, Shen, Sun 2018.
    ['caffe-senet/SE-ResNet-50.prototxt', 28_088_024, 4e9],
    ['caffe-senet/SE-ResNet-101.prototxt', 49_326_872, 8e9],
    ['caffe-senet/SE-ResNet-152.prototxt', 66_821_848, 11e9],
    ['caffe-senet/SE-ResNeXt-50.prototxt', 27_559_896, 4e9],
    ['caffe-senet/SE-ResNeXt-101.prototxt', 48_955_416, 8e9],
    ['caffe-senet/SENet-154.prototxt', 115_088_984, 21e9],
    ['caffe-senet/SE-BN-Inception.prototxt', 11_931_622, 2e9],
  ];

const multiplyAddsOf = ({ cost, scenario }: ModelEstimate): number =>
  (cost?.totals.flops.forward ?? 0) / 2 / (scenario?.batchPerGpu ?? 1);

test.each(published)(sharedTestName('%s is what is published'), (path, parameters, multiplyAdds) => {
  if (nets.length === 0) return;
  const found = estimate(path, 'training');
  const trained = found.opened.analysis?.parameters.reduce((sum, { elements }) => sum + elements, 0);
  expect(trained).toBe(parameters);
  if (multiplyAdds === undefined) return;
  // Below a billion the table shows that it counts other layers too, up to a few in a hundred; it has SqueezeNet for
  // images of 224.
  const counted = multiplyAddsOf(
    path.includes('squeezenet') ? estimate(path, 'training', (text) => text.replaceAll('227', '224')) : found,
  );
  if (multiplyAdds >= 1e9) {
    expect(Math.abs(counted - multiplyAdds)).toBeLessThanOrEqual(5e8);
  } else {
    expect(counted).toBeLessThanOrEqual(multiplyAdds + 5e5);
    expect(counted).toBeGreaterThan(0.96 * multiplyAdds);
  }
});

/** Papers that give multiply-adds: Howard and others 2017, table 8; torchvision's own counts of SqueezeNet at 224. */
test.each([
  ['caffe-mobilenet/mobilenet_deploy.prototxt', 569e6, 5e5],
  // Its last convolution is padded in Caffe: 15 × 15 positions where torchvision has 13 × 13.
  ['caffe-squeezenet/SqueezeNet_v1.0/deploy.prototxt', 819e6 + 512_000 * (15 * 15 - 13 * 13), 5e5],
  ['caffe-squeezenet/SqueezeNet_v1.1/deploy.prototxt', 349e6, 5e5],
])(sharedTestName('%s has the multiply-adds of its paper'), (path, multiplyAdds, rounding) => {
  if (nets.length === 0) return;
  const counted = multiplyAddsOf(estimate(path, 'inference', (text) => text.replaceAll('227', '224')));
  expect(Math.abs(counted - multiplyAdds)).toBeLessThanOrEqual(rounding);
});

test(sharedTestName('every top of the four nets of convnet-benchmarks has the shape Caffe printed'), () => {
  if (nets.length === 0) return;
  const table = new URL('../../../shared/measured/convnet_benchmarks_caffe_per_layer.csv', import.meta.url);
  if (!existsSync(table)) return;
  const rows = readFileSync(table, 'utf8').trim().split('\n').slice(1);
  const differences: string[] = [];
  let compared = 0;
  const shapes = new Map<string, Map<string, string>>();
  for (const row of rows) {
    const [model = '', layer = '', , , top = ''] = row.split(',');
    let ofModel = shapes.get(model);
    if (ofModel === undefined) {
      const { cost } = estimate(`caffe-convnet-benchmarks/${model}.prototxt`, 'training');
      ofModel = new Map(cost?.layers.map(({ name, output }) => [name, output?.shape?.join('x') ?? '?']));
      shapes.set(model, ofModel);
    }
    // Caffe puts a split behind a blob that several layers read: `<blob>_<layer>_<top>_split`.
    const split = /^(.+)_\1_0_split$/.exec(layer)?.[1];
    const ours = ofModel.get(split ?? layer);
    if (layer === 'input' || layer === 'data') continue;
    compared += 1;
    if (ours !== top) differences.push(`${model} ${layer}: ${ours}, printed ${top}`);
  }
  expect(differences).toEqual([]);
  expect(compared).toBeGreaterThan(180);
});
