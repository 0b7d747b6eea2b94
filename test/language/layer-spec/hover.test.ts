import { expect, it } from 'vitest';
import { hoverLayerSpec } from '../../../server/src/language/layer-spec/hoverLayerSpec.ts';
import { oneGpu, viewOf } from '../fixture.ts';
import { atCursor } from './cursor.ts';

const text = `dims: { batch: 8, d: 64, hidden: 4*d }
inputs:
  x: float32[batch, d]
blocks:
  pair(width, ratio=4):
    - up: Linear(width, bias=False)
    - sum: Linear(width, d)
layers:
  - first: Linear(d, hidden)
  - body: pair(hidden) * 2 from first
  - last: Linear(hidden, 2*d)
`;

/** What the cursor shows has all of these parts, in this order. */
function check(marked: string, ...parts: readonly (string | RegExp)[]): void {
  const { document, offset } = atCursor(marked);
  const shown = hoverLayerSpec(document, viewOf(document.source, oneGpu), offset)?.markdown ?? 'nothing';
  let rest = shown;
  for (const part of parts) {
    const at = typeof part === 'string' ? rest.indexOf(part) : rest.search(part);
    if (at < 0) expect(shown).toContain(part);
    rest = rest.slice(at + 1);
  }
}

const on = (marked: string): string => text.replace(marked.replace('|', ''), marked);

it.each([
  ['a dim, with its value and its uses', '|d: 64', ['d = 64', 'used by dims, x, sum, first, last']],
  ['a dim that is an expression', 'hid|den: 4*d', ['hidden = 4*d = 256']],
  ['a use of a dim', 'Linear(d, hid|den)', ['hidden = 4*d = 256']],
  ['a parameter of a block', 'Linear(wid|th, bias', ['width: parameter of block pair', 'used by up, sum']],
  ['a block, with its signature', 'pa|ir(width', ['pair(width, ratio=4)', '2 lines', 'sum of 4 layers']],
  ['a layer, with its cost and documentation', 'fi|rst: L', ['first · Linear', 'FLOPs', 'y = x·Wᵀ + b']],
  [
    'what is called, with its signature and cost',
    'first: Lin|ear',
    ['Linear(in_features, out_features', 'docs.pytorch.org', 'FLOPs'],
  ],
  ['a source, with its output', 'from fir|st', ['first: Linear(d, hidden)', 'float32[8, 256]', 'FLOPs']],
  ['a keyword', 'bi|as=False', ['bias: boolean = True', 'Whether b is added']],
  [
    'a value, with what it comes to',
    '2|*d',
    ['out_features: integer', 'Size of the last axis', '`2*d` = 128'],
  ],
  ['an input', '  |x: float', ['x: float32[batch, d', 'not used']],
] as const)('hovers %s', (_, marked, parts) => check(on(marked), ...parts));

const scenario = `${text}scenario:
  cluster: dgx-h100
  precision: bf16
  framework: { name: pytorch-ddp, bucket-mb: 50, compile: true }
`;

it.each([
  ['a key of the scenario', 'pre|cision: bf16', ['`precision`: Number format', 'One of fp32']],
  ['a cluster', 'dgx-h|100', ['**', 'H100']],
  ['a framework', 'pytorch|-ddp', ['`pytorch-ddp`: ']],
  ['an option', 'bucket|-mb: 50', ['`bucket-mb` of `pytorch-ddp`, default 25: ']],
  ['the value of an option', 'compile: tr|ue', ['`compile` of `pytorch-ddp`']],
] as const)('hovers %s', (_, marked, parts) =>
  check(scenario.replace(marked.replace('|', ''), marked), ...parts),
);

it('hovers a part of a group', () =>
  check(
    scenario.replace(/framework: .*/, 'parallel: "pp=4,sche|dule=v-half,stages=8+8+9+7"'),
    '`schedule` of `parallel`: order of the micro-batches',
  ));

it('hovers an option in a text', () =>
  check(
    scenario.replace(/framework: .*/, 'framework: "pytorch-ddp,compile,buck|et-mb=50"'),
    '`bucket-mb` of `pytorch-ddp`',
  ));
