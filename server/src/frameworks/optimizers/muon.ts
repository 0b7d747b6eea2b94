/**
 * Muon: the momentum of each matrix is made orthogonal by five Newton–Schulz iterations in bf16. AdamW updates what is no
 * matrix of a hidden layer: vectors, filters of convolutions, tables and the head.
 *
 * Sources: PyTorch 2.13 torch/optim/_muon.py, `_single_tensor_muon` and `_zeropower_via_newtonschulz`, and its
 * documentation for what AdamW takes; Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024.
 */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import { adamw } from './elementwise.ts';
import type { OptimizerDefinition, UpdatedTensor } from './optimizerDefinition.ts';
import { normOf, passOver, product } from './tensorKernels.ts';

export const muon: OptimizerDefinition = {
  title: 'Muon',
  documentation: 'Muon for matrices of hidden layers, one state; AdamW for the rest',
  hasFused: false,
  needsWholeTensors: true,
  ofRows: 'adam',
  update: {
    kind: 'by tensor',
    readsShapes: true,
    takes: ({ isHidden, shape }) => isHidden && shape.length === 2,
    others: adamw.update,
    kernels: ({ elements, shape }, width) => [
      // The momentum and its look ahead, each of two tensors a third.
      passOver(elements, 3 * width),
      passOver(elements, 3 * width),
      ...orthogonalized(elements, shape, width),
      // The decay, and the step, which widens the update.
      passOver(elements, 2 * width),
      passOver(elements, 2 * width + narrow),
    ],
    stateBytes: ({ elements }, width) => width * elements,
    temporaryBytes: ({ elements, shape }, width) => {
      const short = shortSide(shape);
      // The update, X and the next X; X·Xᵀ and the polynomial of it.
      return elements * (width + 2 * narrow) + 2 * short * short * narrow;
    },
    waits: 0,
  },
};

/** X = aX + (b·XXᵀ + c·(XXᵀ)²)·X. `addmm` copies what it adds to before the product. */
function orthogonalized(
  elements: number,
  shape: UpdatedTensor['shape'],
  width: number,
): readonly KernelWork[] {
  const short = shortSide(shape);
  const long = elements / short;
  const square = short * short;
  const iteration: readonly KernelWork[] = [
    product(short, short, long, 'bf16', narrow),
    passOver(square, 2 * narrow),
    product(short, short, short, 'bf16', narrow),
    passOver(elements, 2 * narrow),
    product(short, long, short, 'bf16', narrow),
  ];
  return [
    passOver(elements, width + narrow),
    normOf(elements, narrow),
    passOver(elements, 2 * narrow),
    ...Array.from({ length: iterations }, () => iteration).flat(),
  ];
}

const shortSide = (shape: UpdatedTensor['shape']): number => Math.min(...shape);

const iterations = 5;
/** Bytes of an element in bf16. */
const narrow = 2;
