/** Whether the blocks that were left out would have come out as those that stand for them. */

import type { Operator } from '../../model/graph.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import { analysisAt, type FoldedAnalysis, type Representative } from './foldedAnalysis.ts';
import { foldedIndex, isSettledAround, keptAtEnd, keptAtStart } from './foldGraph.ts';

/** Whether nothing that was found tells the last blocks before the cut and the first behind it apart. */
export function hasSettled(
  subject: FoldedAnalysis,
  representative: (name: string) => Representative,
): boolean {
  return (
    !hasIssueInBlock(subject) &&
    isSettledAround(subject.folded.layout, comparedIn(subject)) &&
    areRolesGivenAlike(subject, representative) &&
    areUsedAlike(subject) &&
    areInputsAlike(subject, representative)
  );
}

/** Issues of a block name its operators, so that each block would have its own. */
function hasIssueInBlock(subject: FoldedAnalysis): boolean {
  const { layout } = subject.folded;
  const sources = new Set<number>();
  for (let index = layout.cut - layout.period; index < layout.cut; index += 1) {
    sources.add(subject.nodes[index]?.source ?? -1);
  }
  const { issues } = analysisAt(subject).shortest;
  return issues.some(({ operator }) => operator !== undefined && sources.has(operator));
}

/** Whether two operators of the folded graph are the same to every rule, with what flows in and out of them. */
function comparedIn(subject: FoldedAnalysis): (first: number, second: number) => boolean {
  const { shortest, at } = analysisAt(subject);
  const { graph, costing } = shortest;
  const { gradients, groups, auxiliary } = costing;
  const isSameValue = (left: string, right = ''): boolean => {
    const [ours, theirs] = [subject.uses.get(left), subject.uses.get(right)];
    return (
      graph.values.get(left)?.role === graph.values.get(right)?.role &&
      gradients.requires.has(left) === gradients.requires.has(right) &&
      gradients.isReached(left) === gradients.isReached(right) &&
      gradients.isStored(left) === gradients.isStored(right) &&
      ours?.differentiable === theirs?.differentiable &&
      ours?.asWeight === theirs?.asWeight &&
      ours?.asWeightOnly === theirs?.asWeightOnly
    );
  };
  const areSameValues = (names: readonly string[], others: readonly string[]): boolean =>
    names.every((name, index) => name === '' || isSameValue(name, others[index]));
  const isSameKind = (operator: Operator, like: Operator, index: number, other: number): boolean => {
    // Constants of one content may be of several kinds; they were compared when the repetition was proven.
    if (hasTrait(operator, 'constant') && hasTrait(like, 'constant')) return true;
    return operator.kind !== undefined && operator.kind === like.kind && groups[index] === groups[other];
  };
  return (first, second) => {
    const [index, other] = [at(first), at(second)];
    const operator = graph.operators[index];
    const like = graph.operators[other];
    if (operator === undefined || like === undefined || operator.contradiction !== undefined) return false;
    return (
      isSameKind(operator, like, index, other) &&
      auxiliary.shapeArithmetic[index] === auxiliary.shapeArithmetic[other] &&
      auxiliary.storedLayout[index] === auxiliary.storedLayout[other] &&
      areSameValues(operator.outputs, like.outputs) &&
      areSameValues(operator.inputs, like.inputs)
    );
  };
}

/** Whether stored tensors of the blocks around the cut are trained by the operators at the same places of their blocks. */
function areUsedAlike({ analysis, repetition, folded: { layout } }: FoldedAnalysis): boolean {
  const parameters = new Map(analysis.parameters.map((parameter) => [parameter.name, parameter]));
  const { cut, period } = layout;
  const firstOfBlock = new Map([
    [keptAtStart - 2, cut - period],
    [keptAtStart - 1, cut],
    [repetition.count - keptAtEnd, cut + period],
  ]);
  const uses = new Map<string, string>();
  for (const [name, block] of repetition.owners) {
    const first = firstOfBlock.get(block);
    if (first === undefined) continue;
    const readers = parameters.get(name)?.operators.map((index) => index - first);
    const use = readers?.join() ?? 'untrained';
    const origin = repetition.origins.get(name) ?? '';
    const before = uses.get(origin);
    if (before !== undefined && before !== use) return false;
    uses.set(origin, use);
  }
  return true;
}

function areInputsAlike(subject: FoldedAnalysis, representative: (name: string) => Representative): boolean {
  const { graph } = analysisAt(subject).shortest;
  const whole = subject.analysis.graph.values;
  return graph.inputs.every((given) => {
    const { name } = representative(given);
    return (graph.values.get(name)?.role ?? whole.get(name)?.role) === 'input';
  });
}

/** Whether what a lowering says of the roles of values is the same of those left out and of those that stand for them. */
function areRolesGivenAlike(
  { provided, repetition, folded, nodes }: FoldedAnalysis,
  representative: (name: string) => Representative,
): boolean {
  if (provided === undefined || provided.roles.size === 0) return true;
  const { roles } = provided;
  for (const name of repetition.owners.keys()) {
    if (roles.get(name) !== roles.get(representative(name).name)) return false;
  }
  const { cut, period, copies } = folded.layout;
  for (let index = cut; index < cut + copies * period; index += 1) {
    const shown = folded.nodes[foldedIndex(folded.layout, index)]?.node.outputs;
    const alike = nodes
      .at(index)
      ?.node.outputs.every((name, output) => roles.get(name) === roles.get(shown?.[output] ?? ''));
    if (alike === false) return false;
  }
  return true;
}
