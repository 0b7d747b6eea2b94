/** What a line gives, under the names it gives them. */

import type { SpecLayer } from '../../formats/layer-spec/syntax.ts';
import { findLayer } from './layerDefinitions.ts';
import type { LoweringRun } from './loweringRun.ts';
import { type Outputs, reportError, type Scope, single } from './scope.ts';
import { unknownTensor } from './standIns.ts';

/** `- x: …` names all outputs together, `- a, b: …` each by itself. */
export function nameOutputs(
  { name, names, call }: SpecLayer,
  outputs: Outputs,
  scope: Scope,
  run: LoweringRun,
): void {
  if (names.length <= 1) {
    scope.tensors.set(name.text, outputs);
    return;
  }
  const count = outputs.tensors.length;
  const more = count - names.length;
  const callee = findLayer(call?.callee.text ?? '');
  // Layers name their outputs, the first of which is what most people want; parts of a tensor are alike.
  if (more > 0 && callee?.kind === 'function' && callee.outputs === undefined && call !== undefined) {
    const others = more === 1 ? 'the last one' : 'the others';
    const message = `${call.callee.text} gives ${count} tensors, not ${names.length}; name ${others} too`;
    reportError(scope, 'spec/call', message, names.at(-1)?.span ?? call.callee.span);
  }
  for (const [index, { text, span }] of names.entries()) {
    let tensor = outputs.tensors[index];
    if (tensor === undefined) {
      const message = `${call?.callee.text} gives ${count === 1 ? 'one tensor' : `${count} tensors`}, not ${names.length}`;
      reportError(scope, 'spec/call', message, span);
      tensor = unknownTensor(`${scope.prefix}${text}`, scope, span, run);
    }
    scope.tensors.set(text, single(tensor));
  }
}
