/** Operators that the optimizer of an exporter put together, where the model may run them one by one. */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';

/** The rules that made a node, as `onnxscript.rewriter` records them: `RmsNormFusion2`. */
const rules = 'pkg.onnxscript.rewriter.rule_name';

export function issuesOfFusedOperators(nodes: readonly OnnxNode[]): readonly Issue[] {
  const fused = nodes.filter(({ metadata }) => /Fusion/.test(metadata.get(rules) ?? ''));
  const [first] = fused;
  if (first === undefined) return [];
  const count = fused.length === 1 ? '1 operator' : `${fused.length} operators`;
  return [
    {
      code: 'graph/fused-operators',
      severity: 'information',
      message: `The exporter fused what the model writes out into ${count}, first ${first.type} \`${first.name || first.outputs[0]}\`: each is costed as one kernel; export with \`optimize=False\` if training runs them one by one`,
    },
  ];
}
