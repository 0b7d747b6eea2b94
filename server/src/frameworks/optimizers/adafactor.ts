/**
 * Adafactor: of the second moment of a matrix only a row and a column are kept, of a vector all of it. One tensor after
 * another, which is what PyTorch does unless `foreach=True` is asked for; two norms of each tensor are read on the host.
 *
 * Source: PyTorch 2.13 torch/optim/_adafactor.py, `_single_tensor_adafactor`, with its defaults (no decay).
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { OptimizerDefinition, UpdatedTensor } from './optimizerDefinition.ts';
import { normOf, passOver, product } from './tensorKernels.ts';

export const adafactor: OptimizerDefinition = {
  title: 'Adafactor',
  documentation: 'Adafactor, a row and a column of states per matrix',
  torchClass: 'Adafactor',
  hasFused: false,
  needsWholeTensors: true,
  ofRows: 'adam',
  update: {
    kind: 'by tensor',
    readsShapes: true,
    kernels: (tensor, width) => [
      normOf(tensor.elements, width),
      ...(tensor.shape.length > 1 ? ofMatrix(tensor, width) : ofVector(tensor.elements, width)),
      // Clamped, its root, times the gradient; the norm of the update; the step.
      passOver(tensor.elements, 2 * width),
      passOver(tensor.elements, 2 * width),
      passOver(tensor.elements, 3 * width),
      normOf(tensor.elements, width),
      passOver(tensor.elements, 3 * width),
    ],
    stateBytes: (tensor, width) => width * keptElements(tensor),
    // The estimate of the variance, which becomes the update.
    temporaryBytes: ({ elements }, width) => width * elements,
    waits: 2,
  },
};

/** Norms along rows and along columns, their moving means, and the product of these, divided by its mean. */
function ofMatrix(tensor: UpdatedTensor, width: number): readonly KernelWork[] {
  const { elements } = tensor;
  const { rows, columns, matrices } = sidesOf(tensor);
  // A square, a quotient and a moving mean.
  const moving = (kept: number): readonly KernelWork[] => [
    passOver(kept, 2 * width),
    passOver(kept, 2 * width),
    passOver(kept, 3 * width),
  ];
  return [
    normOf(elements, width),
    ...moving(matrices * rows),
    normOf(elements, width),
    ...moving(matrices * columns),
    product(matrices * rows, columns, 1, 'fp32', width),
    normOf(matrices * rows, width),
    passOver(matrices, 2 * width),
    passOver(elements, 2 * width),
  ];
}

/** The square, its moving mean, and a copy of that. */
const ofVector = (elements: number, width: number): readonly KernelWork[] => [
  passOver(elements, 2 * width),
  passOver(elements, 3 * width),
  passOver(elements, 2 * width),
];

function keptElements(tensor: UpdatedTensor): number {
  if (tensor.shape.length < 2) return tensor.elements;
  const { rows, columns, matrices } = sidesOf(tensor);
  return matrices * (rows + columns);
}

/** The last two dimensions are those of a matrix. */
function sidesOf({ elements, shape }: UpdatedTensor): {
  readonly rows: number;
  readonly columns: number;
  readonly matrices: number;
} {
  const [rows = 1, columns = 1] = shape.slice(-2);
  return { rows, columns, matrices: elements / (rows * columns) };
}
