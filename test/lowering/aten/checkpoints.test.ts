/**
 * What stack traces say of `torch.utils.checkpoint`. Traces are those that PyTorch 2.13 records of such modules: frames of
 * `forward`, one per module.
 */

import { expect, test } from 'vitest';
import type { AtenArgument, AtenGraph, AtenNode } from '../../../server/src/formats/pt2/syntax.ts';
import { checkpointIssues, findCheckpoints } from '../../../server/src/lowering/aten/checkpoints.ts';

/** `module: line | line`: the module that an operator is in, and the lines on the way to it; or its name, of the root. */
function operator(written: string): AtenNode {
  const [where = '', lines = ''] = written.split(': ');
  const isNamed = where.startsWith('aten.');
  const module = isNamed ? '' : where;
  const paths = module.split('.').map((_, depth, names) => names.slice(0, depth + 1).join('.'));
  // A number is an index into a list, which is no module that is called.
  const called = ['', ...(module === '' ? [] : paths)].filter((path) => !/^(?:.*\.)?blocks$/.test(path));
  return {
    target: `torch.ops.${isNamed ? where : 'aten.relu.default'}`,
    arguments: new Map(),
    outputs: [written],
    modules: called.map((path) => ({ path, className: 'm.Any' })),
    stackTrace: lines
      .split(' | ')
      .map((text, depth) => `File "m.py", line ${depth + text.length}, in forward\n    ${text}`)
      .join('\n'),
  };
}
const graphOf = (nodes: readonly AtenNode[]): AtenGraph => ({
  nodes,
  tensors: new Map(),
  inputs: [],
  outputs: [],
  sizes: new Map(),
});
const region = (target: string, nodes: readonly AtenNode[]): AtenNode => ({
  ...operator(': '),
  target: `torch.ops.higher_order.${target}`,
  arguments: new Map<string, AtenArgument>([
    ['0', { kind: 'boolean', value: false }],
    ['1', { kind: 'graph', graph: graphOf(nodes) }],
  ]),
  stackTrace: '',
});
const loop = 'x = checkpoint(block, x, use_reentrant=False)';

test.each<readonly [string, readonly string[], readonly (number | undefined)[]]>([
  ['no checkpoint', ['fc: self.fc(x) | F.linear()', ': load_checkpoint(path)'], [undefined, undefined]],
  [
    'a loop over blocks',
    [
      ': x = embed(x)',
      ...[0, 1].flatMap((block) => [
        `blocks.${block}.fc: ${loop} | self.fc(x) | F.linear()`,
        `blocks.${block}: ${loop} | x + y`,
      ]),
      'head: self.head(x) | F.linear()',
    ],
    [undefined, 0, 0, 1, 1, undefined],
  ],
  [
    'a method with two modules and an operator',
    [
      'a: checkpoint(self.mix, x) | F.linear()',
      ': checkpoint(self.mix, x)',
      'b: checkpoint(self.mix, x) | F.linear()',
    ],
    [0, 0, 0],
  ],
  [
    'a method whose modules have modules',
    [
      'a.fc: checkpoint(self.mix, x) | self.fc(x) | F.linear()',
      'b.fc: checkpoint(self.mix, x) | self.fc(x) | F.linear()',
    ],
    [0, 0],
  ],
  [
    'calls in each of two blocks',
    [0, 1].map((block) => `blocks.${block}.fc: block(x) | x + checkpoint(self.fc, x) | F.linear()`),
    [0, 1],
  ],
  [
    'two lines',
    [
      'a: cp.checkpoint(self.a, x) | F.linear()',
      'b: x = torch.utils.checkpoint.checkpoint(self.b, x) | F.linear()',
    ],
    [0, 1],
  ],
  [
    'a loop that adds what comes back, in the line of the call',
    [0, 1].flatMap((block) => [
      `blocks.${block}.fc: x = x + checkpoint(block, x) | self.fc(x) | F.linear()`,
      `blocks.${block}: x = x + checkpoint(block, x) | self.act(x)`,
      'aten.add.Tensor: x = x + checkpoint(block, x)',
    ]),
    [0, 0, undefined, 1, 1, undefined],
  ],
  [
    'calls of one layer, with a factor behind the call',
    [0, 1].flatMap((block) => [
      `blocks.${block}: x += checkpoint(block, x) * 0.5 | F.linear()`,
      'aten.add_.Tensor: x += checkpoint(block, x) * 0.5',
    ]),
    [0, undefined, 1, undefined],
  ],
  [
    'a method that adds by itself',
    ['a: x + checkpoint(self.mix, x) | F.linear()', 'aten.add.Tensor: x + checkpoint(self.mix, x)'],
    [0, 0],
  ],
  ['as diffusers writes it', ['blocks.0.fc: self._gradient_checkpointing_func(block, x) | self.fc(x)'], [0]],
])('%s', (_, written, groups) => {
  const nodes = written.map(operator);
  const { groupOf } = findCheckpoints(graphOf(nodes));
  expect(nodes.map((node) => groupOf.get(node))).toEqual(groups);
});

test('regions without gradient from the first reentrant checkpoint on have gradients', () => {
  const teacher = region('wrap_with_set_grad_enabled', [operator('teacher: self.teacher(x) | F.linear()')]);
  const block = region('wrap_with_set_grad_enabled', [operator(`blocks.0: ${loop} | x + y`)]);
  const head = region('wrap_with_set_grad_enabled', [operator('head: self.head(x) | F.linear()')]);
  const { reentrant } = findCheckpoints(graphOf([teacher, block, head]));
  expect([teacher, block, head].map((node) => reentrant.has(node))).toEqual([false, true, true]);
});

test('a graph that Dynamo tagged is one call', () => {
  const inner = [operator('a: self.a(x)'), operator('b: self.b(x)')];
  const { groupOf, groups } = findCheckpoints(graphOf([region('tag_activation_checkpoint', inner)]));
  expect(groups).toBe(1);
  expect(inner.map((node) => groupOf.get(node))).toEqual([0, 0]);
});

test('a line that may call it is told from one that does', () => {
  const said = (line: string) =>
    checkpointIssues(findCheckpoints(graphOf([operator(`blocks.0: ${line} | x + y`)]))).map(({ message }) =>
      message.includes('the file does not say which ran'),
    );
  expect(said(loop)).toEqual([false]);
  expect(said('x = checkpoint(block, x) if self.saves else block(x)')).toEqual([true]);
});
