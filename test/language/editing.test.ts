/**
 * Whatever was typed before, an editor shows what it would show had the text just been opened: same tree, analysis,
 * costs, hints and diagnostics.
 */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type AnalysisCache, analysisCache } from '../../server/src/analysis/analysisCache.ts';
import { openReadSpec } from '../../server/src/analysis/openModel.ts';
import { type EstimateCache, estimateCache } from '../../server/src/estimate/estimateCache.ts';
import { estimateInSteps } from '../../server/src/estimate/estimateModel.ts';
import { ReadingCache } from '../../server/src/formats/layer-spec/readingCache.ts';
import { readLayerSpec } from '../../server/src/formats/layer-spec/readLayerSpec.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { LoweringCache } from '../../server/src/lowering/layer-spec/loweringCache.ts';
import { finish } from '../../server/src/model/steps.ts';

interface Memories {
  readonly reading: ReadingCache;
  readonly lowering: LoweringCache;
  readonly analyses: AnalysisCache | undefined;
  readonly estimates: EstimateCache | undefined;
}

const keepsAll = (): Memories => ({
  reading: new ReadingCache(),
  lowering: new LoweringCache(),
  analyses: analysisCache(),
  estimates: estimateCache(),
});
const keepsNothing = (): Memories => ({
  reading: new ReadingCache(),
  lowering: new LoweringCache('nothing'),
  analyses: undefined,
  estimates: undefined,
});

/** Everything an editor can show of a text. */
function shown(text: string, { reading, lowering, analyses, estimates }: Memories) {
  const read = readLayerSpec(text, reading);
  const opened = openReadSpec(read, 'typed.layers.yaml', { memory: lowering, analyses });
  const requests = [opened.scenario, { batch: 2 }];
  const estimate = finish(estimateInSteps(opened, requests, undefined, undefined, estimates));
  const view = viewLayerSpec(text, estimate);
  return {
    read,
    layers: opened.analysis?.layers,
    structure: opened.structure?.layers,
    parameters: opened.analysis?.parameters,
    operators: opened.analysis?.graph.operators,
    values: opened.analysis?.graph.values,
    issues: opened.issues,
    cost: estimate.cost,
    hints: inlayHints(view, 0, Number.POSITIVE_INFINITY, { cost: true, shape: true }),
    diagnostics: diagnostics(view),
  };
}

/** Blocks called and blocks written out, so long that the analysis folds what repeats. */
const long = `name: long
dims: { batch: 2, seq: 8, d: 16, heads: 2 }
inputs: { x: 'float32[batch, seq, d]' }
blocks:
  mlp(width, inner=4*width):
    - up: Linear(width, inner) # a comment
    - act: GELU()
    - down: Linear(inner, width)
    - sum: add(down, input)
layers:
${Array.from({ length: 36 }, (_, block) =>
  [
    `  - norm_${block}: LayerNorm(d)`,
    `  - attn_${block}: MultiheadAttention(d, heads, causal=True)`,
    `  - res_${block}: add(attn_${block}, ${block === 0 ? 'x' : `out_${block - 1}`})`,
    `  - out_${block}: mlp(d)`,
  ].join('\n'),
).join('\n')}
  - "quoted": "Linear(d, 3*d)" # and another
  - a, b: split(d, dim=-1)
  - tied: Linear(d, 4*d, weight=quoted)
scenario: { cluster: dgx-h100, gpus: 16, precision: bf16, framework: pytorch-ddp }
`;

const sample = readFileSync('samples/gpt2.layers.yaml', 'utf8');
const words = [
  '',
  '1',
  'x',
  ' ',
  '(',
  ')',
  ',',
  '"',
  '\n',
  '#',
  ' # why',
  ' frozen',
  '\n  - z: GELU()',
  'd',
  '*2',
  ': ',
];

it.each([
  ['a spec of many lines', long, 8],
  ['a sample', sample, 8],
] as const)(
  'shows of %s what it would show had it just been opened',
  (_, original, runs) => {
    const edit = fc.record({
      at: fc.nat(original.length),
      removed: fc.constantFrom(0, 0, 1, 3, 40),
      added: fc.constantFrom(...words),
      undo: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        const memories = keepsAll();
        shown(original, memories);
        let present = original;
        for (const { at, removed, added, undo } of edits) {
          if (undo) present = original;
          present = present.slice(0, at) + added + present.slice(at + removed);
          expect(shown(present, memories), present).toEqual(shown(present, keepsNothing()));
        }
      }),
      { numRuns: runs },
    );
  },
  120_000,
);

it.each([
  ['a comment', '- act: GELU()', '- act: GELU() # why'],
  ['an empty line', '    - act: GELU()\n', '\n    - act: GELU()\n'],
  ['spaces', 'mlp(d)', 'mlp( d )'],
])('costs nothing anew for %s, which changes no model', (_, from, to) => {
  const memories = keepsAll();
  const before = shown(long, memories);
  const after = shown(long.replace(from, to), memories);
  expect(after.cost).toBe(before.cost);
  expect(shown(long.replace('4*width', '2*width'), memories).cost).not.toBe(before.cost);
  expect(shown(long, memories).cost).toBe(before.cost);
});

it.each([
  ['a width', '4*width', '2*width'],
  ['a mark', 'add(down, input)', 'add(down, input) frozen'],
  ['a name', 'quoted', 'named'],
  ['an attribute', 'dim=-1', 'dim=1'],
  ['the batch', 'batch: 2', 'batch: 4'],
  ['the cluster', 'gpus: 16', 'gpus: 8'],
  ['an unknown layer', 'GELU', 'GLUE'],
])('costs anew what has another %s', (_, from, to) => {
  const memories = keepsAll();
  shown(long, memories);
  const changed = long.replaceAll(from, to);
  expect(shown(changed, memories)).toEqual(shown(changed, keepsNothing()));
});
