/** What holds of a whole net: phases and stages, losses, shared and frozen parameters, the batch. */

import { describe, expect, test } from 'vitest';
import { bindTrainingGraph } from '../../../server/src/analysis/bindTrainingGraph.ts';
import { openCaffe } from '../../../server/src/analysis/openModel.ts';
import { readCaffeNet } from '../../../server/src/formats/caffe/readCaffeNet.ts';
import { netInPhase, type Phase } from '../../../server/src/lowering/caffe/netState.ts';

const input = `layer { name: "x" type: "Input" top: "x" input_param { shape { dim: 8 dim: 6 } } }
layer { name: "t" type: "Input" top: "t" input_param { shape { dim: 8 } } }`;
const product = (name: string, bottom: string, more = ''): string =>
  `layer { name: "${name}" type: "InnerProduct" bottom: "${bottom}" top: "${name}" inner_product_param { num_output: 6 bias_term: false } ${more} }`;
const loss = (name: string, bottom: string, more = ''): string =>
  `layer { name: "${name}" type: "SoftmaxWithLoss" bottom: "${bottom}" bottom: "t" top: "${name}" ${more} }`;

function open(...layers: readonly string[]) {
  const opened = openCaffe([input, ...layers].join('\n'), 'net.prototxt');
  const { analysis } = opened;
  if (analysis === undefined) throw new Error('nothing was read');
  return { ...opened, analysis };
}

/** Layers with a weight gradient in training. */
function trained(...layers: readonly string[]): readonly string[] {
  const { analysis } = open(...layers);
  const { costs } = bindTrainingGraph(analysis, new Map([['batch', 8]]), 'training');
  return analysis.layers
    .filter(({ operators }) =>
      operators.some((index) => {
        const cost = costs[index];
        return cost?.kind === 'known' && cost.backwardWeight.flops > 0;
      }),
    )
    .map(({ name }) => name);
}

describe('rules', () => {
  const names = (rules: string, phase: Phase, state = ''): readonly string[] => {
    const text = `${state}\n${input}\nlayer { name: "a" type: "ReLU" bottom: "x" top: "a" ${rules} }`;
    const { net } = readCaffeNet(text);
    return net === undefined ? [] : netInPhase(net, phase).layers.map(({ name }) => name);
  };
  test.each([
    ['', 'TRAIN', '', true],
    ['include { phase: TRAIN }', 'TRAIN', '', true],
    ['include { phase: TEST }', 'TRAIN', '', false],
    ['include { phase: TEST } include { phase: TRAIN }', 'TRAIN', '', true],
    ['exclude { phase: TEST }', 'TEST', '', false],
    ['include { stage: "s" }', 'TEST', '', false],
    ['include { stage: "s" stage: "r" }', 'TEST', 'state { stage: "s" stage: "r" }', true],
    ['include { not_stage: "s" }', 'TEST', 'state { stage: "s" }', false],
    ['include { min_level: 2 }', 'TEST', 'state { level: 3 }', true],
    ['include { max_level: 2 }', 'TEST', 'state { level: 3 }', false],
  ] as const)('{%s} in phase %s with {%s}: %s', (rules, phase, state, there) => {
    expect(names(rules, phase, state).includes('a')).toBe(there);
  });

  test('a stage that the solver would set is assumed, and said', () => {
    const data = `layer { name: "d" type: "DummyData" top: "x" dummy_data_param { shape { dim: 2 dim: 6 } } include { phase: TEST stage: "val" } }`;
    const text = `${data}\nlayer { name: "a" type: "ReLU" bottom: "x" top: "a" }`;
    const opened = openCaffe(text, 'net.prototxt');
    expect(opened.issues.map(({ severity, message }) => `${severity}: ${message}`)).toEqual([
      'information: No data comes into the net in phase TEST unless the solver sets a stage: `val` is assumed',
    ]);
  });
});

describe('losses', () => {
  test('gradients begin at every loss with a weight, and at nothing else', () => {
    const body = [product('a', 'x'), product('b', 'a'), product('c', 'a')];
    expect(trained(...body, loss('one', 'b'))).toEqual(['a', 'b']);
    expect(trained(...body, loss('one', 'b'), loss('two', 'c', 'loss_weight: 0.3'))).toEqual(['a', 'b', 'c']);
    expect(trained(...body, loss('one', 'b'), loss('two', 'c', 'loss_weight: 0'))).toEqual(['a', 'b']);
  });

  test('any top with a weight is an objective', () => {
    const penalty =
      'layer { name: "p" type: "Reduction" bottom: "a" top: "p" reduction_param { operation: SUMSQ } loss_weight: 0.1 }';
    expect(trained(product('a', 'x'), product('b', 'a'), penalty)).toEqual(['a']);
  });

  test('without a loss the outputs of the net are trained', () => {
    expect(trained(product('a', 'x'), product('b', 'a'))).toEqual(['a', 'b']);
  });
});

describe('parameters', () => {
  test('those of one name are one, trained once', () => {
    const { analysis, issues } = open(
      product('a', 'x', 'param { name: "w" }'),
      product('b', 'a', 'param { name: "w" }'),
    );
    expect(issues).toEqual([]);
    expect(analysis.parameters.map(({ elements, operators }) => [elements, operators.length])).toEqual([
      [36, 2],
    ]);
  });

  test('a shape may differ where sharing is permissive', () => {
    const wide = `layer { name: "b" type: "InnerProduct" bottom: "r" top: "b" inner_product_param { num_output: 12 bias_term: false } param { name: "w" share_mode: PERMISSIVE } }`;
    const cut = 'layer { name: "s" type: "Slice" bottom: "a" top: "r" top: "q" }';
    const { analysis, issues } = open(product('a', 'x', 'param { name: "w" }'), cut, wide);
    expect(issues).toEqual([]);
    expect(analysis.parameters.map(({ elements }) => elements)).toEqual([36]);
  });

  test('a rate of 0 freezes: no gradient of the weight, and none below that nothing needs', () => {
    const layers = [product('a', 'x', 'param { lr_mult: 0 }'), product('b', 'a')];
    expect(trained(...layers)).toEqual(['b']);
    const { analysis } = open(...layers);
    expect(analysis.parameters.map(({ elements }) => elements)).toEqual([36]);
    expect(analysis.frozen.map(({ elements }) => elements)).toEqual([36]);
  });

  test('older nets give rates and names apart', () => {
    const older = (name: string, bottom: string, more: string): string =>
      `layers { name: "${name}" type: INNER_PRODUCT bottom: "${bottom}" top: "${name}" inner_product_param { num_output: 6 bias_term: false } ${more} }`;
    expect(trained(older('a', 'x', 'blobs_lr: 0'), older('b', 'a', 'blobs_lr: 1'))).toEqual(['b']);
    const { analysis } = open(older('a', 'x', 'param: "w"'), older('b', 'a', 'param: "w"'));
    expect(analysis.parameters).toHaveLength(1);
  });
});

test('the batch is open, and recurrent nets have it on their second axis', () => {
  const plain = open(product('a', 'x')).analysis;
  expect([plain.batchSymbol, plain.fixedBatch, plain.symbols]).toEqual([
    'batch',
    undefined,
    [{ name: 'batch', default: 8 }],
  ]);
  const recurrent = openCaffe(
    `input: "x" input: "cont" input_shape { dim: 20 dim: 4 dim: 6 } input_shape { dim: 20 dim: 4 }
layer { name: "l" type: "LSTM" bottom: "x" bottom: "cont" top: "h" recurrent_param { num_output: 5 } }`,
    'net.prototxt',
  );
  expect(recurrent.issues).toEqual([]);
  expect(recurrent.analysis?.symbols).toEqual([{ name: 'batch', default: 4 }]);
});

test('layers of one name are told apart', () => {
  const relu = 'layer { name: "r" type: "ReLU" bottom: "x" top: "x" }';
  expect(open(relu, relu).analysis.layers.map(({ name }) => name)).toEqual(['r', 'r (2)']);
});

test('messages are one line in either phase', () => {
  const net = `input: "x" input_shape { dim: 2 dim: 3 }
layer { name: "odd" type: "No\\nLayer" bottom: "x" top: "y" }
layer { name: "drop" type: "Dropout" bottom: "y" top: "y" include { phase: TRAIN } }`;
  const train = openCaffe(net, 'net.prototxt');
  for (const { issues } of [train, train.inference?.() ?? train]) {
    expect(issues.map(({ code }) => code)).toContain('caffe/unknown-layer');
    expect(issues.map(({ message }) => message).join('')).not.toContain('\n');
  }
  expect(train.inference).toBeDefined();
});
