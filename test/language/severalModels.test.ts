/** A text that holds several models: every one is costed, and what they share says what it is in each. */

import { expect, it } from 'vitest';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { documentSymbols } from '../../server/src/language/documentSymbols.ts';
import { foldingRanges } from '../../server/src/language/foldingRanges.ts';
import { hover } from '../../server/src/language/hover.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { keepLastGood } from '../../server/src/language/keepLastGood.ts';
import { hoverLayerSpec } from '../../server/src/language/layer-spec/hoverLayerSpec.ts';
import { readSpecText } from '../../server/src/language/layer-spec/specText.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { expectations, oneGpu, viewOf } from './fixture.ts';

const text = `name: pair
dims: { batch: 4 }
inputs:
  x: float32[batch, d]
blocks:
  mlp:
    - fc: Linear(d, d)
    # hint: small 67.1 MFLOP · … | large 268 MFLOP · …
layers:
  - body: mlp()
  # hint: small 67.1 MFLOP · … | large 268 MFLOP · …
  - act: ReLU()
  # hint: small … | large …
models:
  small:
    dims: { d: 2048 }
  large:
    dims: { d: 4096 }
    scenario: { precision: fp16 }
  own:
    inputs:
      y: float32[batch, 1024]
    layers:
      - a: Linear(1024, 1024)
      # hint: 16.8 MFLOP · …
`;

const patternOf = (expected: string): RegExp =>
  new RegExp(`^${expected.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '[^|]*')}$`);

it('costs every model, each on its lines', () => {
  const hints = inlayHints(viewOf(text), 0, 100);
  const expected = expectations(text);
  expect(hints.map(({ position }) => position.line)).toEqual(expected.map(({ line }) => line));
  for (const [index, hint] of hints.entries())
    expect(hint.text).toMatch(patternOf(expected[index]?.text ?? ''));
});

it('says the totals above every model', () => {
  const lenses = codeLenses(viewOf(text)).map(({ line, title, model }) => [line, model, title]);
  expect(lenses).toEqual([
    [14, 'small', expect.stringMatching(/^small · step \S+ \S+ · \S+ MiB of 79\.1 GiB$/)],
    [14, 'small', 'a100-sxm-80gb · 1 GPU · batch 4 · bf16'],
    [16, 'large', expect.stringMatching(/^large · step \S+ \S+ · \S+ MiB of 79\.1 GiB$/)],
    [16, 'large', 'a100-sxm-80gb · 1 GPU · batch 4 · fp16'],
    [19, 'own', expect.stringMatching(/^own · step \S+ \S+ · \S+ MiB of 79\.1 GiB$/)],
    [19, 'own', 'a100-sxm-80gb · 1 GPU · batch 4 · bf16'],
    [14, 'small', expect.stringMatching(/^4\.20 M parameters\b/)],
    [16, 'large', expect.stringMatching(/^16\.8 M parameters\b/)],
    [19, 'own', expect.stringMatching(/^1\.05 M parameters\b/)],
  ]);
});

it('shows what a shared line costs in each', () => {
  const markdown = hover(viewOf(text), { line: 6, character: 8 })?.markdown ?? '';
  expect(markdown.match(/^\*\*.*\*\*$/gm)).toEqual(['**small**', '**large**']);
  expect(markdown.match(/parameters +\S+/g)).toEqual(['parameters   4,196,352', 'parameters   16,781,312']);
});

it('names the model that alone can be costed on a shared line', () => {
  const wrong = text.replace('{ precision: fp16 }', '{ cluster: nowhere }');
  expect(inlayHints(viewOf(wrong), 6, 6).map((hint) => hint.text)).toEqual([
    expect.stringMatching(/^small 67\.1 MFLOP/),
  ]);
});

it('gives a dim the value of the model it stands in', () => {
  const document = readSpecText(text);
  const valueAt = (place: string): string | undefined =>
    hoverLayerSpec(document, viewOf(text), text.indexOf(place))?.markdown.split('\n')[1];
  expect(valueAt('d: 2048')).toBe('d = 2048');
  expect(valueAt('d: 4096')).toBe('d = 4096');
});

it('outlines and folds models with what is their own', () => {
  const outline = documentSymbols(viewOf(text)).map(({ name, detail, children }) => [
    name,
    detail.replace(/[\d.]+/g, '#'),
    children.map((child) => child.name),
  ]);
  expect(outline).toEqual([
    ['mlp', '', ['fc']],
    ['body', '# layers, # µs', []],
    ['act', 'ReLU, # µs', []],
    ['small', expect.stringMatching(/^step # .s$/), []],
    ['large', expect.stringMatching(/^step # .s$/), []],
    ['own', expect.stringMatching(/^step # .s$/), ['a']],
  ]);
  expect(foldingRanges(viewOf(text)).map(({ firstLine, lastLine }) => [firstLine, lastLine])).toEqual([
    [5, 6],
    [14, 15],
    [16, 18],
    [19, 23],
  ]);
});

it('names the model where something is wrong with some of them only', () => {
  const wrong = `inputs:
  x: float32[4, d]
layers:
  - fc: Linear(2048, 10)
  - out: Linear(11, 10)
models:
  small: { dims: { d: 2048 } }
  large: { dims: { d: 4096 } }
`;
  expect(
    diagnostics(viewOf(wrong))
      .filter(({ severity }) => severity === 'error')
      .map(({ range, message }) => [range.start.line, message.replace(/;.*/, '')]),
  ).toEqual([
    [4, expect.stringMatching(/^`?in_features/)],
    [3, expect.stringMatching(/^large: /)],
  ]);
});

it('keeps the last good numbers of each', () => {
  const before = viewOf(text);
  const half = text.replace('- a: Linear(1024, 1024)', '- a: Linear(1024,');
  const kept = keepLastGood(viewOf(half), before);
  expect(inlayHints(kept, 0, 12)).toEqual(inlayHints(before, 0, 12));
});

it('reports a finding above the model it is about', () => {
  const large: ScenarioRequest = { ...oneGpu, batch: 4_000_000 };
  const found = diagnostics(viewOf(text, large)).filter(({ code }) => code === 'findings/out-of-memory');
  expect(found.map(({ range, model }) => [range.start.line, model])).toContainEqual([16, 'large']);
});
