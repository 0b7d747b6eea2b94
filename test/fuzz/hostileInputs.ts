/** Files made to break readers: each row one trick, all below a megabyte. */

import {
  bytesField,
  encodeGraph,
  encodeModel,
  encodeNode,
  encodeType,
  type GraphDescription,
  joinBytes,
  type ModelDescription,
  type NodeDescription,
  stringField,
  tag,
  varint,
  varintField,
} from '../support/onnxBytes.ts';
import type { FuzzInput } from './answerInput.ts';

export interface HostileInput {
  readonly what: string;
  /** Made when asked for: some take a while. */
  readonly make: () => FuzzInput;
}

const text = (words: string): Uint8Array => new TextEncoder().encode(words);
const row = (what: string, name: string, make: () => Uint8Array): HostileInput => ({
  what,
  make: () => ({ name, bytes: make(), request: { batch: 4 } }),
});
const spec = (what: string, make: () => string): HostileInput =>
  row(what, 'model.layers.yaml', () => text(make()));
const onnxText = (what: string, make: () => string): HostileInput =>
  row(what, 'model.onnxtxt', () => text(make()));
const json = (what: string, make: () => string): HostileInput => row(what, 'model.json', () => text(make()));
const protobufText = (what: string, make: () => string): HostileInput =>
  row(what, 'model.textproto', () => text(make()));
const model = (what: string, make: () => ModelDescription): HostileInput =>
  row(what, 'model.onnx', () => encodeModel(make()));
const bytes = (what: string, make: () => Uint8Array): HostileInput => row(what, 'model.onnx', make);

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

/** `inner` put into `depth` messages by `wrap`, from the inside out. */
const nest = (depth: number, inner: Uint8Array, wrap: (inner: Uint8Array) => Uint8Array): Uint8Array => {
  let nested = inner;
  for (let level = 0; level < depth; level += 1) nested = wrap(nested);
  return nested;
};

const withGraph = (graph: Uint8Array): Uint8Array =>
  joinBytes([varintField(1, 10), bytesField(8, varintField(2, 21)), bytesField(7, graph)]);

const nestedGraphs = (depth: number): Uint8Array =>
  withGraph(
    nest(depth, encodeGraph({ nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] }), (inner) =>
      bytesField(
        1,
        joinBytes([
          stringField(1, 'x'),
          stringField(2, 'y'),
          stringField(4, 'If'),
          bytesField(5, joinBytes([stringField(1, 'then_branch'), bytesField(6, inner), varintField(20, 5)])),
        ]),
      ),
    ),
  );

const nestedTypes = (depth: number, field: 4 | 9): Uint8Array =>
  withGraph(
    joinBytes([
      bytesField(
        11,
        joinBytes([
          stringField(1, 'x'),
          bytesField(
            2,
            nest(depth, encodeType('float[2]'), (inner) => bytesField(field, bytesField(1, inner))),
          ),
        ]),
      ),
      bytesField(1, encodeNode({ type: 'Identity', inputs: ['x'], outputs: ['y'] })),
    ]),
  );

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

const chain = (length: number, node: (index: number) => NodeDescription): GraphDescription => ({
  inputs: { v0: 'float[N,4]' },
  nodes: Array.from({ length }, (_, index) => node(index)),
});

const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

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

/** Functions `f0` to `f<depth>`, each calling the next `calls` times. */
const callTree = (depth: number, calls: number): ModelDescription => ({
  operatorSets: { '': 21, own: 1 },
  graph: {
    inputs: { x: 'float[N,4]' },
    nodes: [{ type: 'f0', domain: 'own', inputs: ['x'], outputs: ['y'] }],
  },
  functions: times(depth, (level) => ({
    name: `f${level}`,
    domain: 'own',
    inputs: ['a'],
    outputs: ['b'],
    nodes: times(calls, (call) => ({
      ...(level + 1 === depth ? { type: 'Relu' } : { type: `f${level + 1}`, domain: 'own' }),
      inputs: [call === 0 ? 'a' : `t${call}`],
      outputs: [call + 1 === calls ? 'b' : `t${call + 1}`],
    })),
  })),
});

const blocksOf = (depth: number, calls: number, layer: string): string =>
  [
    'inputs: { x: "float[N, 4]" }',
    'blocks:',
    ...times(depth, (level) => [
      `  b${level}:`,
      ...times(calls, (call) => `    - c${call}: ${level === 0 ? layer : `b${level - 1}()`}`),
    ]).flat(),
    'layers:',
    `  - all: b${depth - 1}()`,
  ].join('\n');

const simpleSpec = (layer: string, dims = '{ n: 2 }'): string =>
  `dims: ${dims}\ninputs: { x: "float[batch, 3, 8, 8]" }\nlayers:\n  - first: ${layer}\n  - second: ReLU()\n`;

const header = '<ir_version: 10, opset_import: ["" : 21]>\n';

export const hostileInputs: readonly HostileInput[] = [
  // Lengths and numbers of the wire format.
  bytes('a graph longer than the file', () => joinBytes([varintField(1, 10), tag(7, 2), varint(1000)])),
  bytes('a graph of 2^31 bytes', () => joinBytes([varintField(1, 10), tag(7, 2), varint(2n ** 31n)])),
  bytes('a graph of 2^63 bytes', () => joinBytes([varintField(1, 10), tag(7, 2), varint(2n ** 63n)])),
  bytes('a graph of 2^64 - 1 bytes', () =>
    joinBytes([varintField(1, 10), tag(7, 2), varint(2n ** 64n - 1n)]),
  ),
  bytes('a tensor payload of 2^63 - 1 bytes', () =>
    withGraph(
      bytesField(5, joinBytes([varintField(1, 2), varintField(2, 7), tag(9, 2), varint(2n ** 63n - 1n)])),
    ),
  ),
  bytes('a varint without end', () =>
    joinBytes([varintField(1, 10), Uint8Array.of(56), new Uint8Array(1000).fill(0xff)]),
  ),
  bytes('a megabyte of field tags', () =>
    joinBytes([varintField(1, 10), new Uint8Array(1_000_000).fill(0x08)]),
  ),
  bytes('500 empty nodes', () => withGraph(joinBytes(times(500, () => Uint8Array.of(0x0a, 0x00))))),
  bytes('a megabyte of empty initializers', () =>
    withGraph(joinBytes(times(450_000, () => Uint8Array.of(0x2a, 0x00)))),
  ),
  bytes('50,000 empty functions', () =>
    joinBytes([
      encodeModel({ graph: { nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] } }),
      ...times(50_000, () => Uint8Array.of(0xca, 0x01, 0x00)),
    ]),
  ),
  bytes('a megabyte of inputs without a type', () =>
    withGraph(joinBytes(times(450_000, () => Uint8Array.of(0x5a, 0x00)))),
  ),
  bytes('a megabyte of one packed integer attribute', () =>
    withGraph(
      bytesField(
        1,
        joinBytes([
          stringField(1, 'x'),
          stringField(2, 'y'),
          stringField(4, 'Transpose'),
          bytesField(
            5,
            joinBytes([stringField(1, 'perm'), bytesField(8, new Uint8Array(900_000)), varintField(20, 7)]),
          ),
        ]),
      ),
    ),
  ),
  bytes('a tensor of 300,000 dimensions', () =>
    withGraph(
      joinBytes([
        bytesField(
          5,
          joinBytes([...times(300_000, () => varintField(1, 2)), varintField(2, 1), stringField(8, 'w')]),
        ),
        bytesField(1, encodeNode({ type: 'Relu', inputs: ['w'], outputs: ['y'] })),
        bytesField(1, encodeNode({ type: 'Add', inputs: ['y', 'w'], outputs: ['z'] })),
        bytesField(1, encodeNode({ type: 'Transpose', inputs: ['z'], outputs: ['t'] })),
        bytesField(1, encodeNode({ type: 'MatMul', inputs: ['t', 'z'], outputs: ['u'] })),
      ]),
    ),
  ),

  // Depth.
  ...[100, 10_000].flatMap((depth) => [
    bytes(`graphs nested ${depth} deep`, () => nestedGraphs(depth)),
    bytes(`sequences nested ${depth} deep`, () => nestedTypes(depth, 4)),
    bytes(`optionals nested ${depth} deep`, () => nestedTypes(depth, 9)),
    json(`JSON objects nested ${depth} deep`, () => '{"graph":'.repeat(depth) + '}'.repeat(depth)),
    json(`JSON arrays nested ${depth} deep`, () => `{"irVersion":8,"graph":${'['.repeat(depth)}`),
    json(
      `JSON graphs nested ${depth} deep`,
      () =>
        `{"irVersion":"8","graph":${'{"node":[{"opType":"If","attribute":[{"name":"then_branch","type":"GRAPH","g":'.repeat(depth)}{}${'}]}]}'.repeat(depth)}}`,
    ),
    protobufText(
      `protobuf text nested ${depth} deep`,
      () => `ir_version: 8 graph { ${'node { attribute { g { '.repeat(depth)}`,
    ),
    onnxText(
      `ONNX text graphs nested ${depth} deep`,
      () =>
        `${header}g (float[2] x) => (float[2] y) { y = ${'If (x) <then_branch = t () => (float a) { a = '.repeat(depth)}Relu(x)${' }>'.repeat(depth)} }`,
    ),
    onnxText(
      `ONNX text types nested ${depth} deep`,
      () => `${header}g (${'seq('.repeat(depth)}float${')'.repeat(depth)} x) => (float y) { y = Relu(x) }`,
    ),
    spec(`parentheses nested ${depth} deep`, () =>
      simpleSpec(`Linear(${'('.repeat(depth)}n${')'.repeat(depth)})`),
    ),
    spec(`signs repeated ${depth} times`, () => simpleSpec(`Linear(${'-'.repeat(depth)}n)`)),
    spec(`powers repeated ${depth} times`, () => simpleSpec(`Linear(${'2**'.repeat(depth)}2)`)),
    spec(`sums of ${depth} terms`, () => simpleSpec(`Linear(${'n+'.repeat(depth)}2)`)),
    spec(`calls nested ${depth} deep`, () => simpleSpec(`${'add('.repeat(depth)}x${', x)'.repeat(depth)}`)),
    spec(`YAML lists nested ${depth} deep`, () => `layers: ${'['.repeat(depth)}${']'.repeat(depth)}`),
    spec(`YAML mappings nested ${depth} deep`, () => `layers: ${'{a: '.repeat(depth)}1${'}'.repeat(depth)}`),
    spec(
      `YAML indented ${depth / 10} deep`,
      () => `layers:\n${times(depth / 10, (level) => `${' '.repeat(level + 1)}a:`).join('\n')}`,
    ),
    model(`a dimension's expression nested ${depth} deep`, () => ({
      graph: {
        inputs: { x: `float[${'('.repeat(depth)}N${')'.repeat(depth)}]` },
        nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }],
      },
    })),
    model(`a dimension of ${depth} factors`, () => ({
      graph: {
        inputs: { x: `float[${'(N + M)*'.repeat(depth)}N]` },
        nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }],
      },
    })),
    model(`a dimension of ${depth} signs`, () => ({
      graph: {
        inputs: { x: `float[${'-'.repeat(depth)}N]` },
        nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }],
      },
    })),
    model(`functions calling each other ${depth} deep`, () => callTree(depth, 1)),
  ]),

  // Functions.
  model('a function that calls itself', () => ({
    ...callTree(1, 1),
    functions: [
      {
        name: 'f0',
        domain: 'own',
        inputs: ['a'],
        outputs: ['b'],
        nodes: [{ type: 'f0', domain: 'own', inputs: ['a'], outputs: ['b'] }],
      },
    ],
  })),
  model('functions that call each other', () => ({
    ...callTree(1, 1),
    functions: times(2, (index) => ({
      name: `f${index}`,
      domain: 'own',
      inputs: ['a'],
      outputs: ['b'],
      nodes: times(3, () => ({ type: `f${1 - index}`, domain: 'own', inputs: ['a'], outputs: ['b'] })),
    })),
  })),
  model('a function that calls itself in a subgraph', () => ({
    ...callTree(1, 1),
    functions: [
      {
        name: 'f0',
        domain: 'own',
        inputs: ['a'],
        outputs: ['b'],
        nodes: [
          {
            type: 'If',
            inputs: ['a'],
            outputs: ['b'],
            attributes: {
              then_branch: {
                graph: {
                  outputs: { c: 'float' },
                  nodes: [{ type: 'f0', domain: 'own', inputs: ['a'], outputs: ['c'] }],
                },
              },
              else_branch: {
                graph: {
                  outputs: { c: 'float' },
                  nodes: [{ type: 'f0', domain: 'own', inputs: ['a'], outputs: ['c'] }],
                },
              },
            },
          },
        ],
      },
    ],
  })),
  model('a function named like an operator that calls that operator', () => ({
    operatorSets: { '': 21 },
    graph: { inputs: { x: 'float[2]' }, nodes: [{ type: 'Relu', inputs: ['x'], outputs: ['y'] }] },
    functions: [
      {
        name: 'Relu',
        inputs: ['a'],
        outputs: ['b'],
        nodes: [{ type: 'Relu', inputs: ['a'], outputs: ['b'] }],
      },
    ],
  })),
  model('functions that double 40 times', () => callTree(40, 2)),
  model('functions that call ten times, ten deep', () => callTree(10, 10)),
  model('functions without content that call ten times, ten deep', () => {
    const tree = callTree(10, 10);
    return {
      ...tree,
      functions: (tree.functions ?? []).map((body, level) => (level === 9 ? { ...body, nodes: [] } : body)),
    };
  }),
  model('functions of a thousand calls to a function of a thousand', () => callTree(2, 1000)),
  model('a function whose output is its input, 20,000 calls', () => ({
    operatorSets: { '': 21, own: 1 },
    graph: chain(20_000, (index) => ({
      type: 'f',
      domain: 'own',
      inputs: [`v${index}`],
      outputs: [`v${index + 1}`],
    })),
    functions: [{ name: 'f', domain: 'own', inputs: ['a'], outputs: ['a'], nodes: [] }],
  })),

  // Sizes.
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
    graph: chain(60, (index) => ({
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
    graph: chain(60, (index) => ({
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
  model('an Einsum of 500,000 letters', () =>
    applied('Einsum', [], { equation: `${'ij,'.repeat(150_000)}jk->ik` }, ['x', 'x']),
  ),
  model('an Einsum of 300,000 dots', () => applied('Einsum', [], { equation: '...'.repeat(100_000) }, ['x'])),
  model('an Einsum of 100,000 inputs', () =>
    applied(
      'Einsum',
      [],
      { equation: times(100_000, () => 'i').join(',') },
      times(100_000, () => 'x'),
    ),
  ),

  // Many of one thing.
  model('10,000 nodes on one value', () => ({
    graph: chain(10_000, (index) => ({ type: 'Relu', inputs: ['v0'], outputs: [`r${index}`] })),
  })),
  model('10,000 nodes in a chain', () => ({
    graph: chain(10_000, (index) => ({
      type: 'Add',
      inputs: [`v${index}`, 'v0'],
      outputs: [`v${index + 1}`],
    })),
  })),
  model('10,000 nodes in a chain, last first', () => ({
    graph: chain(10_000, (index) => ({
      type: 'Relu',
      inputs: [`v${9_999 - index}`],
      outputs: [`v${10_000 - index}`],
    })),
  })),
  model('1,000 nodes that all write one value', () => ({
    graph: chain(1_000, () => ({ type: 'Relu', inputs: ['v0'], outputs: ['y'] })),
  })),
  model('10,000 nodes in one circle', () => ({
    graph: chain(10_000, (index) => ({
      type: 'Relu',
      inputs: [`c${index}`],
      outputs: [`c${(index + 1) % 10_000}`],
    })),
  })),
  model('10,000 nodes that read what nothing writes', () => ({
    graph: chain(10_000, (index) => ({ type: 'Relu', inputs: [`m${index}`], outputs: [`y${index}`] })),
  })),
  model('10,000 unknown operators', () => ({
    graph: chain(10_000, (index) => ({ type: `Op${index}`, inputs: ['v0'], outputs: [`y${index}`] })),
  })),
  model('5,000 wrong operators, each in its own scope', () => ({
    graph: chain(5_000, (index) => ({
      type: 'MatMul',
      name: `/a${index}/b`,
      inputs: ['v0', 'v0'],
      outputs: [`y${index}`],
    })),
  })),
  model('20,000 layers of one name', () => ({
    graph: chain(20_000, (index) => ({
      type: 'Relu',
      name: '/a/b/Relu',
      inputs: ['v0'],
      outputs: [`y${index}`],
    })),
  })),
  model('a node of 100,000 inputs', () => ({
    graph: chain(1, () => ({
      type: 'Concat',
      inputs: times(100_000, () => 'v0'),
      outputs: ['y'],
      attributes: { axis: 0 },
    })),
  })),
  model('a node of 100,000 outputs', () => ({
    graph: chain(1, () => ({
      type: 'Split',
      inputs: ['v0'],
      outputs: times(100_000, (index) => `y${index}`),
    })),
  })),
  model('a hundred nodes that each read a thousand sums', () => ({
    graph: chain(100, (index) => ({
      type: 'Sum',
      inputs: times(1000, (input) => `v${input % (index + 1)}`),
      outputs: [`v${index + 1}`],
    })),
  })),
  model('10,000 parameters', () => ({
    graph: {
      ...chain(10_000, (index) => ({
        type: 'Add',
        inputs: [`v${index}`, `w${index}`],
        outputs: [`v${index + 1}`],
      })),
      initializers: times(10_000, (index) => ({ name: `w${index}`, type: 'float[4]' })),
    },
  })),
  model('names of half a megabyte', () => ({
    graph: {
      name: 'g'.repeat(100_000),
      inputs: { x: 'float[2]' },
      nodes: [
        {
          type: 'R'.repeat(200_000),
          name: '/'.repeat(200_000),
          inputs: ['x'],
          outputs: ['y'.repeat(200_000)],
        },
      ],
    },
  })),
  model('a name of 100,000 scopes', () => ({
    graph: {
      inputs: { x: 'float[2]' },
      nodes: [{ type: 'Relu', name: '/a.b'.repeat(100_000), inputs: ['x'], outputs: ['y'] }],
    },
  })),
  model('100 names of 1,000 scopes', () => ({
    graph: chain(100, (index) => ({
      type: 'Relu',
      name: `/x${index}${'/a'.repeat(1000)}`,
      inputs: ['v0'],
      outputs: [`y${index}`],
    })),
  })),
  model('names that every object has', () => ({
    graph: {
      inputs: {
        ['__proto__']: 'float[toString,constructor,__proto__]',
        constructor: 'float[hasOwnProperty,4]',
      },
      nodes: [
        { type: 'Relu', name: 'toString', inputs: ['__proto__'], outputs: ['hasOwnProperty'] },
        { type: 'constructor', domain: '__proto__', inputs: ['constructor'], outputs: ['valueOf'] },
        {
          type: 'toString',
          inputs: ['constructor'],
          outputs: ['toString'],
          attributes: { ['__proto__']: 1, constructor: 'x' },
        },
      ],
    },
  })),
  model('a megabyte of one string tensor', () =>
    applied('StringNormalizer', [], { stopwords: times(100_000, (index) => `w${index}`) }, ['x']),
  ),

  // Layer specs.
  spec(
    'a block repeated a billion times',
    () =>
      `inputs: { x: "float[batch, 4]" }\nblocks:\n  b:\n    - l: Linear(4, 4)\nlayers:\n  - all: b() * 1000000000\n`,
  ),
  spec('a layer repeated a billion times', () => simpleSpec('ReLU() * 1000000000')),
  spec('a layer repeated 2^1000 times', () => simpleSpec('ReLU() * 2**1000')),
  spec(
    'a layer repeated 1/0, 0, -1 and 1.5 times',
    () => `${simpleSpec('ReLU() * (1/0)')}  - a: ReLU() * 0\n  - b: ReLU() * -1\n  - c: ReLU() * 1.5\n`,
  ),
  spec('blocks that call ten times, ten deep', () => blocksOf(10, 10, 'Linear(4, 4)')),
  spec('blocks that double 60 times', () => blocksOf(60, 2, 'ReLU()')),
  spec('empty blocks that call ten times, ten deep', () => blocksOf(10, 10, 'b9()')),
  spec('a block that calls itself', () => blocksOf(1, 1, 'b0()')),
  spec('blocks that call each other', () => blocksOf(2, 2, 'b1()')),
  spec('repetitions inside repetitions', () =>
    [
      'inputs: { x: "float[batch, 4]" }',
      'blocks:',
      ...times(10, (level) => `  b${level}:\n    - c: ${level === 0 ? 'ReLU()' : `b${level - 1}()`} * 100`),
      'layers:',
      '  - all: b9() * 100',
    ].join('\n'),
  ),
  spec('powers that pass every number', () => simpleSpec('Linear(9**9**9**9, 2**(2**(2**(2**(2**2)))))')),
  spec('dims that are powers of each other', () =>
    simpleSpec(
      'Linear(a9)',
      `{ ${times(10, (index) => `a${index}: ${index === 0 ? '99' : `"a${index - 1} ** a${index - 1}"`}`).join(', ')} }`,
    ),
  ),
  spec('dims that are each other', () => simpleSpec('Linear(a)', '{ a: "b + 1", b: "a * 2" }')),
  spec('1,000 dims, each the sum of the one before with itself', () =>
    simpleSpec(
      'Linear(a999)',
      `{ ${times(1_000, (index) => `a${index}: ${index === 0 ? '1' : `"a${index - 1} + a${index - 1}"`}`).join(', ')} }`,
    ),
  ),
  spec('division by zero everywhere', () =>
    simpleSpec('Conv2d(1//0, 3 % 0, kernel_size=1/0, stride=0, dilation=0, groups=0)'),
  ),
  spec('sizes past every number', () =>
    simpleSpec('Conv2d(1e400, 10**400, kernel_size=99999999999999999999)'),
  ),
  spec('negative sizes', () => simpleSpec('Conv2d(-3, -64, kernel_size=-3, stride=-1, padding=-100)')),
  spec(
    'YAML aliases that double 30 times',
    () =>
      `a0: &a0 [x, x]\n${times(30, (index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`).join('\n')}\nlayers: *a30\n`,
  ),
  spec(
    'YAML aliases of ten, nine deep, under layers',
    () =>
      `layers:\n  - a0: &a0 ReLU()\n${times(9, (index) => `  - a${index + 1}: &a${index + 1} [${times(10, () => `*a${index}`).join(', ')}]`).join('\n')}\n`,
  ),
  spec('a YAML alias to itself', () => 'layers: &a [*a, *a]\n'),
  spec('a YAML merge of itself', () => 'layers: &a\n  <<: *a\n  b: *a\n'),
  spec(
    '10,000 YAML anchors',
    () =>
      `${times(10_000, (index) => `k${index}: &k${index} *k${Math.max(0, index - 1)}`).join('\n')}\nlayers: []\n`,
  ),
  spec('10,000 YAML documents', () => '---\nlayers: []\n'.repeat(10_000)),
  spec('a YAML tag', () => 'layers: !!binary "AAAA"\ninputs: !!js/function "x"\ndims: !!set { a, b }\n'),
  spec(
    'a megabyte of YAML keys',
    () => `layers:\n${times(50_000, (index) => `  - l${index}: ReLU()`).join('\n')}\n`,
  ),
  spec(
    '40,000 wrong layers',
    () =>
      `inputs: { x: "float[2]" }\nlayers:\n${times(40_000, (index) => `  - l${index}: Foo(`).join('\n')}\n`,
  ),
  spec(
    '20,000 layers that misspell one of 20,000 names',
    () =>
      `inputs: { x: "float[2]" }\nlayers:\n${times(20_000, (index) => `  - l${index}: add(m${index}, x)`).join('\n')}\n`,
  ),
  spec(
    '20,000 layers of one name',
    () => `inputs: { x: "float[2]" }\nlayers:\n${times(20_000, () => '  - l: ReLU()').join('\n')}\n`,
  ),
  spec(
    '20,000 misspelt layer types',
    () =>
      `inputs: { x: "float[2]" }\nlayers:\n${times(20_000, (index) => `  - l${index}: Convv${index % 7}d(3)`).join('\n')}\n`,
  ),
  spec('a layer of 100,000 arguments', () => simpleSpec(`add(${times(100_000, () => 'x').join(', ')})`)),
  spec('a layer of 100,000 keywords', () =>
    simpleSpec(`Linear(${times(60_000, (index) => `k${index}=1`).join(', ')})`),
  ),
  spec('a name of half a megabyte', () => simpleSpec(`${'L'.repeat(500_000)}(3)`)),
  spec('a string without end', () => simpleSpec(`Linear("${'a'.repeat(500_000)})`)),
  spec('a line of half a megabyte of operators', () => simpleSpec('+-*/%**//'.repeat(50_000))),
  spec('half a megabyte of colons', () => `layers:\n${':'.repeat(500_000)}`),
  spec('half a megabyte of question marks', () => `layers:\n${'? '.repeat(250_000)}`),
  spec('half a megabyte of dashes', () => `layers:\n  ${'- '.repeat(250_000)}`),
  spec('half a megabyte of blanks', () => `layers:${' '.repeat(250_000)}\n${'\n'.repeat(250_000)}`),
  spec('half a megabyte of tabs', () => `layers:\n${'\t'.repeat(500_000)}- a: ReLU()`),
  spec('half a megabyte of comments', () => `${'#\n'.repeat(250_000)}layers: []\n`),
  spec(
    'names that every object has',
    () =>
      'dims: { __proto__: 2, constructor: 3, toString: 4 }\ninputs: { __proto__: "float[batch, constructor]", hasOwnProperty: "float[toString]" }\nblocks: { constructor: [ { valueOf: Linear(toString) } ] }\nlayers:\n  - toString: constructor() from __proto__\n  - __proto__: toString(valueOf)\nscenario: { cluster: constructor, __proto__: 1, framework: toString, precision: valueOf }\n',
  ),
  spec(
    'a scenario of absurd numbers',
    () =>
      `${simpleSpec('Linear(8, 4)')}scenario: { gpus: 1e300, nodes: -1, batch: 9007199254740993, precision: 4, optimizer: [] }\n`,
  ),
  spec(
    'an input of absurd sizes',
    () => 'inputs: { x: "float[1e30, -4, 99999999999999999999, 0, ?]" }\nlayers:\n  - a: Linear(4)\n',
  ),
  spec(
    'an input of 50,000 dimensions',
    () =>
      `inputs: { x: "float[${times(50_000, () => '2').join(', ')}]" }\nlayers:\n  - a: Linear(2, 4)\n  - b: ReLU()\n`,
  ),

  // Texts.
  onnxText('half a megabyte of angle brackets', () => header + '<'.repeat(500_000)),
  onnxText('half a megabyte of commas', () => `${header}g (${','.repeat(500_000)}`),
  onnxText('half a megabyte of quotes', () => `${header}g (${'"'.repeat(500_000)}`),
  onnxText('a string of half a megabyte of backslashes', () => `${header}g ("${'\\'.repeat(500_000)}`),
  onnxText(
    '50,000 wrong nodes',
    () => `${header}g (float[2] x) => (float[2] y) {\n${'y = Relu(x\n'.repeat(50_000)}}`,
  ),
  onnxText(
    '5,000 nodes',
    () =>
      `${header}g (float[2] x) => (float[2] y) {\n${times(5_000, (index) => `y${index} = Relu(x)\n`).join('')}}`,
  ),
  onnxText(
    'a tensor of 200,000 numbers',
    () =>
      `${header}g (float[2] x) => (float[2] y) <int64[200000] w = {${times(200_000, () => '1').join(', ')}}> { y = Reshape(x, w) }`,
  ),
  onnxText(
    'a tensor of fewer numbers than it says',
    () =>
      `${header}g (float[2] x) => (float[2] y) <int64[9007199254740993] w = {1, 2}> { y = Reshape(x, w) }`,
  ),
  onnxText('half a megabyte of comments', () => header + '# a\n'.repeat(120_000)),
  protobufText('half a megabyte of open braces', () => `ir_version: 8 ${'graph {'.repeat(70_000)}`),
  protobufText('50,000 open lists', () => `ir_version: 8 graph { name: ${'['.repeat(50_000)}`),
  protobufText('a string in 100,000 pieces', () => `ir_version: 8 graph { name: ${'"a" '.repeat(100_000)} }`),
  protobufText(
    'half a megabyte of escapes',
    () => `ir_version: 8 graph { name: "${'\\x'.repeat(250_000)}" }`,
  ),
  protobufText(
    '5,000 nodes',
    () => `ir_version: 8 opset_import { version: 17 } graph { ${'node { op_type: "Relu" } '.repeat(5_000)} }`,
  ),
  protobufText(
    'numbers past every number',
    () =>
      'ir_version: 99999999999999999999999 graph { initializer { dims: -99999999999999999999 dims: 1e400 data_type: 99999999999 } }',
  ),
  json('half a megabyte of digits', () => `{"irVersion": ${'9'.repeat(500_000)}}`),
  json(
    'half a megabyte of escapes',
    () => `{"irVersion": "8", "graph": {"name": "${'\\u0041'.repeat(80_000)}"}}`,
  ),
  json(
    '5,000 nodes',
    () =>
      `{"irVersion":"8","opsetImport":[{"version":"17"}],"graph":{"node":[${times(5_000, () => '{"opType":"Relu"}').join(',')}]}}`,
  ),
  json('one key 50,000 times', () => `{"irVersion":"8",${'"graph":{"name":"a"},'.repeat(40_000)}"graph":{}}`),
  json(
    'a payload of half a megabyte that is no base64',
    () =>
      `{"irVersion":"8","graph":{"initializer":[{"name":"w","dims":["2"],"dataType":7,"rawData":"${'*'.repeat(500_000)}"}]}}`,
  ),
  row('half a megabyte of blanks', 'model', () => text(' '.repeat(500_000))),
  row('half a megabyte of zeros', 'model.onnx', () => new Uint8Array(500_000)),
  row('half a megabyte of 0xff', 'model.onnx', () => new Uint8Array(500_000).fill(0xff)),
  row('broken UTF-8', 'model.layers.yaml', () =>
    joinBytes([text('layers:\n  - a: ReLU()\n# '), Uint8Array.of(0xc0, 0x80, 0xff, 0xfe, 0xed, 0xa0, 0x80)]),
  ),
  row('UTF-16', 'model.layers.yaml', () =>
    Uint8Array.of(0xff, 0xfe, 0x6c, 0, 0x61, 0, 0x79, 0, 0x65, 0, 0x72, 0, 0x73, 0),
  ),
];
