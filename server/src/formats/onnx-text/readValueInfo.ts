/** Reads the declaration of a value: its type, where one is written, and its name. */

import type { TextSpan } from '../../model/issue.ts';
import type { OnnxValueInfo } from '../onnx/syntax.ts';
import { readType, typeIsNext, unknownType } from './readType.ts';
import type { TextCursor } from './textCursor.ts';

interface ReadValueInfo {
  readonly info: OnnxValueInfo;
  /** Of the name. */
  readonly span: TextSpan;
  readonly typeSpan: TextSpan;
}

/** `float[N,3] x`, or `x`. */
export function readValueInfo(cursor: TextCursor): ReadValueInfo {
  const typeStart = cursor.next();
  const type = typeIsNext(cursor) ? readType(cursor) : undefined;
  const typeSpan = { start: typeStart, end: Math.max(typeStart, cursor.tokenEnd) };
  const start = cursor.next();
  const name = cursor.name('the name of a value');
  const span = { start, end: cursor.tokenEnd };
  if (type === undefined && !cursor.failed) refuseUnknownType(cursor, span);
  return { info: { name, type }, span, typeSpan };
}

/** What stands where a value's name would, and is followed by a shape or by a name on its line, was meant as a type. */
function refuseUnknownType(cursor: TextCursor, span: TextSpan): void {
  const next = cursor.peek();
  const isSameLine = !cursor.text.slice(span.end, cursor.position).includes('\n');
  if (next !== '[' && !(isSameLine && (next === '"' || cursor.peekIdentifier() !== ''))) return;
  const word = cursor.text.slice(span.start, span.end);
  cursor.failWith(unknownType(word), span.start, span.end);
}
