/** Nodes that repeat a block are read as those of any graph, though most of them are passed over. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { isIn, numberedText, textIn } from '../../../server/src/formats/onnx/numberedText.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import { lengthOf, nodeAt } from '../../../server/src/formats/onnx/repeatedNodes.ts';
import type { OnnxNode } from '../../../server/src/formats/onnx/syntax.ts';
import { encodeModel, type NodeDescription } from '../../support/onnxBytes.ts';

describe('a text that counts', () => {
  test.each([
    ['/layers.7/mlp/Add', '/layers.8/mlp/Add', 10, '/layers.17/mlp/Add'],
    ['Add_41', 'Add_53', 3, 'Add_77'],
    ['layers.9/h_8.w1', 'layers.10/h_9.w1', 2, 'layers.11/h_10.w1'],
    ['same_1', 'same_1', 5, 'same_1'],
    ['', '', 5, ''],
  ])('%j, %j is in block %d %j', (first, second, block, expected) => {
    const text = numberedText(first, second);
    expect(text && textIn(text, block)).toBe(expected);
  });

  test.each([
    ['another word', 'a_1', 'b_2'],
    ['more numbers', 'a_1', 'a_1_2'],
    ['a number that falls', 'a_2', 'a_1'],
    ['zeros in front', 'a_007', 'a_008'],
    ['more digits than are exact', 'a_12345678901234567', 'a_12345678901234568'],
  ])('none: %s', (_, first, second) => {
    expect(numberedText(first, second)).toBeUndefined();
  });

  test('does not count below 0', () => {
    const text = numberedText('a_1', 'a_2');
    expect(text && [isIn(text, -1), isIn(text, -2)]).toEqual([true, false]);
  });
});

/** A node as the description of one, filled in. */
const plain = ({ type, name = '', inputs = [], outputs = [], metadata = {} }: NodeDescription) => ({
  type,
  name,
  inputs,
  outputs,
  metadata,
});

const shown = ({ type, name, inputs, outputs, metadata }: OnnxNode) => ({
  type,
  name,
  inputs,
  outputs,
  metadata: Object.fromEntries(metadata),
});

/** Reads a graph of these nodes, and compares; gives how many blocks were told to be such. */
function check(nodes: readonly NodeDescription[]): number {
  const { model, issues, repeated } = readOnnx(byteSourceOfBuffer(encodeModel({ graph: { nodes } })));
  expect(issues).toEqual([]);
  expect(model?.graph.nodes.map(shown)).toEqual(nodes.map(plain));
  if (repeated === undefined) return 0;
  expect(lengthOf(repeated)).toBe(nodes.length);
  for (let index = -1; index <= nodes.length; index += 1) {
    const node = nodeAt(repeated, index);
    const expected = nodes[index];
    expect(node && shown(node)).toEqual(expected && plain(expected));
  }
  return repeated.count;
}

/** `count` blocks of four nodes, the first of which is numbered `first`. */
const blocks = (count: number, first = 0): NodeDescription[] =>
  Array.from({ length: count }, (_, index) => index + first).flatMap((block) => [
    { type: 'Relu', name: `/h.${block}/Relu`, inputs: [`x${block}`], outputs: [`r${block}`] },
    {
      type: 'MatMul',
      name: `/h.${block}/MatMul`,
      inputs: [`r${block}`, `w.${block}`],
      outputs: [`m${block}`],
    },
    { type: 'Add', name: `n${5 * block}`, inputs: [`m${block}`, 'bias'], outputs: [`a${block}`] },
    { type: 'Relu', inputs: [`a${block}`], outputs: [`x${block + 1}`], metadata: { module: `h.${block}` } },
  ]);

const before: readonly NodeDescription[] = [
  { type: 'Gather', name: 'first', inputs: ['table', 'tokens'], outputs: ['e'] },
  { type: 'Relu', inputs: ['e'], outputs: ['x0'] },
];
const behind: readonly NodeDescription[] = [{ type: 'Softmax', inputs: ['x'], outputs: ['y'] }];

describe('nodes that repeat a block', () => {
  test.each([
    ['with numbers of one digit to three', [...before, ...blocks(120), ...behind], 119],
    ['and nothing else', blocks(60), 60],
    ['with a node among them', [...blocks(50), ...behind, ...blocks(50, 50)], 50],
    ['of which one is missing', blocks(99).toSpliced(281, 1), 70],
    ['too few to be looked for', blocks(20), 0],
  ])('%s', (_, nodes, count) => {
    expect(check(nodes)).toBe(count);
  });

  const change = (how: (node: NodeDescription) => NodeDescription): NodeDescription[] =>
    blocks(90).map((node, index) => (index === 241 ? how(node) : node));

  test.each<[string, (node: NodeDescription) => NodeDescription]>([
    ['type', (node) => ({ ...node, type: 'Gemm' })],
    ['name', (node) => ({ ...node, name: `${node.name}x` })],
    ['number', (node) => ({ ...node, name: '/h.61/MatMul' })],
    ['input', (node) => ({ ...node, inputs: ['r60', 'w.61'] })],
    ['inputs', (node) => ({ ...node, inputs: ['r60', 'w.60', 'bias'] })],
    ['output', (node) => ({ ...node, outputs: ['m600'] })],
    ['attribute', (node) => ({ ...node, attributes: { axis: 1 } })],
    ['metadata', (node) => ({ ...node, metadata: { module: 'h' } })],
  ])('end where a node has another %s', (_, how) => {
    const count = check(change(how));
    expect(count).toBeGreaterThan(30);
    expect(count).toBeLessThan(62);
  });

  test('whatever they are', () => {
    const ascii = fc.constantFrom('x', 'x1', '3', 'a_09');
    const name = fc.oneof({ weight: 40, arbitrary: ascii }, { weight: 1, arbitrary: fc.constant('é') });
    const drawn = fc.record({
      type: fc.constantFrom('Relu', 'Add'),
      name: fc.tuple(name, fc.nat(3)),
      inputs: fc.array(fc.tuple(name, fc.nat(3)), { maxLength: 3 }),
      output: fc.tuple(name, fc.nat(3)),
    });
    const network = fc.record({
      block: fc.array(drawn, { minLength: 1, maxLength: 6 }),
      first: fc.constantFrom(0, 7, 95, 990),
      odd: fc.nat(160),
    });
    let repeated = 0;
    fc.assert(
      fc.property(network, ({ block, first, odd }) => {
        const nodes = Array.from({ length: 160 }, (_, index) => index).flatMap((index) =>
          block.map((node): NodeDescription => {
            const counted = ([text, step]: readonly [string, number]): string =>
              step === 0 ? text : `${text}_${first + index * step}`;
            return {
              type: index === odd ? 'Mul' : node.type,
              name: counted(node.name),
              inputs: node.inputs.map(counted),
              outputs: [counted(node.output)],
            };
          }),
        );
        if (check(nodes) > 0) repeated += 1;
      }),
      { numRuns: 40, seed: 20261121 },
    );
    expect(repeated).toBeGreaterThan(20);
  });
});
