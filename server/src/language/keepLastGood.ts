/**
 * Keeps the last good numbers while a text is half written: what is shown may be a moment old, it does not
 * flicker.
 *
 * Lines keep the row they had, shifted with the text, unless another amount of work is known now; lines that cannot be
 * read lose theirs. What is wrong with the text is always that of the text as it is now.
 */

import { type Dimension, equalDimensions } from '../model/dimension.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { isExact } from './lineCost.ts';
import {
  isReadingError,
  joinViews,
  type LayerRow,
  type ModelView,
  rangeOfIssue,
  viewsOf,
} from './modelView.ts';
import type { Range, TextLines } from './textLines.ts';

/** The view to show for `current`, given the last view that could be read in full. An emptied text has no numbers. */
export function keepLastGood(current: ModelView, lastGood: ModelView | undefined): ModelView {
  if (current.text.lines.every((line) => line.trim() === '')) return current;
  const before = lastGood === undefined ? [] : viewsOf(lastGood);
  const kept = viewsOf(current).map((view) =>
    keepOne(
      view,
      before.find(({ part }) => part?.name === view.part?.name),
    ),
  );
  return joinViews(kept) ?? current;
}

function keepOne(current: ModelView, lastGood: ModelView | undefined): ModelView {
  if (lastGood === undefined || (current.estimate.cost !== undefined && isReadable(current))) return current;
  const shift = lineShift(lastGood.text, current.text);
  const rows = new Map<number, LayerRow>();
  for (const row of lastGood.rows) {
    const line = shift(row.line);
    if (line === undefined) continue;
    const by = line - row.line;
    rows.set(line, {
      ...row,
      line,
      lines: row.lines.map((each) => each + by),
      range: moveRange(row.range, by),
    });
  }
  const wrong = wrongLines(current);
  for (const row of current.rows) {
    const kept = rows.get(row.line);
    if (wrong.has(row.line) || !isExact(row)) continue;
    // What is unknown elsewhere moves communication: a row of the same work keeps the times it had.
    if (kept === undefined || !isSameWork(kept, row)) rows.set(row.line, row);
  }
  const known = current.estimate.cost?.totals.exact === true;
  const estimate = known ? current.estimate : { ...lastGood.estimate, issues: current.estimate.issues };
  return {
    ...current,
    estimate,
    rows: [...rows.values()].sort((left, right) => left.line - right.line),
    stale: !known,
  };
}

function wrongLines(view: ModelView): ReadonlySet<number> {
  const errors = view.estimate.issues.filter(({ severity }) => severity === 'error');
  return new Set(errors.map((issue) => rangeOfIssue(view, issue).start.line));
}

function isSameWork(left: LayerRow, right: LayerRow): boolean {
  return (
    left.layers.length === right.layers.length &&
    left.layers.every((layer, index) => {
      const other = right.layers[index];
      return other !== undefined && isSameLayer(layer, other);
    })
  );
}

const isSameLayer = (left: LayerCost, right: LayerCost): boolean =>
  left.flops.forward === right.flops.forward &&
  left.flops.backwardData === right.flops.backwardData &&
  left.flops.backwardWeight === right.flops.backwardWeight &&
  left.operations.forward === right.operations.forward &&
  left.parameters === right.parameters &&
  left.output.elementType === right.output.elementType &&
  isSameShape(left.output.shape, right.output.shape);

const isSameShape = (left: readonly Dimension[] | null, right: readonly Dimension[] | null): boolean =>
  left === right ||
  (left !== null &&
    right !== null &&
    left.length === right.length &&
    left.every((size, axis) => {
      const other = right[axis];
      return other !== undefined && equalDimensions(size, other);
    }));

/** Whether the text could be read to its end, so that its numbers are those of the whole model. */
export function isComplete(view: ModelView): boolean {
  return viewsOf(view).every(({ estimate }) => estimate.cost !== undefined) && isReadable(view);
}

/** Whether no line of the text is half written. */
export function isReadable(view: ModelView): boolean {
  return !view.estimate.issues.some(isReadingError);
}

/** Where a line of `before` is in `after`; `undefined` for lines the edit touched. */
function lineShift(before: TextLines, after: TextLines): (line: number) => number | undefined {
  const most = Math.min(before.lines.length, after.lines.length);
  let head = 0;
  while (head < most && before.lines[head] === after.lines[head]) head += 1;
  let tail = 0;
  while (
    tail < most - head &&
    before.lines[before.lines.length - 1 - tail] === after.lines[after.lines.length - 1 - tail]
  ) {
    tail += 1;
  }
  const by = after.lines.length - before.lines.length;
  return (line) => (line < head ? line : line >= before.lines.length - tail ? line + by : undefined);
}

const moveRange = (range: Range, by: number): Range => ({
  start: { ...range.start, line: range.start.line + by },
  end: { ...range.end, line: range.end.line + by },
});
