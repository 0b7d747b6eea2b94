/**
 * `attention=eager` costs an `Attention` operator as attention that is written out: what the same module costs where it was
 * exported as several operators, and a layer of a spec with `fused=False`.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { Precision } from '../../server/src/model/scenario.ts';

function costOf(text: Buffer, name: string, precision: Precision, attention: string) {
  const { cost, issues } = estimateModel(openModel(byteSourceOfBuffer(text), name), [
    {
      cluster: 'a100-sxm-80gb',
      gpus: 1,
      precision,
      optimizer: 'none',
      // Small models wait for a usual host.
      framework: { name: 'pytorch-ddp', options: { attention, 'launch-us': '8' } },
    },
  ]);
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
  const { forward, backward } = cost?.totals.time ?? {};
  return {
    saved: cost?.totals.memory.activations ?? Number.NaN,
    flops: cost?.totals.flops,
    parameters: cost?.totals.memory.parameters,
    time: (forward ?? Number.NaN) + (backward ?? Number.NaN),
    layers: cost?.layers.map(({ name }) => name),
  };
}

describe('an export with the operator costs what one that is written out costs', () => {
  const exported = (form: string, precision: Precision, attention: string) => {
    const name = `${form}.onnxtxt`;
    return costOf(readFileSync(`test/composites/attention/${name}`), name, precision, attention);
  };
  test.each([
    ['sdpa', 'legacy14'],
    ['sdpa-cross', 'legacy14'],
    ['sdpa-scale', 'legacy14'],
    ['sdpa-float-mask', 'legacy14'],
    ['sdpa-causal', 'legacy14'],
    ['mha', 'dynamo18'],
  ])('%s, as %s', (form, other) => {
    for (const precision of ['fp32', 'bf16'] as const) {
      const own = exported(`${form}-torch2.13-dynamo23`, precision, 'eager');
      const written = exported(`${form}-torch2.13-${other}`, precision, 'eager');
      expect(own.flops).toEqual(written.flops);
      expect(own.saved / written.saved).toBeCloseTo(1, 2);
      expect(Math.abs(own.time / written.time - 1)).toBeLessThan(0.03);
    }
  });
});

const spec = (line: string, groups: number) =>
  Buffer.from(`dims: { batch: 4, seq: 128 }
inputs:
  x: float32[batch, seq, 256]

layers:
  - q: Linear(256)
  - k: Linear(${groups * 32}) from x
  - v: Linear(${groups * 32}) from x
${line}
`);
describe('a layer of a spec costs what it costs with fused=False', () => {
  test.each([
    [
      'MultiheadAttention',
      '  - a: MultiheadAttention(8) from x, x, x',
      '  - a: MultiheadAttention(8, fused=False) from x, x, x',
      8,
    ],
    [
      'MultiheadAttention of groups',
      '  - a: MultiheadAttention(8, num_kv_heads=2) from x, x, x',
      '  - a: MultiheadAttention(8, num_kv_heads=2, fused=False) from x, x, x',
      8,
    ],
  ])('%s', (_, fused, written, groups) => {
    for (const precision of ['fp32', 'bf16'] as const) {
      const own = costOf(spec(fused, groups), 'a.layers.yaml', precision, 'eager');
      const other = costOf(spec(written, groups), 'a.layers.yaml', precision, 'as-exported');
      expect(own).toEqual(other);
      expect(costOf(spec(fused, groups), 'a.layers.yaml', precision, 'as-exported').saved).toBeLessThan(
        own.saved,
      );
    }
  });
});

/** FLOPs, parameters and result of each layer. */
function layersOf(text: string, attention: string) {
  const { cost } = estimateModel(openModel(byteSourceOfBuffer(Buffer.from(text)), 'a.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, framework: { name: 'pytorch-ddp', options: { attention } } },
  ]);
  return cost?.layers.map(({ name, type, flops, parameters, output }) => ({
    name,
    type,
    flops,
    parameters,
    shape: output.shape,
  }));
}

const blocks = (count: number, repeats: boolean) => `dims: { batch: 4, seq: 128 }
inputs:
  x: float32[batch, seq, 256]
blocks:
  block:
    - norm: LayerNorm(256)
    - heads: reshape(norm, [batch, seq, 8, 32])
    - q: transpose(heads, 1, 2)
    - attention: scaled_dot_product_attention(q, q, q, is_causal=True)
    - tokens: transpose(attention, 1, 2)
    - merged: reshape(tokens, [batch, seq, 256])
    - out: Linear(256)
    - up: Linear(1024)
    - act: GELU()
    - down: Linear(256)
layers:
${repeats ? `  - h: block() * ${count}` : Array.from({ length: count }, (_, index) => `  - h${index}: block()`).join('\n')}
  - head: Linear(10)
`;

test.each([
  ['one block', blocks(1, false)],
  ['blocks by name', blocks(3, false)],
  ['repeated blocks', blocks(12, true)],
])('layers around attention that is written out keep their names and costs: %s', (_, text) => {
  const fused = layersOf(text, 'as-exported');
  expect(fused?.length).toBeGreaterThan(10);
  expect(layersOf(text, 'eager')).toEqual(fused);
});
