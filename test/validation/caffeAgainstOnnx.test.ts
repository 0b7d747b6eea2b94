/** Networks that exist both as a Caffe net and as an ONNX export: the same FLOPs, layer by layer. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { openCaffe, openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { hasSharedModels, readShared, sharedTestName } from '../support/sharedModels.ts';

/** Forward FLOPs of one sample of every product and convolution, in the order of the network. */
function products({ analysis }: OpenedModel): readonly number[] {
  if (analysis === undefined) throw new Error('nothing was read');
  const bindings = new Map(analysis.batchSymbol === undefined ? [] : [[analysis.batchSymbol, 1]]);
  const { costs } = bindTrainingGraph(analysis, bindings, 'inference');
  return costs.flatMap((cost) =>
    cost.kind === 'known' && cost.forward.flops > 0 ? [cost.forward.flops] : [],
  );
}

const ofCaffe = (path: string, edit: (text: string) => string = (text) => text): readonly number[] =>
  products(openCaffe(edit(new TextDecoder().decode(readShared(path))), path));

const ofOnnx = (bytes: Uint8Array): readonly number[] =>
  products(openModel(byteSourceOfBuffer(bytes), 'model.onnx'));

test(sharedTestName('AlexNet of convnet-benchmarks is AlexNet of the samples'), () => {
  if (!hasSharedModels) return;
  const expected = ofOnnx(readFileSync('samples/alexnet.onnx'));
  expect(expected).toHaveLength(8);
  expect(ofCaffe('caffe-convnet-benchmarks/alexnet.prototxt')).toEqual(expected);
});

/** torchvision's SqueezeNet takes images of 224, and does not pad its last convolution. */
test(sharedTestName('SqueezeNet 1.0 is that of torchvision'), () => {
  if (!hasSharedModels) return;
  const expected = ofOnnx(readShared('torch-export/torchvision/squeezenet1_0.onnx.gz'));
  expect(expected).toHaveLength(26);
  const found = ofCaffe('caffe-squeezenet/SqueezeNet_v1.0/deploy.prototxt', (text) =>
    text.replaceAll('227', '224').replace(/(num_output: 1000\s+)pad: 1\s/, '$1'),
  );
  expect(found).toEqual(expected);
});

/** torchvision convolves 3 × 3 where the paper and Caffe convolve 5 × 5, in each of the nine modules. */
test(sharedTestName('BVLC GoogLeNet is GoogLeNet of the samples, but for its 5 × 5 convolutions'), () => {
  if (!hasSharedModels) return;
  const expected = ofOnnx(readFileSync('samples/googlenet.onnx'));
  const found = ofCaffe('caffe-bvlc/models/bvlc_googlenet/deploy.prototxt');
  expect(found).toHaveLength(expected.length);
  const ratios = found.map((flops, index) => flops / (expected[index] ?? 0));
  expect(ratios.filter((ratio) => ratio !== 1)).toEqual(Array(9).fill(25 / 9));
});
