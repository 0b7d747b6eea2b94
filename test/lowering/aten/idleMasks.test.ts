/** Masks that hide nothing are no operand of attention, as where nobody traces; those that may hide something are. */

import { expect, test } from 'vitest';
import type { AtenArgument, AtenNode } from '../../../server/src/formats/pt2/syntax.ts';
import { withoutIdleMasks } from '../../../server/src/lowering/aten/idleMasks.ts';

/** `name = target(argument=value, …)`: numbers are numbers, everything else is a tensor. */
function node(line: string): AtenNode {
  const [, output = '', target = '', given = ''] = /^(\w+) = ([\w.]+)\((.*)\)$/.exec(line) ?? [];
  const of = (value: string): AtenArgument =>
    Number.isNaN(Number(value)) ? { kind: 'tensor', name: value } : { kind: 'number', value: Number(value) };
  const pairs = given.split(', ').map((pair): [string, AtenArgument] => {
    const [name = '', value = ''] = pair.split('=');
    return [name, of(value)];
  });
  const called = { target: `torch.ops.aten.${target}`, arguments: new Map(pairs) };
  return { ...called, outputs: [output], modules: [], stackTrace: '' };
}

const attention = 'y = scaled_dot_product_attention.default(query=q, key=k, value=v, attn_mask=mask)';

function hasMask(...lines: readonly string[]): boolean {
  const nodes = [...lines, attention].map(node);
  const graph = { nodes, tensors: new Map(), inputs: [], outputs: ['y'], sizes: new Map() };
  return withoutIdleMasks(graph).nodes.at(-1)?.arguments.get('attn_mask')?.kind === 'tensor';
}

const positions = [
  'a = arange.default(end=17)',
  'b = add.Tensor(self=a, other=0)',
  'c = unsqueeze.default(self=b, dim=1)',
];
const tokens = [
  'a = arange.default(end=17)',
  'c = unsqueeze.default(self=a, dim=0)',
  'd = unsqueeze.default(self=a, dim=1)',
];

test.each([
  [
    'positions from 0 on',
    ['m = ge.Scalar(self=c, other=0)', 'mask = expand.default(self=m, size=2)'],
    positions,
  ],
  [
    'of positions from 3 on, those from 2 on',
    ['mask = ge.Scalar(self=a, other=2)'],
    ['a = arange.start(start=3, end=9)'],
  ],
  [
    'one or the other',
    ['m = ge.Scalar(self=c, other=0)', 'mask = bitwise_or.Tensor(self=given, other=m)'],
    positions,
  ],
])('hides nothing: %s', (_, mask, before) => {
  expect(hasMask(...before, ...mask)).toBe(false);
});

test.each([
  ['positions from 1 on', ['mask = ge.Scalar(self=c, other=1)'], positions],
  ['what a model is given', [], []],
  ['earlier tokens', ['mask = le.Tensor(self=c, other=d)'], tokens],
  ['a comparison of two tensors', ['mask = ge.Tensor(self=c, other=d)'], tokens],
  ['both', ['m = ge.Scalar(self=c, other=0)', 'mask = bitwise_and.Tensor(self=m, other=given)'], positions],
  [
    'positions that fall',
    ['mask = ge.Scalar(self=a, other=0)'],
    ['a = arange.start_step(start=9, end=-3, step=-1)'],
  ],
  [
    'a multiple of positions',
    ['n = add.Tensor(self=a, other=0, alpha=2)', 'mask = ge.Scalar(self=n, other=0)'],
    positions,
  ],
])('may hide something: %s', (_, mask, before) => {
  expect(hasMask(...before, ...mask)).toBe(true);
});
