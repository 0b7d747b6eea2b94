/** Why the cost of a layer is unknown, as its text tells it: the line at fault, and what is wrong there. */

import type { LayerCost } from '../model/stepCost.ts';
import { type LayerRow, type ModelView, rangeOfIssue, rowOfLayer } from './modelView.ts';

/** ``since `fc1`, line 12: …``, or what is wrong with the layer itself; `undefined` where nothing is. */
export function whyUnknown(view: ModelView, row: LayerRow, layer: LayerCost): string | undefined {
  if (layer.unknown === undefined) return undefined;
  const own = wrongWith(view, row);
  if (own !== undefined) return own;
  const since = unknownSince(view, layer);
  if (since === undefined) return layer.unknown;
  return `since \`${since.name}\`, line ${since.line + 1}: ${wrongWith(view, since) ?? layer.unknown}`;
}

/** The row where what is unknown of a layer begins, where that is another one. */
export function unknownSince(view: ModelView, layer: LayerCost): LayerRow | undefined {
  return layer.unknownSince === undefined ? undefined : rowOfLayer(view, layer.unknownSince);
}

/** The first error on the lines of a row. */
function wrongWith(view: ModelView, { lines }: LayerRow): string | undefined {
  return view.estimate.issues.find(
    (issue) => issue.severity === 'error' && lines.includes(rangeOfIssue(view, issue).start.line),
  )?.message;
}
