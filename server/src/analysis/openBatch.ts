/**
 * Opens the batch of a model that was exported with a constant one, as exporters do unless told otherwise.
 *
 * The leading dimension of the inputs becomes a symbol, and constants that say it are opened where the dimension maps show
 * them (`followBatch.ts`). Whether that gave the same model is proved by the maps (`proveBatch.ts`), and checked: no
 * new contradiction, nothing unknown that was known, the same FLOPs at the file's own batch and, at twice the batch, twice as
 * many of every operator that the batch goes through. A model of which that does not hold keeps its batch, and says why.
 */

import type { OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { ProvidedLayer, ProvidedStructure } from '../lowering/providedStructure.ts';
import { isKnownShape } from '../model/graph.ts';
import { totalElements } from '../model/totalElements.ts';
import type { OperatorCost } from '../operators/definition.ts';
import { analyzeOnnx } from './analyzeOnnx.ts';
import { bindTrainingGraph } from './bindTrainingGraph.ts';
import { followBatch } from './followBatch.ts';
import type { ModelAnalysis } from './modelAnalysis.ts';
import { proveBatch } from './proveBatch.ts';

export interface OpenedBatch {
  readonly kind: 'opened';
  readonly analysis: ModelAnalysis;
  /** Of the graph with the batch open. */
  readonly structure?: ProvidedStructure;
  /** Share of the forward FLOPs that are of operators no sample goes through: they are computed once for any batch. */
  readonly shared: number;
}

export interface FixedBatch {
  readonly kind: 'fixed';
  /** Why another batch cannot be taken, as the end of a sentence. */
  readonly reason: string;
}

/**
 * The analysis of `model` with its batch as a symbol whose default is the file's own batch, or why the batch cannot be opened;
 * `undefined` where it is open already. Worked out once per analysis, however many scenarios ask for it: analyses never
 * change. `structure` is what the first analysis was given.
 */
export function openBatch(
  model: OnnxModel,
  analysis: ModelAnalysis,
  structure?: ProvidedStructure,
): OpenedBatch | FixedBatch | undefined {
  const { fixedBatch } = analysis;
  if (fixedBatch === undefined) return undefined;
  const known = openedBefore.get(analysis);
  if (known !== undefined) return known;
  const opened = analyzeWithOpenBatch(model, analysis, fixedBatch, structure);
  openedBefore.set(analysis, opened);
  return opened;
}

const openedBefore = new WeakMap<ModelAnalysis, OpenedBatch | FixedBatch>();

function analyzeWithOpenBatch(
  model: OnnxModel,
  analysis: ModelAnalysis,
  fixedBatch: number,
  structure: ProvidedStructure | undefined,
): OpenedBatch | FixedBatch {
  if (!analysis.graph.outputs.some((output) => hasLeading(output, analysis)))
    return fixed('no output has a leading dimension');
  const plain = analyzeFollowed(model, analysis, fixedBatch, structure, false);
  if (plain.kind === 'opened' || fixedBatch === 1 || !model.graph.nodes.some(isRepeating)) return plain;
  const repeated = analyzeFollowed(model, analysis, fixedBatch, structure, true);
  return repeated.kind === 'opened' ? repeated : plain;
}

const isRepeating = ({ type }: OnnxNode): boolean => type === 'Tile' || type === 'Expand';

/** `repeats`: see `followBatch`. */
function analyzeFollowed(
  model: OnnxModel,
  analysis: ModelAnalysis,
  fixedBatch: number,
  structure: ProvidedStructure | undefined,
  repeats: boolean,
): OpenedBatch | FixedBatch {
  const name = unusedName(analysis);
  const { graph, nodesOf } = followBatch(model, analysis, fixedBatch, name, repeats);
  const moved = structure && {
    ...structure,
    layers: structure.layers.map((layer) => movedTo(layer, nodesOf)),
  };
  const reanalyzed = analyzeOnnx({ ...model, graph }, moved);
  if (reanalyzed.batchSymbol !== name) return fixed('its inputs have no common batch');
  const proof = proveBatch(reanalyzed, name);
  if (proof.flaw !== undefined) return fixed(proof.flaw);
  if (countFaults(reanalyzed) > countFaults(analysis))
    return fixed('shapes contradict each other at another batch');
  const difference = differenceOf(analysis, reanalyzed, fixedBatch, name, proof.carries);
  if (difference !== undefined) return fixed(difference);
  const { costs } = bindTrainingGraph(reanalyzed, new Map([[name, fixedBatch]]), 'training');
  const flops = costs.map((cost) => (cost.kind === 'known' ? cost.forward.flops : 0));
  const total = flops.reduce((sum, each) => sum + each, 0);
  const once = flops.reduce((sum, each, index) => (proof.carries[index] === true ? sum : sum + each), 0);
  const symbols = reanalyzed.symbols.map((symbol) =>
    symbol.name === name ? { name, default: fixedBatch } : symbol,
  );
  return {
    kind: 'opened',
    analysis: { ...reanalyzed, symbols },
    shared: total === 0 ? 0 : once / total,
    ...(moved === undefined ? {} : { structure: moved }),
  };
}

const fixed = (reason: string): FixedBatch => ({ kind: 'fixed', reason });

const movedTo = (layer: ProvidedLayer, nodesOf: readonly (readonly number[])[]): ProvidedLayer => ({
  ...layer,
  nodes: layer.nodes.flatMap((node) => nodesOf[node] ?? []),
});

function unusedName(analysis: ModelAnalysis): string {
  const taken = new Set(analysis.symbols.map((symbol) => symbol.name));
  return ['batch', 'N', 'batch_size'].find((name) => !taken.has(name)) ?? `batch_${taken.size}`;
}

/** Whether a value has a leading dimension: only where an output has one can it be seen to follow the batch. */
function hasLeading(name: string, { graph }: ModelAnalysis): boolean {
  const type = graph.values.get(name)?.type;
  return type?.kind === 'tensor' && isKnownShape(type.shape) && type.shape.length > 0;
}

const countFaults = (analysis: ModelAnalysis): number =>
  analysis.issues.filter(({ severity }) => severity !== 'information').length;

/** What tells the two models apart. Operators are told by what they compute: the opened model has a few more, which cost nothing. */
function differenceOf(
  closed: ModelAnalysis,
  open: ModelAnalysis,
  batch: number,
  name: string,
  carries: readonly boolean[],
): string | undefined {
  if (totalElements(closed.parameters) !== totalElements(open.parameters))
    return 'it would have other parameters';
  const places = new Map(open.graph.operators.map(({ outputs, index }) => [outputs.join(), index]));
  const before = bindTrainingGraph(closed, new Map(), 'training');
  const same = bindTrainingGraph(open, new Map([[name, batch]]), 'training');
  const twice = bindTrainingGraph(open, new Map([[name, 2 * batch]]), 'training');
  const grows = open.graph.outputs.some((output) => {
    const type = open.graph.values.get(output)?.type;
    return type?.kind === 'tensor' && isKnownShape(type.shape) && typeof type.shape[0] !== 'number';
  });
  if (!grows) return 'no output grows with it';
  const other = closed.graph.operators.find(({ outputs, index }) => {
    const place = places.get(outputs.join());
    if (place === undefined) return true;
    return !agrees(before.costs[index], same.costs[place], twice.costs[place], carries[place] === true);
  });
  return other && `${other.type} \`${other.name}\` does not scale with it`;
}

function agrees(
  before: OperatorCost | undefined,
  same: OperatorCost | undefined,
  twice: OperatorCost | undefined,
  carries: boolean,
): boolean {
  if (before?.kind !== 'known') return true;
  if (same?.kind !== 'known' || twice?.kind !== 'known') return false;
  const [forward, again, doubled] = [before.forward.flops, same.forward.flops, twice.forward.flops];
  return forward === again && doubled === (carries ? 2 * forward : forward);
}
