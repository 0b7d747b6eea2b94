/**
 * Masks of booleans that `scaled_dot_product_attention` makes numbers of itself: exporters write that conversion out in front of the
 * scores, once for each call. It happens behind the casts of autocast and gives the type of the queries (PyTorch 2.13
 * aten/src/ATen/native/transformers/attention.cpp, `convert_boolean_attn_mask`).
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { scalarOf, soleReader } from '../../composites/flow.ts';
import type { Operator } from '../../model/graph.ts';
import type { FusedGroup } from './fusedGroups.ts';

/** Of half precision; exporters write −∞ as the lowest number of the type. */
const lowest = -65_504;

/** Whether an operator is such a conversion: 0 where a key counts, −∞ where it does not, read by one kernel of attention alone. */
export function isConvertedMask(
  { analysis: { graph } }: TrainingGraph,
  operator: Operator,
  groups: ReadonlyMap<number, FusedGroup>,
): boolean {
  const [result = ''] = operator.outputs;
  if (operator.type !== 'Where') return false;
  const [kept, hidden] = operator.inputs.slice(1).map((name) => scalarOf(graph, name));
  if (kept !== 0 || hidden === undefined || hidden > lowest) return false;
  const reader = soleReader(graph, result);
  const group = groups.get(reader?.index ?? -1);
  return group?.kind === 'attention' && group.composite?.roles.mask === result;
}
