/** Which products are in fp8 and NVFP4, and what casting their operands moves, by hand for matrices of small sizes. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { Mode } from '../../server/src/model/scenario.ts';

/** Two layers read the same, one reads what normalization gives, and the last gives the scores. */
const spec = `dims: { batch: 4, seq: 8, d: 16 }
inputs: { x: "float32[batch, seq, d]", y: "int64[batch, seq]" }
layers:
  - first: Linear(d, d, bias=False)
  - left: Linear(d, 32, bias=False)
  - right: Linear(d, 32, bias=False) from first
  - turned: transpose(right, -2, -1)
  - scores: matmul(left, turned)
  - mixed: matmul(scores, left)
  - back: Linear(32, d, bias=False)
  - norm: LayerNorm(d)
  - up: Linear(d, 24)
  - act: GELU()
  - head: Linear(24, 10)
  - rows: view(head, -1, 10)
  - labels: view(y, -1)
  - loss: CrossEntropyLoss() from rows, labels
`;

/** Lowered products by the layer they are of. */
function productsOf(
  name: string,
  options: Readonly<Record<string, string>>,
  mode: Mode = 'training',
  freeze: readonly string[] = [],
  precision: 'fp8' | 'nvfp4' = 'fp8',
): ReadonlyMap<string, LoweredOperator> {
  const { training, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [{ gpus: 1, freeze }]);
  if (training === undefined) throw new Error(JSON.stringify(issues));
  const { operators } = resolveFramework({ name, options }).behaviour.lower(training, precision, mode);
  const found = new Map<string, LoweredOperator>();
  for (const layer of training.analysis.layers)
    for (const index of layer.operators) {
      const cost = training.costs[index];
      const lowered = operators[index];
      if (cost?.kind === 'known' && cost.class === 'matmul' && lowered !== undefined)
        found.set(layer.name, lowered);
    }
  return found;
}

const frameworks = [
  ['eager', 'pytorch-ddp', {}],
  ['compiled', 'pytorch-ddp', { compile: 'true' }],
  ['by Transformer Engine', 'megatron', {}],
] as const;

test.each(frameworks)(
  '%s, layers with weights are in fp8, but the one that gives the scores',
  (_, name, options) => {
    const types = [...productsOf(name, options)].map(([layer, { dtype }]) => [layer, dtype]);
    expect(Object.fromEntries(types)).toEqual({
      first: 'fp8',
      left: 'fp8',
      right: 'fp8',
      scores: 'bf16',
      mixed: 'bf16',
      back: 'fp8',
      up: 'fp8',
      head: 'bf16',
    });
  },
);

test.each(frameworks)('%s, the same layers are in NVFP4', (_, name, options) => {
  const types = [...productsOf(name, options, 'training', [], 'nvfp4')].map(([layer, { dtype }]) => [
    layer,
    dtype,
  ]);
  expect(types.filter(([, dtype]) => dtype === 'nvfp4').map(([layer]) => layer)).toEqual([
    'first',
    'left',
    'right',
    'back',
    'up',
  ]);
  expect(new Set(types.map(([, dtype]) => dtype))).toEqual(new Set(['nvfp4', 'bf16']));
});

/** Bytes that casts read and write. */
const moved = (kernels: LoweredOperator['forward'] = []): number =>
  kernels.reduce((total, { castsOperand, bytes }) => total + (castsOperand === true ? bytes : 0), 0);

/** Rows, and elements of what layers read, hold and give. */
const rows = 4 * 8;
const left = { read: rows * 16, held: 16 * 32, given: rows * 32 };
const first = { read: rows * 16, held: 16 * 16, given: rows * 16 };
const up = { read: rows * 16, held: 16 * 24, given: rows * 24 };

test.each([
  // 33 bytes for each operand as it lies; what is transposed is cast again (27), and copied (2).
  [
    'pytorch-ddp',
    {},
    'left',
    [33 * (left.read + left.held), 35 * left.given + 29 * left.held, 29 * left.read],
  ],
  // The same tensor as `left` read, whose casts stay.
  ['pytorch-ddp', {}, 'right', [33 * left.held, 35 * left.given + 29 * left.held, 0]],
  [
    'pytorch-ddp',
    { compile: 'true' },
    'up',
    [3 * up.read + 5 * up.held, 4 * up.given + 3 * up.held, 3 * up.read],
  ],
  ['pytorch-ddp', { compile: 'true' }, 'right', [5 * left.held, 4 * left.given + 3 * left.held, 0]],
  // Nobody asks for the gradient of the batch: that of what the layer gives is cast for its weight alone.
  ['pytorch-ddp', {}, 'first', [33 * (first.read + first.held), 0, 35 * first.given + 29 * first.read]],
  // Normalization gives fp8, which is transposed; else one kernel writes both layouts.
  ['megatron', {}, 'up', [0, 4 * up.given, 2 * up.read]],
  ['megatron', {}, 'left', [4 * left.read, 4 * left.given, 0]],
  ['megatron', {}, 'head', [0, 0, 0]],
] as const)(
  '%s %j: bytes that casts for `%s` move, in forward, for its input and its weight',
  (name, options, layer, expected) => {
    const product = productsOf(name, options).get(layer);
    expect([product?.forward, product?.backwardData, product?.backwardWeight].map(moved)).toEqual(expected);
  },
);

test.each([
  ['pytorch-ddp', {}, 33],
  ['pytorch-ddp', { compile: 'true' }, 3],
] as const)('%s %j: weights are cast before inference', (name, options, each) => {
  const product = productsOf(name, options, 'inference').get('up');
  expect([product?.forward, product?.backwardData, product?.backwardWeight].map(moved)).toEqual([
    each * up.read,
    0,
    0,
  ]);
});

test('for a frozen layer nothing is cast that the gradient of its weight alone reads', () => {
  const product = productsOf('pytorch-ddp', {}, 'training', ['up']).get('up');
  expect([product?.forward, product?.backwardData, product?.backwardWeight].map(moved)).toEqual([
    33 * (up.read + up.held),
    35 * up.given + 29 * up.held,
    0,
  ]);
});

// The greatest value (2 bytes an element), then both layouts by one kernel: 2 read, twice half a byte and a sixteenth written.
test.each([
  ['megatron', 'up', [5.125 * up.read, 5.125 * up.given, 0]],
  ['pytorch-ddp', 'left', [5.125 * left.read, 5.125 * left.given, 0]],
  // The same tensor as `left` read.
  ['pytorch-ddp', 'right', [0, 5.125 * left.given, 0]],
  ['megatron', 'head', [0, 0, 0]],
] as const)('%s: bytes that casts to NVFP4 for `%s` move', (name, layer, expected) => {
  const product = productsOf(name, {}, 'training', [], 'nvfp4').get(layer);
  expect([product?.forward, product?.backwardData, product?.backwardWeight].map(moved)).toEqual(expected);
});
