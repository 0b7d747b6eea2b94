/** Everything that nests, nested deeper than anybody would. */

import {
  bytesField,
  encodeGraph,
  encodeNode,
  encodeType,
  joinBytes,
  stringField,
  varintField,
} from '../../support/onnxBytes.ts';
import { callTree } from './functionRows.ts';
import {
  bytes,
  type HostileInput,
  header,
  json,
  megabyte,
  model,
  onnxText,
  protobufText,
  simpleSpec,
  spec,
  times,
  withGraph,
} from './rows.ts';

/** `inner` put into `depth` messages by `wrap`, from the inside out. */
const nest = (depth: number, inner: Uint8Array, wrap: (inner: Uint8Array) => Uint8Array): Uint8Array => {
  let nested = inner;
  for (let level = 0; level < depth; level += 1) nested = wrap(nested);
  return nested;
};

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

export const nestedRows: readonly HostileInput[] = [
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
  ...['[', '{"graph":', '{"graph":[', '[{"node":'].map((open) =>
    json(`a megabyte of JSON nested by \`${open}\``, () => `{"irVersion":8,"graph":${megabyte(open)}`),
  ),
  json('a megabyte of JSON nested and closed', () => {
    const depth = 150_000;
    return `{"irVersion":8,"graph":${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}}`;
  }),
  ...['a{', 'a<', 'graph{', 'node{attribute{g{'].map((open) =>
    protobufText(
      `a megabyte of protobuf text nested by \`${open}\``,
      () => `ir_version: 8 ${megabyte(open)}`,
    ),
  ),
  ...['seq(', 'optional(', 'map(int64,', 'sparse_tensor('].map((open) =>
    onnxText(`a megabyte of ONNX text types nested by \`${open}\``, () => `${header}g (${megabyte(open)}`),
  ),
  ...['(', '-', '2**', '(-', 'add(', 'n+', 'n*('].map((open) =>
    spec(`a spec of expressions nested by \`${open}\``, () =>
      simpleSpec(`Linear(${megabyte(open, 2 ** 17 - 500)}`),
    ),
  ),
  ...['[', '{a: ', '- ', '? ', '&a [', '!!seq ['].map((open) =>
    spec(`a spec of YAML nested by \`${open}\``, () => `layers: ${megabyte(open, 2 ** 17 - 500)}`),
  ),
  model('functions calling each other 18,000 deep', () => callTree(18_000, 1)),
];
