/** What is wrong with a net is said at its place, and takes nothing else away. */

import { describe, expect, test } from 'vitest';
import { openCaffe, openModel } from '../../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readCaffeNet } from '../../../server/src/formats/caffe/readCaffeNet.ts';
import { annotate, textOf } from '../layer-spec/caretFixture.ts';

/** Every issue of a net, from reading to shapes, under the line it is about. */
function check(fixture: string): void {
  const text = textOf(fixture);
  expect(annotate(text, openCaffe(text, 'net.prototxt').issues)).toBe(fixture);
}

const input = `layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }`;

describe('reading', () => {
  test('unknown fields and wrong values', () => {
    check(`${input}
layer {
  name: "conv1"
  type: "Convolution"
  bottom: "data"
  top: "conv1"
  convolution_parm { num_output: 3 }
# ^^^^^^^^^^^^^^^^ [caffe/unknown-field] LayerParameter has no field \`convolution_parm\`, so it is skipped; did you mean \`convolution_param\`?
  convolution_param {
    num_output: 4.5
#               ^^^ [caffe/value] \`num_output\` takes a whole number from 0, not \`4.5\`
    num_output: 4
    kernel_size: 3
    engin: CAFFE
#   ^^^^^ [caffe/unknown-field] ConvolutionParameter has no field \`engin\`, so it is skipped; did you mean \`engine\`?
    bias_term: maybe
#              ^^^^^ [caffe/value] \`bias_term\` takes true or false, not \`maybe\`
  }
}
layer {
  name: "pool"
  type: "Pooling"
  bottom: "conv1"
  top: "pool"
  pooling_param { pool: AVG kernel_size: 2 kernel_size: 3 }
#                       ^^^ [caffe/value] \`pool\` takes MAX, AVE, STOCHASTIC, not \`AVG\`; did you mean \`AVE\`?
#                                                       ^ [caffe/value] \`kernel_size\` is given twice, but takes one value: remove one
}`);
  });

  test('names of types', () => {
    check(`${input}
layer { name: "a" type: Convolution bottom: "data" top: "a" }
#                       ^^^^^^^^^^^ [caffe/value] \`type\` takes a text in quotes: \`type: "…"\`, not \`Convolution\`
layer { name: "b" type: "Convolutoin" bottom: "data" top: "b" }
#                        ^^^^^^^^^^^ [caffe/unknown-layer] \`Convolutoin\` is no layer of Caffe that is known here, so its cost is left out; did you mean \`Convolution\`?
layers { name: "c" type: RELUU bottom: "data" top: "c" }
#                        ^^^^^ [caffe/value] \`type\` takes a name such as CONCAT, CONVOLUTION, DATA, not \`RELUU\`; did you mean \`RELU\`?
layer { name: "d" bottom: "data" top: "d" }
#              ^ [caffe/layer] The layer has no \`type\`: say what it computes`);
  });

  test('the oldest form of layers', () => {
    check(`${input}
layers { layer { name: "a" type: "relu" } bottom: "data" top: "a" }
#^^^^^ [caffe/layer] The layer is written in the oldest form: bring the net up to date with Caffe's upgrade_net_proto_text`);
  });

  test('fields of a fork are read, and a slip of the pen is told from them', () => {
    const text = `${input}
layer { name: "a" type: "ReLU" bottom: "data" top: "a" weird_param { mode: FAST sizes: [1, 2] inner { on: true } } }
layer { name: "b" type: "ReLU" bottom: "a" top: "b" rleu_param { negative_slope: 0.1 } }
layer { name: "c" type: "Convolution" bottom: "b" top: "c" convolution_param { num_output: 1 kernel_size: 1 engine: MKL2017 fast_math: 1 } }`;
    const { net, issues } = readCaffeNet(text);
    expect(issues.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'warning: LayerParameter has no field `rleu_param`, so it is skipped; did you mean `relu_param`?',
      'information: ConvolutionParameter has no field `fast_math`, so it is skipped',
    ]);
    expect(net?.layers[1]?.fields.fields.has('weird_param')).toBe(true);
  });

  test('a syntax error ends one layer, not the net', () => {
    const text = `${input}
layer { name: "a" type: "ReLU" bottom: "data" top: "a" relu_param { negative_slope 0.1 } }
layer { name: "b" type: "ReLU" bottom: "data" top: "b" }
layer { name: "c" type: "ReLU" bottom: "b" top: "c" }`;
    const { net, issues } = readCaffeNet(text);
    expect(net?.layers.map(({ name }) => name)).toEqual(['data', 'a', 'b', 'c']);
    expect(issues.map(({ code, span }) => [code, text.slice(span?.start, span?.end)])).toEqual([
      ['caffe/syntax', '0.1'],
    ]);
  });

  test('a file that cannot be read to its end is not costed in part', () => {
    const text = `${input}\nlayer { name: "a" type: "ReLU" bottom: "data" top: "a" relu_param { negative_slope 0.1 } }`;
    const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'net.prototxt');
    expect(opened.analysis).toBeUndefined();
    expect(opened.issues.map(({ code }) => code)).toEqual(['caffe/syntax']);
  });

  test('a layer without its brace ends where the next begins', () => {
    const text = `${input}
layer { name: "a" type: "ReLU" bottom: "data" top: "a" relu_param { negative_slope: 0.1 }
layer { name: "b" type: "ReLU" bottom: "a" top: "b" }
layer { name: "c" type: "ReLU" bottom: "b" top: "c" }`;
    const opened = openCaffe(text, 'net.prototxt');
    expect(opened.analysis?.layers.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(opened.issues.map(({ message }) => message)).toEqual([
      'This layer has no end: close it with `}` before the next `layer`',
    ]);
  });
});

describe('what is no net', () => {
  test.each([
    [
      'net: "train_val.prototxt" base_lr: 0.01',
      'This is a Caffe solver, not a net: open `train_val.prototxt`',
    ],
    ['base_lr: 0.01 max_iter: 10', 'This is a Caffe solver, not a net: open the net it trains'],
    ['item { name: "cat" label: 1 }', 'This is a label map, not a net: open the net'],
    ['name: "empty"', 'The text has no `layer`: a Caffe net is a list of `layer { … }`'],
    ['', 'The text has no `layer`: a Caffe net is a list of `layer { … }`'],
  ])('%s', (text, message) => {
    const opened = openCaffe(text, 'solver.prototxt');
    expect(opened.issues).toMatchObject([{ code: 'caffe/not-a-net', severity: 'error', message }]);
    expect(opened.analysis).toBeUndefined();
  });

  test('an ONNX model that was given the ending is read as that', () => {
    const opened = openCaffe('# a comment\nir_version: 8\ngraph { name: "g" }', 'model.prototxt');
    expect(opened.format).toBe('onnx');
    expect(opened.analysis).toBeDefined();
  });
});

describe('connecting', () => {
  test('blobs and their number', () => {
    check(`${input}
layer { name: "a" type: "ReLU" bottom: "dta" top: "a" }
#                                       ^^^ [caffe/unknown-blob] Blob \`dta\` is not known here: no layer writes it; did you mean \`data\`?
layer { name: "b" type: "ReLU" bottom: "c" top: "b" }
#                                       ^ [caffe/unknown-blob] Blob \`c\` is not known here: it is written by a layer below: move that up
layer { name: "c" type: "Concat" top: "c" }
#                        ^^^^^^ [caffe/layer] Concat has at least 1 bottom, not 0
layer { name: "d" type: "ReLU" bottom: "data" bottom: "data" top: "d" }
#                                                      ^^^^ [caffe/layer] ReLU has 1 bottom, not 2`);
  });

  test('rules', () => {
    check(`${input}
layer { name: "a" type: "ReLU" bottom: "data" top: "a" include { phase: TEST } }
layer { name: "b" type: "ReLU" bottom: "a" top: "b" include { phase: TRAIN } exclude { stage: "x" } }
#                                       ^ [caffe/unknown-blob] Blob \`a\` is not known here: the layer that writes it is not in the net in phase TRAIN
#                                                                            ^^^^^^^ [caffe/layer] A layer has \`include\` or \`exclude\` rules, not both: remove one kind`);
  });

  test('old inputs', () => {
    check(`input: "data"
input_dim: 1
input_dim: 3
#          ^ [caffe/layer] 1 inputs need 4 \`input_dim\`, not 2: give batch, channels, height and width of each`);
  });
});

describe('shapes', () => {
  test('each layer at the field that is wrong', () => {
    check(`${input}
layer { name: "a" type: "Convolution" bottom: "data" top: "a" convolution_param { kernel_size: 3 } }
#                        ^^^^^^^^^^^ [caffe/layer] \`num_output\` is missing: give the channels of the output, from 1
layer { name: "b" type: "Convolution" bottom: "data" top: "b" convolution_param { num_output: 4 kernel_size: 3 group: 2 } }
#                                                                                                                     ^ [shape/mismatch] 3 input and 4 output channels do not divide into 2 groups
layer { name: "c" type: "Convolution" bottom: "data" top: "c" convolution_param { num_output: 4 kernel_size: 9 } }
#                                                                                                            ^ [shape/mismatch] The kernel 9 × 9 is larger than the padded input [batch, 3, 8, 8]
layer { name: "d" type: "Pooling" bottom: "data" top: "d" pooling_param { kernel_size: 3 pad: 3 } }
#                                                                                             ^ [caffe/layer] \`pad\` must be smaller than the window
layer { name: "e" type: "Pooling" bottom: "data" top: "e" pooling_param { kernel_size: 2 stride: 2 } }
layer { name: "f" type: "Eltwise" bottom: "data" bottom: "e" top: "f" }
#                                                         ^ [shape/mismatch] \`e\` is [batch, 3, 4, 4], but \`data\` is [batch, 3, 8, 8]
layer { name: "g" type: "Concat" bottom: "data" bottom: "e" top: "g" }
#                                                        ^ [shape/mismatch] \`e\` is [batch, 3, 4, 4], but \`data\` is [batch, 3, 8, 8]; only axis 1 may differ
layer { name: "h" type: "Reshape" bottom: "data" top: "h" reshape_param { shape { dim: 0 dim: 5 dim: 5 } } }
#                                                                                                    ^ [shape/mismatch] \`data\` [batch, 3, 8, 8] does not have as many elements as [batch, 5, 5]
layer { name: "i" type: "Slice" bottom: "data" top: "i" top: "j" slice_param { slice_point: 4 } }
#                                                                                           ^ [shape/mismatch] Slice points 4 do not cut axis 1 of [batch, 3, 8, 8]
layer { name: "k" type: "Concat" bottom: "data" bottom: "e" top: "k" concat_param { axis: 4 } }
#                                                                                         ^ [caffe/layer] Axis 4 lies outside a blob of 4 axes
layer { name: "l" type: "LRN" bottom: "data" top: "l" lrn_param { local_size: 4 } }
#                                                                             ^ [caffe/layer] \`local_size\` is 4; it must be odd`);
  });

  test('shared parameters have one shape', () => {
    check(`${input}
layer { name: "a" type: "InnerProduct" bottom: "data" top: "a" inner_product_param { num_output: 4 } param { name: "w" } }
layer { name: "b" type: "InnerProduct" bottom: "data" top: "b" inner_product_param { num_output: 5 } param { name: "w" } }
#                                                                                                                   ^ [caffe/layer] Parameter \`w\` is [4, 192] where it is first used, but [5, 192] here: shared parameters have one shape`);
  });

  test('data whose size is not in the net', () => {
    check(`layer { name: "d" type: "Data" top: "data" top: "label" data_param { batch_size: 8 } }
#                        ^^^^ [caffe/data-shape] The size of the images is in the data base, not in the net: set \`channels\`, \`height\`, \`width\`
layer { name: "a" type: "ReLU" bottom: "data" top: "a" }`);
    check(`layer { name: "d" type: "Data" top: "data" top: "label" data_param { batch_size: 8 } transform_param { crop_size: 24 } }
#                        ^^^^ [caffe/data-shape] How many channels the images have is not in the net: 3 are assumed
layer { name: "a" type: "ReLU" bottom: "data" top: "a" }`);
  });
});
