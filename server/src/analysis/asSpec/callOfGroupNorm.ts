/** Group normalization that an exporter wrote as one of instances, between two reshapes, as the layer that it was. */

import type { Composite } from '../../composites/composite.ts';
import { equalDimensions } from '../../model/dimension.ts';
import { isWeight, knownShapeOf, type Operator } from '../../model/graph.ts';
import { attributeReaders } from '../../operators/attributeReaders.ts';
import type { GraphFacts, StoredWeight } from './graphFacts.ts';
import { type SpecCall, tensor } from './specCall.ts';
import { numberText } from './specValues.ts';

/** Whether an operator only lays out channels as groups for the normalization that alone reads it. */
export function groupsChannels(
  { type, domain, outputs }: Operator,
  composed: ReadonlyMap<number, Composite>,
  facts: GraphFacts,
): Composite | undefined {
  const reader = domain === '' && type === 'Reshape' ? facts.onlyReader(outputs[0] ?? '') : undefined;
  const composite = reader === undefined ? undefined : composed.get(reader.index);
  return composite?.kind === 'group-norm' ? composite : undefined;
}

/** `undefined` where the layer is not all that there is: other scales before it, another shape behind it. */
export function groupNorm(composite: Composite, facts: GraphFacts): SpecCall | undefined {
  const [output = ''] = composite.outputs;
  const { input: grouped, scale, bias } = composite.roles;
  const groups = facts.graph.operators[facts.value(grouped)?.producer ?? -1];
  const [normalization] = composite.operators.map((index) => facts.graph.operators[index]);
  const [input = ''] = groups?.inputs ?? [];
  const [before, between, after] = [input, grouped, output].map((name) =>
    knownShapeOf(facts.graph, name ?? ''),
  );
  if (groups === undefined || normalization?.type !== 'InstanceNormalization') return undefined;
  if (before === undefined || between === undefined || after === undefined) return undefined;
  if (facts.onlyReader(grouped ?? '') !== normalization || before.length < 3) return undefined;
  const isPutBack =
    before.length === after.length &&
    before.every((size, axis) => {
      const there = after[axis];
      return there !== undefined && equalDimensions(size, there);
    });
  const [channels, count] = [before[1], between[1]];
  if (!isPutBack || typeof channels !== 'number' || typeof count !== 'number') return undefined;
  if (!holds(normalization.inputs[1], 1, facts) || !holds(normalization.inputs[2], 0, facts))
    return undefined;
  const weights = [scale, bias].flatMap((name) =>
    name === undefined ? [] : [vector(name, channels, facts)],
  );
  const isPlain = scale === undefined && bias === undefined;
  const [first, second] = weights;
  if (!isPlain && (first === undefined || second === undefined || first.isFrozen !== second.isFrozen))
    return undefined;
  const epsilon = attributeReaders(normalization.attributes).float('epsilon', 1e-5);
  return {
    callee: 'GroupNorm',
    kind: 'module',
    inputs: [tensor(input)],
    settings: [
      String(count),
      String(channels),
      ...(Math.abs(epsilon - 1e-5) < 1e-11 ? [] : [`eps=${numberText(epsilon)}`]),
      ...(isPlain ? ['affine=False'] : []),
    ],
    outputs: [output],
    operators: [groups.index, ...composite.operators],
    ...(first?.isFrozen === true ? { frozen: true as const } : {}),
  };
}

/** A scale or shift of each channel that no other operator reads. */
function vector(name: string, channels: number, facts: GraphFacts): StoredWeight | undefined {
  const weight = facts.weight(name);
  const [own, ...others] = weight?.shape ?? [];
  const isOfChannels = own === channels && others.every((size) => size === 1);
  return weight !== undefined && isOfChannels && facts.isOwn(weight.base) ? weight : undefined;
}

/** What the exporter puts where the operator wants weights of groups; trained ones are another layer. */
const holds = (name: string | undefined, number: number, facts: GraphFacts): boolean => {
  const value = facts.value(name);
  return !isWeight(value?.role) && value?.content?.elements.every((element) => element === number) === true;
};
