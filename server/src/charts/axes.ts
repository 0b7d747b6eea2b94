/** Axes with grid lines and the values they name. */

import type { Scale } from './scales.ts';
import { type Box, label, line } from './shapes.ts';

/** Grid lines across `plot`, each value at the left. */
export const leftAxis = (scale: Scale, plot: Box, textOf: (value: number) => string): readonly string[] =>
  scale.ticks.flatMap((tick) => {
    const y = scale.at(tick);
    return [line([plot.left, y], [plot.right, y], 'grid'), label(plot.left - 8, y + 4, textOf(tick), 'end')];
  });

/** Grid lines up `plot`, each value below; values that would lie on the one before are left out. */
export function bottomAxis(scale: Scale, plot: Box, textOf: (value: number) => string): readonly string[] {
  let free = Number.NEGATIVE_INFINITY;
  return scale.ticks.flatMap((tick) => {
    const x = scale.at(tick);
    const text = textOf(tick);
    const half = text.length * 3.4;
    const grid = line([x, plot.top], [x, plot.bottom], 'grid');
    if (x - half < free) return [grid];
    free = x + half + 6;
    return [grid, label(x, plot.bottom + 17, text, 'middle')];
  });
}

/** What an axis is of: below the plot, and above its left edge. */
export const axisTitles = (plot: Box, across: string, upwards: string): readonly string[] => [
  ...(across === '' ? [] : [label((plot.left + plot.right) / 2, plot.bottom + 36, across, 'middle quiet')]),
  ...(upwards === '' ? [] : [label(plot.left, plot.top - 10, upwards, 'quiet')]),
];
