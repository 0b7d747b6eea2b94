/** Layer specs made at random that are right: image networks and sequence networks, with blocks and repetitions. */

import fc from 'fast-check';

const act = fc.constantFrom('ReLU()', 'GELU()', 'SiLU()', 'Sigmoid()', 'Tanh()', 'LeakyReLU()', 'Softplus()');

const imageLayer = fc.oneof(
  fc
    .record({ size: fc.constantFrom(8, 12, 16), kernel: fc.constantFrom(1, 3), bias: fc.boolean() })
    .map(
      ({ size, kernel, bias }) =>
        `Conv2d(out_channels=${size}, kernel_size=${kernel}, padding=${(kernel - 1) / 2}, bias=${bias ? 'True' : 'False'})`,
    ),
  fc.constantFrom(
    'Conv2d(out_channels=8, kernel_size=3, stride=2, padding=1)',
    'BatchNorm2d()',
    'GroupNorm(num_groups=2)',
    'MaxPool2d(2)',
    'AvgPool2d(2)',
    'Dropout(0.1)',
    'LocalResponseNorm(5)',
  ),
  act,
);

const sequenceLayer = fc.oneof(
  fc.constantFrom(
    'LayerNorm()',
    'LayerNorm(bias=False)',
    'LayerNorm(elementwise_affine=False)',
    'RMSNorm()',
    'Dropout(0.5)',
    'Linear(out_features=16)',
    'Linear(out_features=16, bias=False)',
    'softmax(dim=-1)',
  ),
  fc
    .record({
      causal: fc.boolean(),
      rotary: fc.boolean(),
      fused: fc.boolean(),
      groups: fc.constantFrom(1, 2, 4),
      bias: fc.boolean(),
    })
    .map((options) => {
      const flag = (value: boolean) => (value ? 'True' : 'False');
      return `MultiheadAttention(num_heads=4, num_kv_heads=${options.groups}, causal=${flag(options.causal)}, rotary=${flag(options.rotary)}, fused=${flag(options.fused)}, bias=${flag(options.bias)})`;
    }),
  act,
);

const lines = (layers: readonly string[], prefix: string): string =>
  layers.map((layer, index) => `    - ${prefix}${index}: ${layer}\n`).join('');

const imageSpec = fc
  .record({ layers: fc.array(imageLayer, { minLength: 1, maxLength: 7 }), size: fc.constantFrom(32, 48) })
  .map(
    ({ layers, size }) => `name: image
dims: { batch: 4, classes: 10 }
inputs:
  x: float32[batch, 3, ${size}, ${size}]
layers:
    - stem: Conv2d(out_channels=8, kernel_size=3, padding=1)
${lines(layers, 'l')}    - twice: add(l${layers.length - 1}, l${layers.length - 1})
    - pool: AdaptiveAvgPool2d(1)
    - flat: Flatten()
    - fc: Linear(out_features=classes)
`,
  );

const sequenceSpec = fc
  .record({
    layers: fc.array(sequenceLayer, { minLength: 1, maxLength: 6 }),
    count: fc.integer({ min: 1, max: 3 }),
  })
  .map(
    ({ layers, count }) => `dims: { batch: 2, seq: 12, d: 16, vocab: 40 }
inputs:
  tokens: int64[batch, seq]
blocks:
  block:
${lines(layers, 'b')}    - res: add(b${layers.length - 1}, input)
layers:
    - embed: Embedding(vocab, d)
    - positions: Parameter(seq, d)
    - sum: add(embed, positions)
    - h: block() * ${count}
    - head: Linear(d, vocab, bias=False)
`,
  );

export const arbitrarySpec: fc.Arbitrary<string> = fc.oneof(imageSpec, sequenceSpec);
