/** Which figure stands where: a layer with figures that all differ, in hovers and hints. */

import { expect, test } from 'vitest';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { hover } from '../../server/src/language/hover.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import type { ModelView } from '../../server/src/language/modelView.ts';
import { formatFlops } from '../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { LayerCost } from '../../server/src/model/stepCost.ts';
import { bytes, flops, seconds } from '../../server/src/model/units.ts';
import { viewOf } from './fixture.ts';

const text = `name: one
inputs:
  x: float32[batch, 512]
layers:
  - fc: Linear(512, 512)
`;
const line = 4;
const training = {
  cluster: 'dgx-a100',
  gpus: 8,
  batch: 8,
  precision: 'bf16',
  optimizer: 'momentum',
} as const;

/** The view with these figures of its layer, in a step of 10 ms. */
function viewWith(changes: (layer: LayerCost) => Partial<LayerCost>): ModelView {
  const view = viewOf(text, training);
  const { cost } = view.estimate;
  if (cost === undefined) throw new Error('nothing was costed');
  const time = { ...cost.totals.time, step: seconds(10e-3) };
  return {
    ...view,
    estimate: { ...view.estimate, cost: { ...cost, totals: { ...cost.totals, time } } },
    rows: view.rows.map((row) => ({
      ...row,
      layers: row.layers.map((layer) => ({ ...layer, ...apart(layer), ...changes(layer) })),
    })),
  };
}

const mebibyte = 2 ** 20;

const apart = ({ time, memory }: LayerCost): Partial<LayerCost> => ({
  parameters: 123_456,
  flops: { forward: flops(1e9), backwardData: flops(2e9), backwardWeight: flops(4e9) },
  operations: { forward: 11e6, backward: 13e6 },
  time: {
    ...time,
    forward: seconds(0.5e-3),
    backward: seconds(0.9e-3),
    communication: seconds(1.7e-3),
    exposedCommunication: seconds(0.6e-3),
  },
  memory: {
    ...memory,
    parameters: bytes(2 * mebibyte),
    activations: bytes(3 * mebibyte),
    gradient: bytes(5 * mebibyte),
    optimizerState: bytes(7 * mebibyte),
  },
});

const hoverText = (view: ModelView): string => hover(view, { line, character: 6 })?.markdown ?? '';
const hintText = (view: ModelView): string => inlayHints(view, line, line)[0]?.text ?? '';
const none = { forward: flops(0), backwardData: flops(0), backwardWeight: flops(0) };

test.each<[string, (layer: LayerCost) => Partial<LayerCost>, RegExp]>([
  ['its share of the step, what is exposed included', () => ({}), /^fc · Linear +20 % of the step$/m],
  ['parameters and their bytes', () => ({}), /^parameters +123,456 \(2\.00 MiB\)$/m],
  ['FLOPs of forward, and of both gradients', () => ({}), /^FLOPs +1\.00 GFLOP +6\.00 GFLOP/m],
  ['operations where there are no FLOPs', () => ({ flops: none }), /^element-wise +11\.0 Mop +13\.0 Mop/m],
  ['times of forward and backward', () => ({}), /^time +500 µs +900 µs/m],
  ['memory', () => ({}), /^memory +saved 3\.00 MiB · gradient 5\.00 MiB ·\n +momentum state 7\.00 MiB$/m],
  ['a part of communication exposed', () => ({}), /^all-reduce +1\.70 ms over 8 GPUs, 600 µs exposed$/m],
  [
    'communication hidden',
    ({ time }) => ({ time: { ...time, communication: seconds(1.7e-3), exposedCommunication: seconds(0) } }),
    /^all-reduce +1\.70 ms over 8 GPUs, hidden by backward$/m,
  ],
  [
    'communication of unknown overlap',
    ({ time }) => ({ time: { ...time, communication: seconds(1.7e-3), exposedCommunication: null } }),
    /^all-reduce +1\.70 ms over 8 GPUs, overlap unknown$/m,
  ],
  [
    'four notes, and how many more',
    () => ({ notes: ['a', 'b', 'c', 'd', 'e', 'f'] }),
    /^source +a\n +b\n +c\n +d\n +and 2 more$/m,
  ],
  ['what bounds it', () => ({ bound: 'launch' }), /^FLOPs .*launch-bound$/m],
])('a hover says %s', (_, changes, expected) => {
  expect(hoverText(viewWith(changes))).toMatch(expected);
});

const exposed = (time: number) => (layer: LayerCost) => ({
  time: {
    ...apart(layer).time,
    ...layer.time,
    communication: seconds(1),
    exposedCommunication: seconds(time),
  },
});

test.each<[string, (layer: LayerCost) => Partial<LayerCost>, RegExp]>([
  [
    'FLOPs and time of forward and backward',
    () => ({}),
    /^7\.00 GFLOP · 1\.40 ms · grad 5\.00 MiB, 600 µs exposed$/,
  ],
  ['nothing exposed below a microsecond', exposed(0.9e-6), /grad 5\.00 MiB$/],
  ['what is exposed from a microsecond on', exposed(1e-6), /grad 5\.00 MiB, 1\.\d+ µs exposed$/],
  [
    'no gradient where none is sent',
    ({ time }) => ({ time: { ...time, communication: seconds(0) } }),
    /^7\.00 GFLOP · \S+ \S+$/,
  ],
])('a hint says %s', (_, changes, expected) => {
  expect(hintText(viewWith(changes))).toMatch(expected);
});

const lensOf = (request: ScenarioRequest): string => codeLenses(viewOf(text, request))[1]?.title ?? '';

test.each<[ScenarioRequest, string]>([
  [training, 'dgx-a100 · 8 GPUs · batch 8 · bf16 · pytorch-ddp'],
  [{ ...training, accumulate: 4 }, 'dgx-a100 · 8 GPUs · batch 4 × 8 · bf16'],
  [
    { ...training, framework: { name: 'horovod', options: {} } },
    'dgx-a100 · 8 GPUs · batch 8 · bf16 · horovod',
  ],
  // Nobody sends gradients on one GPU, and in inference.
  [{ ...training, gpus: 1 }, 'dgx-a100 · 1 GPU · batch 8 · bf16'],
  [{ ...training, mode: 'inference' }, 'dgx-a100 · 8 GPUs · batch 8 · bf16'],
])('the lens of %j', (request, title) => {
  expect(lensOf(request)).toBe(title);
});

test('a lens counts the FLOPs of forward and backward', () => {
  const { cost } = viewOf(text, training).estimate;
  const { forward, backward } = cost?.totals.flops ?? { forward: Number.NaN, backward: Number.NaN };
  const title = codeLenses(viewOf(text, training)).at(-1)?.title;
  expect(title?.split(' · ').at(-1)).toBe(formatFlops(flops(forward + backward)));
});

const shared = (count: number): string => `dims: { batch: 1 }
inputs:
  x: float32[batch, d]
layers:
  - f: Linear(d, d)
models:
${Array.from({ length: count }, (_, index) => `  m${index + 1}:\n    dims: { d: ${64 * (index + 1)} }\n`).join('')}`;

test.each([
  [2, /^m1 .*\| m2 [^|]*$/],
  [3, /^m1 .*\| m2 .*\| m3 [^|]*$/],
  [4, /^m1 .*\| m2 .*\| m3 .*\| 1 more$/],
  [5, /^m1 .*\| m2 .*\| m3 .*\| 2 more$/],
])('a line of %i models says what it costs in three of them', (count, expected) => {
  expect(inlayHints(viewOf(shared(count)), 4, 4)[0]?.text).toMatch(expected);
});

test.each([
  // A line that ends at or behind the last column has no limit; before it, what fits.
  [23, false],
  [24, false],
  [44, true],
])('hints end before the last column, on lines that do not reach it: %i', (lastColumn, isCut) => {
  const end = text.split('\n')[line]?.length ?? 0;
  const [hint] = inlayHints(
    viewWith(() => ({})),
    line,
    line,
    undefined,
    { longest: 999, lastColumn },
  );
  expect(end).toBe(24);
  expect((hint?.text.length ?? 0) < 40).toBe(isCut);
});
