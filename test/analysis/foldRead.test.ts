/**
 * The analysis of a graph that was read as blocks is that of all its nodes: of networks whose names count, and of such
 * where something beside the blocks is not as it is for the others.
 */

import { describe, expect, test } from 'vitest';
import { analyzeInSteps, analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { CountedNames } from '../../server/src/analysis/folding/countedNames.ts';
import { foldRead } from '../../server/src/analysis/folding/foldRead.ts';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { numberedText } from '../../server/src/formats/onnx/numberedText.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { finish } from '../../server/src/model/steps.ts';
import {
  encodeModel,
  type GraphDescription,
  type ModelDescription,
  type NodeDescription,
  type TensorDescription,
} from '../support/onnxBytes.ts';

interface Network {
  readonly nodes: readonly NodeDescription[];
  readonly initializers: readonly TensorDescription[];
  readonly outputs: Readonly<Record<string, string>>;
  readonly valueInfos: Readonly<Record<string, string>>;
  readonly inputs: Readonly<Record<string, string>>;
}

const blocks = 70;

/** A mask that all blocks read, and blocks that read the one before. */
function network(): Network {
  const nodes: NodeDescription[] = [
    { type: 'Relu', name: '/first/Relu', inputs: ['tokens'], outputs: ['h0'] },
    { type: 'Sigmoid', name: '/mask/Sigmoid', inputs: ['tokens'], outputs: ['mask'] },
  ];
  const initializers: TensorDescription[] = [
    { name: 'scale', type: 'float[8]' },
    { name: 'head', type: 'float[8,8]' },
  ];
  for (let index = 0; index < blocks; index += 1) {
    const node = (local: string, inputs: string[], output: string): NodeDescription => ({
      type: local.split('/').at(-1) ?? '',
      name: `/layers.${index}/${local}`,
      inputs,
      outputs: [output],
    });
    initializers.push(
      { name: `w.${index}`, type: 'float[8,8]' },
      { name: `norm.${index}`, type: 'float[8]' },
    );
    nodes.push(
      node('norm/Mul', [`h${index}`, `norm.${index}`], `n${index}`),
      node('fc/MatMul', [`n${index}`, `w.${index}`], `Fc_${3 * index}`),
      node('Mul', [`Fc_${3 * index}`, 'mask'], `Fc_${3 * index + 1}`),
      node('Add', [`Fc_${3 * index + 1}`, `h${index}`], `h${index + 1}`),
    );
  }
  nodes.push({ type: 'MatMul', name: '/head/MatMul', inputs: [`h${blocks}`, 'head'], outputs: ['y'] });
  return {
    nodes,
    initializers,
    inputs: { tokens: 'float[batch,8]' },
    outputs: { y: 'float[batch,8]' },
    valueInfos: {},
  };
}

const described = (graph: GraphDescription): ModelDescription => ({ operatorSets: 17, graph });

/** Compares the two analyses; whether the graph was folded as it was read. */
function check(model: ModelDescription): boolean {
  const source = byteSourceOfBuffer(encodeModel(model));
  const { model: file, repeated } = readOnnx(source);
  if (file === undefined) throw new Error('the model cannot be read');
  const read = finish(analyzeInSteps(file, undefined, 1, repeated));
  const plain = analyzeOnnx(file, undefined, Number.POSITIVE_INFINITY);
  expect(withoutCosting(read)).toEqual(withoutCosting(plain));
  expect([...read.graph.values.keys()]).toEqual([...plain.graph.values.keys()]);
  const { operators } = plain.graph;
  if (read.folded !== undefined) {
    expect(operators.map(({ index }) => read.folded?.sourceOf(index))).toEqual(
      operators.map(({ source: given }) => given),
    );
    expect(operators.map(({ index }) => read.folded?.nameOf(index))).toEqual(
      operators.map(({ name }) => name),
    );
  }
  return repeated !== undefined && foldRead(file.graph, repeated) !== undefined;
}

/** Kinds are numbered as they are met. */
const withoutCosting = ({ graph, costing: _, folded: __, ...rest }: ModelAnalysis) => ({
  ...rest,
  graph: {
    ...graph,
    operators: graph.operators.map(({ kind: ___, ...operator }) => operator),
  },
});

describe('the analysis of blocks that were read as such is that of all nodes', () => {
  test('of a network', () => {
    expect(check(described(network()))).toBe(true);
  });

  test.each<[string, (graph: Network) => Partial<Network>, boolean]>([
    [
      'types that are declared for all blocks',
      () => ({
        valueInfos: Object.fromEntries(
          Array.from({ length: blocks }, (_, index) => [`n${index}`, 'float[batch,8]']),
        ),
      }),
      true,
    ],
    ['a type that is declared for one block', () => ({ valueInfos: { n41: 'float[batch,8]' } }), false],
    [
      'an output of every block',
      ({ outputs }) => ({
        outputs: {
          ...outputs,
          ...Object.fromEntries(
            Array.from({ length: blocks }, (_, index) => [`n${index}`, 'float[batch,8]']),
          ),
        },
      }),
      true,
    ],
    ['an output of one block', ({ outputs }) => ({ outputs: { ...outputs, n41: 'float[batch,8]' } }), false],
    [
      'a weight of another shape',
      ({ initializers }) => ({
        initializers: initializers.map((each) =>
          each.name === 'norm.41' ? { ...each, type: 'float[1]' } : each,
        ),
      }),
      false,
    ],
    [
      'a weight that is missing',
      ({ initializers }) => ({ initializers: initializers.filter(({ name }) => name !== 'norm.41') }),
      false,
    ],
    [
      'a weight called what a block gives',
      ({ initializers }) => ({ initializers: [...initializers, { name: 'n41', type: 'float[8]' }] }),
      false,
    ],
    [
      'a weight called nearly so',
      ({ initializers }) => ({ initializers: [...initializers, { name: 'n70', type: 'float[8]' }] }),
      true,
    ],
    [
      'inputs in the place of weights',
      ({ initializers, inputs }) => ({
        initializers: initializers.filter(({ name }) => !`${name}`.startsWith('norm.')),
        inputs: {
          ...inputs,
          ...Object.fromEntries(Array.from({ length: blocks }, (_, index) => [`norm.${index}`, 'float[8]'])),
        },
      }),
      true,
    ],
    [
      'a node behind that reads a block among them',
      ({ nodes }) => ({ nodes: [...nodes, { type: 'Relu', inputs: ['n41'], outputs: ['z'] }] }),
      false,
    ],
    [
      'a node behind that reads the weight of a block',
      ({ nodes }) => ({ nodes: [...nodes, { type: 'Relu', inputs: ['w.41'], outputs: ['z'] }] }),
      false,
    ],
    [
      'a node before that reads the weight of a block',
      ({ nodes }) => ({ nodes: [{ type: 'Relu', inputs: ['w.41'], outputs: ['z'] }, ...nodes] }),
      false,
    ],
    [
      'a node behind in the module of a block',
      ({ nodes }) => ({
        nodes: [...nodes, { type: 'Relu', name: '/layers.41/fc/Relu', inputs: ['y'], outputs: ['z'] }],
      }),
      false,
    ],
    [
      'a node behind that gives what a block gives',
      ({ nodes }) => ({ nodes: [...nodes, { type: 'Relu', inputs: ['y'], outputs: ['Fc_126'] }] }),
      false,
    ],
    [
      'nodes without names',
      ({ nodes }) => ({
        nodes: nodes.map(({ type, inputs = [], outputs = [] }) => ({ type, inputs, outputs })),
      }),
      true,
    ],
    [
      'nodes that all stand in one module',
      ({ nodes }) => ({
        nodes: nodes.map((node) => ({ ...node, name: `/all/${node.name?.split('/').at(-1)}` })),
      }),
      true,
    ],
  ])('of one with %s', (_, change, isFolded) => {
    const graph = network();
    expect(check(described({ ...graph, ...change(graph) }))).toBe(isFolded);
  });
});

describe('names that count', () => {
  const counted = (first: string, second: string) => {
    const text = numberedText(first, second);
    if (text === undefined) throw new Error('no text that counts');
    return text;
  };

  test.each([
    [['h.0', 'h.1'], ['g.0', 'g.1'], true],
    [['h.0', 'h.1'], ['h.5', 'h.6'], false],
    [['h.0', 'h.1'], ['h.20', 'h.21'], true],
    [['v_0', 'v_3'], ['v_1', 'v_4'], true],
    [['v_0', 'v_3'], ['v_6', 'v_9'], false],
    [['v_0', 'v_3'], ['v_7', 'v_9'], false],
    [['h.0.1', 'h.1.1'], ['h.0.2', 'h.1.2'], true],
    [['h.0.1', 'h.1.1'], ['h.1.0', 'h.1.1'], false],
    [['h.0.1', 'h.1.2'], ['h.1.1', 'h.2.2'], true],
    [['h.0.0', 'h.1.1'], ['h.0.7', 'h.1.7'], false],
    [['h.0.0', 'h.1.1'], ['h.0.30', 'h.1.30'], true],
    [['h.0', 'h.1'], ['h.7', 'h.7'], false],
  ])('%j and %j are each of one block: %s', ([a = '', b = ''], [c = '', d = ''], areOwn) => {
    const names = new CountedNames(20);
    expect(names.add(counted(a, b)) && names.add(counted(c, d))).toBe(areOwn);
  });

  test.each([
    ['h.0.w', true],
    ['h.19.w', true],
    ['h.20.w', false],
    ['h.7.b', false],
    ['h.07.w', true],
    ['g.7.w', false],
  ])('%s may be one of them: %s', (name, expected) => {
    const names = new CountedNames(20);
    names.add(counted('h.0.w', 'h.1.w'));
    expect(names.mayHave(name)).toBe(expected);
  });
});
