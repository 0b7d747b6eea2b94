/**
 * The collectives that a division over the workers of tensor parallelism needs: where neighbours disagree.
 *
 * Partial sums are added up behind the operator that gives them. What a divided operator reads whole gets a part of its gradient
 * from each worker, which are added up in backward, once for all that read it. With sequence parallelism the first become a
 * reduce-scatter and the second an all-gather with its reverse. Heads that workers share are gathered before attention. Each is counted on the operator that needs it.
 * Sources: Shoeybi et al., arXiv:1909.08053, section 3; Korthikanti et al., arXiv:2205.05198, section 4.2.2;
 * NVIDIA/Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py, for the loss.
 */

import type { Operator } from '../model/graph.ts';
import { inputOf } from '../operators/operatorFacts.ts';
import type { DividedGraph } from './boundMap.ts';
import type { Division, MeshAxis } from './division.ts';
import { projectionsRegrouped } from './sharedHeads.ts';

export interface MeshCollective {
  /** Whose workers exchange. */
  readonly axis: MeshAxis;
  /** Index of the operator that needs it. */
  readonly operator: number;
  readonly pass: 'forward' | 'backward';
  /** `send`: to the next worker of a ring. */
  readonly collective: 'all-reduce' | 'all-gather' | 'reduce-scatter' | 'all-to-all' | 'send';
  /** Of the whole tensor, as the workers together have it; of a send, of the part that goes on. */
  readonly elements: number;
  /** One after another; left out, one. */
  readonly times?: number;
  /** Of rows that a router chose experts for: how many each goes to. */
  readonly chosen?: number;
  /** Where the number type does not follow that of the operator. */
  readonly bytesPerElement?: number;
}

export interface TensorTraffic {
  readonly collectives: readonly MeshCollective[];
  /** Weights that are whole on each worker, of whose gradients each has a part: added up once in a step. */
  readonly partialGradients: ReadonlySet<string>;
  /** Split values that operators read whole, with the first of these: it gathers for all. */
  readonly gathered: ReadonlyMap<string, number>;
}

/** `elementsOf`: of a value as the workers of a group together have it. */
export function tensorTraffic(
  { training }: DividedGraph,
  division: Division,
  keepsGathered: boolean,
  elementsOf: (name: string) => number,
): TensorTraffic {
  const { values, operators } = division;
  const { graph } = training.analysis;
  const { requiresGradient, tensors } = training;
  const collectives: MeshCollective[] = [];
  const add = (collective: Omit<MeshCollective, 'axis'>): void => {
    collectives.push({ axis: 'tensor', ...collective });
  };
  const partialGradients = new Set<string>();
  /** Whole values of which divided operators have given a part of the gradient. */
  const reduced = new Set<string>();
  const gathered = new Map<string, number>();
  for (const [operator, names] of projectionsRegrouped(training.analysis, division)) {
    const elements = names.reduce((total, name) => total + elementsOf(name), 0);
    add({ operator, pass: 'forward', collective: 'all-gather', elements });
    if (names.some((name) => requiresGradient.has(name)))
      add({ operator, pass: 'backward', collective: 'reduce-scatter', elements });
  }
  for (const operator of graph.operators) {
    const { index } = operator;
    const divided = operators.get(index);
    const isRead = (tensor: number): boolean =>
      divided?.factor.inputs.some((place) => place.tensor === tensor) === true;
    for (const [tensor, name] of operator.inputs.entries()) {
      const value = graph.values.get(name);
      if (value === undefined || !tensors.has(name) || isRead(tensor) || isReadForSizes(operator, tensor))
        continue;
      const isSplit = values.has(name) && value.producer !== undefined;
      const elements = elementsOf(name);
      if (isSplit && !gathered.has(name)) {
        gathered.set(name, index);
        add({ operator: index, pass: 'forward', collective: 'all-gather', elements });
        // The gradient of the weight needs what the product read.
        if (!keepsGathered && divided !== undefined && requiresGradient.has(name))
          add({ operator: index, pass: 'backward', collective: 'all-gather', elements });
      }
      if (divided === undefined || !requiresGradient.has(name) || reduced.has(name)) continue;
      reduced.add(name);
      // A bias behind partial sums is added when they are whole; its gradient is a part where rows were scattered before.
      const isAfterSum = divided.factor.partial?.once?.includes(tensor) === true;
      const isWholeSum = divided.factor.partial?.outputs.every(
        (each) => !values.has(operator.outputs[each] ?? ''),
      );
      if (isAfterSum && isWholeSum !== false) continue;
      if (training.analysis.costing.gradients.isStored(name)) {
        for (const weight of weightsBehind(name, training)) partialGradients.add(weight);
      } else {
        const collective = isSplit ? 'reduce-scatter' : 'all-reduce';
        add({ operator: index, pass: 'backward', collective, elements });
      }
    }
    if (divided?.factor.classes === true) {
      // The greatest score, the score of the label and the sum of the exponentials of each row, in fp32.
      const rows = elementsOf(operator.inputs[0] ?? '') / divided.factor.size;
      for (let count = 0; count < 3; count += 1)
        add({
          operator: index,
          pass: 'forward',
          collective: 'all-reduce',
          elements: rows,
          bytesPerElement: 4,
        });
    }
    if (divided === undefined || divided.factor.outputs.length > 0) continue;
    for (const output of divided.factor.partial?.outputs ?? []) {
      const name = operator.outputs[output] ?? '';
      const isScattered = values.has(name);
      add({
        operator: index,
        pass: 'forward',
        collective: isScattered ? 'reduce-scatter' : 'all-reduce',
        elements: elementsOf(name),
      });
      if (isScattered && requiresGradient.has(name))
        add({
          operator: index,
          pass: 'backward',
          collective: 'all-gather',
          elements: elementsOf(name),
        });
    }
  }
  return { collectives, partialGradients, gathered };
}

/** What only asks for the sizes of a tensor needs none of its elements. */
const isReadForSizes = (operator: Operator, tensor: number): boolean =>
  inputOf(operator, tensor)?.role === 'shape';

/** The parameters that a stored tensor is a layout of. */
function weightsBehind(name: string, { analysis }: DividedGraph['training']): readonly string[] {
  const { values, operators } = analysis.graph;
  let own: string | undefined = name;
  while (own !== undefined) {
    const producer: number | undefined = values.get(own)?.producer;
    if (producer === undefined) return [own];
    own = operators[producer]?.inputs[0];
  }
  return [];
}
