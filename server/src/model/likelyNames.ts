/** The known names a person may have meant: for names with parts, of which people write one (`a100`, `fsdp`). */

import { nearestName } from './nearestName.ts';

/** Those that hold what is written, letters and digits alone compared, in their order; else the nearest by edits. */
export function likelyNames(name: string, known: readonly string[]): readonly string[] {
  const written = lettersAndDigits(name);
  const holding = known.filter((each) => lettersAndDigits(each).includes(written));
  if (written.length >= 2 && holding.length > 0) return holding;
  const nearest = nearestName(name, known);
  return nearest === undefined ? [] : [nearest];
}

/** ` (did you mean `a` or `b`?)` after a name that is not known, or ''. */
export function didYouMeanOneOf(name: string, known: readonly string[]): string {
  const meant = likelyNames(name, known);
  if (meant.length === 0) return '';
  const shown = meant.slice(0, mostProposed).map((each) => `\`${each}\``);
  const last = meant.length > mostProposed ? 'another' : shown.pop();
  return ` (did you mean ${shown.length === 0 ? '' : `${shown.join(', ')} or `}${last}?)`;
}

export const lettersAndDigits = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

export const mostProposed = 6;
