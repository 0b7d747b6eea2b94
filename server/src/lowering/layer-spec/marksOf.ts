/** How a call is trained: its marks over those of the blocks around it. */

import type { LayerCall } from '../../formats/layer-spec/syntax.ts';
import type { LayerMarks } from '../../model/graph.ts';
import { precisions } from '../../model/scenario.ts';
import type { LoweringRun } from './loweringRun.ts';
import type { Scope } from './scope.ts';

/** Marks of one call. Each call that is recomputed is so by itself, unless a block around it is. */
export function marksOf(call: LayerCall, scope: Scope, run: LoweringRun): LayerMarks {
  if (call.marks.length === 0) return scope.marks;
  let { frozen, precision, recomputed } = scope.marks;
  for (const { name, value } of call.marks) {
    if (name.text === 'frozen') frozen = true;
    if (name.text === 'precision') {
      precision = precisions.find((candidate) => candidate === value?.text) ?? precision;
    }
    if (name.text === 'recompute') recomputed ??= run.nextRecomputed();
  }
  return {
    ...(frozen === undefined ? {} : { frozen }),
    ...(precision === undefined ? {} : { precision }),
    ...(recomputed === undefined ? {} : { recomputed }),
  };
}
