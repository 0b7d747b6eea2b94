/** Layers of the whole graph from those of the folded one. */

import type { ProvidedLayer } from '../../lowering/providedStructure.ts';
import { intAt, itemAt } from '../../model/at.ts';
import type { Layer } from '../../model/graph.ts';
import { nameOfNode } from '../nodeNames.ts';
import { analysisAt, type FoldedAnalysis, unfoldReaders } from './foldedAnalysis.ts';
import { isSettledAround } from './foldGraph.ts';

export interface UnfoldedLayers {
  readonly layers: readonly Layer[];
  /** By layer: the one of the folded graph that it is like. */
  readonly origins: Int32Array;
}

/** In order; `undefined` where the blocks are not grouped alike. */
export function unfoldLayers(subject: FoldedAnalysis): UnfoldedLayers | undefined {
  const leaders = leadersOf(subject);
  const inAll = layersOfAllBlocks(subject, leaders);
  const places = inAll && placesOf(subject, leaders, inAll);
  if (places === undefined) return undefined;
  const { cut, period, count } = subject.folded.layout;
  const layers: Layer[] = [];
  const names = new Set<string>();
  let operators = 0;
  for (const place of places) {
    const known = subject.analysis.layers[place.origin];
    const leader = itemAt(leaders, place.origin);
    const name = nameAt(subject, leader + place.shift);
    const repeats = place.shift === 0 && leader >= cut - period;
    if (known === undefined || names.has(name) || (repeats && name !== known.name)) return undefined;
    names.add(place.shift === 0 ? known.name : name);
    const layer = layerAt(subject, place, leader, known);
    if (layer === undefined) return undefined;
    layers.push(layer);
    operators += layer.operators.length;
  }
  const origins = Int32Array.from(places, ({ origin }) => origin);
  return operators === count ? { layers, origins } : undefined;
}

/** By layer: the operator that tells where it stands, which is none that eager frameworks leave out if it has another. */
function leadersOf(subject: FoldedAnalysis): readonly number[] {
  const { shortest, at } = analysisAt(subject);
  const { shapeArithmetic, storedLayout } = shortest.costing.auxiliary;
  const isAuxiliary = (operator: number): boolean => {
    const index = at(operator);
    return shapeArithmetic[index] === true || storedLayout[index] === true;
  };
  return subject.analysis.layers.map(
    ({ operators }) => operators.find((index) => !isAuxiliary(index)) ?? operators[0] ?? 0,
  );
}

/** Layers that have operators in all blocks; `undefined` where the others are not grouped alike in each. */
function layersOfAllBlocks(
  { analysis: { layers }, folded: { layout } }: FoldedAnalysis,
  leaders: readonly number[],
): ReadonlySet<number> | undefined {
  const layerOf = new Int32Array(layout.count - layout.copies * layout.period);
  for (const [layer, { operators }] of layers.entries())
    for (const index of operators) layerOf[index] = layer;
  const inAll = new Set<number>();
  const isLike = (index: number, other: number): boolean => {
    const own = intAt(layerOf, index);
    const its = intAt(layerOf, other);
    if (own === its) inAll.add(own);
    if (own === its || inAll.has(own) || inAll.has(its)) return own === its;
    return itemAt(leaders, own) + other - index === leaders[its] && layers[own]?.type === layers[its]?.type;
  };
  // Once to find them, and once to compare all with them.
  return isSettledAround(layout, isLike) && isSettledAround(layout, isLike) ? inAll : undefined;
}

/** A layer of the whole graph. */
interface Place {
  /** The layer of the folded graph that stands for it. */
  readonly origin: number;
  /** How many operators further on it stands. */
  readonly shift: number;
  readonly operators: readonly number[];
}

/** In order; `undefined` where a layer of a block reaches beyond the blocks beside it. */
function placesOf(
  { analysis, folded: { layout } }: FoldedAnalysis,
  leaders: readonly number[],
  inAll: ReadonlySet<number>,
): readonly Place[] | undefined {
  const { cut, period, copies } = layout;
  const places: Place[] = [];
  const inBlock: Place[] = [];
  let copied = false;
  const copyBlock = (): void => {
    if (copied) return;
    copied = true;
    for (let copy = 1; copy <= copies; copy += 1) {
      const shift = copy * period;
      for (const { origin, operators } of inBlock)
        places.push({ origin, shift, operators: operators.map((index) => index + shift) });
    }
  };
  for (const [origin, { operators }] of analysis.layers.entries()) {
    const leader = itemAt(leaders, origin);
    const isBehind = leader >= cut;
    if (isBehind) copyBlock();
    if (inAll.has(origin)) {
      if (isBehind) return undefined;
      places.push({ origin, shift: 0, operators: unfoldReaders(layout, operators, 'all') });
    } else if (isBehind || leader < cut - period) {
      const shift = isBehind ? copies * period : 0;
      places.push({ origin, shift, operators: unfoldReaders(layout, operators, 'end') });
    } else {
      if (operators.some((index) => index < cut - 2 * period || index >= cut + period)) return undefined;
      const place = { origin, shift: 0, operators };
      places.push(place);
      inBlock.push(place);
    }
  }
  copyBlock();
  return places;
}

/** The layer at a place, named after where it stands; `undefined` where a lowering says something else of it. */
function layerAt(
  subject: FoldedAnalysis,
  { shift, operators }: Place,
  leader: number,
  known: Layer,
): Layer | undefined {
  if (shift === 0) return { ...known, operators };
  const { nodes, folded, given: provisions } = subject;
  const source = nodes[leader + shift]?.source;
  const given = layerGivenTo(subject, source);
  const name = nameAt(subject, leader + shift);
  if (given === undefined) {
    if (layerGivenTo(subject, folded.nodes[leader]?.source) !== undefined) return undefined;
    const ancestors = nodes[leader + shift]?.scope.paths.slice(0, -1) ?? [];
    return { ...known, name, ancestors, operators };
  }
  if (!isGivenAlike(subject, known, given, operators)) return undefined;
  const { type, marks } = known;
  return {
    name,
    type,
    ancestors: given.ancestors,
    operators,
    given: provisions.ofNode[source ?? -1] ?? -1,
    ...(marks === undefined ? {} : { marks }),
  };
}

/** What a lowering calls the layer of an operator, or the exporter its module, or else the operator's own name. */
function nameAt(subject: FoldedAnalysis, index: number): string {
  const flat = subject.nodes[index];
  return layerGivenTo(subject, flat?.source)?.name ?? flat?.scope.paths.at(-1) ?? nameOfNode(flat);
}

const layerGivenTo = ({ given }: FoldedAnalysis, source: number | undefined): ProvidedLayer | undefined =>
  given.layers[given.ofNode[source ?? -1] ?? -1];

/** Whether a lowering gives a layer the type, the marks and the operators of the layer that stands for it. */
function isGivenAlike(
  subject: FoldedAnalysis,
  { name, type, marks, operators: shown }: Layer,
  given: ProvidedLayer,
  operators: readonly number[],
): boolean {
  const { nodes, folded } = subject;
  return (
    given.type === type &&
    (given.marks === marks || JSON.stringify(given.marks) === JSON.stringify(marks)) &&
    operators.every((index, position) => {
      const standIn = layerGivenTo(subject, folded.nodes[shown[position] ?? -1]?.source);
      return (layerGivenTo(subject, nodes[index]?.source) === given) === (standIn?.name === name);
    })
  );
}
