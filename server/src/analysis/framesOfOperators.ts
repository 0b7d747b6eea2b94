/**
 * The frames of Python that called each operator, where the file records them: archives of `torch.export` do, and so does
 * the ONNX exporter of PyTorch since 2.9 (`torch/onnx/_internal/exporter/_core.py`).
 */

import { type PythonFrame, parseStackTrace } from '../formats/stackTrace.ts';
import { memoize } from '../model/memoize.ts';
import type { OpenedModel } from './openedModel.ts';
import { sourceOfOperators } from './sourceOfOperators.ts';

const traceKey = 'pkg.torch.onnx.stack_trace';

/** By index of an operator, outermost frame first; none where the file says nothing. */
export function framesOfOperators({
  analysis,
  onnx,
  trained,
  structure,
}: OpenedModel): (operator: number) => readonly PythonFrame[] {
  if (analysis === undefined) return () => [];
  const nodes = (trained ?? onnx)?.graph.nodes ?? [];
  const sourceOf = sourceOfOperators(analysis);
  const parse = memoize(parseStackTrace);
  return (operator) => {
    const source = sourceOf(operator) ?? -1;
    const trace = structure?.calls?.get(source)?.stackTrace ?? nodes[source]?.metadata.get(traceKey);
    return trace === undefined || trace === '' ? [] : parse(trace);
  };
}
