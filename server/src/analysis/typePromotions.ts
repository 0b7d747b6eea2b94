/**
 * Casts that exporters write because ONNX has one type for all operands, where PyTorch promotes types.
 *
 * `x * mask` of numbers and booleans is one kernel, which reads the mask as it is, and autograd keeps the mask, not numbers made of it
 * (PyTorch documentation, "Type promotion"; aten/src/ATen/native/cuda/CUDALoops.cuh, dynamic casting). The default exporter records
 * such a cast as `prims.convert_element_type` (torch/onnx/_internal/fx/passes/type_promotion.py), and an archive of torch.export has
 * none, so that it stands in the call that promotes. The TorchScript exporter does not tell them from casts of the program.
 */

import type { OperatorOrigin } from '../composites/composite.ts';
import { type ElementType, isFloatingPoint } from '../model/elementType.ts';
import type { Graph, Operator } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { hasTrait, inPyTorch } from '../operators/operatorFacts.ts';

/** The graph with its promotions marked. `callOf`: the call that an operator is a part of, where one is recorded. */
export function withPromotions(graph: Graph, callOf: (operator: Operator) => OperatorOrigin['call']): Graph {
  const isPromotion = (operator: Operator): boolean => {
    if (!hasTrait(operator, 'casts')) return false;
    const call = callOf(operator);
    if (call === undefined) return false;
    if (call.function.startsWith('prims.convert_element_type')) return true;
    const readers = operator.outputs.flatMap((name) => graph.values.get(name)?.consumers ?? []);
    return (
      readers.length > 0 &&
      readers.every((index) => {
        const reader = graph.operators[index];
        if (reader === undefined || inPyTorch(reader)?.autocast !== 'promote') return false;
        return callOf(reader)?.name === call.name;
      })
    );
  };
  if (!graph.operators.some(isPromotion)) return graph;
  return {
    ...graph,
    operators: graph.operators.map((operator) =>
      isPromotion(operator) ? { ...operator, isPromotion: true } : operator,
    ),
  };
}

/**
 * What is said of masks and integers that are cast for a product, where no calls are recorded: the model may do it, or the promotion of
 * types. They are costed as cast by the model, which keeps numbers.
 */
export function issuesOfAssumedCasts(
  { operators, values }: Graph,
  callOf: (operator: Operator) => OperatorOrigin['call'],
): readonly Issue[] {
  const typeOf = (name = ''): ElementType | undefined => {
    const type = values.get(name)?.type;
    return type?.kind === 'tensor' ? type.elementType : undefined;
  };
  const isFloat = (name: string | undefined): boolean => isFloatingPoint(typeOf(name) ?? 'undefined');
  const casts = operators.filter((operator) => {
    if (!hasTrait(operator, 'casts') || callOf(operator) !== undefined) return false;
    const [source, result] = [operator.inputs[0], operator.outputs[0] ?? ''];
    const readers = (values.get(result)?.consumers ?? []).map((index) => operators[index]);
    const isOfProduct = readers.some(
      (reader) =>
        hasTrait(reader, 'multiplies') &&
        reader?.inputs.every((name) => values.get(name)?.role === 'activation' || name === result) === true,
    );
    return isOfProduct && !isFloat(source) && isFloat(result);
  });
  if (operators.some((operator) => callOf(operator) !== undefined)) return [];
  const [first] = casts;
  if (first === undefined) return issuesOfWidening(operators, typeOf);
  const count = casts.length === 1 ? '1 tensor is' : `${casts.length} tensors are`;
  return [
    {
      code: 'graph/assumed-casts',
      severity: 'information',
      message: `${count} cast to numbers and multiplied, first \`${first.name || first.outputs[0]}\`. The file does not say whether the model casts, or PyTorch promotes a mask, of which it keeps a byte per element. Numbers are costed; the default exporter records it`,
      operator: first.source,
    },
  ];
}

/**
 * The TorchScript exporter stores numbers that a program makes from a range as doubles, and casts what they meet to doubles too
 * (torch/onnx/_internal/torchscript_exporter/symbolic_opset11.py, `linspace`): the program may compute in single precision.
 */
function issuesOfWidening(
  operators: readonly Operator[],
  typeOf: (name?: string) => ElementType | undefined,
): readonly Issue[] {
  const widened = operators.filter(
    ({ type, inputs, outputs }) =>
      type === 'Cast' && typeOf(inputs[0]) === 'float32' && typeOf(outputs[0]) === 'float64',
  );
  const [first] = widened;
  if (first === undefined) return [];
  const count = widened.length === 1 ? '1 tensor is' : `${widened.length} tensors are`;
  return [
    {
      code: 'graph/assumed-casts',
      severity: 'information',
      message: `${count} cast to doubles, first \`${first.name || first.outputs[0]}\`. The file does not say whether the model casts, or the exporter because it stores a range as doubles. Doubles are costed; the default exporter records it`,
      operator: first.source,
    },
  ];
}
