import { expect, it } from 'vitest';
import { codeLenses } from '../../server/src/language/codeLenses.ts';
import { diagnostics } from '../../server/src/language/diagnostics.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { isComplete, keepLastGood } from '../../server/src/language/keepLastGood.ts';
import { viewOf } from './fixture.ts';

const good = `inputs:
  x: float32[batch, 8]
layers:
  - a: Linear(8, 16)
  - b: Linear(16, 32)
  - c: Linear(32, 8)
`;

/** Lines that have a hint after `good` became `edited`. */
function hintsAfter(edited: string): readonly string[] {
  const shown = keepLastGood(viewOf(edited), viewOf(good));
  const lines = edited.split('\n');
  return inlayHints(shown, 0, 100).map(({ position }) => lines[position.line]?.trim() ?? '');
}

it('keeps the numbers of lines above and below a half-written one', () => {
  expect(hintsAfter(good.replace('b: Linear(16, 32)', 'b: Linear(16, '))).toEqual([
    '- a: Linear(8, 16)',
    '- c: Linear(32, 8)',
  ]);
});

it('keeps nothing of a text that was emptied', () => {
  for (const empty of ['', '\n  \n']) {
    const shown = keepLastGood(viewOf(empty), viewOf(good));
    expect(inlayHints(shown, 0, 100)).toEqual([]);
    expect(codeLenses(shown)).toEqual([]);
    expect(diagnostics(shown)).toHaveLength(1);
  }
});

it('moves them with the text', () => {
  expect(hintsAfter(good.replace('  - b:', '  - new: (\n\n  - b:'))).toEqual([
    '- a: Linear(8, 16)',
    '- b: Linear(16, 32)',
    '- c: Linear(32, 8)',
  ]);
});

it('shows what is wrong with the text as it is now', () => {
  const shown = keepLastGood(viewOf(good.replace('Linear(16, 32)', 'Linear(16, ')), viewOf(good));
  expect(
    diagnostics(shown).some(({ severity, range }) => severity === 'error' && range.start.line === 4),
  ).toBe(true);
});

it('takes new numbers as soon as the text can be read', () => {
  const edited = viewOf(good.replace('Linear(16, 32)', 'Linear(16, 64)'));
  expect(keepLastGood(edited, viewOf(good))).toBe(edited);
  expect(isComplete(edited)).toBe(true);
});

it('shows what is known now of the lines that are right, and marks totals that are older', () => {
  const wider = good.replace('a: Linear(8, 16)', 'a: Linear(8, 160)');
  const shown = keepLastGood(viewOf(wider.replace('c: Linear(32, 8)', 'c: Linear(')), viewOf(good));
  const hints = inlayHints(shown, 0, 100).map(({ text }) => text);
  const before = inlayHints(viewOf(good), 0, 100).map(({ text }) => text);
  expect(hints[0]).not.toBe(before[0]);
  expect(shown.stale).toBe(true);
  expect(codeLenses(shown)[0]?.title).toContain('from before the line that cannot be read');
  expect(keepLastGood(viewOf(good), viewOf(wider)).stale).toBeUndefined();
});
