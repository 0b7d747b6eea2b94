/**
 * Where lines of a recorded file are in its present text. A line that says what it said is found at its place; after an edit it
 * is found by what it says, near its neighbours. What no longer stands in the file is not found.
 */

export interface RecordedLine {
  /** Counted from 1, as Python does. */
  readonly line: number;
  /** Without indentation. */
  readonly text: string;
}

/** By recorded line, its index in `lines`, counted from 0. */
export function matchLines(
  recorded: readonly RecordedLine[],
  lines: readonly string[],
): ReadonlyMap<number, number> {
  const places = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const text = line.trim();
    const known = places.get(text);
    if (known === undefined) places.set(text, [index]);
    else known.push(index);
  }
  const anchors = recorded.flatMap(({ line, text }) => {
    const found = places.get(text) ?? [];
    return found.length === 1 && found[0] !== undefined ? [{ line, moved: found[0] - (line - 1) }] : [];
  });
  const matched = new Map<number, number>();
  for (const { line, text } of recorded) {
    const found = text === '' ? [] : (places.get(text) ?? []);
    const expected = line - 1 + movedNear(line, anchors);
    const nearest = found.toSorted(
      (left, right) => Math.abs(left - expected) - Math.abs(right - expected),
    )[0];
    if (nearest !== undefined) matched.set(line, nearest);
  }
  return matched;
}

/** How far the nearest line moved of those that stand only once in the file. */
function movedNear(
  line: number,
  anchors: readonly { readonly line: number; readonly moved: number }[],
): number {
  let nearest: { readonly distance: number; readonly moved: number } | undefined;
  for (const anchor of anchors) {
    const distance = Math.abs(anchor.line - line);
    if (nearest === undefined || distance < nearest.distance) nearest = { distance, moved: anchor.moved };
  }
  return nearest === undefined ? 0 : nearest.moved;
}
