/** What a module was given is there until it returns, where a program runs the graph. */

import { describe, expect, test } from 'vitest';
import { openModel, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { forwardMemory } from '../../server/src/estimate/memory/forwardMemory.ts';
import type { Variables } from '../../server/src/estimate/memory/valueLifetimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { FrameworkChoice } from '../../server/src/model/scenario.ts';

/** Of 1,024 numbers each; negation keeps nothing. */
const rows = (nodes: readonly string[]): string =>
  `<ir_version: 10, opset_import: ["" : 21]>\ng (float[1024] x) => (float[1] y) {\n${nodes.join('\n')}\n}\n`;

const size = 4096;

function alive(
  nodes: readonly string[],
  framework?: FrameworkChoice,
  variables?: Variables,
): readonly number[] {
  const opened = openOnnxText(rows(nodes), 'modules.onnxtxt');
  const { training, scenario, cluster } = estimateModel(opened, [
    { mode: 'inference', precision: 'fp32', ...(framework === undefined ? {} : { framework }) },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('no plan');
  const { unkept } = forwardMemory(planStep(training, scenario, cluster), undefined, variables);
  return [...unkept].map((bytes) => bytes / size);
}

const blocks = [
  '["/stem/Neg"] a = Neg (x)',
  '["/blocks/blocks.0/Neg"] b = Neg (a)',
  '["/blocks/blocks.0/Neg_1"] c = Neg (b)',
  '["/blocks/blocks.1/Neg"] d = Neg (c)',
  '["/blocks/blocks.1/Neg_1"] e = Neg (d)',
  '["/head/Neg"] f = Neg (e)',
  '["/head/ReduceMax"] y = ReduceMax (f)',
];

describe('the input stays; beside it', () => {
  // a; a b; a b c; a c d; a c d e; e f, and so on.
  test('what a row of blocks was given stays for all of them, what one was given until its end', () => {
    expect(alive(blocks).map(Math.floor)).toEqual([2, 3, 4, 4, 5, 3, 3]);
  });

  test.each<[string, FrameworkChoice]>([
    ['a compiler knows the last reader', { name: 'pytorch-ddp', options: { compile: 'true' } }],
    ['so does a graph of TensorFlow', { name: 'tensorflow', options: {} }],
  ])('%s', (_, framework) => {
    const [first = 0, second = 0, third = 0, fourth = 0] = alive(blocks, framework);
    expect([first, second, third, fourth].map(Math.floor)).toEqual([2, 3, 3, 3]);
  });

  test('a module called twice returns twice', () => {
    const calls = [
      '["/act/Neg"] a = Neg (x)',
      '["/norm/Neg"] b = Neg (a)',
      '["/act/Neg_1"] c = Neg (b)',
      '["/act/Neg_2"] d = Neg (c)',
      '["/norm/ReduceMax"] y = ReduceMax (d)',
    ];
    expect(alive(calls).map(Math.floor)).toEqual([2, 3, 3, 4, 2]);
  });
});

describe('where variables hold what they name', () => {
  const held = (nodes: readonly string[]) => alive(nodes, undefined, 'held').map(Math.floor);

  test('they do until the call returns whose code has it; a row of blocks has one variable', () => {
    // a; a b; a b c; a c d; a c d e; a e f, and so on: nothing but what the model's own code names.
    expect(held(blocks)).toEqual([2, 3, 4, 4, 5, 4, 4]);
  });

  test('a module of other code names what its modules give it', () => {
    const cell = blocks.map((node) => node.replaceAll('blocks.', 'part'));
    // b is of a part alone, c of the caller of both parts.
    expect(held(cell.slice(0, 5).concat('["/blocks/Neg"] f = Neg (e)', blocks[6] ?? ''))).toEqual([
      2, 3, 4, 4, 5, 5, 3,
    ]);
  });

  test('without names of modules nothing is known to hold', () => {
    const nameless = blocks.map((node) => node.replace(/\[.*\] /, ''));
    expect(held(nameless)).toEqual(alive(nameless).map(Math.floor));
  });
});

/** A layer spec and an archive have no recorded scopes: their layers say which modules stand around an operator. */
test('what a block of a layer spec was given stays until its end', () => {
  const spec = `
inputs: { x: 'float32[1024]' }
blocks:
  three:
    - first: neg()
    - second: neg()
    - third: neg()
layers:
  - stem: neg(x)
  - body: three() * 2
  - head: neg()
`;
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(spec)), 'net.layers.yaml');
  const { training, scenario, cluster, issues } = estimateModel(opened, [
    { mode: 'inference', precision: 'fp32' },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error(issues.map(({ message }) => message).join());
  const { unkept } = forwardMemory(planStep(training, scenario, cluster));
  // x and the stem, which the row and its first block were given, and two inside of it; then what the second block was given, too.
  expect([...unkept].map((bytes) => Math.floor(bytes / size))).toEqual([2, 3, 4, 4, 4, 5, 5, 3]);
});
