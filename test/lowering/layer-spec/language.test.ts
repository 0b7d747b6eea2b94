/** What the language adds to single layers: dims, blocks, outputs, marks, models, includes. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type OpenOptions, openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { printDimension } from '../../../server/src/model/dimension.ts';
import { isKnownShape } from '../../../server/src/model/graph.ts';
import type { Precision } from '../../../server/src/model/scenario.ts';
import { annotate, textOf } from '../../formats/layer-spec/caretFixture.ts';

function check(fixture: string, options: OpenOptions = {}): void {
  const text = textOf(fixture);
  expect(annotate(text, openLayerSpec(text, 'model.layers.yaml', options).issues)).toBe(fixture);
}

/** Every layer with the shape of its first output. */
function shapes(text: string, options: OpenOptions = {}): readonly string[] {
  const { analysis, issues } = openLayerSpec(text, 'model.layers.yaml', options);
  const wrong = issues.filter(({ severity }) => severity !== 'information');
  if (analysis === undefined || wrong.length > 0) return wrong.map(({ message }) => message);
  return analysis.layers.map(({ name, operators }) => {
    const output = analysis.graph.operators[operators.at(-1) ?? -1]?.outputs[0] ?? '';
    const type = analysis.graph.values.get(output)?.type;
    const known = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : [];
    return `${name} ${known.map(printDimension).join('×')}`;
  });
}

describe('dims', () => {
  it('depend on each other in any order, and on open ones', () =>
    expect(
      shapes(`
dims: { hidden: 4*d, d: heads*16, heads: 4, batch: 2, tokens: batch*8 }
inputs: { x: 'float32[batch, 8, d]' }
layers:
  - fc: Linear(d, hidden)
  - flat: reshape(tokens, hidden)
`),
    ).toEqual(['fc batch×8×256', 'flat 8*batch×256']));

  it('are told where they have no value, depend on themselves, or are not used', () =>
    check(`
dims:
  a: b + 1
  b: c
  c: a
#    ^ [spec/dimension] \`c\` depends on itself through \`a\`; write a number for one of them
  d: d
#    ^ [spec/dimension] \`d\` depends on itself; write a number
  e:
# ^ [spec/dimension] \`e\` has no value: write one here
  f: 3
# ^ [spec/unused] nothing reads the dimension \`f\`
  batch: 2
inputs: { x: 'float32[batch, 8]' }
layers:
  - l: Linear(a)
  - m: Linear(d)
  - n: Linear(e)
`));
});

describe('blocks', () => {
  it('take several inputs and give several outputs, which repetition carries over', () =>
    expect(
      shapes(`
dims: { d: 8 }
inputs: { x: 'float32[n, 4, d]', memory: 'float32[n, 6, 2*d]' }
blocks:
  cross(width) from query, memory to out, kept:
    - kept: Linear(width) from memory
    - mean: mean(dim=1, keepdim=True)
    - out: add(query, mean)
layers:
  - c: cross(d) * 2 from x, memory
  - a: GELU() from c.kept
  - b: GELU() from c.out
  - e: GELU() from c
`),
    ).toEqual([
      'c[0].kept n×6×8',
      'c[0].mean n×1×8',
      'c[0].out n×4×8',
      'c[1].kept n×6×8',
      'c[1].mean n×1×8',
      'c[1].out n×4×8',
      'a n×6×8',
      'b n×4×8',
      'e n×4×8',
    ]));

  it('keep the sources that no output replaces', () =>
    expect(
      shapes(`
inputs: { x: 'float32[n, 4]', y: 'float32[n, 4]' }
blocks:
  step from a, b:
    - sum: add(a, b)
layers:
  - s: step() * 3 from x, y
`),
    ).toEqual(['s[0].sum n×4', 's[1].sum n×4', 's[2].sum n×4']));

  it('have defaults that read dims and the parameters before them, and blocks inside', () =>
    expect(
      shapes(`
dims: { d: 8, ratio: 2 }
inputs: { x: 'float32[n, d]' }
blocks:
  mlp(width, inner=ratio*width, out=inner):
    - up: Linear(inner)
    - down: Linear(out)
  pair(width):
    - one: mlp(width)
    - two: mlp(width, out=width) * 2
layers:
  - p: pair(d)
`),
    ).toEqual([
      'p.one.up n×16',
      'p.one.down n×16',
      'p.two[0].up n×16',
      'p.two[0].down n×8',
      'p.two[1].up n×16',
      'p.two[1].down n×8',
    ]));

  it('see their parameters and the top level, not who calls them', () =>
    check(`
inputs: { x: 'float32[n, 8]' }
blocks:
  inner:
    - fc: Linear(width)
#                ^^^^^ [spec/dimension] \`width\` is not a dimension; give it a value under \`dims\`
    - a: add(fc, before)
#                ^^^^^^ [spec/unknown-source] no layer above or input is named \`before\`
    - b: add(fc, stem)
  outer(width):
    - before: Linear(width)
    - i: inner()
layers:
  - stem: Linear(8)
  - o: outer(8)
`));

  it('read what they return, whoever reads that', () =>
    check(`
inputs: { x: 'float32[n, 8]' }
blocks:
  pair from a to left, right:
    - left: Linear(8) from a
    - lost: Linear(2) from a
#     ^^^^^^^^^^^^^^^^^^^^^^ [spec/unread-layer] nothing reads \`lost\`, so it is computed and never trained; name it in \`outputs\`, read it, or remove it
    - right: Linear(8) from a
  plain:
    - one: Linear(8)
layers:
  - both: pair() * 2
  - unread: plain() from both.right
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ [spec/unread-layer] nothing reads \`unread\`, so it is computed and never trained; name it in \`outputs\`, read it, or remove it
  - shared: Linear(8, bias=False) from x
  - tied: Linear(8, bias=False, weight=shared) from both.left
`));

  it('say what they take', () =>
    check(`
inputs: { x: 'float32[n, 8]' }
blocks:
  two from a, b to out, rest:
#                       ^^^^ [spec/unknown-source] no layer above or input is named \`rest\`
    - out: add(a, b)
  one:
    - y: GELU() from input
  none:
# ^^^^ [spec/unused] no layer calls the block \`none\`
    - y: GELU()
  loop:
    - y: loop()
#        ^^^^ [spec/structure] block \`loop\` contains itself; take this line out, or call another block
layers:
  - a: two()
#      ^^^ [spec/call] block \`two\` takes 2 inputs, \`a\`, \`b\`; name them with \`from\`
  - b: two() from x, x, x
#                       ^ [spec/call] block \`two\` takes 2 inputs, \`a\`, \`b\`
  - c: one() from x, x
#                    ^ [spec/call] block \`one\` takes one input, named \`input\` inside it
  - d: GELU() from b.res
#                    ^^^ [spec/unknown-source] \`b\` gives out, rest, not \`res\`; did you mean \`rest\`?
  - e: loop()
`));
});

describe('outputs', () => {
  it('are named on the line, or by their layer', () =>
    expect(
      shapes(`
inputs: { x: 'float32[n, 4, 9]' }
layers:
  - q, k, v: Split(axis=-1, num_outputs=3)
  - a: add(q, v)
  - lstm: LSTM(3, 5, batch_first=True) from k
  - b: GELU() from lstm.h_n
outputs: [a, lstm.output, lstm.c_n]
`),
    ).toEqual(['q n×4×3', 'a n×4×3', expect.stringMatching(/^lstm /), 'b 1×n×5']));

  it('that do not exist are told', () =>
    check(`
inputs: { x: 'float32[n, 9]' }
layers:
  - a, b: GELU()
#      ^ [spec/call] GELU gives one tensor, not 2
  - c: add(a, b)
  - d: GELU() from a.out
#                    ^^^ [spec/unknown-source] the outputs of \`a\` have no names; write \`a\`, or name them where it is defined: \`- a, b: …\`
`));
});

describe('several models', () => {
  const text = `
name: gpt
dims: { d: 8, n: 2 }
inputs: { x: 'float32[batch, d]' }
layers:
  - fc: Linear(d) * n
scenario: { gpus: 8, precision: bf16 }
models:
  small:
  large:
    dims: { d: 16 }
    scenario: { gpus: 64 }
  deep:
    layers:
      - one: Linear(3)
`;

  it('share what the top level says', () => {
    expect(shapes(text, { model: 'small' })).toEqual(['fc[0] batch×8', 'fc[1] batch×8']);
    expect(shapes(text, { model: 'large' })).toEqual(['fc[0] batch×16', 'fc[1] batch×16']);
    expect(shapes(text, { model: 'deep' })).toEqual(['one batch×3']);
    expect(openLayerSpec(text, 'm', { model: 'large' })).toMatchObject({
      name: 'gpt#large',
      scenario: { gpus: 64, precision: 'bf16' },
    });
  });

  it('are chosen by name; the first is taken where none is', () => {
    expect(
      openLayerSpec(text, 'm').issues.map(({ code, severity, message }) => [code, severity, message]),
    ).toEqual([
      [
        'spec/model',
        'information',
        "The file has 3 models, and this is `small`; add #large or #deep to the file's name for another one",
      ],
    ]);
    const { analysis, issues } = openLayerSpec(text, 'm', { model: 'lareg' });
    expect(analysis).toBeUndefined();
    expect(issues.map(({ message }) => message)).toEqual([
      'The file has no model `lareg`: it has small, large, deep; did you mean `large`?',
    ]);
  });
});

describe('include', () => {
  const files: Readonly<Record<string, string>> = {
    'mlp.layers.yaml': `
dims: { ratio: 4 }
blocks:
  mlp(width):
    - up: Linear(ratio*width)
    - down: Linear(width)
  wrong(width):
    - fc: Linear(width, width)
`,
    'parts/attention.layers.yaml': `
include: ../mlp.layers.yaml
blocks:
  layer(width):
    - attn: MultiheadAttention(width, 2)
    - ff: mlp(width)
`,
    'loop.layers.yaml': 'include: loop2.layers.yaml\nblocks:\n  a:\n    - x: GELU()\n',
    'loop2.layers.yaml': 'include: loop.layers.yaml\nblocks:\n  b:\n    - x: GELU()\n',
    'broken.layers.yaml': 'blocks:\n  a:\n    - x: GELU(\n  b:\n    - y: GELU()\n',
  };
  const options: OpenOptions = { readInclude: (path) => files[path] };

  it('gives the blocks of other files, which see their own dims and includes', () => {
    const text = `
include: [mlp.layers.yaml, parts/attention.layers.yaml]
inputs: { x: 'float32[n, 4, 8]' }
layers:
  - a: layer(8)
  - b: mlp(8)
`;
    expect(shapes(text, options)).toEqual([
      'a.attn n×4×8',
      'a.ff.up n×4×32',
      'a.ff.down n×4×8',
      'b.up n×4×32',
      'b.down n×4×8',
    ]);
    const opened = openLayerSpec(text, 'm', options);
    expect(opened.includes).toEqual(['mlp.layers.yaml', 'parts/attention.layers.yaml']);
    // What is inside an included block stands on the line that calls it.
    const lines = opened.analysis?.layers.map(({ given }) => {
      const span = opened.structure?.layers?.[given ?? -1]?.span;
      return text.slice(span?.start, span?.end);
    });
    expect(lines).toEqual(['a: layer(8)', 'a: layer(8)', 'a: layer(8)', 'b: mlp(8)', 'b: mlp(8)']);
  });

  it('says at the include or the call what is wrong', () =>
    check(
      `
include:
  - mlp.layers.yaml
#   ^^^^^^^^^^^^^^^ [spec/include] block \`mlp\` of \`mlp.layers.yaml\` is also defined here; the one here is used
  - none.layers.yaml
#   ^^^^^^^^^^^^^^^^ [spec/include] \`none.layers.yaml\` cannot be read; the path is relative to the folder of this file
  - loop.layers.yaml
#   ^^^^^^^^^^^^^^^^ [spec/include] in loop.layers.yaml, line 1: in loop2.layers.yaml, line 1: \`loop.layers.yaml\` includes itself: loop.layers.yaml → loop2.layers.yaml → loop.layers.yaml
  - broken.layers.yaml
#   ^^^^^^^^^^^^^^^^^^ [spec/include] in broken.layers.yaml, line 3: \`)\` is missing; write it here
#   ^^^^^^^^^^^^^^^^^^ [spec/include] block \`a\` of \`broken.layers.yaml\` is also in \`loop.layers.yaml\`, which is used; rename one of them
  - ../up.layers.yaml
#   ^^^^^^^^^^^^^^^^^ [spec/include] \`../up.layers.yaml\` cannot be included: the path leaves the folder of the model; put the file inside it
  - model.layers.yaml
#   ^^^^^^^^^^^^^^^^^ [spec/include] \`model.layers.yaml\` includes itself: model.layers.yaml → model.layers.yaml
inputs: { x: 'float32[n, 4, 8]' }
blocks:
  mlp(width):
    - fc: Linear(width)
layers:
  - a: mlp(8)
  - b: wrong(9)
#      ^^^^^ [shape/mismatch] in mlp.layers.yaml, line 8: \`in_features\` is 9, but the last axis of the input is 8 (the input is float32[n, 4, 8])
  - c: GELU() from a
`,
      options,
    ));

  it('is nothing without a reader', () =>
    expect(shapes("include: a.yaml\ninputs: { x: 'float32[n]' }\nlayers:\n  - a: GELU()\n")).toEqual([
      '`a.yaml` cannot be read; the path is relative to the folder of this file',
    ]));

  it('a file of blocks alone is no model', () => {
    const { analysis, issues } = openLayerSpec(files['mlp.layers.yaml'] ?? '', 'mlp.layers.yaml');
    expect(analysis).toBeUndefined();
    expect(issues.map(({ severity }) => severity)).toEqual(['information']);
  });
});

it.each(readdirSync('samples').filter((name) => name.endsWith('.layers.yaml')))(
  'costs every line of %s while it is written',
  (name) => {
    const text = readFileSync(`samples/${name}`, 'utf8');
    for (let end = 0; end < text.length; end += end % 2 === 0 ? 241 : 151) {
      const opened = openLayerSpec(text.slice(0, end), name);
      expect(() => estimateModel(opened, [opened.scenario])).not.toThrow();
    }
  },
);

it('a line that is wrong takes no cost from the lines above it, nor from those it does not feed', () => {
  const spec = (broken: string): string => `
dims: { batch: 4, d: 64 }
inputs: { x: 'float32[batch, d]' }
layers:
  - a: Linear(d, d)
  - b: ${broken}
  - c: Linear(d, d) from a
  - e: Linear(d, 8)
`;
  for (const broken of ['Linear(', '', '"Linear(d', 'Linaer(d)', '[', 'Linear(d) form a', '*']) {
    const opened = openLayerSpec(spec(broken), 'm');
    const { cost } = estimateModel(opened, [{ cluster: 'dgx-a100' }]);
    const costs = new Map(cost?.layers.map((layer) => [layer.name, layer.flops.forward]));
    expect([costs.get('a'), costs.get('c'), costs.get('e')], broken).toEqual([32768, 32768, 4096]);
    expect(opened.issues.length, broken).toBeGreaterThan(0);
  }
});

describe('marks', () => {
  const model = (marks: Readonly<Record<string, string>>): string => `
dims: { batch: 4, d: 64 }
inputs: { x: 'float32[batch, 32, d]' }
blocks:
  mlp:
    - up: Linear(d, 4*d)${marks.up ?? ''}
    - act: GELU()
    - down: Linear(4*d, d)
layers:
  - a: mlp()${marks.a ?? ''}
  - b: mlp() * 2${marks.b ?? ''}
`;
  const cost = (marks: Readonly<Record<string, string>>, precision: Precision = 'fp32') => {
    const estimate = estimateModel(openLayerSpec(model(marks), 'm'), [
      {
        cluster: 'dgx-a100',
        gpus: 8,
        optimizer: 'adamw',
        precision,
        framework: { name: 'pytorch-ddp', options: {} },
      },
    ]);
    if (estimate.cost === undefined) throw new Error('not costed');
    const layers = new Map(estimate.cost.layers.map((layer) => [layer.name, layer]));
    return { ...estimate.cost.totals, layers, messages: estimate.cost.messages ?? [] };
  };
  const weights = 64 * 256 + 256;
  const mlp = 2 * 64 * 256 + 256 + 64;

  it('frozen: no gradient, no state, no message, no weight gradient; memory still holds the weights', () => {
    const plain = cost({});
    const frozen = cost({ a: ' frozen' });
    expect(frozen.memory.parameters).toBe(plain.memory.parameters);
    expect(plain.memory.gradients - frozen.memory.gradients).toBe(4 * mlp);
    expect(plain.memory.optimizerState - frozen.memory.optimizerState).toBe(8 * mlp);
    const sent = (of: typeof plain): number => of.messages.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(sent(plain) - sent(frozen)).toBe(4 * mlp);
    const up = frozen.layers.get('a.up');
    expect(up?.flops).toEqual({
      forward: 2 * 4 * 32 * weights - 2 * 4 * 32 * 256,
      backwardData: 0,
      backwardWeight: 0,
    });
    expect(up?.memory).toMatchObject({ gradient: 0, optimizerState: 0, parameters: 4 * weights });
    expect([up?.parameters, frozen.layers.get('b[0].up')?.parameters]).toEqual([0, weights]);
    // Nothing below is trained, so that backward stops at what is.
    expect(frozen.memory.activations).toBeLessThan(plain.memory.activations);
  });

  it('frozen above what is trained: gradients pass through', () => {
    const frozen = cost({ b: ' frozen' });
    const up = frozen.layers.get('b[1].up');
    expect(up?.flops.backwardData).toBeGreaterThan(0);
    expect(up?.flops.backwardWeight).toBe(0);
    expect(frozen.layers.get('a.up')?.flops.backwardWeight).toBeGreaterThan(0);
  });

  it('frozen weights that are shared are frozen where they are made', () => {
    const text = `
inputs: { t: 'int64[n, 4]' }
layers:
  - e: Embedding(100, 8) frozen
  - fc: Linear(8)
  - head: Linear(100, bias=False, weight=e)
`;
    const { analysis } = openLayerSpec(text, 'm');
    expect(analysis?.parameters.map(({ name }) => name)).toEqual(['fc.weight', 'fc.bias']);
    expect(analysis?.frozen.map(({ name, elements }) => [name, elements])).toEqual([['e.weight', 800]]);
  });

  it('recompute: forward again in backward, and only inputs kept', () => {
    const plain = cost({});
    const again = cost({ b: ' recompute' });
    for (const name of ['b[0].up', 'b[1].act', 'b[1].down']) {
      const [before, after] = [plain.layers.get(name), again.layers.get(name)];
      expect(after?.flops).toEqual(before?.flops);
      // The last product saves its input before it runs, and nothing after it saves anything: forward stops there.
      expect((after?.bytes.backward ?? 0) - (before?.bytes.backward ?? 0)).toBe(
        name.endsWith('down') ? 0 : before?.bytes.forward,
      );
    }
    expect(again.layers.get('a.up')?.memory).toEqual(plain.layers.get('a.up')?.memory);
    // Each repetition keeps its input, 4 × 32 × 64 fp32; what it made in between is made again, one at a time.
    expect(again.layers.get('b[0].up')?.memory.activations).toBe(4 * 32 * 64 * 4);
    expect(again.layers.get('b[0].act')?.memory.activations).toBe(0);
    expect(again.layers.get('b[0].down')?.memory.activations).toBe(0);
    const dropped = plain.memory.activations - again.memory.activations;
    expect(dropped).toBe(2 * 2 * 4 * 32 * 256 * 4);
    // All of a repetition is there again when its backward begins, beside the gradient of what it gives.
    expect(again.memory.workspace).toBeGreaterThanOrEqual(dropped / 2);
    expect(again.memory.workspace).toBeLessThanOrEqual(plain.memory.workspace + dropped / 2);
  });

  it('recompute of a whole block in one piece holds it whole again', () => {
    const whole = cost({ a: ' recompute' });
    const plain = cost({});
    const dropped = plain.memory.activations - whole.memory.activations;
    expect(whole.memory.workspace).toBeGreaterThanOrEqual(dropped);
    expect(whole.memory.workspace).toBeLessThanOrEqual(plain.memory.workspace + dropped);
  });

  it('precision: a layer of its own, with casts at its edges', () => {
    const plain = cost({}, 'bf16');
    const own = cost({ up: ' precision=fp32' }, 'bf16');
    expect(own.layers.get('a.up')?.notes.join()).toContain('fp32');
    expect(plain.layers.get('a.up')?.notes.join()).toContain('bf16');
    // What it keeps for backward is cast to its width.
    expect(plain.layers.get('b[0].up')?.memory.activations).toBe(4 * 32 * 64 * 2);
    expect(own.layers.get('b[0].up')?.memory.activations).toBe(4 * 32 * 64 * 4);
    expect(own.layers.get('a.down')?.notes[0]).toBe(plain.layers.get('a.down')?.notes[0]);
    const narrow = cost({ up: ' precision=bf16' }, 'fp32');
    expect(narrow.layers.get('a.up')?.notes.join()).toContain('bf16');
    expect(narrow.layers.get('a.down')?.notes[0]).toBe(cost({}, 'fp32').layers.get('a.down')?.notes[0]);
  });

  it('on a block hold for what is inside, where the own mark wins', () => {
    const both = cost({ a: ' precision=fp16', up: ' precision=fp32' }, 'bf16');
    expect(both.layers.get('a.up')?.notes.join()).toContain('fp32');
    expect(both.layers.get('a.down')?.notes.join()).toContain('fp16');
    expect(both.layers.get('b[0].down')?.notes.join()).toContain('bf16');
  });
});
