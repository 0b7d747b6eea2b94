/** Which lines stand for more than is in the graph. */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { LayerRow } from './modelView.ts';
import { rangeOfSpan, type TextLines } from './textLines.ts';

/**
 * The rows, with those marked on whose lines something is left out. Beyond a limit on layers it may be repetitions of
 * every line that stands for several.
 */
export function markPartial(
  text: TextLines,
  rows: readonly LayerRow[],
  { leftOut }: ModelEstimate,
): readonly LayerRow[] {
  if (leftOut.length === 0) return rows;
  const isCut = leftOut.some(({ code }) => code === 'spec/too-long');
  const lines = new Set(leftOut.flatMap(({ span }) => (span ? [rangeOfSpan(text, span).start.line] : [])));
  return rows.map((row) =>
    (isCut && row.layers.length > 1) || row.lines.some((line) => lines.has(line))
      ? { ...row, partial: true }
      : row,
  );
}
