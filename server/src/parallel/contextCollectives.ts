/**
 * What workers of context parallelism exchange: keys and values of attention, and whatever else is read over all positions.
 *
 * A ring sends the part of each worker on, one step less than there are workers; in backward keys and values go round once
 * more, and their gradients go all the way back. Gathered, they are gathered again in backward, and their gradients are
 * scattered. Exchanged for heads, what goes into attention and what comes out is sent once, and its gradient back. Keys that
 * several heads of queries share travel once. Gradients of weights are added up with those of other copies, not here.
 * Sources: Liu et al., arXiv:2310.01889, section 3; Llama 3, arXiv:2407.21783, section 3.3.2; Jacobs et al., arXiv:2309.14509,
 * section 3.2.
 */

import type { Operator } from '../model/graph.ts';
import type { ContextExchange } from '../model/scenario.ts';
import { inputOf } from '../operators/operatorFacts.ts';
import type { DividedGraph } from './boundMap.ts';
import type { AttentionCore, ContextParallel } from './contextParallel.ts';
import type { MeshCollective } from './meshCollective.ts';
import { elementsPerHead, repetitionsOf } from './repeatedHeads.ts';

type Exchange = Omit<MeshCollective, 'axis'>;

interface ContextWork {
  readonly divided: DividedGraph;
  readonly parallel: ContextParallel;
  readonly elementsOf: (name: string) => number;
}

/** `elementsOf`: of a value as the workers of a group together have it. */
export function contextTraffic(
  divided: DividedGraph,
  parallel: ContextParallel,
  elementsOf: (name: string) => number,
): readonly MeshCollective[] {
  const work = { divided, parallel, elementsOf };
  const exchangeOf = new Map(
    parallel.cores.flatMap(({ operators, exchange }) => operators.map((index) => [index, exchange])),
  );
  const exchanges = parallel.cores.flatMap((core) =>
    core.exchange === 'all-to-all' ? exchangesForHeads(core, work) : [],
  );
  const met = new Set<string>();
  for (const operator of divided.training.analysis.graph.operators) {
    const exchange = exchangeOf.get(operator.index);
    for (const name of exchange === 'all-to-all' ? [] : readWhole(operator, exchange, work)) {
      if (met.has(name)) continue;
      met.add(name);
      exchanges.push(...gathers(name, operator.index, exchange, work));
    }
    exchanges.push(...partialSums(operator, work));
  }
  return exchanges.map((exchange) => ({ axis: 'context', ...exchange }));
}

/** What goes into attention and what comes out is exchanged once, and its gradient back. */
function exchangesForHeads({ operators }: AttentionCore, work: ContextWork): Exchange[] {
  const { training } = work.divided;
  const { graph } = training.analysis;
  const { values } = work.parallel.division.division;
  const { ways } = work.parallel.division;
  const isOutside = (index: number | undefined): boolean => index === undefined || !operators.includes(index);
  const isComputedSplit = (name: string): boolean => values.has(name) && training.requiresGradient.has(name);
  const members = operators.flatMap((index) => graph.operators[index] ?? []);
  const given = members.flatMap(({ inputs, index }) =>
    inputs
      .filter((name) => isOutside(graph.values.get(name)?.producer) && isComputedSplit(name))
      .map((name) => [name, index] as const),
  );
  const made = members.flatMap(({ outputs, index }) =>
    outputs
      .filter((name) => (graph.values.get(name)?.consumers ?? []).some(isOutside))
      .map((name) => [name, index] as const),
  );
  return [...new Map([...given, ...made])].flatMap(([name, operator]) => {
    const elements = work.elementsOf(beforeRepetition(name, work, (heads) => heads % ways === 0));
    return [
      { operator, pass: 'forward', collective: 'all-to-all', elements },
      { operator, pass: 'backward', collective: 'all-to-all', elements },
    ];
  });
}

/** The split values that an operator reads over all positions. */
function readWhole(
  operator: Operator,
  exchange: ContextExchange | undefined,
  work: ContextWork,
): readonly string[] {
  const { graph, costing } = work.divided.training.analysis;
  const { values, operators } = work.parallel.division.division;
  if (costing.auxiliary.shapeArithmetic[operator.index] === true) return [];
  const divided = operators.get(operator.index)?.factor.inputs ?? [];
  const whole = operator.inputs.filter(
    (name, tensor) =>
      !divided.some((place) => place.tensor === tensor) &&
      values.has(name) &&
      graph.values.get(name)?.producer !== undefined &&
      !costing.gradients.isStored(name) &&
      inputOf(operator, tensor)?.role !== 'shape',
  );
  return exchange === undefined ? whole : whole.map((name) => beforeRepetition(name, work));
}

/** How an operator gets the positions of other workers, and they the gradients of theirs. */
function gathers(
  name: string,
  operator: number,
  exchange: ContextExchange | undefined,
  { divided, parallel, elementsOf }: ContextWork,
): readonly Exchange[] {
  const { ways, division } = parallel.division;
  const hasGradient = divided.training.requiresGradient.has(name);
  const elements = elementsOf(name);
  const forward = { operator, pass: 'forward' } as const;
  const backward = { operator, pass: 'backward' } as const;
  if (exchange === 'ring') {
    const sent = { collective: 'send', elements: elements / ways } as const;
    const around = { ...forward, ...sent, times: ways - 1 };
    return hasGradient ? [around, { ...backward, ...sent, times: 2 * ways - 1 }] : [around];
  }
  const again = hasGradient && exchange === 'all-gather';
  // What every worker computes whole of it has a whole gradient on each.
  const isScattered = hasGradient && division.operators.has(operator);
  return [
    { ...forward, collective: 'all-gather', elements },
    ...(again ? [{ ...backward, collective: 'all-gather', elements } as const] : []),
    ...(isScattered ? [{ ...backward, collective: 'reduce-scatter', elements } as const] : []),
  ];
}

/** Sums over positions are added up over workers. */
function partialSums(
  { index, outputs }: Operator,
  { divided, parallel, elementsOf }: ContextWork,
): readonly Exchange[] {
  const factor = parallel.division.division.operators.get(index)?.factor;
  if (factor === undefined || factor.outputs.length > 0) return [];
  return (factor.partial?.outputs ?? []).flatMap((output): readonly Exchange[] => {
    const name = outputs[output] ?? '';
    // A loss is each worker's own, as that of other copies.
    if (divided.training.analysis.graph.outputs.includes(name)) return [];
    return [{ operator: index, pass: 'forward', collective: 'all-reduce', elements: elementsOf(name) }];
  });
}

/** The smallest tensor that this one is a repetition of, whose heads are accepted. */
function beforeRepetition(
  name: string,
  { divided: { training }, parallel, elementsOf }: ContextWork,
  accepts: (heads: number) => boolean = () => true,
): string {
  let best = name;
  for (const own of repetitionsOf(name, training, parallel.division.division.values)) {
    const elements = elementsOf(own);
    const isSmaller = elements < elementsOf(best);
    if (isSmaller && accepts(elements / elementsPerHead(name, training))) best = own;
  }
  return best;
}
