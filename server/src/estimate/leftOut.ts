/**
 * What a file says that is not in its graph, or there other than it is written: lines that cannot be read, layers beyond
 * a limit. An operator of unknown cost stands in the graph for what is not listed here.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { ModelFormat, OpenedModel } from '../analysis/openedModel.ts';
import type { Issue, TextSpan } from '../model/issue.ts';
import { leavesOut } from '../model/issueCodes.ts';
import type { UnknownPart } from '../model/stepCost.ts';

/** The issues of `opened` that say what is left out; totals are then lower bounds. */
export function leftOutOf(opened: OpenedModel, training: TrainingGraph): readonly Issue[] {
  const found = opened.issues.filter((issue) => isLeftOut(issue, opened));
  if (found.length === 0) return found;
  const elsewhere = (opened.layerSpec?.models ?? []).filter(
    ({ name }) => name !== opened.selectedModel?.name,
  );
  const counted = [...elsewhere.map(({ span }) => span), ...spansOfUnknown(opened, training)];
  return found.filter(({ span }) => span === undefined || !counted.some((outer) => holds(outer, span)));
}

/** A part of the totals' unknown for each message. */
export const partsLeftOut = (messages: readonly string[]): readonly UnknownPart[] =>
  messages.map((reason) => ({ operator: partOfFile, reason, since: null, atMost: null }));

/**
 * Whether parameters, and what follows from them alone, are known whole: ONNX and torch.export list weights whatever
 * operators cost; those of a layer spec or a Caffe net follow from layers, as far as these are understood.
 */
export const hasAllParameters = (
  format: ModelFormat,
  { exact, unknown }: { readonly exact: boolean; readonly unknown: readonly Pick<UnknownPart, 'operator'>[] },
): boolean => exact || (listsWeights.has(format) && unknown.every(({ operator }) => operator !== partOfFile));

const listsWeights: ReadonlySet<ModelFormat> = new Set(['onnx', 'onnx-text', 'pt2']);

const partOfFile = 'part of the file';

/** A size that contradicts the text of a layer spec is one of its lines; of other files it is only declared. */
const isLeftOut = ({ code, severity, span }: Issue, { format }: OpenedModel): boolean =>
  severity === 'error' &&
  (leavesOut(code) || (format === 'layer-spec' && code === 'shape/mismatch' && span !== undefined));

const holds = (outer: TextSpan, inner: TextSpan): boolean =>
  outer.start <= inner.start && inner.end <= outer.end;

/** Texts of layers that stand among what is unknown already. */
function spansOfUnknown({ structure, analysis }: OpenedModel, { costs }: TrainingGraph): readonly TextSpan[] {
  if (structure === undefined || analysis === undefined) return [];
  return analysis.layers.flatMap(({ given, operators }) => {
    const span = structure.layers[given ?? -1]?.span;
    const isUnknown = operators.some((index) => costs[index]?.kind === 'unknown');
    return span !== undefined && isUnknown ? [span] : [];
  });
}
