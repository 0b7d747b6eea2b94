/** A mark behind a call: `frozen` or `precision=fp32`. */

import { didYouMean } from '../../model/nearestName.ts';
import { findMark, type MarkDefinition, wordsBehindCall } from './marks.ts';
import type { Mark, Name } from './syntax.ts';
import type { TokenCursor } from './tokenCursor.ts';

/** The mark that stands here, behind `others`. A word that is none ends the call. */
export function takeMark(cursor: TokenCursor, others: readonly Mark[]): Mark | undefined {
  const name = cursor.takeName();
  if (name === undefined) return undefined;
  const definition = findMark(name.text);
  if (definition === undefined) {
    const isTimes = /^[x×]$/i.test(name.text) && cursor.token.kind === 'number';
    const hint = isTimes
      ? `; a layer is repeated with \`* ${cursor.token.text}\``
      : didYouMean(name.text, wordsBehindCall);
    cursor.report(name.span, `unexpected \`${name.text}\` after the call${hint}`);
    cursor.skipRest();
    return undefined;
  }
  let value: Name | undefined;
  if (cursor.take('=')) {
    value = cursor.takeName();
    if (value === undefined) cursor.report(cursor.token.span, `\`${name.text}\` needs a word after \`=\``);
  }
  if (others.some((mark) => mark.name.text === name.text)) {
    cursor.report(name.span, `\`${name.text}\` is given twice; remove one`);
  }
  checkValue(cursor, definition, name, value);
  return { name, value };
}

function checkValue(
  cursor: TokenCursor,
  { values }: MarkDefinition,
  { text, span }: Name,
  value: Name | undefined,
): void {
  if (values === undefined) {
    if (value !== undefined) {
      cursor.report(value.span, `\`${text}\` takes no value; remove \`=${value.text}\``);
    }
  } else if (value === undefined) {
    cursor.report(span, `\`${text}\` needs a value, one of ${values.join(', ')}`);
  } else if (!values.includes(value.text)) {
    const hint = didYouMean(value.text, values);
    cursor.report(value.span, `\`${text}\` is one of ${values.join(', ')}, not \`${value.text}\`${hint}`);
  }
}
