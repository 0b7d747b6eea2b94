import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nearestName } from '../../server/src/model/nearestName.ts';

it.each([
  ['Covn2d', ['Conv1d', 'Conv2d'], 'Conv2d'],
  ['linear', ['Bilinear', 'Linear'], 'Linear'],
  ['Lnear', ['ReLU', 'Linear', 'Identity'], 'Linear'],
  ['a', ['b', 'ab'], 'ab'],
  ['typ', ['top', 'type', 'typo'], 'type'],
  ['Convolution', ['Conv', 'Linear'], undefined],
] as const)('%s among %j is near to %s', (name, candidates, nearest) => {
  expect(nearestName(name, candidates)).toBe(nearest);
});

/** Optimal string alignment by its recurrence, without an end before the end. */
function distance(left: string, right: string): number {
  const rows: number[][] = [];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let i = 0; i <= left.length; i += 1) {
    const row: number[] = [];
    rows.push(row);
    for (let j = 0; j <= right.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]
          ? at(i - 2, j - 2) + 1
          : Number.POSITIVE_INFINITY;
      const edited = Math.min(replaced, at(i - 1, j) + 1, at(i, j - 1) + 1, swapped);
      row.push(i === 0 ? j : j === 0 ? i : edited);
    }
  }
  return at(left.length, right.length);
}

it('gives of the nearest the first that begins with the name, else the first, however early it stops comparing', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 9 });
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 8 }), (name, candidates) => {
      let best: string | undefined;
      let least = Number.POSITIVE_INFINITY;
      const isBegun = (candidate: string | undefined): boolean => candidate?.startsWith(name) === true;
      for (const candidate of candidates) {
        const longest = Math.max(name.length, candidate.length);
        const edits = distance(name, candidate);
        const isNearer = edits < least || (edits === least && isBegun(candidate) && !isBegun(best));
        if (!isNearer || edits >= longest || edits > Math.max(1, Math.floor(longest / 3))) continue;
        best = candidate;
        least = edits;
      }
      expect(nearestName(name, candidates)).toBe(best);
    }),
  );
});
