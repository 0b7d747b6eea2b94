/** What a program says without words: writes in place, and weights that may be one. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../../server/src/analysis/analyzeOnnx.ts';
import { parseDimension } from '../../../server/src/analysis/parseDimension.ts';
import type { AtenArgument, AtenNode, ExportedProgram } from '../../../server/src/formats/pt2/syntax.ts';
import { lowerAten } from '../../../server/src/lowering/aten/lowerAten.ts';
import { printDimension } from '../../../server/src/model/dimension.ts';
import type { ElementType } from '../../../server/src/model/elementType.ts';
import { isKnownShape } from '../../../server/src/model/graph.ts';

const node = (target: string, output: string, given: Readonly<Record<string, string>>): AtenNode => ({
  target: `torch.ops.aten.${target}`,
  arguments: new Map(
    Object.entries(given).map(([name, tensor]): [string, AtenArgument] => [
      name,
      { kind: 'tensor', name: tensor },
    ]),
  ),
  outputs: [output],
  modules: [],
  stackTrace: '',
});

function program(
  tensors: Readonly<Record<string, readonly [ElementType, readonly (number | string)[]]>>,
  parameters: readonly string[],
  inputs: readonly string[],
  nodes: readonly AtenNode[],
  outputs: readonly string[],
): ExportedProgram {
  return {
    torchVersion: '2.13.0',
    graph: {
      nodes,
      tensors: new Map(
        Object.entries(tensors).map(([name, [elementType, shape]]) => [
          name,
          { elementType, shape, requiresGrad: parameters.includes(name) },
        ]),
      ),
      inputs: [],
      outputs: [],
      sizes: new Map(),
    },
    inputs: [
      ...parameters.map((name) => ({ name, kind: 'parameter' as const, target: `model.${name}` })),
      ...inputs.map((name) => ({ name, kind: 'input' as const, target: name })),
    ],
    outputs,
    mutated: [],
    ranges: new Map(),
  };
}

const lower = (given: ExportedProgram) => lowerAten(given, 'program', parseDimension);

test('what is written into a tensor is what is read of it from there on', () => {
  const given = program(
    { x: ['float32', [2, 4]], y: ['float32', [2, 4]], sum: ['float32', [2, 4]], z: ['float32', [2, 4]] },
    [],
    ['x', 'y'],
    [node('add_.Tensor', 'sum', { self: 'x', other: 'y' }), node('relu.default', 'z', { self: 'x' })],
    ['z'],
  );
  const { model, structure } = lower(given);
  const { graph } = analyzeOnnx(model, structure);
  expect(graph.operators.map(({ type }) => type)).toEqual(['Add', 'Relu']);
  expect(graph.operators[1]?.inputs).toEqual(graph.operators[0]?.outputs);
});

const write = (
  view: string,
  given: Readonly<Record<string, AtenArgument>>,
  part: readonly number[],
): ExportedProgram => {
  const sliced: AtenNode = {
    ...node(view, 'part', { self: 'x' }),
    arguments: new Map<string, AtenArgument>([
      ['self', { kind: 'tensor', name: 'x' }],
      ...Object.entries(given),
    ]),
  };
  return program(
    {
      ...{ w: ['float32', part], x: ['float32', [4, 6]], part: ['float32', part], sum: ['float32', part] },
      ...{ early: ['float32', [24]], late: ['float32', [24]], z: ['float32', [4, 6]] },
    },
    ['w'],
    ['x'],
    [
      node('view.default', 'early', { self: 'x' }),
      sliced,
      node('copy_.default', 'sum', { self: 'part', src: 'w' }),
      node('relu.default', 'z', { self: 'x' }),
      node('sigmoid.default', 'late', { self: 'early' }),
    ],
    ['z', 'late'],
  );
};
const number = (value: number): AtenArgument => ({ kind: 'number', value });

test.each<readonly [string, Readonly<Record<string, AtenArgument>>, readonly number[], string | undefined]>([
  ['slice.Tensor', { dim: number(1), start: number(2), end: number(2 ** 62) }, [4, 4], 'Concat'],
  [
    'slice.Tensor',
    { dim: number(1), start: number(1), end: number(6), step: number(2) },
    [4, 3],
    'Transpose',
  ],
  ['select.int', { dim: number(0), index: number(3) }, [6], 'Concat'],
  ['transpose.int', { dim0: number(0), dim1: number(1) }, [6, 4], 'Transpose'],
  ['permute.default', { dims: { kind: 'numbers', values: [1, 0] } }, [6, 4], 'Transpose'],
  ['unsqueeze.default', { dim: number(0) }, [1, 4, 6], 'Reshape'],
  ['narrow.default', { dim: number(1), start: number(0), length: number(2) }, [4, 2], 'Concat'],
  ['diagonal.default', {}, [4], undefined],
])('what is written into `%s` is read of the whole, and of its other views', (view, given, part, writer) => {
  const { model, structure } = lower(write(view, given, part));
  const { graph } = analyzeOnnx(model, structure);
  const producerOf = (type: string) => {
    const input = graph.operators.find((operator) => operator.type === type)?.inputs[0] ?? '';
    return graph.operators[graph.values.get(input)?.producer ?? -1];
  };
  expect(producerOf('Relu')?.type).toBe(writer);
  expect(structure.issues.map(({ code }) => code)).toEqual(writer === undefined ? ['pt2/write'] : []);
  if (writer !== undefined) expect(producerOf('Sigmoid')?.inputs[0]).toBe(producerOf('Relu')?.outputs[0]);
});

/** What autograd keeps of them in PyTorch 2.13: a tensor of `fill_` or `copy_` has all its elements, whatever is written into it. */
test.each<readonly [string, string, readonly number[], readonly string[]]>([
  ['copy_.default', 'src', [2, 4], ['Expand', 'Relu']],
  ['copy_.default', 'src', [1, 4], ['Expand', 'Concat', 'Relu']],
  ['copy_.default', 'src', [4], ['Expand', 'Concat', 'Relu']],
  ['fill_.Tensor', 'value', [], ['Expand', 'Concat', 'Relu']],
])('`%s` of %s %j is written out where it is broadcast', (call, source, shape, expected) => {
  const given = program(
    { x: ['float32', [2, 4]], y: ['float32', shape], all: ['float32', [2, 4]], z: ['float32', [2, 4]] },
    [],
    ['x', 'y'],
    [node(call, 'all', { self: 'x', [source]: 'y' }), node('relu.default', 'z', { self: 'x' })],
    ['z'],
  );
  const { model, structure } = lower(given);
  expect(analyzeOnnx(model, structure).graph.operators.map(({ type }) => type)).toEqual(expected);
});

test('`masked_scatter` is one call, whose result has a size whatever the mask takes', () => {
  const given = program(
    { x: ['float32', [2, 4, 8]], m: ['bool', [2, 4, 1]], y: ['float32', [3, 8]], z: ['float32', [2, 4, 8]] },
    [],
    ['x', 'm', 'y'],
    [node('masked_scatter.default', 'z', { self: 'x', mask: 'm', source: 'y' })],
    ['z'],
  );
  const { model, structure } = lower(given);
  const { graph } = analyzeOnnx(model, structure);
  expect(graph.operators.map(({ type, inputs }) => [type, inputs.length])).toEqual([['MaskedScatter', 3]]);
  expect(graph.values.get(graph.outputs[0] ?? '')?.type).toMatchObject({ kind: 'tensor', shape: [2, 4, 8] });
});

test('a number that is broadcast into a view is written once, into what is viewed', () => {
  const row: AtenNode = {
    ...node('select.int', 'row', {}),
    arguments: new Map<string, AtenArgument>([
      ['self', { kind: 'tensor', name: 'x' }],
      ['dim', number(0)],
      ['index', number(0)],
    ]),
  };
  const given = program(
    {
      x: ['float32', [2, 4]],
      y: ['float32', []],
      row: ['float32', [4]],
      all: ['float32', [4]],
      z: ['float32', [2, 4]],
    },
    [],
    ['x', 'y'],
    [row, node('fill_.Tensor', 'all', { self: 'row', value: 'y' }), node('relu.default', 'z', { self: 'x' })],
    ['z'],
  );
  const { model, structure } = lower(given);
  const { operators } = analyzeOnnx(model, structure).graph;
  expect(operators.filter(({ type, inputs }) => type === 'Concat' && inputs.length === 1)).toEqual([]);
});

test.each<readonly [string, number, Readonly<Record<string, AtenArgument>>]>([
  ['lstm_cell.default', 4, { hx: { kind: 'tensors', names: ['h', 'c'] } }],
  ['gru_cell.default', 3, { hx: { kind: 'tensor', name: 'h' } }],
  ['rnn_tanh_cell.default', 1, { hx: { kind: 'tensor', name: 'h' } }],
  ['rnn_relu_cell.default', 1, { hx: { kind: 'tensor', name: 'h' } }],
])('`%s` is two products and its gates', (cell, gates, state) => {
  const weights = ['w_ih', 'w_hh', 'b_ih', 'b_hh'];
  const call = node(cell, 'next', Object.fromEntries(['input', ...weights].map((name) => [name, name])));
  const given = program(
    {
      ...{ input: ['float32', [2, 5]], h: ['float32', [2, 7]], c: ['float32', [2, 7]] },
      ...{ w_ih: ['float32', [7 * gates, 5]], w_hh: ['float32', [7 * gates, 7]] },
      ...{ b_ih: ['float32', [7 * gates]], b_hh: ['float32', [7 * gates]], next: ['float32', [2, 7]] },
    },
    weights,
    ['input', 'h', 'c'],
    [{ ...call, arguments: new Map([...call.arguments, ...Object.entries(state)]) }],
    ['next'],
  );
  const { model, structure } = lower(given);
  const { graph, parameters } = analyzeOnnx(model, structure);
  const output = graph.values.get(graph.outputs[0] ?? '')?.type;
  expect(output).toMatchObject({ kind: 'tensor', shape: [2, 7] });
  expect(graph.operators.filter(({ type }) => type === 'Gemm')).toHaveLength(2);
  expect(graph.operators.every(({ domain }) => domain === '')).toBe(true);
  expect(parameters.map(({ elements }) => elements)).toEqual([
    ...[35 * gates, 49 * gates, 7 * gates, 7 * gates],
  ]);
});

test.each([
  ['with biases', ['w_ih', 'w_hh', 'b_ih', 'b_hh', 'w_hr'], [28 * 6, 28 * 3, 56, 21]],
  ['without', ['w_ih', 'w_hh', 'w_hr'], [28 * 6, 28 * 3, 21]],
])('an LSTM of 7 states that are projected to 3, %s', (_, weights, elements) => {
  const names = ['h', 'c'];
  const call: AtenNode = {
    ...node('lstm.input', 'every', { input: 'input' }),
    outputs: ['every', 'last', 'cell'],
    arguments: new Map<string, AtenArgument>([
      ['input', { kind: 'tensor', name: 'input' }],
      ['hx', { kind: 'tensors', names }],
      ['params', { kind: 'tensors', names: weights }],
      ['has_biases', { kind: 'boolean', value: weights.length > 3 }],
      ['num_layers', number(1)],
      ['batch_first', { kind: 'boolean', value: true }],
    ]),
  };
  const sizes = {
    ...{ input: [2, 5, 6], h: [1, 2, 3], c: [1, 2, 7], w_ih: [28, 6], w_hh: [28, 3], w_hr: [3, 7] },
    ...{ b_ih: [28], b_hh: [28], every: [2, 5, 3], last: [1, 2, 3], cell: [1, 2, 7] },
  };
  const types = Object.fromEntries(
    Object.entries(sizes).map(([name, shape]) => [name, ['float32', shape] as const]),
  );
  const { model, structure } = lower(
    program(types, weights, ['input', ...names], [call], ['every', 'last', 'cell']),
  );
  const { graph, parameters } = analyzeOnnx(model, structure);
  const shapes = graph.outputs.map((name) => graph.values.get(name)?.type);
  expect(shapes.map((type) => (type?.kind === 'tensor' ? type.shape : undefined))).toEqual([
    [2, 5, 3],
    [1, 2, 3],
    [1, 2, 7],
  ]);
  expect(graph.operators.filter(({ type }) => type === 'ProjectedLSTM')).toHaveLength(1);
  expect(parameters.map((parameter) => parameter.elements)).toEqual(elements);
});

test.each([
  [false, { ReduceL2: 2, Min: 0 }],
  [true, { ReduceL2: 3, Min: 1 }],
])('a triplet loss with swap=%s takes so many distances', (swap, expected) => {
  const call: AtenNode = {
    ...node('triplet_margin_loss.default', 'loss', { anchor: 'a', positive: 'b', negative: 'c' }),
  };
  const given: AtenNode = {
    ...call,
    arguments: new Map<string, AtenArgument>([...call.arguments, ['swap', { kind: 'boolean', value: swap }]]),
  };
  const rows = ['float32', [4, 8]] as const;
  const types = { a: rows, b: rows, c: rows, loss: ['float32', []] } as const;
  const { model } = lower(program(types, [], ['a', 'b', 'c'], [given], ['loss']));
  const counts = Object.keys(expected).map((type) => [
    type,
    model.graph.nodes.filter((each) => each.type === type).length,
  ]);
  expect(Object.fromEntries(counts)).toEqual(expected);
});

test.each<readonly [string, readonly number[], readonly boolean[], readonly string[]]>([
  ['in evaluation mode', [0.1, 0.1], [false, false], ['graph/evaluation-export']],
  ['in training mode', [0.1, 0.1], [true, true], []],
  ['where one module is frozen in evaluation mode', [0.1, 0.1], [false, true], []],
  // `F.dropout(x, p=self.rate if self.training else 0.0, training=self.training)`, as attention of transformers.
  [
    'where the program passes no rate in evaluation mode',
    [0.1, 0],
    [false, false],
    ['graph/evaluation-export'],
  ],
  ['at a rate of 0, where stochastic depth may be missing', [0], [false], ['graph/evaluation-export']],
  ['at a rate of 0 in training mode', [0], [true], []],
])('dropout that does nothing is said: %s', (_, rates, modes, codes) => {
  const drops = modes.map(
    (mode, index): AtenNode => ({
      ...node('dropout.default', `y${index}`, {}),
      arguments: new Map<string, AtenArgument>([
        ['input', { kind: 'tensor', name: 'x' }],
        ['p', number(rates[index] ?? 0)],
        ['train', { kind: 'boolean', value: mode }],
      ]),
    }),
  );
  const outputs = modes.map((__, index) => `y${index}`);
  const types = outputs.map((name) => [name, ['float32', [2, 4]]] as const);
  const given = program({ x: ['float32', [2, 4]], ...Object.fromEntries(types) }, [], ['x'], drops, outputs);
  expect(lower(given).structure.issues.map(({ code }) => code)).toEqual(codes);
});

/** What is multiplied with, and kept (aten/src/ATen/native/Dropout.cpp of PyTorch 2.13). */
test.each<readonly [string, readonly number[], boolean, readonly number[] | undefined]>([
  ['feature_dropout.default', [2, 4, 3, 3], true, [2, 4, 1, 1]],
  ['feature_dropout.default', [2, 4, 3, 3], false, undefined],
  ['feature_alpha_dropout.default', [2, 4, 3], true, [2, 4, 1]],
  ['alpha_dropout.default', [2, 4, 3], true, [2, 4, 3]],
])('noise of `%s` of %j, in training %s, is of %j', (target, shape, train, noise) => {
  const call: AtenNode = {
    ...node(target, 'y', {}),
    arguments: new Map<string, AtenArgument>([
      ['input', { kind: 'tensor', name: 'x' }],
      ['p', number(0.1)],
      ['train', { kind: 'boolean', value: train }],
    ]),
  };
  const types = { x: ['float32', shape], y: ['float32', shape] } as const;
  const { model, structure } = lower(program(types, [], ['x'], [call], ['y']));
  const { graph } = analyzeOnnx(model, structure);
  const drawn = graph.operators.find(({ type }) => type === 'Bernoulli')?.outputs[0] ?? '';
  const type = graph.values.get(drawn)?.type;
  expect(type?.kind === 'tensor' ? type.shape : undefined).toEqual(noise);
});

test('counts of batches are left out', () => {
  const given = program(
    { x: ['float32', [2, 4]], count: ['int64', []], next: ['int64', []], z: ['float32', [2, 4]] },
    [],
    ['x', 'count'],
    [
      node('add_.Tensor', 'next', { self: 'count', other: 'count' }),
      node('relu.default', 'z', { self: 'x' }),
    ],
    ['z'],
  );
  expect(lower(given).model.graph.nodes.map(({ type }) => type)).toEqual(['Relu']);
});

test('a weight that nothing reads is another name of one that is read', () => {
  const given = program(
    {
      x: ['float32', [2, 4]],
      weight: ['float32', [4, 4]],
      alias: ['float32', [4, 4]],
      y: ['float32', [2, 4]],
    },
    ['weight', 'alias'],
    ['x'],
    [node('linear.default', 'y', { input: 'x', weight: 'weight' })],
    ['y'],
  );
  const { model, structure } = lower(given);
  expect(analyzeOnnx(model, structure).parameters.map(({ name }) => name)).toEqual(['model.weight']);
});

const language = (head: readonly number[]): ExportedProgram =>
  program(
    {
      ids: ['int64', [2, 8]],
      table: ['float32', [100, 16]],
      head: ['float32', head],
      h: ['float32', [2, 8, 16]],
      logits: ['float32', [2, 8, head[0] ?? 0]],
    },
    ['table', 'head'],
    ['ids'],
    [
      node('embedding.default', 'h', { weight: 'table', indices: 'ids' }),
      node('linear.default', 'logits', { input: 'h', weight: 'head' }),
    ],
    ['logits'],
  );

test('a table and a head of one shape may be one weight', () => {
  const [issue, ...others] = lower(language([100, 16])).structure.issues;
  expect(others).toEqual([]);
  expect(issue).toMatchObject({ code: 'pt2/ties', severity: 'warning' });
  expect(issue?.message).toMatch(
    /^1\.60 k parameters are counted twice if .*\. `model\.table` and `model\.head` have one shape, 100×16\./,
  );
  expect(lower(language([50, 16])).structure.issues).toEqual([]);
});

test('a call whose operand is nowhere is unknown, and an issue names it', () => {
  const given = program(
    { x: ['float32', [2, 4]], y: ['float32', [2, 4]], z: ['float32', [2, 4]] },
    [],
    ['x'],
    [
      node('add.Tensor', 'y', { self: 'x', other: 'lost' }),
      node('mul.Tensor', 'z', { self: 'y', other: 'gone' }),
    ],
    ['z'],
  );
  const { model, structure } = lower(given);
  expect(model.graph.nodes.map(({ domain, type }) => `${domain}.${type}`)).toEqual([
    'aten.add.Tensor',
    'aten.mul.Tensor',
  ]);
  expect(structure.issues.map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'pt2/operand: `add.Tensor` reads `lost`, which nothing before it computes (2 calls read such tensors): the program is damaged, export the model again',
  ]);
});

const typesOf = (given: ExportedProgram): readonly string[] => {
  const { model, structure } = lower(given);
  return analyzeOnnx(model, structure).graph.operators.map(({ type }) => type);
};
const codes = (given: ExportedProgram): readonly string[] =>
  lower(given).structure.issues.map(({ code }) => code);

/** `nn.Linear(6, 4)` and a detached result, after `run_decompositions()`. */
const decomposed = (target: string): ExportedProgram =>
  program(
    {
      ...{ w: ['float32', [6, 4]], b: ['float32', [4]], x: ['float32', [2, 6]] },
      ...{ y: ['float32', [2, 4]], d: ['float32', [2, 4]], z: ['float32', [2, 4]] },
    },
    ['w', 'b'],
    ['x'],
    [
      node('addmm.default', 'y', { self: 'b', mat1: 'x', mat2: 'w' }),
      node('alias.default', 'd', { self: 'y' }),
      node(target, 'z', { self: 'd' }),
    ],
    ['z'],
  );

test('`alias` of a decomposed program is the `detach` of the model', () => {
  expect(typesOf(decomposed('relu.default'))).toEqual(['Gemm', 'Identity', 'Relu']);
  expect(lower(decomposed('relu.default')).structure.detached?.size).toBe(1);
  expect(codes(decomposed('relu.default'))).toEqual(['pt2/decomposed']);
  // No decomposition leaves `contiguous`, which copies a view where it does not lie in order.
  expect(typesOf(decomposed('contiguous.default'))).toEqual(['Gemm', 'Identity']);
  expect(lower(decomposed('contiguous.default')).structure.detached?.size ?? 0).toBe(0);
  expect(codes(decomposed('contiguous.default'))).toEqual([]);
});

test('what takes the place of a parameter is computed without gradient', () => {
  const given = decomposed('relu.default');
  expect(lower({ ...given, mutated: ['y'] }).structure.detached?.size).toBe(2);
});

test('a region of autocast casts the operands of products, and of losses back', () => {
  const graph = program(
    {
      ...{ w: ['float32', [4, 6]], x: ['float32', [2, 6]] },
      ...{ y: ['bfloat16', [2, 4]], z: ['float32', [2, 4]] },
    },
    ['w'],
    ['x'],
    [node('linear.default', 'y', { input: 'x', weight: 'w' }), node('exp.default', 'z', { self: 'y' })],
    ['z'],
  );
  const boolean = (value: boolean): AtenArgument => ({ kind: 'boolean', value });
  const region = (enabled: boolean): ExportedProgram => ({
    ...graph,
    graph: {
      ...graph.graph,
      nodes: [
        {
          ...node('', 'z', {}),
          target: 'torch.ops.higher_order.wrap_with_autocast',
          arguments: new Map<string, AtenArgument>([
            ['0', { kind: 'string', value: 'cuda' }],
            ['1', { kind: 'elementType', value: 'bfloat16' }],
            ['2', boolean(enabled)],
            ['3', boolean(true)],
            ['4', { kind: 'graph', graph: { ...graph.graph, inputs: ['x', 'w'], outputs: ['z'] } }],
            ['5', { kind: 'tensor', name: 'x' }],
            ['6', { kind: 'tensor', name: 'w' }],
          ]),
        },
      ],
    },
  });
  expect(typesOf(region(true))).toEqual(['Cast', 'Cast', 'Gemm', 'Cast', 'Exp']);
  expect(typesOf(region(false))).toEqual(['Gemm', 'Exp']);
});

test('a function with a backward of its own is named', () => {
  const frame = (line: number, text: string) =>
    `  File "/home/model.py", line ${line}, in forward\n    ${text}`;
  const called = (outer: string, inner: string): ExportedProgram => {
    const given = program(
      { x: ['float32', [2]], y: ['float32', [2]] },
      [],
      ['x'],
      [{ ...node('sign.default', 'y', { self: 'x' }), stackTrace: `${frame(9, outer)}\n${frame(4, inner)}` }],
      ['y'],
    );
    return given;
  };
  expect(codes(called('return Sign.apply(x)', 'return x.sign()'))).toEqual(['pt2/custom-backward']);
  expect(codes(called('return Sign.apply(self.first(x))', 'return self.act(x)'))).toEqual([]);
  expect(codes(called('return self.sign(x)', 'return x.sign()'))).toEqual([]);
});

/** A symbol is no axis of its own here: `[2 * s0, 4]` of `[2, 4]`, `s0` times. */
test('a repeat by an open count is one along an axis before', () => {
  const open = (shape: readonly (number | string)[]) => ({
    elementType: 'float32' as const,
    shape,
    requiresGrad: false,
  });
  const given = program({}, [], ['x', 'y'], [node('repeat.default', 'z', { self: 'x' })], ['z']);
  const tensors = new Map([
    ['x', open([2, 4])],
    ['y', open(['s0', 3])],
    ['z', open(['2*s0', 4])],
  ]);
  const { model, structure } = lower({ ...given, graph: { ...given.graph, tensors } });
  const { graph } = analyzeOnnx(model, structure);
  expect(graph.operators.filter(({ type }) => type !== 'Shape').map(({ type }) => type)).toEqual([
    ...['Reshape', 'Concat', 'Expand', 'Reshape'],
  ]);
});

test.each<readonly [readonly number[], readonly number[]]>([
  [[1], [1, 5]],
  [
    [2, -1],
    [2, 3, 1],
  ],
  [
    [4, 9],
    [4, 2, 0],
  ],
])('`tensor_split` at %j gives parts of %j', (indices, parts) => {
  const names = parts.map((_, part) => `part_${part}`);
  const call = node('tensor_split.indices', names[0] ?? '', { self: 'x' });
  const given = program(
    {
      x: ['float32', [3, 6]],
      ...Object.fromEntries(names.map((name, part) => [name, ['float32', [3, parts[part] ?? 0]]])),
    },
    [],
    ['x'],
    [
      {
        ...call,
        arguments: new Map([
          ...call.arguments,
          ['indices', { kind: 'numbers', values: indices }],
          ['dim', number(1)],
        ]),
        outputs: names,
      },
    ],
    names,
  );
  const { model, structure } = lower(given);
  const { graph } = analyzeOnnx(model, structure);
  expect(graph.outputs.map((name) => graph.values.get(name)?.type)).toMatchObject(
    parts.map((size) => ({ kind: 'tensor', shape: [3, size] })),
  );
});

test.each<readonly [number, string]>([
  [4, 'Attention'],
  [1, 'MatMul'],
])('attention of 4 heads over %i of keys ends in %s', (groups, last) => {
  const call = node('scaled_dot_product_attention.default', 'out', { query: 'q', key: 'k', value: 'v' });
  const given = program(
    {
      q: ['float32', [2, 4, 8, 16]],
      k: ['float32', [2, groups, 8, 16]],
      v: ['float32', [2, groups, 8, 16]],
      out: ['float32', [2, 4, 8, 16]],
    },
    [],
    ['q', 'k', 'v'],
    [call],
    ['out'],
  );
  const { model, structure } = lower(given);
  expect(analyzeOnnx(model, structure).graph.operators.at(-1)?.type).toBe(last);
});

/** Shapes that PyTorch 2.13 gives: `torch.linspace(0.5, 0.5, n)`, `torch.zeros(2, 0, 32).unsqueeze(1)`, `torch._is_all_true(x)`. */
test.each<
  readonly [string, string, readonly number[], Readonly<Record<string, AtenArgument>>, readonly number[]]
>([
  [
    'one number between equal ends',
    'linspace.default',
    [4],
    { start: number(0.5), end: number(0.5), steps: number(1) },
    [1],
  ],
  [
    'three numbers between equal ends',
    'linspace.default',
    [4],
    { start: number(0.5), end: number(0.5), steps: number(3) },
    [3],
  ],
  [
    'a view of a tensor without elements',
    'unsqueeze.default',
    [2, 0, 32],
    { self: { kind: 'tensor', name: 'x' }, dim: number(1) },
    [2, 1, 0, 32],
  ],
])('%s: its shape is that of PyTorch', (_, target, input, given, shape) => {
  const call: AtenNode = { ...node(target, 'y', {}), arguments: new Map(Object.entries(given)) };
  const types = { x: ['float32', input], y: ['float32', shape] } as const;
  const { model, structure } = lower(program(types, [], ['x'], [call], ['y']));
  const { graph, issues } = analyzeOnnx(model, structure);
  const type = graph.values.get(graph.outputs[0] ?? '')?.type;
  expect(type?.kind === 'tensor' ? type.shape : undefined).toEqual(shape);
  expect(issues.filter(({ code }) => code.startsWith('shape/'))).toEqual([]);
});

/**
 * `x[:, :n].clone()`: what is saved of the copy has its own elements, not those of all of `x` (torch.autograd.graph.saved_tensors_hooks,
 * PyTorch 2.13; `torch_chunk_gated_delta_rule` of transformers clones parts in a loop).
 */
test.each<[string, string, Readonly<Record<string, AtenArgument>>, readonly number[], number]>([
  ['a part', 'slice.Tensor', { dim: number(1), start: number(0), end: number(3) }, [2, 3], 1],
  ['an entry', 'select.int', { dim: number(1), index: number(0) }, [2], 1],
  ['all in another order', 'transpose.int', { dim0: number(0), dim1: number(1) }, [8, 2], 0],
])('a clone of %s is a copy where it is smaller', (_, target, given, shape, copies) => {
  const view: AtenNode = {
    ...node(target, 'part', {}),
    arguments: new Map<string, AtenArgument>([
      ['self', { kind: 'tensor', name: 'x' }],
      ...Object.entries(given),
    ]),
  };
  const calls = [
    view,
    node('clone.default', 'copy', { self: 'part' }),
    node('exp.default', 'y', { self: 'copy' }),
  ];
  const types = {
    x: ['float32', [2, 8]],
    part: ['float32', shape],
    copy: ['float32', shape],
    y: ['float32', shape],
  } as const;
  const { model } = lower(program(types, [], ['x'], calls, ['y']));
  expect(model.graph.nodes.filter(({ type }) => type === 'Concat')).toHaveLength(copies);
});

/** `x[mask] = values`, as `torch.Tensor.index_put` documents it: one number, one row for all, or rows in their order. */
test.each<[string, readonly number[], string, readonly number[]]>([
  ['one number', [], 'Where', [2, 8]],
  ['one row for all', [4], 'Where', [2, 8]],
  ['a list of one row', [1, 4], 'Where', [2, 8]],
  ['rows in their order', [5, 4], 'MaskedScatter', [2, 8]],
  ['elements in their order', [7], 'MaskedScatter', [2, 8, 4]],
])('%s where a mask holds', (_, values, type, mask) => {
  const call: AtenNode = {
    ...node('index_put_.default', 'y', { self: 'x', values: 'v' }),
    arguments: new Map<string, AtenArgument>([
      ['self', { kind: 'tensor', name: 'x' }],
      ['indices', { kind: 'tensors', names: ['mask'] }],
      ['values', { kind: 'tensor', name: 'v' }],
    ]),
  };
  const types = {
    x: ['float32', [2, 8, 4]],
    mask: ['bool', mask],
    v: ['float32', values],
    y: ['float32', [2, 8, 4]],
  } as const;
  const given = program(types, [], ['x', 'mask', 'v'], [call], ['y']);
  expect(typesOf(given).at(-1)).toBe(type);
  expect(codes(given)).toEqual([]);
});

/** As many rows as a mask has: a size that no input has. `model.vision_model` of Idefics3 fills tensors of so many images. */
test('a tensor is filled to a size that an earlier result has', () => {
  const kept: AtenNode = {
    ...node('index.Tensor', 'kept', {}),
    arguments: new Map<string, AtenArgument>([
      ['self', { kind: 'tensor', name: 'x' }],
      ['indices', { kind: 'tensors', names: ['mask'] }],
    ]),
  };
  const filled: AtenNode = {
    ...node('ones.default', 'ones', {}),
    arguments: new Map<string, AtenArgument>([['size', { kind: 'sizes', values: ['u0', 16] }]]),
  };
  const types = {
    x: ['float32', [8, 16]],
    mask: ['bool', [8]],
    kept: ['float32', ['u0', 16]],
    ones: ['float32', ['u0', 16]],
    y: ['float32', ['u0', 16]],
  } as const;
  const sum: AtenNode = node('add.Tensor', 'y', { self: 'kept', other: 'ones' });
  const { model, structure } = lower(program(types, [], ['x', 'mask'], [kept, filled, sum], ['y']));
  const { graph } = analyzeOnnx(model, structure);
  expect(graph.operators.filter(({ domain }) => domain !== '')).toEqual([]);
  const type = graph.values.get(graph.outputs[0] ?? '')?.type;
  expect(
    type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.map(printDimension) : undefined,
  ).toEqual(['u0', '16']);
});

/** `mask |= other` of Python writes into `mask`. */
test('what reads a mask after `|=` reads what was written', () => {
  const types = {
    x: ['bool', [4]],
    y: ['bool', [4]],
    or: ['bool', [4]],
    not: ['bool', [4]],
  } as const;
  const calls = [
    node('__ior__.Tensor', 'or', { self: 'x', other: 'y' }),
    node('logical_not.default', 'not', { self: 'x' }),
  ];
  const { model } = lower(program(types, [], ['x', 'y'], calls, ['not']));
  const [or, not] = model.graph.nodes;
  expect([or?.type, not?.type]).toEqual(['Or', 'Not']);
  expect(not?.inputs).toEqual(or?.outputs);
});
