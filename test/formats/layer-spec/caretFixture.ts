/**
 * Fixtures with expectations under the text they are about:
 *
 *     - fc: Linear(bais=False)
 *     #          ^^^^ [spec/argument] Linear has no argument `bais`; did you mean `bias`?
 *
 * Lines of carets are taken out before the text is read, and written back from the issues to compare.
 */

import type { Issue } from '../../../server/src/model/issue.ts';

const expectation = /^\s*#\s*\^+ \[/;

/** The fixture without its expectations. */
export function textOf(fixture: string): string {
  return fixture
    .split('\n')
    .filter((line) => !expectation.test(line))
    .join('\n');
}

/** The text with every issue written under the line it starts on. Issues are in order of place. */
export function annotate(text: string, issues: readonly Issue[]): string {
  const lines = text.split('\n');
  const notes = lines.map((): string[] => []);
  const placed = [...issues].sort((a, b) => (a.span?.start ?? 0) - (b.span?.start ?? 0));
  for (const { code, message, span } of placed) {
    const before = text.slice(0, span?.start ?? 0).split('\n');
    const line = before.length - 1;
    const column = before.at(-1)?.length ?? 0;
    const room = Math.max(1, (lines[line]?.length ?? 0) - column);
    const width = Math.max(1, Math.min(room, (span?.end ?? 0) - (span?.start ?? 0)));
    // At the very start of a line the comment sign stands where the first caret would.
    const carets = '^'.repeat(column === 0 ? Math.max(1, width - 1) : width);
    notes[line]?.push(`#${' '.repeat(Math.max(0, column - 1))}${carets} [${code}] ${message}`);
  }
  return lines.flatMap((line, index) => [line, ...(notes[index] ?? [])]).join('\n');
}
