/** Operators that the optimizer of an exporter put together, where the model may run them one by one. */

import type { OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Issue } from '../model/issue.ts';

/** The rules that made a node, as `onnxscript.rewriter` records them: `RmsNormFusion2`. */
const rules = 'pkg.onnxscript.rewriter.rule_name';

/** What ONNX Runtime fuses from operators that models write out, and that no exporter writes by itself. */
const fusedTypes: ReadonlySet<string> = new Set([
  'FastGelu',
  'SimplifiedLayerNormalization',
  'SkipSimplifiedLayerNormalization',
]);

export function issuesOfFusedOperators(nodes: readonly OnnxNode[]): readonly Issue[] {
  return issuesOf(nodes.filter(({ metadata }) => /Fusion/.test(metadata.get(rules) ?? '')));
}

/** The same of operators that ONNX Runtime's optimizers made in an export of PyTorch, where nothing is recorded. */
export const issuesOfRuntimeFusions = ({ producerName, graph: { nodes } }: OnnxModel): readonly Issue[] =>
  producerName === 'pytorch' || producerName === 'onnxruntime.transformers'
    ? issuesOf(nodes.filter(({ type, metadata }) => fusedTypes.has(type) && !metadata.has(rules)))
    : [];

function issuesOf(fused: readonly OnnxNode[]): readonly Issue[] {
  const [first] = fused;
  if (first === undefined) return [];
  const count = fused.length === 1 ? '1 operator' : `${fused.length} operators`;
  return [
    {
      code: 'graph/fused-operators',
      severity: 'information',
      message: `${count}, first ${first.type} \`${first.name || first.outputs[0]}\`, may be fused from what the model writes out: each is costed as one kernel; if training runs them one by one, export with \`optimize=False\` and take the file from before it was optimized`,
    },
  ];
}
