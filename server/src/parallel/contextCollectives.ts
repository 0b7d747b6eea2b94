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
import { inputOf } from '../operators/operatorFacts.ts';
import type { DividedGraph } from './boundMap.ts';
import type { ContextParallel } from './contextParallel.ts';
import type { MeshCollective } from './tensorCollectives.ts';

/** `elementsOf`: of a value as the workers of a group together have it. */
export function contextTraffic(
  divided: DividedGraph,
  { division, cores }: ContextParallel,
  elementsOf: (name: string) => number,
): readonly MeshCollective[] {
  const { graph, costing } = divided.training.analysis;
  const { requiresGradient } = divided.training;
  const { values, operators } = division.division;
  const { ways } = division;
  const exchangeOf = new Map(
    cores.flatMap(({ operators: own, exchange }) => own.map((index) => [index, exchange])),
  );
  const collectives: MeshCollective[] = [];
  const add = (
    operator: number,
    pass: MeshCollective['pass'],
    collective: MeshCollective['collective'],
    elements: number,
    times?: number,
  ): void => {
    collectives.push({
      axis: 'context',
      operator,
      pass,
      collective,
      elements,
      ...(times === undefined ? {} : { times }),
    });
  };

  for (const core of cores) {
    if (core.exchange !== 'all-to-all') continue;
    const own = new Set(core.operators);
    const members = core.operators.flatMap((index) => graph.operators[index] ?? []);
    const isOutside = (index: number | undefined): boolean => index === undefined || !own.has(index);
    const given = members.flatMap(({ inputs, index }) =>
      inputs.flatMap((name) =>
        isOutside(graph.values.get(name)?.producer) && isComputedSplit(name) ? [[name, index] as const] : [],
      ),
    );
    const made = members.flatMap(({ outputs, index }) =>
      outputs.flatMap((name) =>
        (graph.values.get(name)?.consumers ?? []).some(isOutside) ? [[name, index] as const] : [],
      ),
    );
    for (const [name, index] of new Map([...given, ...made])) {
      const elements = elementsOf(smallest(name, (size) => size % ways === 0));
      add(index, 'forward', 'all-to-all', elements);
      add(index, 'backward', 'all-to-all', elements);
    }
  }

  const met = new Set<string>();
  for (const operator of graph.operators) {
    const { index } = operator;
    const part = operators.get(index);
    const exchange = exchangeOf.get(index);
    if (exchange !== 'all-to-all') {
      for (const [tensor, read] of operator.inputs.entries()) {
        const isPart = part?.factor.inputs.some((place) => place.tensor === tensor) === true;
        if (isPart || !isReadWhole(operator, tensor, read)) continue;
        const name = exchange === undefined ? read : smallest(read);
        if (met.has(name)) continue;
        met.add(name);
        const elements = elementsOf(name);
        const hasGradient = requiresGradient.has(name);
        if (exchange === 'ring') {
          add(index, 'forward', 'send', elements / ways, ways - 1);
          if (hasGradient) add(index, 'backward', 'send', elements / ways, 2 * ways - 1);
          continue;
        }
        add(index, 'forward', 'all-gather', elements);
        if (!hasGradient) continue;
        if (exchange === 'all-gather') add(index, 'backward', 'all-gather', elements);
        // What every worker computes whole of it has a whole gradient on each.
        if (part !== undefined) add(index, 'backward', 'reduce-scatter', elements);
      }
    }
    if (part === undefined || part.factor.outputs.length > 0) continue;
    for (const output of part.factor.partial?.outputs ?? []) {
      const name = operator.outputs[output] ?? '';
      // A loss is each worker's own, as that of other copies.
      if (!graph.outputs.includes(name)) add(index, 'forward', 'all-reduce', elementsOf(name));
    }
  }
  return collectives;

  function isComputedSplit(name: string): boolean {
    return values.has(name) && requiresGradient.has(name);
  }

  function isReadWhole(operator: Operator, tensor: number, name: string): boolean {
    const value = graph.values.get(name);
    if (!values.has(name) || value?.producer === undefined || costing.gradients.isStored(name)) return false;
    return (
      costing.auxiliary.shapeArithmetic[operator.index] !== true &&
      inputOf(operator, tensor)?.role !== 'shape'
    );
  }

  /** The smallest tensor that this one is a repetition of, whose heads are accepted. */
  function smallest(name: string, accepts: (heads: number) => boolean = () => true): string {
    let best = name;
    let own: string | undefined = name;
    while (own !== undefined) {
      const elements = elementsOf(own);
      if (elements < elementsOf(best) && accepts(elements / elementsPerHead(name))) best = own;
      const operator: Operator | undefined = graph.operators[graph.values.get(own)?.producer ?? -1];
      const given: readonly string[] = operator?.inputs.filter((each) => values.has(each)) ?? [];
      own = given.length === 1 && !multiplies(operator) ? given[0] : undefined;
    }
    return best;
  }

  function multiplies(operator: Operator | undefined): boolean {
    const cost = divided.training.costs[operator?.index ?? -1];
    return cost?.kind !== 'known' || cost.forward.flops > 0;
  }

  /** Of [batch, heads, positions, features]: all but the heads. */
  function elementsPerHead(name: string): number {
    const dimensions = divided.training.tensors.get(name)?.dimensions ?? [];
    return (dimensions[0] ?? 1) * (dimensions.at(-1) ?? 1) * (dimensions.at(-2) ?? 1);
  }
}
