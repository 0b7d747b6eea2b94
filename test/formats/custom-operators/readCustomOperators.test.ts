/** Descriptions of custom operators: what is read, and where a mistake is reported. */

import { expect, test } from 'vitest';
import { readCustomOperators } from '../../../server/src/formats/custom-operators/readCustomOperators.ts';

test('an operator by its domain and type, with its shapes and its work', () => {
  const { operators, issues } = readCustomOperators(`operators:
  com.example.FusedAttention:
    inputs: { q: [B, S, D], kv: [B, T, "2*D"] }
    outputs: { y: [B, S, D] }
    flops: 4*B*S*T*D
`);
  expect(issues.map(({ message }) => message)).toEqual([
    '`com.example.FusedAttention`: `2*D` is no name of a dimension; expressions belong in outputs',
  ]);
  expect(operators.size).toBe(0);
  const read = readCustomOperators(`operators:
  com.example.FusedAttention:
    inputs: { q: [B, S, D], k: [..., T, D] }
    attributes: { heads: 8 }
    outputs: { y: [B, S, D], p: { type: uint8, shape: [B, heads, S, T] } }
    flops: 4*B*S*T*D
    saved: [q, y]
    backward: { flops: 10*B*S*T*D }
  com.example.Twin: { like: Gelu }
`);
  expect(read.issues).toEqual([]);
  expect(read.operators.get('com.example.Twin')).toEqual({
    kind: 'alias',
    like: { domain: '', type: 'Gelu' },
  });
  expect(read.operators.get('com.example.FusedAttention')).toEqual({
    kind: 'described',
    inputs: [
      ['B', 'S', 'D'],
      ['...', 'T', 'D'],
    ],
    inputNames: ['q', 'k'],
    attributes: { heads: 8 },
    outputs: [
      { elementType: undefined, dimensions: ['B', 'S', 'D'] },
      { elementType: 'uint8', dimensions: ['B', 'heads', 'S', 'T'] },
    ],
    flops: '4*B*S*T*D',
    bytes: undefined,
    kernels: 1,
    savedInputs: [0],
    savedOutputs: [0],
    backwardFlops: '10*B*S*T*D',
    backwardBytes: undefined,
  });
});

/** The text, and what is underlined in it with the message. */
test.each([
  ['operators: [', '', 'The file is not valid YAML'],
  ['- a', '- a', 'The file is a map'],
  ['operators: { a.B: { flopps: 1 } }', 'flopps', 'did you mean `flops`'],
  ['operators: { a.B: { flops: 1 } }', '{ flops: 1 }', 'give `outputs` with their shapes'],
  ['operators: { a.B: { like: Conv, flops: 1 } }', '1', '`like` takes all rules'],
  ['operators: { a.B: { inputs: { x: [N] }, outputs: { y: [M] } } }', '[M]', '`M` is neither a dimension'],
  ['operators: { a.B: { inputs: { x: [N] }, outputs: { y: ["2*"] } } }', '["2*"]', 'is no expression'],
  ['operators: { a.B: { inputs: { x: [N] }, outputs: { y: [N] }, flops: K } }', 'K', '`K` is neither'],
  ['operators: { a.B: { inputs: { x: [..., ...] }, outputs: { y: [1] } } }', '[..., ...]', 'at most once'],
  ['operators: { a.B: { inputs: { x: [N] }, outputs: { y: [N] }, saved: [z] } }', '[z]', '`z` is neither'],
] as const)('%s', (text, underlined, message) => {
  const { operators, issues } = readCustomOperators(text);
  expect(operators.size).toBe(0);
  expect(issues).toHaveLength(1);
  const [{ span, message: said } = { span: undefined, message: '' }] = issues;
  expect(said).toContain(message);
  expect(text.slice(span?.start, span?.end).trim().startsWith(underlined)).toBe(true);
});

test('a mistake in one operator leaves the others', () => {
  const { operators, issues } = readCustomOperators('operators: { a.B: { like: Conv }, a.C: { flops: 1 } }');
  expect([...operators.keys()]).toEqual(['a.B']);
  expect(issues).toHaveLength(1);
});
