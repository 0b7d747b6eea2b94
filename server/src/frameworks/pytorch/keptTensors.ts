/** What autograd keeps from forward to backward, named so that the same memory is counted once. */

import { isStoredTable } from '../../analysis/storedTable.ts';
import { producerOf } from '../../composites/flow.ts';
import { entryAt, itemAt } from '../../model/at.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import { isWeight, type Operator } from '../../model/graph.ts';
import { bytes } from '../../model/units.ts';
import type { BoundTensor, SavedTensor } from '../../operators/definition.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { KeptTensor } from '../behaviour.ts';
import { bytesOf, type EagerStep, type TypedOperator } from './eagerStep.ts';
import type { InputCasts } from './inputCasts.ts';
import { copiedMatrices, type Matrices, matricesRead } from './matricesRead.ts';

/** Parameters are kept anyway, but the half-precision copy that autocast made of one is kept for backward too. */
export function keptForBackward(step: EagerStep, typed: TypedOperator): readonly KeptTensor[] {
  // `leaky_relu` and `elu` keep their input, `leaky_relu_` and `elu_` their result (PyTorch 2.x derivatives.yaml).
  const isInPlace =
    (typed.operator.isInPlace ?? step.inPlace) && hasTrait(typed.operator, 'keeps-result-in-place');
  const own = isInPlace ? ofResult : typed.cost.saved;
  const saved = sumsBags(step, typed) ? keptOfBags(step, typed) : own;
  return saved.flatMap((tensor, index) => keptTensor(step, typed, tensor, index));
}

/**
 * Autocast holds its copies of trained weights until its region ends, with gradients or without (aten/src/ATen/autocast_mode.cpp,
 * `cached_cast`). Those of biases are small, and left out as backward does, which keeps none.
 */
export function keptByAutocast(
  step: EagerStep,
  typed: TypedOperator,
  { weights }: Pick<InputCasts, 'weights'>,
): readonly KeptTensor[] {
  if (!step.remembersCasts || weights.length === 0) return noTensors;
  return typed.operator.inputs
    .filter((name) => isTrainedMatrix(step, name))
    .flatMap((name) => keptValue(step, typed, name))
    .filter(({ weightCopy }) => weightCopy);
}

function isTrainedMatrix({ training, storage }: EagerStep, name: string): boolean {
  const root = storage(name);
  const isTrained = training.analysis.graph.values.get(root)?.role === 'parameter';
  return isTrained && entryAt(training.tensors, root).dimensions.length > 1;
}

/**
 * Whether a sum of rows is that of `embedding_bag`, which keeps their bags and not the rows as `index_add` does: where nothing but
 * a scale stands between it and a look-up in a trained table.
 */
function sumsBags(
  { training: { analysis, tensors } }: EagerStep,
  { operator, cost }: TypedOperator,
): boolean {
  if (operator.type !== 'ScatterND' || cost.saved.length === 0) return false;
  if (!['add', 'max'].includes(reductionOf(operator))) return false;
  if (tensors.get(operator.inputs[1] ?? '')?.dimensions.at(-1) !== 1) return false;
  const { graph } = analysis;
  let rows = producerOf(graph, operator.inputs[2]);
  while (rows !== undefined && ['Mul', 'Cast'].includes(rows.type)) rows = producerOf(graph, rows.inputs[0]);
  return rows?.type === 'Gather' && graph.values.get(rows.inputs[0] ?? '')?.role === 'parameter';
}

/**
 * The bag of each row, where bags begin, how long they are, and where the greatest rows are, which `embedding_bag` keeps besides its
 * indices (PyTorch 2.13 derivatives.yaml; aten/src/ATen/native/cuda/EmbeddingBag.cu, `_embedding_bag_cuda`).
 */
function keptOfBags({ training }: EagerStep, { operator }: TypedOperator): readonly SavedTensor[] {
  const result = entryAt(training.tensors, operator.outputs[0] ?? '');
  const rows = itemAt(entryAt(training.tensors, operator.inputs[2] ?? '').dimensions, 0);
  const bags = itemAt(result.dimensions, 0);
  const count = rows + 2 * bags + (reductionOf(operator) === 'max' ? result.elements : 0);
  return [{ kind: 'extra', name: 'bags', traffic: { float32Elements: 0, fixedBytes: 8 * count } }];
}

function reductionOf({ attributes }: Operator): string {
  const reduction = attributes.get('reduction');
  return reduction?.kind === 'string' ? reduction.value : 'none';
}

const ofResult: readonly SavedTensor[] = [{ kind: 'output', index: 0 }];

const noTensors: readonly KeptTensor[] = [];

function keptTensor(
  step: EagerStep,
  typed: TypedOperator,
  tensor: SavedTensor,
  index: number,
): readonly KeptTensor[] {
  const { operator, type } = typed;
  if (tensor.kind === 'extra') {
    return [
      {
        key: `${operator.index}/${index}/${tensor.name}`,
        bytes: bytesOf(tensor.traffic, type),
        weightCopy: false,
      },
    ];
  }
  const name = itemAt(tensor.kind === 'input' ? operator.inputs : operator.outputs, tensor.index);
  const axes = tensor.kind === 'input' && tensor.index === 1 ? indicesOfAxes(step, operator) : undefined;
  if (axes !== undefined) return axes.flatMap((indices) => keptValue(step, typed, indices));
  const stack = tensor.kind === 'input' ? tensor.stack && { axes: tensor.stack } : undefined;
  const matrices = stack ?? matricesRead(step, operator, name);
  return keptValue(step, typed, beforeScale(step, operator, name), matrices, tensor.index);
}

/**
 * Exporters write fused attention as a product of queries and keys of which each carries the root of the scale. Attention that is
 * not fused multiplies its scores instead, and keeps queries and keys as they were (transformers 5.18,
 * models/gpt2/modeling_gpt2.py, `eager_attention_forward`).
 */
function beforeScale({ training }: EagerStep, { type, inputs }: Operator, name: string): string {
  const scales = inputs.slice(0, 2).map((input) => {
    const maker = producerOf(training.analysis.graph, input);
    const isScaled = maker?.type === 'Mul' && training.tensors.get(maker.inputs[1] ?? '')?.elements === 1;
    return isScaled ? maker : undefined;
  });
  const [query, key] = scales;
  if (type !== 'MatMul' || query === undefined || key === undefined || query === key) return name;
  const own = inputs[0] === name ? query : key;
  return own.inputs[0] ?? name;
}

/**
 * The indices of each axis, where an operator of ONNX reads them joined. `index` and `index_put` take one tensor for each axis, and
 * keep those as they were given, before they are expanded to one shape (PyTorch 2.13 tools/autograd/derivatives.yaml).
 */
function indicesOfAxes({ training }: EagerStep, { inputs, type }: Operator): readonly string[] | undefined {
  if (type !== 'GatherND' && type !== 'ScatterND') return undefined;
  const { graph } = training.analysis;
  const given = (name: string): string => {
    const maker = producerOf(graph, name);
    const [shown] = maker?.type === 'Unsqueeze' || maker?.type === 'Expand' ? maker.inputs : [];
    return shown === undefined ? name : given(shown);
  };
  const joined = producerOf(graph, inputs[1]);
  return joined?.type === 'Concat' ? joined.inputs.map(given) : undefined;
}

/**
 * A value kept in the type its reader computes in. A cast by autocast makes a copy of its own for each reader, as only
 * those of weights are remembered (aten/src/ATen/autocast_mode.cpp, `cached_cast`), and so does a product that lays a tensor out
 * as matrices which no strides show (aten/src/ATen/native/LinearAlgebra.cpp, `matmul`; Linear.cpp, `sumproduct_pair`); otherwise
 * the whole of what a view shows is kept. `position` is that of the operand.
 */
export function keptValue(
  step: EagerStep,
  { operator, type }: TypedOperator,
  name: string,
  matrices?: Matrices,
  position = 0,
): readonly KeptTensor[] {
  const { training, types, storage, formats } = step;
  const root = storage(name);
  if (formats.has(root)) return noTensors;
  const value = entryAt(training.analysis.graph.values, root);
  const read = entryAt(training.tensors, name);
  const whole = entryAt(training.tensors, root);
  const computed = bytesPerElementOf(whole, type.bytesPerElement);
  const stored = bytesPerElementOf(whole, types.elementBytes.get(root) ?? 4);
  const bytesPerElement = type.readsAsStored ? stored : computed;
  const laidOut = matrices && copiedMatrices(step, name, matrices);
  // A table is there all the time, unless an operator makes it in each step.
  if (isStoredTable(training.analysis.graph, value) && laidOut === undefined) return noTensors;
  if (isWeight(value.role) && bytesPerElement === stored && laidOut === undefined) return noTensors;
  if (laidOut !== undefined) {
    // Real numbers that are a view of complex ones are copied as real ones.
    const own =
      read.elementType === whole.elementType
        ? bytesPerElement
        : bytesPerElementOf(read, type.bytesPerElement);
    const key = `${name}:${own}@${operator.index}/${position}`;
    return [{ key, bytes: bytes(laidOut * own), weightCopy: false }];
  }
  const weightCopy = isWeight(value.role);
  const copiesPart = bytesPerElement !== stored && read.elements !== whole.elements;
  const ownCopy =
    type.mixed && !types.castsByHand && bytesPerElement !== stored && !weightCopy ? `@${operator.index}` : '';
  return [
    {
      key: `${copiesPart ? name : root}:${bytesPerElement}${ownCopy}`,
      bytes: bytes((copiesPart ? read : whole).elements * bytesPerElement),
      weightCopy,
    },
  ];
}

/** A value as it lies in memory, in the type it was computed in. */
export function storedValue({ training, types, storage }: EagerStep, name: string): readonly KeptTensor[] {
  const root = storage(name);
  const bound = training.tensors.get(root);
  if (bound === undefined) return noTensors;
  const bytesPerElement = bytesPerElementOf(bound, types.elementBytes.get(root) ?? 4);
  return [
    { key: `${root}:${bytesPerElement}`, bytes: bytes(bound.elements * bytesPerElement), weightCopy: false },
  ];
}

/** Bytes per element; those of a float32 tensor of the file are what it is computed or stored in. */
const bytesPerElementOf = ({ elementType }: BoundTensor, ofFloat32: number): number =>
  elementType === 'float32' ? ofFloat32 : bytesOnGpu(elementType);
