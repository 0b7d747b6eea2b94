/** Items between brackets, separated by commas: of a call, a tuple, a shape. One that cannot be read is left out. */

import { insertion } from '../../model/issue.ts';
import { findMark, wordsBehindCall } from './marks.ts';
import type { TokenCursor } from './tokenCursor.ts';

export type Bracket = ')' | ']' | '}' | '>';

/**
 * Items up to `close`, which is passed; the opening bracket has been. `takeItem` says whether it could read one. An item
 * that fails is skipped to the next comma at its depth; another bracket that closes stands for the right one, unless
 * that follows it.
 */
export function takeList(
  cursor: TokenCursor,
  close: Bracket,
  takeItem: () => boolean,
): { readonly commas: number; readonly closed: boolean } {
  let commas = 0;
  let isCommaReported = false;
  while (!cursor.at(close)) {
    if (cursor.ended) {
      const message = `\`${close}\` is missing; write it here`;
      cursor.report(cursor.token.span, message, insertion(close, cursor.previousEnd));
      return { commas, closed: false };
    }
    if (commas >= mostItems) {
      const message = `there are more than ${mostItems} items before \`${close}\`; write fewer, in several lines`;
      cursor.report(cursor.token.span, message);
      cursor.skipRest();
      return { commas, closed: false };
    }
    const isRead = isOtherClose(cursor, close) || takeItem();
    if (isOtherClose(cursor, close)) {
      const message = `the list ends with \`${close}\`, not with \`${cursor.token.text}\``;
      cursor.report(cursor.token.span, message);
      cursor.advance();
      if (!cursor.at(close)) return { commas, closed: true };
      continue;
    }
    if (!cursor.at(close) && !cursor.at(',') && !cursor.ended) {
      const isCall = cursor.at('(') && cursor.previous?.kind === 'name';
      const message = isCall
        ? 'an argument cannot be a call: put a tensor on its own line; for a size use a dim, such as `batch`'
        : `expected \`,\` or \`${close}\`, found \`${cursor.token.text}\``;
      if (isCall) cursor.holdsCall = true;
      if (close === ')' && isRead && isBehindCall(cursor)) {
        const found = `\`)\` is missing before \`${cursor.token.text}\``;
        cursor.report(cursor.token.span, found, insertion(')', cursor.previousEnd));
        return { commas, closed: true };
      }
      if (isRead && !isCall && /^(?:name|number|string)$/.test(cursor.token.kind)) {
        if (!isCommaReported) cursor.reportComma();
        isCommaReported = true;
        commas += 1;
        continue;
      }
      if (isRead) cursor.report(cursor.token.span, message);
      skipItem(cursor, close);
    }
    if (cursor.take(',')) commas += 1;
    else if (!cursor.at(close) && !cursor.ended) cursor.advance();
  }
  cursor.advance();
  return { commas, closed: true };
}

/** Nobody writes a call or a shape of more; a file of nothing but commas would become hundreds of thousands of operators. */
const mostItems = 1_000;

/** `from`, or a mark, which no argument can be. */
function isBehindCall(cursor: TokenCursor): boolean {
  const { kind, text } = cursor.token;
  if (kind !== 'name' || !wordsBehindCall.includes(text)) return false;
  return cursor.peek().text !== '=' || findMark(text)?.values !== undefined;
}

const isOtherClose = (cursor: TokenCursor, close: Bracket): boolean =>
  !cursor.at(close) && (cursor.at(')') || cursor.at(']') || cursor.at('}'));

function skipItem(cursor: TokenCursor, close: Bracket): void {
  let open = 0;
  while (!cursor.ended) {
    if (open === 0 && (cursor.at(',') || cursor.at(')') || cursor.at(']') || cursor.at(close))) return;
    if (cursor.at('(') || cursor.at('[')) open += 1;
    if (cursor.at(')') || cursor.at(']')) open -= 1;
    cursor.advance();
  }
}
