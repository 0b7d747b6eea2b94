/** The known name a person most likely meant. */

import { intAt } from './at.ts';

/**
 * The candidate closest to `name` by edits (insert, delete, replace, swap of neighbours), ignoring case, if it is close
 * enough to be a slip: at most a third of its length. Between equals one that begins with what is written wins, as it
 * may be half typed, then the first.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  let isNearestBegun = false;
  const written = name.toLowerCase().slice(0, longestName);
  for (const candidate of candidates) {
    const longest = Math.max(name.length, candidate.length);
    const allowed = Math.max(1, Math.floor(longest / 3));
    const compared = candidate.toLowerCase().slice(0, longestName);
    const isBegun = compared.startsWith(written);
    // Names that have nothing in common are no slip, however short they are.
    const most = Math.min(allowed, longest - 1, isBegun && !isNearestBegun ? least : least - 1);
    // An edit changes the length by one at most, so that most candidates end here.
    if (Math.abs(written.length - compared.length) > most) continue;
    const distance = editDistance(written, compared, most);
    if (distance <= most) {
      nearest = candidate;
      least = distance;
      isNearestBegun = isBegun;
    }
  }
  return nearest;
}

/** `; did you mean \`x\`` for the end of a message, or '' where nothing is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const known = [...candidates];
  const nearest = likelyName(name, known);
  return nearest === undefined ? '' : `; did you mean \`${nearest}\`?`;
}

/** The nearest name, else the one that has what is written as a part. */
export function likelyName(name: string, candidates: Iterable<string>): string | undefined {
  const known = [...candidates];
  return nearestName(name, known) ?? onlyHolder(name, known);
}

/** The one name that has what is written as a part: `sample` of `sample-bytes`. */
function onlyHolder(name: string, known: readonly string[]): string | undefined {
  const written = name.toLowerCase();
  const holders = known.filter((each) => each.toLowerCase().includes(written));
  return written.length >= 3 && holders.length === 1 ? holders[0] : undefined;
}

/** The name that `didYouMean` put at the end of a message. */
export const meantName = (message: string): string | undefined =>
  /; did you mean `([^`]+)`\?$/.exec(message)?.[1];

const longestName = 64;

/**
 * Optimal string alignment distance (Damerau 1964, each pair of neighbours swapped at most once), or infinity where it
 * is more than `most`. Cells farther than `most` from the diagonal cannot be part of the way and are left out.
 */
function editDistance(left: string, right: string, most: number): number {
  const [rows, columns] = [left.length, right.length];
  let [beforeLast, last, row] = threeRows;
  for (let j = 0; j <= columns; j += 1) last[j] = j;
  let leastOfLast = 0;
  for (let i = 1; i <= rows; i += 1) {
    const first = Math.max(1, i - most);
    const end = Math.min(columns, i + most);
    const letter = left.charCodeAt(i - 1);
    let leastOfRow = first === 1 ? i : tooFar;
    row[first - 1] = leastOfRow;
    for (let j = first; j <= end; j += 1) {
      const other = right.charCodeAt(j - 1);
      let best = Math.min(intAt(last, j - 1) + (letter === other ? 0 : 1), intAt(row, j - 1) + 1);
      if (j < i + most || i === 1) best = Math.min(best, intAt(last, j) + 1);
      if (i > 1 && j > 1 && letter === right.charCodeAt(j - 2) && left.charCodeAt(i - 2) === other) {
        best = Math.min(best, intAt(beforeLast, j - 2) + 1);
      }
      row[j] = best;
      leastOfRow = Math.min(leastOfRow, best);
    }
    // A cell comes from one of the two rows above it, so that two rows beyond the limit end the search.
    if (leastOfRow > most && leastOfLast > most) return Number.POSITIVE_INFINITY;
    leastOfLast = leastOfRow;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return intAt(last, columns);
}

const tooFar = 1_000;

/** Rows of the table, written anew by each comparison: thousands of misspelt names are compared with a hundred each. */
const threeRows: [Int32Array, Int32Array, Int32Array] = [
  new Int32Array(longestName + 1),
  new Int32Array(longestName + 1),
  new Int32Array(longestName + 1),
];
