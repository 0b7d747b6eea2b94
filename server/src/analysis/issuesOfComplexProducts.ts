/**
 * Products of complex tensors, which ONNX has none for: the torch.export-based exporter writes each as products of real tensors, of parts
 * and pairs of parts that it stores beforehand (onnxscript 0.7, function_libs/torch_lib/ops/core.py, `aten_matmul_complex`).
 */

import type { OperatorOrigin } from '../composites/composite.ts';
import type { Graph, Operator } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';

/** One issue for all calls of one product that the file has as several. */
export function issuesOfComplexProducts(
  { operators }: Graph,
  originOf: (index: number) => OperatorOrigin,
): readonly Issue[] {
  const products = new Map<string, Operator[]>();
  for (const operator of operators) {
    if (operator.type !== 'MatMul') continue;
    const call = originOf(operator.index).call;
    if (call === undefined || !isOneProduct.test(call.function)) continue;
    products.set(call.name, [...(products.get(call.name) ?? []), operator]);
  }
  const complex = [...products].filter(([, written]) => written.length > 1);
  const [[name, [first] = []] = []] = complex;
  if (name === undefined || first === undefined) return [];
  const others = complex.length === 1 ? '' : ` and ${complex.length - 1} more`;
  return [
    {
      code: 'graph/complex-products',
      severity: 'warning',
      message: `\`${name}\`${others} multiplies complex tensors, which the file has as pairs of real ones. Parameters, FLOPs and what backward keeps are those of the pairs. Export with \`torch.export.save\`, which keeps complex tensors`,
      operator: first.source,
    },
  ];
}

const isOneProduct = /^aten\.(?:matmul|mm|bmm|mv|linear)\./;
