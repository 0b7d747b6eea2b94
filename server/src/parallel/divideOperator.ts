/** Divides an operator on the way of a split, and with it the tensors that are split along the same factor. */

import { isWeight, type Operator } from '../model/graph.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { DividedFactor, Division, Regrouped, Split } from './division.ts';
import { blocksOf, matchOf, type Operand } from './matchFactor.ts';
import { isTakenApart } from './sideBySide.ts';

/** How a graph is divided: over how many workers, and whether several may compute with the same head of keys and values. */
export interface SplitRules {
  readonly ways: number;
  readonly sharesHeads: boolean;
}

/** A split while it is followed, written in place, beside what was divided before. */
export interface Following {
  readonly divided: DividedGraph;
  readonly rules: SplitRules;
  readonly before: Division;
  readonly values: Map<string, Split>;
  readonly operators: Map<number, DividedFactor>;
  readonly regrouped: Map<string, Regrouped>;
  /** Split values whose operators have not been looked at. */
  readonly waiting: string[];
}

/** The reason why an operator cannot be divided. `takes`: it takes parts of what comes in, each a result. */
export function divideOperator(
  following: Following,
  operator: Operator,
  match: DividedFactor,
  takes = false,
): string | undefined {
  const { operators, before } = following;
  const known = operators.get(operator.index) ?? before.operators.get(operator.index);
  if (known !== undefined)
    return isSameDivision(known, match) ? undefined : 'it is divided along another dimension already';
  const reason = whyWhole(following.divided, operator, match.factor);
  if (reason !== undefined) return reason;
  operators.set(operator.index, match);
  return (
    splitTensors(following, operator, 'inputs', match) ??
    splitTensors(following, operator, 'outputs', takes ? withoutParts(match) : match)
  );
}

const withoutParts = ({ parts: _, ...match }: DividedFactor): DividedFactor => match;

const isSameDivision = (known: DividedFactor, match: DividedFactor): boolean =>
  isSameFactor(known.factor, match.factor) &&
  known.within === match.within &&
  known.shared === match.shared &&
  isSameContent(known.parts, match.parts);

const isSameFactor = (left: BoundFactor, right: BoundFactor): boolean =>
  left === right || JSON.stringify(left) === JSON.stringify(right);

function whyWhole(divided: DividedGraph, operator: Operator, factor: BoundFactor): string | undefined {
  if (factor.coupled !== undefined) return factor.coupled;
  if (factor.positions === true) return 'it computes over all positions';
  return factor.outputs.length > 0 || factor.classes === true || isProduct(divided, operator, factor)
    ? undefined
    : 'it combines what is split';
}

/** A product with a weight that contracts it, or a table whose rows are divided. */
function isProduct({ training }: DividedGraph, { inputs }: Operator, factor: BoundFactor): boolean {
  const { graph, costing } = training.analysis;
  return (
    factor.partial?.by === 'sum' &&
    factor.inputs.some(({ tensor }) => {
      const value = graph.values.get(inputs[tensor] ?? '');
      return (
        value !== undefined &&
        (isWeight(value.role) || (costing.gradients.isStored(value.name) && value.role === 'activation'))
      );
    })
  );
}

/** Splits the tensors of one side; the reason why one cannot be. */
function splitTensors(
  following: Following,
  operator: Operator,
  side: Operand['side'],
  match: DividedFactor,
): string | undefined {
  const { values, before, regrouped, waiting } = following;
  for (const [name, split] of blocksOf(operator, side, match)) {
    const { shared } = split;
    if (shared !== undefined && side === 'inputs' && isGivenEvenly(following, name, split)) {
      regrouped.set(name, { operator: operator.index, shared });
      continue;
    }
    const known = values.get(name) ?? before.values.get(name);
    if (known === undefined) {
      values.set(name, split);
      waiting.push(name);
    } else if (!isSameContent(known, split)) {
      return `\`${name}\` is split along another dimension already`;
    }
  }
  return undefined;
}

/** What gives a value whose blocks several workers share gives each of them another one, or whole parts of a projection. */
function isGivenEvenly(
  { divided, rules: { ways } }: Following,
  name: string,
  { axis, outer }: Split,
): boolean {
  const { graph } = divided.training.analysis;
  const producer = graph.operators[graph.values.get(name)?.producer ?? -1];
  if (producer === undefined) return false;
  const output = { side: 'outputs', tensor: producer.outputs.indexOf(name) } as const;
  if (matchOf(divided.factorsOf(producer.index), output, { axis, outer }, ways) !== undefined) return true;
  const size = divided.training.tensors.get(name)?.dimensions[axis] ?? 1;
  return outer === 1 && size % ways === 0 && isTakenApart(divided, producer, axis);
}
