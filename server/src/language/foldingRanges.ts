/**
 * What can be folded: the parts of an ONNX text, runs of its nodes that cost nothing, the blocks of a layer spec or of
 * a Caffe net.
 *
 * Initializers and such runs count as imports, so that an editor set to fold imports opens a model at what costs:
 * not at hundreds of weights, nor at the constants and shape arithmetic that exporters write between layers.
 */

import { sourceOfOperators } from '../analysis/sourceOfOperators.ts';
import { hasLayerLines, type ModelView, viewsOf } from './modelView.ts';

export interface FoldingRange {
  readonly firstLine: number;
  readonly lastLine: number;
  readonly kind: 'imports' | 'region';
}

export function foldingRanges(view: ModelView): readonly FoldingRange[] {
  const models = viewsOf(view).flatMap(({ part }) => (part === undefined ? [] : [part]));
  const parts = [...view.blocks, ...models]
    .filter(({ firstLine, lastLine }) => lastLine > firstLine)
    .map(
      ({ name, firstLine, lastLine }): FoldingRange => ({
        firstLine,
        lastLine,
        kind: name === initializers ? 'imports' : 'region',
      }),
    );
  return [...parts, ...freeRuns(view)];
}

/** Name that the printer gives the part that lists stored tensors. */
const initializers = 'initializers';

/** Fewer nodes than this are not worth a fold. */
const shortestRun = 3;

/** Runs of nodes that launch nothing: views, constants and shape arithmetic. Specs and Caffe nets have no nodes to see. */
function freeRuns(view: ModelView): readonly FoldingRange[] {
  const { opened, training } = view.estimate;
  const hasNodes = ['onnx', 'onnx-text', 'pt2'].includes(opened.format);
  if (!hasNodes || hasLayerLines(view) || training === undefined) return [];
  const costs = new Set<number>();
  const sourceOf = sourceOfOperators(training.analysis);
  for (const [index, cost] of training.costs.entries()) {
    const source = sourceOf(index);
    const isFree = cost.kind === 'known' && (cost.class === 'shape' || cost.class === 'view');
    if (!isFree && source !== undefined) costs.add(source);
  }
  const runs: FoldingRange[] = [];
  let first = 0;
  for (const [index, line] of view.nodeLines.entries()) {
    if (!costs.has(index)) continue;
    const firstLine = view.nodeLines[first];
    if (firstLine !== undefined && index - first >= shortestRun) {
      runs.push({ firstLine, lastLine: line - 1, kind: 'imports' });
    }
    first = index + 1;
  }
  return runs;
}
