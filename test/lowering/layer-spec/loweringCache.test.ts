import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';
import { LoweringCache } from '../../../server/src/lowering/layer-spec/loweringCache.ts';
import { lowerLayerSpec } from '../../../server/src/lowering/lowerLayerSpec.ts';

/** A text with every kind of thing a layer can depend on. */
const text = `dims: { batch: 2, seq: 8, d: 16, heads: 2 }
inputs: { tokens: 'int64[batch, seq]', other: 'float32[batch, seq, d]' }
blocks:
  mlp(width, inner=2*width):
    - up: Linear(width, inner)
    - down: Linear(inner, width)
    - sum: add(down, input)
  cross(width) from x, memory to out, kept:
    - kept: MultiheadAttention(width, heads, rotary=True) from x, memory
    - out: add(kept, x) frozen
layers:
  - embed: Embedding(100, d)
  - m: mlp(d) * 3
  - c: cross(d) * 2 from m, other recompute
  - a, b: Split(axis=-1, num_outputs=2) from c.kept
  - cat: concat(a, b, a, dim=-1)
  - fc: Linear(d) frozen
  - head: Linear(100, bias=False, weight=embed) precision=fp32
  - flat: reshape(batch, seq*100)
outputs: [flat, c.kept]
`;

function lower(source: string, memory = new LoweringCache('nothing')) {
  const { spec } = readLayerSpec(source);
  if (spec === undefined) return undefined;
  const { model, structure, issues } = lowerLayerSpec(spec, { memory });
  // Stored tensors are found by name; their order follows from what was asked for first.
  const initializers = [...model.graph.initializers].sort((left, right) => (left.name < right.name ? -1 : 1));
  return { model: { ...model, graph: { ...model.graph, initializers } }, structure, issues };
}

it.each([text, ...['gpt2', 'googlenet'].map((name) => readFileSync(`samples/${name}.layers.yaml`, 'utf8'))])(
  'a result never depends on what is kept of earlier texts (%#)',
  (original) => {
    const edit = fc.record({
      at: fc.nat(original.length),
      removed: fc.constantFrom(0, 0, 1, 3),
      added: fc.constantFrom('', '1', 'x', ' ', '(', ')', ',', '\n', ' frozen', '- z: GELU()\n', 'd'),
      undo: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 6 }), (edits) => {
        const memory = new LoweringCache();
        lower(original, memory);
        let present = original;
        for (const { at, removed, added, undo } of edits) {
          if (undo) present = original;
          present = present.slice(0, at) + added + present.slice(at + removed);
          expect(lower(present, memory), present).toEqual(lower(present));
        }
      }),
      { numRuns: original === text ? 150 : 25 },
    );
  },
);

it.each([text, readFileSync('samples/tinyllama.layers.yaml', 'utf8')])(
  'a line that is written like another over tensors like its becomes what it would become by itself (%#)',
  (source) => {
    expect(lower(source, new LoweringCache('copies'))).toEqual(lower(source));
  },
);

it('takes over the operators of lines that did not change', () => {
  const memory = new LoweringCache();
  const before = lower(text, memory)?.model.graph.nodes ?? [];
  const after =
    lower(text.replace('Linear(d) frozen', 'Linear(d, d) frozen'), memory)?.model.graph.nodes ?? [];
  const kept = new Set(before);
  const fresh = after.filter((node) => !kept.has(node)).map(({ name }) => name);
  expect(fresh.every((name) => /^(fc|head|flat)\//.test(name))).toBe(true);
  expect(after.length).toBe(before.length);
});
