/** The known name a person most likely meant. */

/**
 * The candidate closest to `name` by edits (insert, delete, replace, swap of neighbours), ignoring case, if it is close
 * enough to be a slip: at most a third of its length. The first wins between equals.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  const written = name.toLowerCase().slice(0, longestName);
  for (const candidate of candidates) {
    const distance = editDistance(written, candidate.toLowerCase().slice(0, longestName));
    const allowed = Math.max(1, Math.floor(Math.max(name.length, candidate.length) / 3));
    // Names that have nothing in common are no slip, however short they are.
    const longest = Math.max(name.length, candidate.length);
    if (distance < least && distance <= allowed && distance < longest) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

/** `; did you mean \`x\`` for the end of a message, or '' where nothing is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? '' : `; did you mean \`${nearest}\`?`;
}

const longestName = 64;

/** Optimal string alignment distance (Damerau 1964, each pair of neighbours swapped at most once). */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      let best = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[right.length] ?? 0;
}
