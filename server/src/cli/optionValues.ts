/** Values of options: each gives what was written, or says what is wrong with it and what it takes. */

import { didYouMeanOneOf } from '../model/likelyNames.ts';
import { meantPrecision } from '../model/precisionNames.ts';

/** Carries a message out of the readers of arguments; `readArguments` catches it. */
export class WrongArgument extends Error {}

/** The last of a repeated option. */
export const textOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.at(-1) : value;

export function wholeNumber(option: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && Number.isSafeInteger(value)) return value;
  const lists = /^\d+(,\d+)+$/.test(text) ? '; several values are for layercost sweep' : '';
  throw new WrongArgument(
    `${option} ${text === '' ? "''" : text} is not a whole number of at least ${least}${lists}`,
  );
}

/** Of seconds: from a nanosecond to thirty years, beyond which sums of times come to nothing or to infinity. */
export function positiveNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new WrongArgument(`${option} ${text} is not a positive number of seconds`);
  if (value >= 1e-9 && value <= 1e9) return value;
  throw new WrongArgument(`${option} ${text} is not a number of seconds from 1e-9 to 1e9; check its unit`);
}

export function chosen<Name extends string>(
  option: string,
  text: string | undefined,
  names: readonly Name[],
): Name | undefined {
  if (text === undefined) return undefined;
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  const precision = option === '--precision' ? meantPrecision(text) : undefined;
  const meant = precision === undefined ? didYouMeanOneOf(text, names) : ` (did you mean \`${precision}\`?)`;
  throw new WrongArgument(`${option} ${text || "''"} is not known${meant}; it takes ${names.join(', ')}`);
}

export function oneOf<Name extends string>(
  option: string,
  text: string | undefined,
  names: readonly Name[],
  otherwise: Name,
): Name {
  return chosen(option, text, names) ?? otherwise;
}
