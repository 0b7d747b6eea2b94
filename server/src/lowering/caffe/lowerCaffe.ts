/**
 * Lowers a Caffe net in one phase to ONNX operators, so that the engine that costs ONNX files costs it too.
 *
 * Layers run in the order of the file. A layer that is wrong takes nothing else away: it becomes one operator that
 * nothing knows, and an issue stands at the word that is wrong.
 */

import { type CaffeLayer, type CaffeNet, numbersOf } from '../../formats/caffe/syntax.ts';
import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { ProvidedStructure } from '../providedStructure.ts';
import { makeCaffeCall } from './caffeCall.ts';
import { CaffeRun } from './caffeRun.ts';
import { hasRightBlobs, reportUnknownType } from './checkCaffeLayer.ts';
import { isShapeless, shapedByReader } from './hostBlobs.ts';
import { isDataLayer } from './isDataLayer.ts';
import type { CaffeLayerDefinition } from './layerDefinition.ts';
import { findCaffeLayer } from './layerDefinitions.ts';
import { assumedLoss } from './layers/assumedLoss.ts';
import { type NamedLayer, nameLayers } from './nameLayers.ts';
import { addDataLayer, addOldInputs, batchName } from './netInputs.ts';
import type { NetInPhase } from './netState.ts';
import { readBlob } from './readBlob.ts';
import { unloweredLayer } from './unloweredLayer.ts';

export interface LoweredCaffe {
  readonly model: OnnxModel;
  readonly structure: ProvidedStructure;
  readonly issues: readonly Issue[];
  /** What a message about a node of the model underlines. */
  readonly spanOfNode: (node: number) => TextSpan | undefined;
}

/**
 * The model of `net` in a phase. The batch stays open; its default is what the data layer or the first input says.
 * `dimensions` gives sizes that the net leaves to its data: channels, height, width, features.
 */
export function lowerCaffe(
  net: CaffeNet,
  state: NetInPhase,
  dimensions: ReadonlyMap<string, number>,
): LoweredCaffe {
  const run = new CaffeRun(net, state, dimensions);
  reportStages(run);
  addOldInputs(run);
  const named = nameLayers(state.layers);
  for (const layer of state.layers) {
    if (isDataLayer(layer)) addDataLayer(layer, run);
    else lowerLayer(layer, named(layer), run);
  }
  const { graph, objectives } = run;
  const isTrained = run.hasObjective && state.phase === 'TRAIN';
  const defaults = new Map(run.usedSizes);
  if (run.batch !== undefined) defaults.set(batchName, run.batch);
  return {
    model: graph.build(net.name, isTrained ? objectives : [...run.unread.values()]),
    structure: {
      layers: graph.layers,
      roles: graph.roles,
      symbolDefaults: defaults,
      batchSymbol: batchName,
      reportedSymbols: run.missingSizes,
      issues: [],
    },
    issues: run.issues,
    spanOfNode: (node) => run.nodeSpans[node],
  };
}

function reportStages(run: CaffeRun): void {
  const { assumedStages, phase } = run.state;
  if (assumedStages.length === 0) return;
  const message = `No data comes into the net in phase ${phase} unless the solver sets a stage: \`${assumedStages.join('`, `')}\` is assumed`;
  run.report('caffe/layer', message, undefined, 'information');
}

function lowerLayer(layer: CaffeLayer, { name, ancestors }: NamedLayer, run: CaffeRun): void {
  const definition =
    findCaffeLayer(layer.type) ?? (layer.bottoms.length > 0 ? assumedLoss(layer.type) : undefined);
  if (definition === undefined) reportUnknownType(layer, run);
  const inputs = layer.bottoms.map((bottom) => readBlob(bottom, run));
  const start = run.graph.size;
  const tensors =
    (definition && lowerDefined(layer, definition, name, inputs, run)) ??
    unloweredLayer(layer, name, inputs, run);
  const nodes = Array.from({ length: run.graph.size - start }, (_, index) => start + index);
  for (const node of nodes) run.nodeSpans[node] = layer.typeSpan;
  run.graph.layers.push({ name, type: layer.type, ancestors, nodes, span: layer.span });
  for (const [index, tensor] of tensors.entries()) {
    // A loss need not name its top: Caffe gives it one.
    const top = layer.tops[index]?.text ?? `${name}:${index}`;
    run.blobs.set(top, tensor);
    if (!isShapeless(tensor, run)) run.unread.set(top, tensor);
    noteObjective(layer, definition, index, tensor, run);
  }
}

function lowerDefined(
  layer: CaffeLayer,
  definition: CaffeLayerDefinition,
  name: string,
  inputs: readonly (Tensor | undefined)[],
  run: CaffeRun,
): readonly Tensor[] | undefined {
  if (!hasRightBlobs(layer, definition, run)) return undefined;
  const known = inputs.filter((input) => input !== undefined);
  if (known.length < inputs.length) return undefined;
  const shaped = shapedByReader(known, definition, layer, run);
  if (!definition.readsOnHost && shaped.some((input) => isShapeless(input, run))) return undefined;
  return definition.lower(makeCaffeCall(layer, definition, name, shaped, run));
}

function noteObjective(
  layer: CaffeLayer,
  definition: CaffeLayerDefinition | undefined,
  top: number,
  tensor: Tensor,
  run: CaffeRun,
): void {
  const weight = numbersOf(layer.fields, 'loss_weight')[top] ?? (definition?.isLoss && top === 0 ? 1 : 0);
  if (definition?.isLoss || weight !== 0) run.hasObjective = true;
  if (weight !== 0) run.objectives.push(tensor);
}
