/** Operators that nothing knows, in the place of what could not be lowered: nobody takes its cost for 0. */

import type { SpecLayer } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { unloweredDomain } from '../providedStructure.ts';
import type { Tensor } from './layerDefinition.ts';
import { findLayer } from './layerDefinitions.ts';
import type { Line, LoweringRun } from './loweringRun.ts';
import type { Outputs, Scope } from './scope.ts';

/** A call that could not be lowered. */
export function unreadableCall(line: Line, run: LoweringRun): Outputs {
  const { call, scope, path, previous, carried, layer } = line;
  const named = call.sources.flatMap(({ text }) => scope.tensors.get(text)?.tensors[0] ?? []);
  const fed = carried[0] ?? previous;
  const inputs = named.length > 0 ? named : fed === undefined ? [] : [fed];
  const { text } = call.callee;
  // A name that is being typed is another one with every letter; what reads its tensors stays as it is.
  const tensors = unlowered(path, text, inputs, layer.names.length, run, 'unreadable');
  return { tensors, names: findLayer(text)?.outputs?.slice(0, tensors.length) ?? [] };
}

/** A line whose call is missing: nobody knows what it costs or gives. */
export function unreadableLine(
  { name, names, span }: SpecLayer,
  scope: Scope,
  previous: Tensor | undefined,
  run: LoweringRun,
): Outputs {
  run.callCount += 1;
  const path = `${scope.prefix}${name.text}`;
  const start = run.graph.size;
  const inputs = previous === undefined ? [] : [previous];
  const tensors = unlowered(path, 'unreadable', inputs, names.length, run);
  run.addLayer(path, '', scope.ancestors, start, scope.line ?? span, scope.marks);
  return { tensors, names: [] };
}

/** A tensor that is missing, so that what it feeds is unknown rather than wrong. */
export function unknownTensor(path: string, scope: Scope, span: TextSpan, run: LoweringRun): Tensor {
  const start = run.graph.size;
  const [tensor] = unlowered(path, 'missing', [], 1, run);
  run.addLayer(path, '', scope.ancestors, start, scope.line ?? span, {});
  return tensor ?? { name: '', elementType: undefined, shape: undefined };
}

function unlowered(
  path: string,
  type: string,
  inputs: readonly Tensor[],
  outputs: number,
  { graph, memory }: LoweringRun,
  called = type,
): readonly Tensor[] {
  const tensors = graph.node(path, unloweredDomain, type, inputs, outputs, {}, called);
  return tensors.map((tensor) => memory.sameTensor(tensor));
}
