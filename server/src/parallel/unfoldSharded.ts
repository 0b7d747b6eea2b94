/** The training graph of a worker of tensor parallelism from that of the graph with most of its repeated blocks left out. */

import type { ModelAnalysis, Parameter, TrainingGraph } from '../analysis/modelAnalysis.ts';
import { type FoldLayout, foldedIndex, isSettled, unfoldList } from '../analysis/repetition/foldGraph.ts';
import { foundEntries } from '../model/foundEntries.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { AttentionCore } from './contextParallel.ts';
import type { DividedTraining, ShardedTraining } from './shardedTraining.ts';
import { nameOf, type WholeProduct } from './tensorParallel.ts';

/** `whole` is not divided yet. `undefined` where blocks are not divided alike, so that nothing says how those left out are. */
export function unfoldSharded(whole: TrainingGraph, short: DividedTraining): ShardedTraining | undefined {
  const { folded } = whole.analysis;
  if (folded === undefined || !areDividedAlike(folded.layout, short)) return undefined;
  const { layout } = folded;
  const cores = unfoldCores(layout, short.cores);
  if (cores === undefined) return undefined;
  const names = knownNames(whole.analysis, layout);
  const likeOf = (name: string): string => names.get(name) ?? name;
  const tensors = foundEntries(
    (name) => short.training.tensors.get(likeOf(name)) ?? whole.tensors.get(name),
    () => whole.tensors.keys(),
  );
  const held = new Map(
    [...short.training.analysis.parameters, ...short.training.analysis.frozen].map((own) => [own.name, own]),
  );
  const heldOf = (parameters: readonly Parameter[]): readonly HeldPart[] =>
    parameters.map((parameter) => {
      const { elements, expertWays } = held.get(likeOf(parameter.name)) ?? parameter;
      return { elements, ...(expertWays === undefined ? {} : { expertWays }) };
    });
  const analysis = analysisOfWorker(whole.analysis, {
    short: short.training.analysis,
    parameters: heldOf(whole.analysis.parameters),
    frozen: heldOf(whole.analysis.frozen),
  });
  const movedTo = (own: WholeProduct, operator: number): WholeProduct => {
    const { barrier, reason } = own;
    // What names the operator of a block names that of each copy.
    if (barrier === undefined || barrier < layout.cut - 2 * layout.period) return { ...own, operator };
    const moved = barrier + operator - own.operator;
    const [named, name] = [
      short.training.analysis.graph.operators[barrier],
      whole.analysis.graph.operators[moved],
    ];
    return { operator, barrier: moved, reason: reason.replace(nameOf(named), nameOf(name)) };
  };
  const partial = new Set(short.partialGradients);
  for (const [name, like] of names) if (short.partialGradients.has(like)) partial.add(name);
  const wholeProducts = (products: readonly WholeProduct[]): readonly WholeProduct[] =>
    products
      .flatMap((own) => placesOf(layout, own.operator).map((operator) => movedTo(own, operator)))
      .sort((one, other) => one.operator - other.operator);
  return {
    training: {
      ...whole,
      analysis,
      costs: unfoldList(layout, short.training.costs),
      tensors,
      folded: { ...short.training, analysis: analysis.folded?.analysis ?? short.training.analysis },
    },
    collectives: short.collectives
      .flatMap((own) => placesOf(layout, own.operator).map((operator) => ({ ...own, operator })))
      .sort((one, other) => one.operator - other.operator),
    partialGradients: partial,
    wholeSequence: wholeProducts(short.wholeSequence),
    cores,
    mixtures: short.mixtures.flatMap((index) => placesOf(layout, index)),
    whole: wholeProducts(short.whole),
  };
}

/** Attention of the whole graph; `undefined` where one lies across the begin or the end of the block that stands for others. */
function unfoldCores(
  { cut, period, copies }: FoldLayout,
  cores: readonly AttentionCore[],
): readonly AttentionCore[] | undefined {
  const unfolded: AttentionCore[] = [];
  for (const { operators, exchange } of cores) {
    const moved = (blocks: number): AttentionCore => ({
      operators: operators.map((index) => index + blocks * period),
      exchange,
    });
    const [first, last] = [Math.min(...operators), Math.max(...operators)];
    if (last < cut - period) unfolded.push(moved(0));
    else if (first >= cut) unfolded.push(moved(copies));
    else if (first >= cut - period && last < cut)
      for (let copy = 0; copy <= copies; copy += 1) unfolded.push(moved(copy));
    else return undefined;
  }
  return unfolded;
}

/** Operators of the whole graph that one of the folded graph stands for, ascending. */
function placesOf({ cut, period, copies }: FoldLayout, index: number): readonly number[] {
  if (index >= cut) return [index + copies * period];
  if (index < cut - period) return [index];
  return Array.from({ length: copies + 1 }, (_, copy) => index + copy * period);
}

/** Whether the last blocks before the cut and the first behind it are divided the same way. */
function areDividedAlike(
  layout: FoldLayout,
  { training, divisions, collectives, cores, wholeSequence }: DividedTraining,
): boolean {
  const { operators } = training.analysis.graph;
  const exchangeOf = new Map(
    cores.flatMap(({ operators: own, exchange }) => own.map((index) => [index, exchange])),
  );
  const whyWhole = new Map(wholeSequence.map(({ operator, reason }) => [operator, reason]));
  const asked = new Map<number, string>();
  for (const { operator, ...rest } of collectives)
    asked.set(operator, `${asked.get(operator) ?? ''}${JSON.stringify(rest)}`);
  const dividedAs = (index: number): unknown => divisions.map(({ operators: own }) => own.get(index));
  return isSettled(layout, (index, other) => {
    const [own, like] = [operators[index], operators[other]];
    return (
      asked.get(index) === asked.get(other) &&
      exchangeOf.get(index) === exchangeOf.get(other) &&
      whyWhole.get(index) === whyWhole.get(other) &&
      isSameContent(dividedAs(index), dividedAs(other)) &&
      [...(own?.inputs ?? []), ...(own?.outputs ?? [])].every((name, place) => {
        const likeName = [...(like?.inputs ?? []), ...(like?.outputs ?? [])][place] ?? '';
        return divisions.every(({ values }) => isSameContent(values.get(name), values.get(likeName)));
      })
    );
  });
}

/** By value of the blocks left out, the value that stands for it in the folded graph; others are called there as they are here. */
const knownNames = memoizeRecent(
  ({ graph }: ModelAnalysis, layout: FoldLayout): ReadonlyMap<string, string> => {
    const { cut, period, copies } = layout;
    const names = new Map<string, string>();
    for (let index = cut; index < cut + copies * period; index += 1) {
      const own = graph.operators[index];
      // Operators before the cut stand in the folded graph as they are.
      const like = graph.operators[foldedIndex(layout, index)];
      own?.outputs.forEach((name, output) => {
        names.set(name, like?.outputs[output] ?? name);
      });
      own?.inputs.forEach((name, input) => {
        const isStored = graph.values.get(name)?.producer === undefined;
        if (isStored) names.set(name, like?.inputs[input] ?? name);
      });
    }
    return names;
  },
  (known, asked) => known === asked,
);

/** A worker's analysis holds parts of parameters. It is the same for every batch, so that what is found of it is kept. */
const analysisOfWorker = memoizeRecent(
  (analysis: ModelAnalysis, { short, parameters, frozen }: HeldParts): ModelAnalysis => {
    const held = (whole: readonly Parameter[], parts: readonly HeldPart[]): readonly Parameter[] =>
      whole.map((parameter, index) => ({ ...parameter, ...parts[index] }));
    return {
      ...analysis,
      parameters: held(analysis.parameters, parameters),
      frozen: held(analysis.frozen, frozen),
      ...(analysis.folded === undefined ? {} : { folded: { ...analysis.folded, analysis: short } }),
    };
  },
  (known, asked) =>
    isSameContent(known.parameters, asked.parameters) && isSameContent(known.frozen, asked.frozen),
  // One to sixteen ways.
  8,
);

/** What a worker has of a parameter. */
type HeldPart = Pick<Parameter, 'elements' | 'expertWays'>;

interface HeldParts {
  /** Of the folded graph; that of the first batch is taken for all. */
  readonly short: ModelAnalysis;
  readonly parameters: readonly HeldPart[];
  readonly frozen: readonly HeldPart[];
}
