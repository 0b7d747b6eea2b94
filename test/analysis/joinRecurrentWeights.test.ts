/** Weights of recurrent layers are one tensor each, where exporters cut and join them; what else is read stays as it is. */

import { expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { onnxModel, onnxNode } from '../support/onnxModel.ts';

const ways = {
  bidirectional: { direction: { kind: 'string', value: 'bidirectional' } },
  forward: {},
} as const;

function weights(
  initializers: readonly string[],
  nodes: readonly string[],
  way: keyof typeof ways = 'forward',
) {
  const { graph, parameters } = analyzeOnnx(
    onnxModel({
      inputs: ['x: float32[5, 2, 3]'],
      outputs: ['y'],
      initializers: [...[0, 1, 4, 8, 16].map((value) => `c${value}: int64[1] = ${value}`), ...initializers],
      nodes: [
        ...nodes,
        onnxNode('y = LSTM(x, W, R, B)', {
          hidden_size: { kind: 'int', value: 4 },
          ...ways[way],
        }),
      ],
    }),
  );
  return {
    operators: graph.operators.map(({ type }) => type),
    parameters: parameters.map(({ name, elements }) => `${name} ${elements}`),
  };
}

/** In the order of ONNX: the first half before the second. */
const turned = (name: string, to: string): readonly string[] => [
  `${to}_a = Slice(${name}, c8, c16, c0)`,
  `${to}_b = Slice(${name}, c0, c8, c0)`,
  `${to} = Concat(${to}_a, ${to}_b)`,
];
const one = ['ih: float32[16, 3]', 'hh: float32[16, 4]', 'bih: float32[16]', 'bhh: float32[16]'];
const ofOne = [
  ...turned('ih', 'w'),
  'W = Unsqueeze(w, c0)',
  ...turned('hh', 'r'),
  'R = Unsqueeze(r, c0)',
  ...turned('bih', 'p'),
  ...turned('bhh', 'q'),
  'b = Concat(p, q)',
  'B = Unsqueeze(b, c0)',
];

test('one direction', () => {
  expect(weights(one, ofOne)).toEqual({ operators: ['LSTM'], parameters: ['ih 48', 'hh 64', 'bih 32'] });
});

test('both directions', () => {
  const back = one.map((text) => `back_${text}`);
  const join = (part: string, names: readonly string[]): readonly string[] => [
    ...names.flatMap((name) => [...turned(name, `t_${name}`), `u_${name} = Unsqueeze(t_${name}, c0)`]),
    `${part} = Concat(${names.map((name) => `u_${name}`).join(', ')})`,
  ];
  const nodes = [
    ...join('W', ['ih', 'back_ih']),
    ...join('R', ['hh', 'back_hh']),
    ...join('B', ['bih', 'bhh', 'back_bih', 'back_bhh']),
  ];
  expect(weights([...one, ...back], nodes, 'bidirectional')).toEqual({
    operators: ['LSTM'],
    parameters: ['ih 96', 'hh 128', 'bih 64'],
  });
});

test('a weight that something else reads is left', () => {
  const { operators, parameters } = weights(one, [...ofOne, 'z = Relu(ih)', 'v = Add(z, z)']);
  expect(operators).toContain('Slice');
  expect(parameters).toContain('hh 64');
  expect(parameters).toContain('ih 48');
});

test('a weight that is computed is left', () => {
  const scaled = ['s = Mul(ih, ih)', ...turned('s', 'w'), ...ofOne.slice(3)];
  expect(weights(one, scaled).operators.filter((type) => type === 'Slice')).toHaveLength(2);
});
