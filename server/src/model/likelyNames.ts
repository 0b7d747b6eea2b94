/** The known names a person may have meant: for names with parts, of which people write one (`a100`, `fsdp`). */

import { nearestName } from './nearestName.ts';

/**
 * Those that hold what is written, letters and digits alone compared, in their order; else those that hold each of its
 * words (`dgx-v100` in `dgx-1-v100`); else the nearest by edits; else those with a word that begins as it does (`p3dn`,
 * `p3-16xlarge`).
 */
export function likelyNames(name: string, known: readonly string[]): readonly string[] {
  const written = lettersAndDigits(name);
  if (written.length < 2) return nearestOf(name, known);
  const holding = known.filter((each) => lettersAndDigits(each).includes(written));
  if (holding.length > 0) return holding;
  const words = wordsOf(name);
  const ofWords = known.filter((each) => words.every((word) => lettersAndDigits(each).includes(word)));
  if (words.length > 1 && ofWords.length > 0) return ofWords;
  const nearest = nearestOf(name, known);
  return nearest.length > 0 ? nearest : alikeAtStart(written, known);
}

function nearestOf(name: string, known: readonly string[]): readonly string[] {
  const nearest = nearestName(name, known);
  return nearest === undefined ? [] : [nearest];
}

/** At least half of what is written, and two characters. */
function alikeAtStart(written: string, known: readonly string[]): readonly string[] {
  for (let length = written.length - 1; length >= Math.max(2, written.length / 2); length -= 1) {
    const start = written.slice(0, length);
    const alike = known.filter((each) => wordsOf(each).some((word) => word.startsWith(start)));
    if (alike.length > 0) return alike;
  }
  return [];
}

const wordsOf = (name: string): readonly string[] =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

/** ` (did you mean `a` or `b`?)` after a name that is not known, or ''. */
export function didYouMeanOneOf(name: string, known: readonly string[]): string {
  const meant = likelyNames(name, known);
  if (meant.length === 0) return '';
  // Of many that hold what is written the shortest are the nearest to it.
  const named = meant.length <= mostNamed ? meant : meant.toSorted((one, other) => one.length - other.length);
  const shown = named.slice(0, mostNamed).map((each) => `\`${each}\``);
  const last = meant.length > mostNamed ? 'another' : shown.pop();
  return ` (did you mean ${shown.length === 0 ? '' : `${shown.join(', ')} or `}${last}?)`;
}

export const lettersAndDigits = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Names in a sentence, and fixes in a list. */
const mostNamed = 3;
export const mostProposed = 8;
