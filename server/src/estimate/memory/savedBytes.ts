/** What forward keeps for backward, and what backward makes again, operator by operator. */

import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import { floatAt } from '../../model/at.ts';

/** Bytes, in columns aligned with the operators of the graph. */
export interface SavedBytes {
  /** What each operator is the first to keep for backward. */
  readonly activations: Float64Array;
  readonly weightCopies: Float64Array;
  /** What was made again or for itself and is there while the backward of each operator runs. */
  readonly recomputed: Float64Array;
  /** Copies of weights that forward holds, and backward makes again. */
  readonly recopied: Float64Array;
}

export function savedBytes({ operators }: LoweredGraph): SavedBytes {
  const activations = new Float64Array(operators.length);
  const weightCopies = new Float64Array(operators.length);
  const recomputed = new Float64Array(operators.length);
  const recopied = new Float64Array(operators.length);
  const seen = new Set<string>();
  for (let index = 0; index < operators.length; index += 1) {
    for (const tensor of operators[index]?.saved ?? []) {
      if (seen.has(tensor.key)) continue;
      seen.add(tensor.key);
      const column = tensor.weightCopy ? weightCopies : activations;
      column[index] = floatAt(column, index) + tensor.bytes;
    }
  }
  /** By group: what has been made again so far, which is what its backward still holds at each operator. */
  const made = new Map<number, { readonly keys: Set<string>; bytes: number }>();
  for (let index = 0; index < operators.length; index += 1) {
    const operator = operators[index];
    if (operator === undefined) continue;
    const { backwardTemporary = 0, recomputed: repeated } = operator;
    recomputed[index] = backwardTemporary;
    if (repeated === undefined) continue;
    const group = made.get(repeated.group) ?? { keys: new Set(), bytes: 0 };
    made.set(repeated.group, group);
    for (const tensor of repeated.tensors) {
      if (seen.has(tensor.key) || group.keys.has(tensor.key)) continue;
      group.keys.add(tensor.key);
      group.bytes += tensor.bytes;
      if (tensor.weightCopy) recopied[index] = floatAt(recopied, index) + tensor.bytes;
    }
    recomputed[index] = floatAt(recomputed, index) + group.bytes;
  }
  return { activations, weightCopies, recomputed, recopied };
}
