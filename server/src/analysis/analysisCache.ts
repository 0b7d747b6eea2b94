/**
 * Analyses of earlier states of a layer spec, for a state that was lowered to the same.
 *
 * A person who writes a comment, who types a word that is no layer yet, or who takes back what was typed, changes the
 * text and not the model: an analysis knows nothing of where a layer stands, so it is that of the model before.
 */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { LoweredSpec } from '../lowering/lowerLayerSpec.ts';
import type { ProvidedLayer } from '../lowering/providedStructure.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { LruCache } from '../model/lruCache.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';

export type AnalysisCache = LruCache<LoweredSpec, ModelAnalysis>;

export const analysisCache = (): AnalysisCache => new LruCache(isSameLowering);

/** Whether two lowered models are the same but for where their layers stand. */
function isSameLowering({ model, structure }: LoweredSpec, other: LoweredSpec): boolean {
  const graph = model.graph;
  const { graph: otherGraph } = other.model;
  return (
    graph.name === otherGraph.name &&
    areSame(graph.nodes, otherGraph.nodes, isSameNode) &&
    areSame(structure.layers, other.structure.layers, isSameLayer) &&
    areStoredAlike(graph.initializers, otherGraph.initializers) &&
    areSame(graph.inputs, otherGraph.inputs, isSameContent) &&
    areSame(graph.outputs, otherGraph.outputs, isSameContent) &&
    areMapped(structure.roles, other.structure.roles) &&
    areMapped(structure.symbolDefaults, other.structure.symbolDefaults)
  );
}

/** Weights in the same order, and the same constants: those stand where they were first asked for, which says nothing. */
function areStoredAlike(left: readonly TensorLiteral[], right: readonly TensorLiteral[]): boolean {
  if (left.length !== right.length) return false;
  const isWeight = ({ elements }: TensorLiteral): boolean => elements === undefined;
  if (!areSame(left.filter(isWeight), right.filter(isWeight), isSameContent)) return false;
  const constants = new Map<string, TensorLiteral>();
  for (const literal of left) if (!isWeight(literal)) constants.set(literal.name, literal);
  return right.every((literal) => isWeight(literal) || isSameContent(literal, constants.get(literal.name)));
}

/** Nodes of lines that did not change are the same objects; others have plain attributes. */
const isSameNode = (left: OnnxNode, right: OnnxNode): boolean =>
  left.name === right.name &&
  left.type === right.type &&
  left.domain === right.domain &&
  areSame(left.inputs, right.inputs, isEqual) &&
  areSame(left.outputs, right.outputs, isEqual) &&
  isSameContent(left.attributes, right.attributes);

const isSameLayer = (left: ProvidedLayer, right: ProvidedLayer): boolean =>
  left.name === right.name &&
  left.type === right.type &&
  areSame(left.ancestors, right.ancestors, isEqual) &&
  areSame(left.nodes, right.nodes, isEqual) &&
  isSameContent(left.marks, right.marks);

const isEqual = (left: unknown, right: unknown): boolean => left === right;

function areSame<Item>(
  left: readonly Item[],
  right: readonly Item[],
  isSame: (left: Item, right: Item) => boolean,
): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) {
    const [ours, theirs] = [left[index], right[index]];
    if (ours === theirs) continue;
    if (ours === undefined || theirs === undefined || !isSame(ours, theirs)) return false;
  }
  return true;
}

function areMapped<Value>(left: ReadonlyMap<string, Value>, right: ReadonlyMap<string, Value>): boolean {
  if (left.size !== right.size) return false;
  for (const [name, value] of left) if (right.get(name) !== value) return false;
  return true;
}
