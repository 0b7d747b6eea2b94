/** Lists of entries by commas, read on past entries that are wrong: a text that is being written has some. */

import type { TextCursor } from './textCursor.ts';

/**
 * Reads entries up to `close`, which is taken too. Where `report` is given, a wrong entry is handed to it as the cursor's
 * problem, and reading goes on behind the next comma, at `close`, or on the next line, whatever is first.
 */
export function readEntries(
  cursor: TextCursor,
  close: ')' | '>',
  read: () => void,
  report: (() => void) | undefined,
): void {
  const { depth } = cursor;
  for (;;) {
    const start = cursor.next();
    read();
    if (!cursor.failed && cursor.matches(',')) continue;
    if (!cursor.failed && cursor.matches(close)) return;
    const forgotten = !cursor.failed && cursor.text.slice(cursor.tokenEnd, cursor.next()).includes('\n');
    cursor.fail(`\`,\` or \`${close}\``);
    const { problem } = cursor;
    if (report === undefined || problem === undefined) return;
    const { start: wrong } = problem.span;
    // A comma was forgotten at the end of a line: what is there now is the next entry.
    const next = forgotten ? wrong : endOfEntry(cursor.text, start, wrong, close);
    if (next >= cursor.text.length) return;
    report();
    cursor.resume(next, depth);
    if (cursor.matches(close) || beginsNextPart(cursor)) return;
    if (cursor.matches(',') && cursor.matches(close)) return;
  }
}

/** The list was never closed: what follows lists is here. */
const beginsNextPart = (cursor: TextCursor): boolean =>
  ['{', '<'].includes(cursor.peek()) || cursor.text.startsWith('=>', cursor.next());

/**
 * Where the entry from `start` ends that is wrong at `wrong`: before its comma, before `close`, or at the end of the
 * line.
 */
function endOfEntry(text: string, start: number, wrong: number, close: ')' | '>'): number {
  let depth = 0;
  for (let place = start; place < text.length; place += 1) {
    const character = text.charAt(place);
    if (character === '\n' || character === '#') {
      place = endOfLine(text, place);
      if (place >= wrong) return place;
    } else if (character === '"') {
      const end = endOfQuoted(text, place);
      if (end === undefined && place >= wrong) return endOfLine(text, place);
      place = end ?? place;
    } else if (
      depth === 0 &&
      place >= wrong &&
      (character === ',' || character === close) &&
      !isArrow(text, place)
    ) {
      return place;
    } else if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth = Math.max(0, depth - 1);
  }
  return text.length;
}

const isArrow = (text: string, place: number): boolean => text.startsWith('=>', place - 1);

/** The closing quote on the same line. */
function endOfQuoted(text: string, start: number): number | undefined {
  for (let place = start + 1; place < text.length; place += 1) {
    const character = text.charAt(place);
    if (character === '\n') return undefined;
    if (character === '"') return place;
    if (character === '\\') place += 1;
  }
  return undefined;
}

function endOfLine(text: string, place: number): number {
  const end = text.indexOf('\n', place);
  return end < 0 ? text.length : end;
}
