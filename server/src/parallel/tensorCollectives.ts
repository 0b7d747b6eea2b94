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
import type { DividedFactor, Division } from './division.ts';
import type { MeshCollective } from './meshCollective.ts';
import { projectionsRegrouped } from './sharedHeads.ts';

export interface TensorTraffic {
  readonly collectives: readonly MeshCollective[];
  /** Weights that are whole on each worker, of whose gradients each has a part: added up once in a step. */
  readonly partialGradients: ReadonlySet<string>;
  /** Split values that operators read whole, with the first of these: it gathers for all. */
  readonly gathered: ReadonlyMap<string, number>;
}

type Exchange = Omit<MeshCollective, 'axis'>;

interface TensorWork {
  readonly training: DividedGraph['training'];
  readonly division: Division;
  /** Whether what was gathered in forward is kept for backward. */
  readonly keepsGathered: boolean;
  readonly elementsOf: (name: string) => number;
}

/** What goes once for all that read a value, written in place. */
interface Met {
  readonly partialGradients: Set<string>;
  readonly gathered: Map<string, number>;
  /** Whole values of which divided operators have given a part of the gradient. */
  readonly reduced: Set<string>;
}

/** `elementsOf`: of a value as the workers of a group together have it. */
export function tensorTraffic(
  { training }: DividedGraph,
  division: Division,
  keepsGathered: boolean,
  elementsOf: (name: string) => number,
): TensorTraffic {
  const work = { training, division, keepsGathered, elementsOf };
  const partialGradients: Met['partialGradients'] = new Set();
  const gathered: Met['gathered'] = new Map();
  const met = { partialGradients, gathered, reduced: new Set<string>() };
  const exchanges = [
    ...gathersOfProjections(work),
    ...training.analysis.graph.operators.flatMap((operator) => {
      const divided = division.operators.get(operator.index);
      return [
        ...wholeReads(operator, work).flatMap((tensor) => [
          ...gathers(operator, tensor, work, met),
          ...sumsOfGradients(operator, tensor, work, met),
        ]),
        ...(divided === undefined ? [] : sumsOverClasses(operator, divided, elementsOf)),
        ...(divided === undefined ? [] : partialSums(operator, divided, work)),
      ];
    }),
  ];
  const collectives = exchanges.map((exchange): MeshCollective => ({ axis: 'tensor', ...exchange }));
  return { collectives, partialGradients, gathered };
}

/** Projections that are gathered before attention whose workers share heads. */
function gathersOfProjections({ training, division, elementsOf }: TensorWork): readonly Exchange[] {
  const projections = [...projectionsRegrouped(training.analysis, division)];
  return projections.flatMap(([operator, names]): readonly Exchange[] => {
    const elements = names.reduce((total, name) => total + elementsOf(name), 0);
    const gather = { operator, pass: 'forward', collective: 'all-gather', elements } as const;
    return names.some((name) => training.requiresGradient.has(name))
      ? [gather, { operator, pass: 'backward', collective: 'reduce-scatter', elements }]
      : [gather];
  });
}

/** The inputs of an operator that each worker reads whole, by their places. */
function wholeReads(operator: Operator, { training, division }: TensorWork): readonly number[] {
  const { graph } = training.analysis;
  const divided = division.operators.get(operator.index)?.factor.inputs ?? [];
  return operator.inputs.flatMap((name, tensor) =>
    graph.values.has(name) &&
    training.tensors.has(name) &&
    !divided.some((place) => place.tensor === tensor) &&
    !isReadForSizes(operator, tensor)
      ? [tensor]
      : [],
  );
}

const isSplit = (name: string, { training, division }: TensorWork): boolean =>
  division.values.has(name) && training.analysis.graph.values.get(name)?.producer !== undefined;

/** A split value is gathered before the first operator that reads it whole. */
function gathers(operator: Operator, tensor: number, work: TensorWork, met: Met): readonly Exchange[] {
  const { index } = operator;
  const name = operator.inputs[tensor] ?? '';
  if (!isSplit(name, work) || met.gathered.has(name)) return [];
  met.gathered.set(name, index);
  const gather = { operator: index, collective: 'all-gather', elements: work.elementsOf(name) } as const;
  // The gradient of the weight needs what the product read.
  const isAgain =
    !work.keepsGathered && work.division.operators.has(index) && work.training.requiresGradient.has(name);
  return isAgain
    ? [
        { ...gather, pass: 'forward' },
        { ...gather, pass: 'backward' },
      ]
    : [{ ...gather, pass: 'forward' }];
}

/** Parts of the gradient of a whole value, of which divided operators have one each, are added up once. */
function sumsOfGradients(
  operator: Operator,
  tensor: number,
  work: TensorWork,
  met: Met,
): readonly Exchange[] {
  const { training, division, elementsOf } = work;
  const { index } = operator;
  const name = operator.inputs[tensor] ?? '';
  const divided = division.operators.get(index);
  if (divided === undefined || !training.requiresGradient.has(name) || met.reduced.has(name)) return [];
  met.reduced.add(name);
  if (isAddedToWholeSum(operator, tensor, divided, division)) return [];
  if (training.analysis.costing.gradients.isStored(name)) {
    for (const weight of weightsBehind(name, training)) met.partialGradients.add(weight);
    return [];
  }
  const collective = isSplit(name, work) ? 'reduce-scatter' : 'all-reduce';
  return [{ operator: index, pass: 'backward', collective, elements: elementsOf(name) }];
}

/** A bias behind partial sums is added when they are whole; its gradient is a part where rows were scattered before. */
function isAddedToWholeSum(
  { outputs }: Operator,
  tensor: number,
  { factor: { partial } }: DividedFactor,
  { values }: Division,
): boolean {
  return (
    partial?.once?.includes(tensor) === true &&
    partial.outputs.every((each) => !values.has(outputs[each] ?? ''))
  );
}

/** The greatest score, the score of the label and the sum of the exponentials of each row, in fp32. */
function sumsOverClasses(
  { index, inputs }: Operator,
  { factor }: DividedFactor,
  elementsOf: (name: string) => number,
): readonly Exchange[] {
  if (factor.classes !== true) return [];
  const elements = elementsOf(inputs[0] ?? '') / factor.size;
  const sum = {
    operator: index,
    pass: 'forward',
    collective: 'all-reduce',
    elements,
    bytesPerElement: 4,
  } as const;
  return [sum, sum, sum];
}

/** Partial sums are added up behind the operator that gives them, or scattered along the sequence. */
function partialSums(
  { index, outputs }: Operator,
  { factor }: DividedFactor,
  { training, division, elementsOf }: TensorWork,
): readonly Exchange[] {
  if (factor.outputs.length > 0) return [];
  return (factor.partial?.outputs ?? []).flatMap((output): readonly Exchange[] => {
    const name = outputs[output] ?? '';
    const elements = elementsOf(name);
    const forward = { operator: index, pass: 'forward', elements } as const;
    if (!division.values.has(name)) return [{ ...forward, collective: 'all-reduce' }];
    const scatter = { ...forward, collective: 'reduce-scatter' } as const;
    return training.requiresGradient.has(name)
      ? [scatter, { operator: index, pass: 'backward', collective: 'all-gather', elements }]
      : [scatter];
  });
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
