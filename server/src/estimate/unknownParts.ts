/** What of a training graph has no known cost, why, and the most it can be where the data cannot make it more. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { formatFlops, formatOperations } from '../model/format.ts';
import type { UnknownPart, WorkBound } from '../model/stepCost.ts';
import { flops } from '../model/units.ts';
import type { KnownCost, UnknownCost } from '../operators/definition.ts';

/** Operators of unknown cost, in the order of the graph; `origins` are those of `unknownOrigins`. */
export function unknownParts(
  training: TrainingGraph,
  origins: ReadonlyMap<number, number>,
): readonly UnknownPart[] {
  const unknown: UnknownPart[] = [];
  const { costs, analysis } = training;
  const layerOf = layersOfOrigins(training, origins);
  // Names are those of the graph; asking for them alone leaves a folded graph as it is.
  const nameOf =
    analysis.folded?.nameOf ??
    ((index: number) => {
      const operator = analysis.graph.operators[index];
      return operator?.name === '' ? operator.outputs[0] : operator?.name;
    });
  for (let index = 0; index < costs.length; index += 1) {
    const cost = costs[index];
    if (cost?.kind !== 'unknown') continue;
    const origin = origins.get(index);
    const first = origin === undefined ? undefined : costs[origin];
    unknown.push({
      operator: nameOf(index) ?? `operator ${index}`,
      reason: first?.kind === 'unknown' ? first.reason : cost.reason,
      since: origin === undefined ? null : (layerOf.get(origin) ?? null),
      atMost: cost.atMost ? boundOf(cost.atMost) : null,
    });
  }
  return unknown;
}

/** Names of the layers in which operators are that make others unknown. */
export function layersOfOrigins(
  { analysis }: TrainingGraph,
  origins: ReadonlyMap<number, number>,
): ReadonlyMap<number, string> {
  if (origins.size === 0) return new Map();
  const wanted = new Set(origins.values());
  const layerOf = new Map<number, string>();
  for (const { name, operators } of analysis.layers) {
    for (const index of operators) if (wanted.has(index)) layerOf.set(index, name);
  }
  return layerOf;
}

/** What is unknown for one reason: several operators that follow from one, above all. */
export interface UnknownGroup {
  readonly operators: readonly string[];
  readonly text: string;
}

/** Parts in order of their first; those that say the same together. */
export function groupUnknown(
  parts: readonly (PlainPart & { readonly operator: string })[],
): readonly UnknownGroup[] {
  const groups = new Map<string, string[]>();
  for (const part of parts) {
    const text = unknownText(part);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [part.operator]);
    else group.push(part.operator);
  }
  return [...groups].map(([text, operators]) => ({ operators, text }));
}

/** `a, b, c and 12 more` */
export function listOperators({ operators }: UnknownGroup, print: (name: string) => string): string {
  const shown = operators.slice(0, mostNamed).map(print).join(', ');
  const rest = operators.length - mostNamed;
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

const mostNamed = 4;

/** A bound as the report has it, whose numbers are plain. */
interface PlainBound {
  readonly flops: { readonly forward: number; readonly backward: number };
  readonly operations: { readonly forward: number; readonly backward: number };
}

interface PlainPart {
  readonly reason: string;
  readonly since?: string | null | undefined;
  readonly atMost: PlainBound | null;
}

/** ``unknown since `fc1`: reason; at most 3.20 GFLOP forward, 6.40 GFLOP backward`` */
function unknownText({ reason, since, atMost }: PlainPart): string {
  const text = since === null || since === undefined ? reason : `unknown since \`${since}\`: ${reason}`;
  return atMost === null || isNothing(atMost) ? text : `${text}; at most ${boundText(atMost)}`;
}

/** The text of an operator's unknown cost. */
export const unknownCostText = ({ reason, atMost }: UnknownCost): string =>
  unknownText({ reason, atMost: atMost === undefined ? null : boundOf(atMost) });

/** The most that all parts together add to the totals; `null` where one of them has no bound. */
export function boundOfParts(parts: readonly Pick<PlainPart, 'atMost'>[]): PlainBound | null {
  const flopsOf = { forward: 0, backward: 0 };
  const operations = { forward: 0, backward: 0 };
  for (const { atMost } of parts) {
    if (atMost === null) return null;
    for (const pass of ['forward', 'backward'] as const) {
      flopsOf[pass] += atMost.flops[pass];
      operations[pass] += atMost.operations[pass];
    }
  }
  return { flops: flopsOf, operations };
}

/** FLOPs where there are any, element-wise operations otherwise. */
export function boundText(bound: PlainBound): string {
  const inFlops = bound.flops.forward + bound.flops.backward > 0;
  const { forward, backward } = inFlops ? bound.flops : bound.operations;
  const print = (count: number): string =>
    inFlops ? formatFlops(flops(count)) : `${formatOperations(count)} element-wise`;
  return backward === 0
    ? `${print(forward)} forward`
    : `${print(forward)} forward, ${print(backward)} backward`;
}

const isNothing = ({ flops: matmuls, operations }: PlainBound): boolean =>
  matmuls.forward + matmuls.backward + operations.forward + operations.backward === 0;

const boundOf = ({ forward, backwardData, backwardWeight }: KnownCost): WorkBound => ({
  flops: { forward: flops(forward.flops), backward: flops(backwardData.flops + backwardWeight.flops) },
  operations: { forward: forward.operations, backward: backwardData.operations + backwardWeight.operations },
});
