/** Operators with subgraphs, and sequences built by them. */

import { describe, expect, test } from 'vitest';
import type { TensorContent, ValueType } from '../../server/src/model/graph.ts';
import { boundTensor, makeCostContext, makeInferenceContext } from '../../server/src/operators/context.ts';
import type { KnownCost } from '../../server/src/operators/definition.ts';
import { noWork } from '../../server/src/operators/definition.ts';
import { definitionOf, printType, typeOfText } from './check.ts';

const typeOf = (text: string): ValueType => typeOfText(text) ?? { kind: 'unknown', reason: '' };
const scalar = (value: number): TensorContent => ({ shape: [], elements: [value] });

function infer(
  type: string,
  inputs: readonly (readonly [ValueType | string, TensorContent?])[],
  inferSubgraph: (
    name: string,
    inputs: readonly ValueType[],
    contents?: readonly (TensorContent | undefined)[],
  ) => readonly ValueType[],
): readonly string[] {
  const inference = definitionOf({ type, inputs: [] }).infer(
    makeInferenceContext({
      opset: 21,
      inputs: inputs.map(([input]) => (typeof input === 'string' ? typeOf(input) : input)),
      contents: inputs.map(([, content]) => content),
      inferSubgraph,
    }),
  );
  return inference.outputs.map(printType);
}

describe('If', () => {
  const branches = (name: string): readonly ValueType[] => [
    typeOf(name === 'then_branch' ? 'float32[batch, 10]' : 'float32[batch, 12]'),
  ];
  test('knows what both branches have in common', () => {
    expect(infer('If', [['bool[]']], branches)).toEqual(['float32[batch, ≤12]']);
  });
  test('takes the branch a known condition names', () => {
    expect(infer('If', [['bool[]', scalar(1)]], branches)).toEqual(['float32[batch, 10]']);
    expect(infer('If', [['bool[]', scalar(0)]], branches)).toEqual(['float32[batch, 12]']);
  });
});

describe('Loop', () => {
  const carriesOn = (_: string, [, , carried]: readonly ValueType[]): readonly ValueType[] => [
    typeOf('bool[]'),
    carried ?? typeOf('float32[]'),
    typeOf('float32[7]'),
  ];
  test('stacks what each iteration gives', () => {
    expect(infer('Loop', [['int64[]', scalar(3)], ['bool[]'], ['float32[2]']], carriesOn)).toEqual([
      'float32[2]',
      'float32[3, 7]',
    ]);
  });
  test('says what it cannot know without a trip count', () => {
    expect(infer('Loop', [['int64[]'], ['bool[]'], ['float32[2]']], carriesOn)).toEqual([
      'float32[2]',
      'float32[?, 7]',
    ]);
  });
  test('does not believe a size that an iteration changes', () => {
    const grows = (_: string, [, , carried]: readonly ValueType[]): readonly ValueType[] => [
      typeOf('bool[]'),
      carried === undefined || printType(carried) === 'float32[2]'
        ? typeOf('float32[3]')
        : typeOf('float32[?]'),
    ];
    expect(infer('Loop', [['int64[]', scalar(1000)], ['bool[]'], ['float32[2]']], grows)).toEqual([
      'float32[?]',
    ]);
  });
  test('follows a short loop with the number of the iteration', () => {
    const grows = (
      _: string,
      _types: readonly ValueType[],
      contents: readonly (TensorContent | undefined)[] = [],
    ): readonly ValueType[] => {
      const iteration = contents[0]?.elements[0];
      return [
        typeOf('bool[]'),
        typeOf(typeof iteration === 'number' ? `float32[${iteration + 1}]` : 'float32[?]'),
      ];
    };
    expect(infer('Loop', [['int64[]', scalar(4)], ['bool[]'], ['float32[0]']], grows)).toEqual([
      'float32[4]',
    ]);
  });
});

test('Scan removes the scanned axis and puts it back', () => {
  const body = (_: string, [state, row]: readonly ValueType[]): readonly ValueType[] =>
    state === undefined || row === undefined ? [] : [state, row];
  expect(infer('Scan', [['float32[8]'], ['float32[seq, 8]']], body)).toEqual([
    'float32[8]',
    'float32[seq, 8]',
  ]);
});

test('elements of a sequence keep their own shapes', () => {
  const none = () => [];
  const sequence: ValueType = {
    kind: 'sequence',
    element: typeOf('float32[2, ?]'),
    elements: [typeOf('float32[2, 1]'), typeOf('float32[2, 5]')],
  };
  expect(infer('SequenceAt', [[sequence], ['int64[]', scalar(-1)]], none)).toEqual(['float32[2, 5]']);
  expect(infer('SequenceAt', [[sequence], ['int64[]']], none)).toEqual(['float32[2, ?]']);
  expect(infer('SequenceErase', [[sequence], ['int64[]', scalar(0)]], none)).toEqual([
    'sequence(float32[2, 5])',
  ]);
  expect(infer('SequenceInsert', [[sequence], ['float32[2, 7]']], none)).toEqual([
    'sequence(float32[2, ≤7])',
  ]);
});

const costOf = (flops: number): KnownCost => ({
  kind: 'known',
  class: 'matmul',
  forward: { ...noWork, flops, kernels: 1 },
  backwardData: noWork,
  backwardWeight: noWork,
  saved: [],
});

describe('costs of subgraphs', () => {
  const cost = (
    type: string,
    contents: readonly (readonly number[] | undefined)[],
    subgraphCost: (name: string) => KnownCost | undefined,
  ) =>
    definitionOf({ type, inputs: [] }).cost(
      makeCostContext({
        opset: 21,
        inputs: [boundTensor('int64', [])],
        outputs: [boundTensor('float32', [4])],
        contents,
        subgraphCost,
      }),
    );
  const branches = (name: string) => costOf(name === 'then_branch' ? 5 : 9);

  test('If costs its dearer branch, or the one that is taken', () => {
    expect(cost('If', [], branches)).toEqual({ ...costOf(9), note: 'the dearer branch of If' });
    expect(cost('If', [[1]], branches)).toEqual(costOf(5));
    expect(cost('If', [], (name) => (name === 'then_branch' ? costOf(5) : undefined)).kind).toBe('unknown');
  });

  test('Loop costs its body times the trip count, or is unknown', () => {
    const result = cost('Loop', [[10]], () => costOf(5));
    expect(result.kind === 'known' && [result.forward.flops, result.forward.kernels]).toEqual([50, 10]);
    expect(cost('Loop', [], () => costOf(5))).toEqual({
      kind: 'unknown',
      reason: 'how often the Loop runs is known only when the model runs; one iteration takes 5 FLOP forward',
    });
  });
});
