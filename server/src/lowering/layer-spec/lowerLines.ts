/** A list of layers, of a model or a block: each line is fed by the one above, and may be repeated. */

import type { LayerCall, Name, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import { findOperator } from '../../operators/registry.ts';
import { blockScope } from './blockScope.ts';
import type { HomeBlock } from './blockTable.ts';
import { opset } from './graphBuilder.ts';
import type { Tensor } from './layerDefinition.ts';
import { findLayer } from './layerDefinitions.ts';
import { lowerCall } from './lowerCall.ts';
import type { Line, LoweringRun } from './loweringRun.ts';
import { marksOf } from './marksOf.ts';
import { nameOutputs } from './nameOutputs.ts';
import { repetitionsOf } from './repetitionsOf.ts';
import { type Outputs, reportError, type Scope, single, tensorOf } from './scope.ts';
import { unknownTensor, unreadableLine } from './standIns.ts';

/** Lowers the layers of `scope`, whose first tensor feeds the first one; gives the first output of the last. */
export function lowerLines(scope: Scope, run: LoweringRun): Tensor | undefined {
  const [fed] = scope.tensors.values();
  let previous = fed?.tensors[0];
  for (const layer of scope.layers) {
    const outputs = lowerLine(layer, scope, previous, run);
    if (outputs === undefined) continue;
    // Lines of included files stand elsewhere.
    if (scope.home === run.home && layer.call !== undefined) run.given.add(layer, outputs.tensors);
    nameOutputs(layer, outputs, scope, run);
    previous = outputs.tensors[0] ?? previous;
  }
  return previous;
}

function lowerLine(
  layer: SpecLayer,
  scope: Scope,
  previous: Tensor | undefined,
  run: LoweringRun,
): Outputs | undefined {
  const { call, name } = layer;
  const path = `${scope.prefix}${name.text}`;
  if (isTooLong(call, name, scope, run)) return previous && single(previous);
  if (call === undefined) return unreadableLine(layer, scope, previous, run);
  const count = repetitionsOf(call, scope);
  const marks = marksOf(call, scope, run);
  const line: Line = { layer, call, scope, path, ancestors: scope.ancestors, marks, previous, carried: [] };
  // What nobody knows is unknown once, however often it is repeated.
  if (count === undefined || !isCallable(call, scope)) return lowerOnce(line, run);
  const ancestors = [...scope.ancestors, path];
  const start = run.graph.size;
  let outputs = previous && single(previous);
  for (let index = 0; index < count; index += 1) {
    if (isTooLong(call, name, scope, run)) break;
    const repeated: Line = {
      ...line,
      path: `${path}[${index}]`,
      ancestors,
      marks: index === 0 ? marks : marksOf(call, scope, run),
      carried: index === 0 ? [] : (outputs?.tensors ?? []),
    };
    outputs = lowerOnce(repeated, run) ?? outputs;
  }
  // Of a model that is too long, the last blocks are not whole.
  if (!run.saidTooLong) run.graph.repeats(start, count);
  return outputs;
}

function lowerOnce(line: Line, run: LoweringRun): Outputs | undefined {
  run.callCount += 1;
  const block = line.scope.home.blocks.get(line.call.callee.text);
  return block === undefined ? lowerCall(line, run) : lowerBlock(block, line, run);
}

function lowerBlock(called: HomeBlock, line: Line, run: LoweringRun): Outputs | undefined {
  const { layer, call, scope, path, previous } = line;
  const inside = blockScope(called, line, run);
  if (inside === undefined) return previous && single(previous);
  const before = run.given.count;
  const last = lowerLines(inside, run);
  // Of repetitions each has weights of its own, and no name tells one from the others. Names have one point at most.
  if (call.repetition === undefined) {
    for (const { name } of inside.layers) {
      const weights = inside.weights.get(name.text);
      if (weights !== undefined) scope.weights.set(`${layer.name.text}.${name.text}`, weights);
    }
  }
  const { outputs } = called.block;
  if (outputs.length === 0) {
    if (last === undefined) return undefined;
    run.given.returns(before, [last]);
    return single(last);
  }
  const tensors = outputs.map(
    (reference) =>
      tensorOf(reference, inside) ?? unknownTensor(`${path}.${reference.text}`, inside, reference.span, run),
  );
  run.given.returns(before, tensors);
  return { tensors, names: outputs.map(({ text, output }) => output?.text ?? text) };
}

const isCallable = ({ callee }: LayerCall, { home }: Scope): boolean =>
  home.blocks.has(callee.text) ||
  findLayer(callee.text) !== undefined ||
  findOperator('', callee.text, opset) !== undefined;

/** Layers beyond this are a slip of the hand in a repetition, not a model. */
const mostLayers = 10_000;

/** Some layers are many operators each; tensors beyond this would take seconds for every keystroke. */
const mostTensors = 40_000;

/** Whether there are too many layers by now, which is said once. */
function isTooLong(call: LayerCall | undefined, name: Name, scope: Scope, run: LoweringRun): boolean {
  const hasTooManyTensors = run.graph.tensorCount > mostTensors;
  if (run.callCount <= mostLayers && !hasTooManyTensors) return false;
  if (!run.saidTooLong) {
    const [most, what] = hasTooManyTensors ? [mostTensors, 'tensors'] : [mostLayers, 'layers'];
    const message = `the model has more than ${most} ${what}; is a repetition too large? Those beyond are left out`;
    reportError(scope, 'spec/too-long', message, call?.repetition?.span ?? name.span);
  }
  run.saidTooLong = true;
  return true;
}
