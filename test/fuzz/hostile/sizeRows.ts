/** Sizes past every number, in files and in what operators make of them. */

import {
  bytesField,
  encodeNode,
  type GraphDescription,
  joinBytes,
  type ModelDescription,
  type NodeDescription,
  stringField,
  varintField,
} from '../../support/onnxBytes.ts';
import { bytes, chainOf, type HostileInput, megabyte, model, times, withGraph } from './rows.ts';

/** One operator on `x: float[N,4]`, with constants `c` (an int64 vector) and `s` (an int64 scalar). */
const applied = (
  type: string,
  constants: readonly number[],
  attributes: NodeDescription['attributes'] = {},
  inputs: readonly string[] = ['x', 'c'],
): ModelDescription => ({
  graph: {
    inputs: { x: 'float[N,4]', m: 'float[2,3,8,8]', k: 'float[3,3,3,3]' },
    outputs: { y: 'float' },
    initializers: [
      { name: 'c', type: `int64[${constants.length}]`, elements: constants },
      { name: 's', type: 'int64', elements: [constants[0] ?? 0] },
      { name: 'zero', type: 'int64', elements: [0] },
      { name: 'one', type: 'int64', elements: [1] },
    ],
    nodes: [
      { type, inputs, outputs: ['y'], attributes },
      { type: 'Shape', inputs: ['y'], outputs: ['shape'] },
      { type: 'ConstantOfShape', inputs: ['shape'], outputs: ['again'] },
      { type: 'Relu', inputs: ['again'], outputs: ['z'] },
    ],
  },
});
const dimensions = (...sizes: readonly bigint[]): Uint8Array =>
  withGraph(
    joinBytes([
      bytesField(
        11,
        joinBytes([
          stringField(1, 'x'),
          bytesField(
            2,
            bytesField(
              1,
              joinBytes([
                varintField(1, 1),
                bytesField(2, joinBytes(sizes.map((size) => bytesField(1, varintField(1, size))))),
              ]),
            ),
          ),
        ]),
      ),
      bytesField(
        5,
        joinBytes([...sizes.map((size) => varintField(1, size)), varintField(2, 1), stringField(8, 'w')]),
      ),
      bytesField(1, encodeNode({ type: 'MatMul', inputs: ['x', 'w'], outputs: ['y'] })),
      bytesField(1, encodeNode({ type: 'Mul', inputs: ['y', 'w'], outputs: ['z'] })),
      bytesField(
        1,
        encodeNode({ type: 'Flatten', inputs: ['z'], outputs: ['flat'], attributes: { axis: 0 } }),
      ),
      bytesField(1, encodeNode({ type: 'Softmax', inputs: ['flat'], outputs: ['out'] })),
    ]),
  );

const loop = (trips: number, body: GraphDescription): ModelDescription => ({
  graph: {
    inputs: { x: 'float[N,4]' },
    initializers: [
      { name: 'trips', type: 'int64', elements: [trips] },
      { name: 'yes', type: 'bool', elements: [1] },
    ],
    nodes: [
      {
        type: 'Loop',
        inputs: ['trips', 'yes', 'x'],
        outputs: ['y', 'all'],
        attributes: { body: { graph: body } },
      },
    ],
  },
});

const loopBody: GraphDescription = {
  inputs: { i: 'int64', go: 'bool', state: 'float[N,4]' },
  outputs: { go: 'bool', next: 'float[N,4]', each: 'float[N,4]' },
  nodes: [
    { type: 'Relu', inputs: ['state'], outputs: ['next'] },
    { type: 'Relu', inputs: ['state'], outputs: ['each'] },
  ],
};

export const sizeRows: readonly HostileInput[] = [
  bytes('dimensions whose product passes 2^53', () => dimensions(2n ** 20n, 2n ** 20n, 2n ** 20n)),
  bytes('dimensions whose product passes 2^1024', () => dimensions(...times(24, () => 2n ** 52n))),
  bytes('dimensions of 2^63 - 1', () => dimensions(2n ** 63n - 1n, 2n ** 63n - 1n)),
  bytes('dimensions of 2^64 - 1', () => dimensions(2n ** 64n - 1n, 4n)),
  bytes('dimensions of -2^63', () => dimensions(2n ** 63n, 2n ** 63n)),
  bytes('dimensions of zero', () => dimensions(0n, 0n, 0n)),
  bytes('no dimension at all', () => dimensions()),
  ...[10 ** 9, 2 ** 53 - 1, -1, -(10 ** 9)].flatMap((count) => [
    model(`Reshape to ${count}`, () => applied('Reshape', [count, count])),
    model(`Expand to ${count}`, () => applied('Expand', [count, count, 4])),
    model(`Tile ${count} times`, () => applied('Tile', [count, count])),
    model(`ConstantOfShape of ${count}`, () => applied('ConstantOfShape', [count], {}, ['c'])),
    model(`Range up to ${count}`, () => applied('Range', [count], {}, ['zero', 's', 'one'])),
    model(`Range down from ${count}`, () => applied('Range', [count], {}, ['s', 'zero', 'one'])),
    model(`Split into ${count}`, () => applied('Split', [count], { num_outputs: count }, ['x'])),
    model(`Split by ${count}`, () => applied('Split', [count, count])),
    model(`SplitToSequence by ${count}`, () => applied('SplitToSequence', [count], {}, ['x', 's'])),
    model(`Pad by ${count}`, () => applied('Pad', [count, count, count, count])),
    model(`Slice by ${count}`, () => applied('Slice', [count], {}, ['x', 'c', 'c', 'c', 'c'])),
    model(`TopK of ${count}`, () => applied('TopK', [count])),
    model(`OneHot of depth ${count}`, () => applied('OneHot', [count], {}, ['x', 's', 'c'])),
    model(`Unsqueeze at ${count}`, () => applied('Unsqueeze', [count])),
    model(`Squeeze at ${count}`, () => applied('Squeeze', [count])),
    model(`Transpose by ${count}`, () => applied('Transpose', [], { perm: [count, 0] }, ['x'])),
    model(`Concat on axis ${count}`, () => applied('Concat', [count], { axis: count }, ['x', 'x'])),
    model(`Gather on axis ${count}`, () => applied('Gather', [count], { axis: count }, ['x', 'c'])),
    model(`Flatten on axis ${count}`, () => applied('Flatten', [count], { axis: count }, ['x'])),
    model(`Resize by ${count}`, () => applied('Resize', [count, count], {}, ['x', '', '', 'c'])),
    model(`DepthToSpace by ${count}`, () => applied('DepthToSpace', [], { blocksize: count }, ['m'])),
    model(`SpaceToDepth by ${count}`, () => applied('SpaceToDepth', [], { blocksize: count }, ['m'])),
    model(`Conv in ${count} groups`, () => applied('Conv', [], { group: count }, ['m', 'k'])),
    model(`Conv by strides of ${count}`, () => applied('Conv', [], { strides: [count, count] }, ['m', 'k'])),
    model(`Conv padded by ${count}`, () =>
      applied('Conv', [], { pads: [count, count, count, count] }, ['m', 'k']),
    ),
    model(`Conv dilated by ${count}`, () => applied('Conv', [], { dilations: [count, count] }, ['m', 'k'])),
    model(`ConvTranspose padded to ${count}`, () =>
      applied('ConvTranspose', [], { output_padding: [count, count] }, ['m', 'k']),
    ),
    model(`a pool of ${count}`, () => applied('MaxPool', [], { kernel_shape: [count, count] }, ['m'])),
    model(`a recurrent layer of ${count}`, () =>
      applied('LSTM', [], { hidden_size: count }, ['m', 'k', 'k']),
    ),
    model(`Eye, Bernoulli and friends of ${count}`, () =>
      applied('RandomNormal', [], { shape: [count, count, count] }, []),
    ),
    model(`a window of ${count}`, () => applied('HannWindow', [count], {}, ['s'])),
    model(`a Loop of ${count} trips`, () => loop(count, loopBody)),
    model(`two Loops of ${count} trips inside each other`, () =>
      loop(count, {
        ...loopBody,
        nodes: [
          ...(loopBody.nodes ?? []),
          ...(loop(count, loopBody).graph.nodes ?? []).map((node) => ({
            ...node,
            inputs: ['trips', 'yes', 'state'],
            outputs: ['p', 'q'],
          })),
        ],
      }),
    ),
  ]),
  model('a Loop of sixteen trips in four loops', () => {
    let body = loopBody;
    for (let level = 0; level < 4; level += 1) {
      body = {
        inputs: loopBody.inputs ?? {},
        outputs: { go: 'bool', next: 'float[N,4]' },
        initializers: [
          { name: `t${level}`, type: 'int64', elements: [16] },
          { name: `y${level}`, type: 'bool', elements: [1] },
        ],
        nodes: [
          {
            type: 'Loop',
            inputs: [`t${level}`, `y${level}`, 'state'],
            outputs: ['next'],
            attributes: { body: { graph: body } },
          },
        ],
      };
    }
    return loop(16, body);
  }),
  model('shapes that double 60 times', () => ({
    graph: chainOf(60, (index) => ({
      type: 'Concat',
      inputs: [`v${index}`, `v${index}`],
      outputs: [`v${index + 1}`],
      attributes: { axis: 0 },
    })),
  })),
  model('contents that double 60 times', () => ({
    graph: {
      initializers: [{ name: 'v0', type: 'int64[2]', elements: [2, 3] }],
      nodes: times(60, (index) => ({
        type: 'Concat',
        inputs: [`v${index}`, `v${index}`],
        outputs: [`v${index + 1}`],
        attributes: { axis: 0 },
      })),
    },
  })),
  model('ranks that double 60 times', () => ({
    graph: chainOf(60, (index) => ({
      type: 'Unsqueeze',
      inputs: [`v${index}`, 'axes'],
      outputs: [`v${index + 1}`],
    })),
  })),
  model('a symbol squared 60 times', () => ({
    graph: {
      inputs: { x: 'float[N,M]' },
      nodes: [
        { type: 'Shape', inputs: ['x'], outputs: ['v0'] },
        ...times(60, (index) => ({
          type: 'Mul',
          inputs: [`v${index}`, `v${index}`],
          outputs: [`v${index + 1}`],
        })),
        { type: 'ConstantOfShape', inputs: ['v60'], outputs: ['y'] },
        { type: 'Relu', inputs: ['y'], outputs: ['z'] },
      ],
    },
  })),
  model('symbols summed and multiplied 200 times', () => ({
    graph: {
      inputs: { x: 'float[A,B,C,D]', z: 'float[E,F,G,H]' },
      nodes: [
        { type: 'Shape', inputs: ['x'], outputs: ['v0'] },
        { type: 'Shape', inputs: ['z'], outputs: ['w'] },
        ...times(200, (index) => ({
          type: index % 2 === 0 ? 'Add' : 'Mul',
          inputs: [`v${index}`, 'w'],
          outputs: [`v${index + 1}`],
        })),
        { type: 'ConstantOfShape', inputs: ['v200'], outputs: ['y'] },
        { type: 'Relu', inputs: ['y'], outputs: ['q'] },
      ],
    },
  })),
  model('a polynomial in eight symbols to the 64th power', () => ({
    graph: {
      inputs: { x: 'float[(A+B+C+D+E+F+G+H)]' },
      nodes: [
        { type: 'Shape', inputs: ['x'], outputs: ['v0'] },
        ...times(6, (index) => ({
          type: 'Mul',
          inputs: [`v${index}`, `v${index}`],
          outputs: [`v${index + 1}`],
        })),
        { type: 'ConstantOfShape', inputs: ['v6'], outputs: ['y'] },
      ],
    },
  })),
  model('divisions of symbols nested 300 deep', () => ({
    graph: {
      inputs: { x: 'float[A,B]' },
      initializers: [{ name: 'c', type: 'int64[2]', elements: [3, 7] }],
      nodes: [
        { type: 'Shape', inputs: ['x'], outputs: ['v0'] },
        ...times(600, (index) => ({
          type: index % 2 === 0 ? 'Div' : 'Add',
          inputs: [`v${index}`, index % 2 === 0 ? 'c' : `v${index - 1}`],
          outputs: [`v${index + 1}`],
        })),
        { type: 'ConstantOfShape', inputs: ['v600'], outputs: ['y'] },
      ],
    },
  })),
  model('an Einsum of a megabyte of letters', () =>
    applied('Einsum', [], { equation: `${megabyte('ij,')}jk->ik` }, ['x', 'x']),
  ),
  model('an Einsum of a megabyte of dots', () => applied('Einsum', [], { equation: megabyte('...') }, ['x'])),
  model('an Einsum of 200,000 inputs', () =>
    applied(
      'Einsum',
      [],
      { equation: times(200_000, () => 'i').join(',') },
      times(200_000, () => 'x'),
    ),
  ),
];
