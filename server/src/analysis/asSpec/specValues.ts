/** Sizes, numbers and attributes as a layer spec writes them. */

import { type Dimension, isSymbolic } from '../../model/dimension.ts';
import type { GraphAttribute, Value } from '../../model/graph.ts';

/** `4*seq + 1`; `undefined` for a size that no expression of a spec gives. */
export function sizeText(dimension: Dimension | undefined): string | undefined {
  if (typeof dimension === 'number') return String(dimension);
  if (dimension === undefined || !isSymbolic(dimension)) return undefined;
  const terms = dimension.terms.map(({ coefficient, factors }) => {
    const texts = factors.map((factor) => {
      if (factor.kind === 'symbol') return nameOfSymbol(factor.text);
      if (factor.kind !== 'quotient') return undefined;
      const [left, right] = [sizeText(factor.left), sizeText(factor.right)];
      return left === undefined || right === undefined ? undefined : `((${left}) // (${right}))`;
    });
    if (texts.includes(undefined)) return undefined;
    const shown = coefficient === 1 && texts.length > 0 ? texts : [String(coefficient), ...texts];
    return shown.join('*');
  });
  return terms.includes(undefined) ? undefined : terms.join(' + ').replaceAll('+ -', '- ');
}

/** A symbol of an exported file as the name of a dimension: `s0`, `batch_size`. */
export const nameOfSymbol = (symbol: string): string => wordOf(symbol, 'size');

/** Letters, digits and `_`, with a letter in front. */
export function wordOf(text: string, prefix: string): string {
  const word = text.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^_+|_+$/g, '');
  return /^[A-Za-z]/.test(word) ? word : word === '' ? prefix : `${prefix}_${word}`;
}

export const tupleText = (items: readonly (number | string)[]): string => `[${items.join(', ')}]`;

/** As short as single precision allows where a number is one: `1e-6` for 9.999999974752427e-7, `0.1` for 0.10000000149011612. */
export function numberText(value: number): string {
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  let text = String(value);
  const single = Math.fround(value);
  for (let digits = 1; digits <= 9 && (single === value || Math.abs(value) < 1e-3); digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (short !== value && (single !== value || Math.fround(short) !== single)) continue;
    text = String(short);
    break;
  }
  // Engineers write small numbers by their exponent.
  return Math.abs(value) < 1e-3 ? shortest(text, Number(text).toExponential()) : text;
}

const shortest = (left: string, right: string): string => (right.length < left.length ? right : left);

/** An attribute by keyword; `undefined` for a kind that a spec cannot write. */
export function attributeText(name: string, attribute: GraphAttribute): string | undefined {
  switch (attribute.kind) {
    case 'int':
    case 'float':
      return Number.isFinite(attribute.value) ? `${name}=${numberText(attribute.value)}` : undefined;
    case 'string':
      return /^[^'"\n\\]*$/.test(attribute.value) ? `${name}='${attribute.value}'` : undefined;
    case 'ints':
    case 'floats':
      return `${name}=${tupleText(attribute.value.map(numberText))}`;
    case 'strings':
      return attribute.value.every((text) => /^[^'"\n\\]*$/.test(text))
        ? `${name}=${tupleText(attribute.value.map((text) => `'${text}'`))}`
        : undefined;
    default:
      return undefined;
  }
}

/** The most elements that a line shows as numbers. */
const mostNumbers = 16;

/** The contents of a small tensor: a number, or a list in brackets; `undefined` where they are not known or too many. */
export function contentText(value: Value | undefined): string | undefined {
  const { content } = value ?? {};
  if (value === undefined || content === undefined || content.shape.length > 1) return undefined;
  if (content.elements.length > mostNumbers) return undefined;
  const isTruth = value.type.kind === 'tensor' && value.type.elementType === 'bool';
  const texts = content.elements.map((element) =>
    isTruth
      ? element === 1
        ? 'True'
        : 'False'
      : typeof element === 'number'
        ? numberText(element)
        : sizeText(element),
  );
  if (texts.some((text) => text === undefined || /Infinity|NaN/.test(text))) return undefined;
  return content.shape.length === 0 ? texts[0] : `[${texts.join(', ')}]`;
}
