/** The type of an input: `int64[batch, seq]`. */

import { elementTypes } from '../../model/elementType.ts';
import { insertion } from '../../model/issue.ts';
import { takeExpression } from './parseExpression.ts';
import type { Expression, Name } from './syntax.ts';
import { takeList } from './takeList.ts';
import { type Parsed, parseTokens, type TokenCursor } from './tokenCursor.ts';

export interface TensorType {
  readonly elementType: Name;
  readonly dimensions: readonly Expression[];
}

/** `float32[batch, 3, 224, 224]`; `float32[]` is a scalar. */
export function parseTensorType(text: string, start: number, end: number): Parsed<TensorType> {
  return parseTokens(text, start, end, takeTensorType);
}

/** The part of a type in brackets, alone. */
export function parseShape(text: string, start: number, end: number): Parsed<readonly Expression[]> {
  return parseTokens(text, start, end, (cursor) => (cursor.take('[') ? takeDimensions(cursor) : undefined));
}

function takeTensorType(cursor: TokenCursor): TensorType | undefined {
  const elementType = cursor.takeName();
  const glued = elementType && elementTypes.find((type) => elementType.text.startsWith(type));
  if (elementType !== undefined && glued !== undefined && !cursor.at('[') && cursor.endsWith(']')) {
    const at = elementType.span.start + glued.length;
    cursor.report(elementType.span, `\`[\` is missing after \`${glued}\``, insertion('[', at));
    return undefined;
  }
  if (elementType === undefined || !cursor.take('[')) {
    cursor.report(cursor.token.span, 'an input has a type such as `float32[batch, 3, 224, 224]`');
    return undefined;
  }
  return { elementType, dimensions: takeDimensions(cursor) };
}

/** What stands behind an opening bracket. */
function takeDimensions(cursor: TokenCursor): readonly Expression[] {
  const dimensions: Expression[] = [];
  takeList(cursor, ']', () => {
    const dimension = takeExpression(cursor);
    if (dimension !== undefined) dimensions.push(dimension);
    return dimension !== undefined;
  });
  cursor.expectEnd('the type');
  return dimensions;
}
