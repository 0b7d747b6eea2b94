/** What of a training graph has no known cost, why, and the most it can be where the data cannot make it more. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { formatFlops, formatOperations } from '../model/format.ts';
import type { UnknownPart, WorkBound } from '../model/stepCost.ts';
import { flops } from '../model/units.ts';
import type { KnownCost, UnknownCost } from '../operators/definition.ts';

/** Operators of unknown cost, in the order of the graph. */
export function unknownParts(training: TrainingGraph): readonly UnknownPart[] {
  const unknown: UnknownPart[] = [];
  const { costs, analysis } = training;
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
    unknown.push({
      operator: nameOf(index) ?? `operator ${index}`,
      reason: cost.reason,
      atMost: cost.atMost ? boundOf(cost.atMost) : null,
    });
  }
  return unknown;
}

/** A bound as the report has it, whose numbers are plain. */
interface PlainBound {
  readonly flops: { readonly forward: number; readonly backward: number };
  readonly operations: { readonly forward: number; readonly backward: number };
}

interface PlainPart {
  readonly reason: string;
  readonly atMost: PlainBound | null;
}

/** `reason; at most 3.20 GFLOP forward, 6.40 GFLOP backward` */
export const unknownText = ({ reason, atMost }: PlainPart): string =>
  atMost === null || isNothing(atMost) ? reason : `${reason}; at most ${boundText(atMost)}`;

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

const isNothing = ({ flops: products, operations }: PlainBound): boolean =>
  products.forward + products.backward + operations.forward + operations.backward === 0;

const boundOf = ({ forward, backwardData, backwardWeight }: KnownCost): WorkBound => ({
  flops: { forward: flops(forward.flops), backward: flops(backwardData.flops + backwardWeight.flops) },
  operations: { forward: forward.operations, backward: backwardData.operations + backwardWeight.operations },
});
