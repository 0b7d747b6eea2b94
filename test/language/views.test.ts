/** Hover, lenses, outline and folding, on one model. */

import { expect, it } from 'vitest';
import { type CodeLens, codeLenses, longestLenses } from '../../server/src/language/codeLenses.ts';
import { type DocumentSymbol, documentSymbols } from '../../server/src/language/documentSymbols.ts';
import { foldingRanges } from '../../server/src/language/foldingRanges.ts';
import { hover } from '../../server/src/language/hover.ts';
import { oneGpu, viewOf } from './fixture.ts';

const text = `name: small
dims: { batch: 8, d: 512 }
inputs:
  x: float32[batch, d]
blocks:
  pair:
    - up: Linear(d, 4*d)
    - down: Linear(4*d, d)
layers:
  - first: Linear(d, d)
  - body: pair() * 2
  - act: ReLU()
`;
const view = viewOf(text, oneGpu);
const lineOf = (part: string): number => text.split('\n').findIndex((line) => line.includes(part));
const hoverOn = (part: string): string => hover(view, { line: lineOf(part), character: 6 })?.markdown ?? '';

it('hovers a layer with aligned numbers and their source', () => {
  const block = hoverOn('first:');
  expect(block).toMatch(/^```text\nfirst · Linear {2,}\S.* % of the step\n/);
  expect(block).toMatch(/^output {7}float32\[8, 512\]$/m);
  expect(block).toMatch(/^parameters {3}262,656 \(1\.00 MiB\)$/m);
  expect(block).toMatch(/^FLOPs {8}4\.19 MFLOP {4}\S+ MFLOP/m);
  expect(block).toMatch(/^source {7}\S/m);
  const [forward, backward] = [/forward/, /backward/].map((word) =>
    /^ .*forward.*$/m.exec(block)?.[0].search(word),
  );
  const numbers = /^FLOPs.*$/m.exec(block)?.[0] ?? '';
  expect(numbers[forward ?? 0]).toMatch(/\d/);
  expect(numbers[backward ?? 0]).toMatch(/\d/);
});

it('keeps every line of a hover narrow enough not to wrap', () => {
  const block = hoverOn('up:');
  expect(Math.max(...block.split('\n').map((line) => line.length))).toBeLessThanOrEqual(84);
});

it('hovers a repeated line with the sum', () => {
  expect(hoverOn('up:')).toContain('up · Linear, sum of 2 layers');
  expect(hoverOn('body:')).toContain('body · sum of 4 layers');
});

it('shows element-wise work where a layer has no FLOPs', () => {
  expect(hoverOn('act:')).toMatch(/^element-wise \S+ \S*op/m);
});

it('hovers nothing where there is no layer', () => {
  expect(hoverOn('inputs:')).toBe('');
});

it('puts the totals, the scenario and the size above the first line', () => {
  const lenses = codeLenses(view);
  expect(lenses.map(({ title }) => title)).toEqual([
    expect.stringMatching(/^step \S+ \S+ · \S+ \S+ of 79\.1 GiB$/),
    'a100-sxm-80gb · 1 GPU · batch 8 · bf16',
    expect.stringMatching(/^4\.46 M parameters · 21\d MFLOP$/),
  ]);
  expect(lenses.map(({ line }) => line)).toEqual([0, 0, 0]);
});

const manyGpus = { cluster: 'dgx-h100', gpus: 64, batch: 8 };
const titlesOf = (lenses: readonly CodeLens[]): readonly string[] => lenses.map(({ title }) => title);
const otherLens = (title: string): CodeLens => ({ line: 0, title, action: 'list-fixes' });

/** What a window of 1,280 pixels shows of a text beside a report. */
const besideReport = 65;

it('says the step, its memory and the GPUs in what is left beside a report', () => {
  const shown = titlesOf(codeLenses(viewOf(text, manyGpus), [otherLens('Quick fixes…')])).join(' | ');
  expect(shown.slice(0, besideReport)).toMatch(
    /^step \S+ \S+ · \S+ \S+ of 79\.2 GiB \| dgx-h100 · 64 GPUs · batch 8\b/,
  );
});

it('keeps lenses of a line as short as a small window shows, and what matters most', () => {
  const shown = viewOf(text, manyGpus);
  const others = ['Quick fixes…', 'x'.repeat(29)].map(otherLens);
  const lengthOf = (further: readonly CodeLens[]): number =>
    titlesOf(codeLenses(shown, further)).join(' | ').length;
  expect([lengthOf([]), lengthOf(others)].filter((length) => length > longestLenses)).toEqual([]);
  expect(titlesOf(codeLenses(shown, others))).toEqual([
    expect.stringMatching(/^step \S+ \S+ · \S+ \S+ of 79\.2 GiB$/),
    'dgx-h100 · 64 GPUs · batch 8 · bf16',
    ...titlesOf(others),
  ]);
});

it('puts other lenses before the size of the model', () => {
  const titles = titlesOf(codeLenses(viewOf(text, manyGpus), [otherLens('Quick fixes…')]));
  expect(titles[2]).toBe('Quick fixes…');
  expect(titles[3]).toMatch(/parameters/);
});

it.each([
  ['fits', 1, /· \d\S* MiB of 79\.1 GiB$/],
  ['does not fit', 2 ** 23, /· out of memory: \S+ [GT]iB of 79\.1 GiB\b/],
])('marks a step that %s, by the memory that decides', (_, batch, memory) => {
  const shown = viewOf(text.replace('batch: 8, ', ''), { ...oneGpu, batch });
  const { totals } = shown.estimate.cost ?? {};
  expect(codeLenses(shown)[0]?.title).toMatch(memory);
  expect(totals?.memory.context).toBeGreaterThan(0);
});

it('outlines blocks with their lines, and layers', () => {
  const outline = (symbols: readonly DocumentSymbol[]): unknown =>
    symbols.map(({ name, children }) => (children.length === 0 ? name : [name, outline(children)]));
  expect(outline(documentSymbols(view))).toEqual([['pair', ['up', 'down']], 'first', 'body', 'act']);
});

it('keeps every range of the outline inside its parent, which editors insist on', () => {
  const visit = (symbols: readonly DocumentSymbol[]): void => {
    for (const { range, selection, children } of symbols) {
      expect(range.start.line).toBeLessThanOrEqual(selection.start.line);
      expect(range.end.line).toBeGreaterThanOrEqual(selection.end.line);
      for (const child of children) {
        expect(range.start.line).toBeLessThanOrEqual(child.range.start.line);
        expect(range.end.line).toBeGreaterThanOrEqual(child.range.end.line);
      }
      visit(children);
    }
  };
  visit(documentSymbols(view));
});

it('folds blocks', () => {
  expect(foldingRanges(view)).toEqual([
    { firstLine: lineOf('pair:'), lastLine: lineOf('down:'), kind: 'region' },
  ]);
});

it('has no lens and no outline where nothing can be costed', () => {
  const broken = viewOf('- not a mapping', oneGpu);
  expect(codeLenses(broken)).toEqual([]);
  expect(documentSymbols(broken)).toEqual([]);
});

it('gives no totals where nothing could be costed', () => {
  const unknown = viewOf('name: odd\ninputs:\n  x: float32[batch, 8]\nlayers:\n  - a: Nothing()\n', oneGpu);
  expect(codeLenses(unknown)[0]?.title).toBe('cost unknown');
});
