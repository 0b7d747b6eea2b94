/** Arguments of a call or parameters of a block, between brackets: by position, or by keyword. */

import { takeExpression } from './parseExpression.ts';
import type { Argument } from './syntax.ts';
import { type Bracket, takeList } from './takeList.ts';
import type { TokenCursor } from './tokenCursor.ts';

/** `(64, kernel_size=3)`, from the opening bracket on. */
export function takeArguments(cursor: TokenCursor, close: Bracket): readonly Argument[] {
  const taken: Argument[] = [];
  cursor.advance();
  takeList(cursor, close, () => {
    const { start } = cursor.token.span;
    const keyword = cursor.peek().text === '=' ? cursor.takeName() : undefined;
    if (keyword !== undefined) cursor.advance();
    const value = takeExpression(cursor);
    if (value !== undefined) taken.push({ keyword, value, span: { start, end: cursor.previousEnd } });
    return value !== undefined;
  });
  return taken;
}
