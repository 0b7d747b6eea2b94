/** Bounds of the integers that a step is run with, so that lookups stay inside their tables. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { isInteger } from '../model/elementType.ts';
import type { Operator } from '../model/graph.ts';
import { isSameContent } from '../model/sameContent.ts';
import { hasTrait, passesElements } from '../operators/operatorFacts.ts';

/** For integer values that index a table or name a class: how many there are, followed back to where the integers come from. */
export function indexLimits(
  operators: readonly Operator[],
  training: TrainingGraph,
): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  const lower = (name: string | undefined, limit: number | undefined): void => {
    const type = name === undefined ? undefined : training.tensors.get(name)?.elementType;
    if (name === undefined || type === undefined || !isInteger(type)) return;
    if (limit === undefined || !(limit > 0)) return;
    limits.set(name, Math.min(limit, limits.get(name) ?? Number.POSITIVE_INFINITY));
  };
  for (const operator of operators.toReversed()) {
    const [first, second] = operator.inputs;
    if (hasTrait(operator, 'looks-up')) {
      const table = training.tensors.get(first ?? '')?.dimensions;
      const axis = operator.attributes.get('axis');
      lower(second, table?.at(axis?.kind === 'int' ? axis.value : 0));
    } else if (hasTrait(operator, 'loss-of-scores')) {
      const scores = training.tensors.get(first ?? '')?.dimensions;
      const labels = training.tensors.get(second ?? '')?.dimensions;
      const isLast = labels !== undefined && isSameContent(scores?.slice(0, -1), labels);
      lower(second, scores?.at(isLast ? -1 : 1));
    } else if (keepsElements(operator)) {
      for (const output of operator.outputs) {
        const limit = limits.get(output);
        for (const input of hasTrait(operator, 'joins') ? operator.inputs : [first]) lower(input, limit);
      }
    }
  }
  return limits;
}

/** Whether elements come out unchanged, so that a bound on its results bounds what goes in. */
const keepsElements = (operator: Operator): boolean =>
  passesElements(operator, 0) || hasTrait(operator, 'copies-elements') || hasTrait(operator, 'joins');
