/** Weights that are not trained, where workers hold shards of all: they are gathered, and nothing of them is scattered. */

import { describe, expect, test } from 'vitest';
import type { FrameworkChoice } from '../../server/src/model/scenario.ts';
import { planOf } from '../support/estimatedStep.ts';

/** Four blocks of 2 × 72 elements, and a head of 36. */
const spec = `inputs: { x: "float32[3, 8]" }
blocks:
  block:
    - first: Linear(8, 8)
    - second: Linear(8, 8)
    - act: ReLU()
layers:
  - layers: block() * 4
  - head: Linear(8, 4)
`;

function messagesOf(
  framework: FrameworkChoice,
  freeze: readonly string[],
  mode: 'training' | 'inference' = 'training',
) {
  const { messages } = planOf(
    { gpus: 2, precision: 'fp32', loss: 'none', framework, mode, ...(freeze.length === 0 ? {} : { freeze }) },
    spec,
  ).exchange;
  const elements = (collective: string, isWanted: (pass: string) => boolean): readonly number[] =>
    messages
      .filter(({ stages: [stage], before }) => {
        const operation = stage?.operation;
        return (
          operation?.kind === 'collective' && operation.collective === collective && isWanted(before.pass)
        );
      })
      .map(({ bytes }) => bytes / 4)
      .toSorted((one, other) => one - other);
  return {
    forward: elements('all-gather', (pass) => pass === 'forward'),
    backward: elements('all-gather', (pass) => pass !== 'forward'),
    scattered: elements('reduce-scatter', () => true),
  };
}

/**
 * The collectives that PyTorch 2.13 issues for this model with two processes of Gloo: `fully_shard` around each block and around all,
 * recorded by a dispatch mode as `c10d._allgather_base_` and `_reduce_scatter_base_`, the second of two steps.
 */
describe.each<readonly [readonly string[], readonly number[], readonly number[]]>([
  [[], [144, 144, 144, 144], [36, 144, 144, 144, 144]],
  // It prefetches the second block, which backward does not come to.
  [
    ['layers[0]', 'layers[1]'],
    [144, 144, 144],
    [36, 144, 144],
  ],
  [
    ['*.first', 'head'],
    [144, 144, 144, 144],
    [72, 72, 72, 72],
  ],
  [['layers'], [144], [36]],
])('pytorch-fsdp, frozen %j', (freeze, backward, scattered) => {
  const framework = { name: 'pytorch-fsdp', options: {} };
  const found = messagesOf(framework, freeze);

  test('gathers all in forward', () => {
    expect(found.forward).toEqual([36, 144, 144, 144, 144]);
  });

  test('gathers in backward what it comes to, and one block more', () => {
    expect(found.backward).toEqual(backward);
  });

  test('scatters gradients of what is trained', () => {
    expect(found.scattered).toEqual(scattered);
  });

  test('gathers the same in inference', () => {
    expect(messagesOf(framework, freeze, 'inference').forward).toEqual([36, 144, 144, 144, 144]);
  });
});

/** Each parameter by itself. Backward does not come to the first layer where that is frozen. */
test.each<readonly [readonly string[], number, number, number]>([
  [[], 4 * 144 + 36, 4 * 144 + 36, 4 * 144 + 36],
  [['layers[0]', 'layers[1]'], 4 * 144 + 36, 2 * 144 + 36, 2 * 144 + 36],
  [['*.first', 'head'], 4 * 144 + 36, 4 * 144 + 36 - 72, 4 * 72],
])(
  'deepspeed-zero in stage 3, frozen %j: elements gathered and scattered',
  (freeze, forward, backward, scattered) => {
    const options = { stage: '3', 'persistence-threshold': '0', 'prefetch-bucket-size': '1' };
    const found = messagesOf({ name: 'deepspeed-zero', options }, freeze);
    const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
    expect([sum(found.forward), sum(found.backward), sum(found.scattered)]).toEqual([
      forward,
      backward,
      scattered,
    ]);
  },
);
