/** How often a call is repeated: what stands behind its `*`. */

import type { LayerCall } from '../../formats/layer-spec/syntax.ts';
import { evaluate } from './evaluate.ts';
import { printValue } from './layerDefinition.ts';
import { isTensor, reportError, type Scope } from './scope.ts';

/** `undefined` where the call is not repeated; 1 where the number is wrong, which is said. */
export function repetitionsOf({ repetition }: LayerCall, scope: Scope): number | undefined {
  if (repetition === undefined) return undefined;
  const { span } = repetition;
  const factor = repetition.kind === 'name' ? repetition.name : undefined;
  if (factor !== undefined && !scope.values.has(factor) && isTensor(factor, scope)) {
    const message = `\`*\` behind a call repeats it, and \`${factor}\` is a tensor; multiply on a line of its own: \`mul(…, ${factor})\``;
    return reportError(scope, 'spec/call', message, span);
  }
  const count = evaluate(repetition, scope.values, scope.report);
  if (count === undefined) return 1;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 1) return count;
  const hint = count === 0 ? '; put `#` before the line to leave it out' : '';
  const message = `a layer is repeated a whole number of times, at least once, not ${printValue(count)}${hint}`;
  reportError(scope, 'spec/call', message, span);
  return 1;
}
