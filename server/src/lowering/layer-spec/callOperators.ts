/** The operators of one call: of a layer by its definition, or the one ONNX operator it names. */

import { findOperator } from '../../operators/registry.ts';
import { bindArguments } from './bindArguments.ts';
import type { CallSite } from './callArguments.ts';
import { CallLowering } from './callLowering.ts';
import { opset } from './graphBuilder.ts';
import type { KeptLayer } from './keptLayer.ts';
import { type LayerDefinition, printSignature, type Tensor } from './layerDefinition.ts';
import { findLayer } from './layerDefinitions.ts';
import type { Line, LoweringRun } from './loweringRun.ts';
import { operatorAttributes } from './operatorAttributes.ts';
import { operatorInputs } from './operatorInputs.ts';
import { type Outputs, reportError, weightsNamed, whyNoWeight } from './scope.ts';
import { type Feed, givenTensors, inputsOf } from './tensorArguments.ts';
import { hintForUnknown } from './unknownLayer.ts';

export interface CallOperators extends Pick<KeptLayer, 'weights' | 'pinned'> {
  /** `undefined` where the call could not be lowered; an issue then says why. */
  readonly outputs: Outputs | undefined;
}

/** Adds them to the graph of the run. */
export function operatorsOf(line: Line, feed: Feed, run: LoweringRun): CallOperators {
  const { callee, isOperator } = line.call;
  const definition = isOperator ? undefined : findLayer(callee.text);
  if (definition !== undefined) return lowerDefined(definition, line, feed, run);
  return { outputs: lowerOnnxOperator(line, feed, run), weights: new Map(), pinned: [] };
}

function lowerDefined(
  definition: LayerDefinition,
  { call, scope, path, marks }: Line,
  feed: Feed,
  { graph, symbolDefaults }: LoweringRun,
): CallOperators {
  const weights = new Map<string, Tensor>();
  const pinned: string[] = [];
  const given = givenTensors(definition, call, scope, feed, graph);
  const inputs = inputsOf(definition, call, given, scope, feed);
  const { parameters } = definition;
  const bound = bindArguments(call, given.rest, { text: printSignature(definition), parameters }, scope);
  if (inputs === undefined || bound === undefined) return { outputs: undefined, weights, pinned };
  const site: CallSite = {
    path,
    callee: call.callee.span,
    inputs,
    batch: graph.batch,
    namedInputs: new Map([...given.named].flatMap(([name, tensor]) => (tensor ? [[name, tensor]] : []))),
    bound,
    symbolDefaults,
    weightsOf: (layer) => weightsNamed(layer, scope),
    whyNoWeight: (layer, weight) => whyNoWeight(layer, weight, scope),
    weights,
    frozen: marks.frozen === true,
    report: scope.report,
    pin: (dimension) => pinned.push(dimension),
  };
  const output = definition.lower(new CallLowering(definition, site, graph));
  if (output === undefined) return { outputs: undefined, weights, pinned };
  const tensors = isList(output) ? output : [output];
  return { outputs: { tensors, names: definition.outputs ?? [] }, weights, pinned };
}

/** Tensors and constants by position, attributes by keyword. */
function lowerOnnxOperator(line: Line, feed: Feed, { graph }: LoweringRun): Outputs | undefined {
  const { call, scope, path, layer } = line;
  const { text, span } = call.callee;
  if (findOperator('', text, opset) === undefined) {
    const message = `\`${text}\` is not a layer${hintForUnknown(text, scope.home)}`;
    return reportError(scope, 'spec/unknown-layer', message, span);
  }
  const { tensors, rest } = operatorInputs(line, feed, graph);
  const attributes = operatorAttributes(call, rest, scope);
  if (attributes === undefined) return undefined;
  return { tensors: graph.node(path, '', text, tensors, layer.names.length, attributes), names: [] };
}

/** `Array.isArray` does not tell a readonly list from what else it may be. */
const isList = <Item>(value: Item | readonly Item[]): value is readonly Item[] => Array.isArray(value);
