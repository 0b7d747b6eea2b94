/** Tells functions with a backward of their own, of which an ONNX file has the operators of forward and their stack traces. */

import { customFunctions } from '../../formats/customFunctions.ts';
import type { OnnxModel } from '../../formats/onnx/syntax.ts';
import type { Issue } from '../../model/issue.ts';

/** `undefined` where no trace goes through such a function. */
export function customBackwardExport({ graph }: Pick<OnnxModel, 'graph'>): Issue | undefined {
  const found = customFunctions(
    graph.nodes.flatMap(({ metadata }) => metadata.get('pkg.torch.onnx.stack_trace') ?? []),
  );
  const [first] = found;
  if (first === undefined) return undefined;
  const others = found.size === 1 ? '' : ` (${found.size} functions are such)`;
  return {
    code: 'graph/custom-backward',
    severity: 'warning',
    message: `\`${first[0]}\`, called in ${first[1]}, has a backward of its own, which ONNX does not hold${others}: backward and what it keeps are costed as those of the operators of its forward`,
  };
}
