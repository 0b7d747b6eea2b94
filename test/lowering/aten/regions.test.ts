/** Graphs inside graphs: regions are looked into, loops and branches written out (`test/formats/pt2/writeArchives.py`). */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import type { AtenGraph, AtenNode } from '../../../server/src/formats/pt2/syntax.ts';
import { type CountedLoop, iterationsOf } from '../../../server/src/lowering/aten/loopCounter.ts';

test('regions of autocast are their operators, no gradient passes behind `no_grad` and `detach`, and `cond` is a branch', () => {
  const bytes = new Uint8Array(readFileSync(new URL('regions.pt2', import.meta.url)));
  const { analysis, issues } = openModel(byteSourceOfBuffer(bytes), 'regions.pt2');
  const types = analysis?.graph.operators.map(({ domain, type }) =>
    domain === '' ? type : `${domain}.${type}`,
  );
  expect(types).toEqual([
    ...['Gemm', 'Cos', 'Identity', 'Gemm', 'ReduceSum', 'Greater', 'Cast', 'Identity', 'Gemm', 'Mul'],
    'Sin',
  ]);
  const names = (weights: readonly { readonly name: string }[] = []) => weights.map(({ name }) => name);
  expect(names(analysis?.parameters)).toEqual(['head.weight', 'head.bias']);
  expect(names(analysis?.frozen)).toEqual(['fc.weight', 'fc.bias', 'teacher.weight', 'teacher.bias']);
  expect(issues.map(({ code }) => code)).toEqual(['pt2/branch']);
});

test('loops that shapes or a counter end cost what the same loops of Python cost', () => {
  const bytes = new Uint8Array(readFileSync(new URL('loops.pt2', import.meta.url)));
  const opened = openModel(byteSourceOfBuffer(bytes), 'loops.pt2');
  const framework = { name: 'pytorch-ddp', options: {} };
  const request = { cluster: 'dgx-a100', gpus: 1, loss: 'none', precision: 'fp32', framework } as const;
  const { cost, issues } = estimateModel(opened, [request]);
  // `Loops.plain` of `writeArchives.py`, by `FlopCounterMode` and hooks of saved tensors.
  expect(cost?.totals.flops).toEqual({ forward: 294_912, backward: 561_152 });
  expect(cost?.totals.memory.activations).toBe(20_224);
  expect(cost?.totals.exact).toBe(true);
  expect(issues.map(({ code }) => code)).toContain('pt2/branch');
});

test.each<[string, string, number, string, number | undefined, CountedLoop | undefined]>([
  ['lt', 'add', 1, '5 rounds from 0', 0, { iterations: 5, isAssumed: false }],
  ['le', 'add', 1, 'the bound is reached', 0, { iterations: 6, isAssumed: false }],
  ['lt', 'add', 2, 'steps of 2', 0, { iterations: 3, isAssumed: false }],
  ['ne', 'add', 1, 'until it is equal', 2, { iterations: 3, isAssumed: false }],
  ['ne', 'add', 2, 'never equal', 0, undefined],
  ['gt', 'sub', 1, 'down', 9, { iterations: 4, isAssumed: false }],
  ['gt', 'add', 1, 'away from the bound', 9, undefined],
  ['lt', 'add', 1, 'a stored start', undefined, { iterations: 5, isAssumed: true }],
  ['lt', 'mul', 2, 'no even steps', 1, undefined],
  ['lt', 'add', 0, 'no steps', 0, undefined],
])('a counter that is %s 5 and changes by %s %i: %s', (relation, change, step, _, start, expected) => {
  const call = (name: string, value: number): AtenNode => ({
    target: `torch.ops.aten.${name}`,
    arguments: new Map([
      ['self', { kind: 'tensor', name: 'count' }],
      ['other', { kind: 'number', value }],
    ]),
    outputs: ['result'],
    modules: [],
    stackTrace: '',
  });
  const graph = (node: AtenNode): AtenGraph => ({
    nodes: [node],
    tensors: new Map(),
    inputs: ['count', 'x'],
    outputs: ['result', 'x'],
    sizes: new Map(),
  });
  const body = graph(call(`${change}.Tensor`, step));
  expect(iterationsOf(graph(call(`${relation}.Scalar`, 5)), body, [start, undefined])).toEqual(expected);
});
