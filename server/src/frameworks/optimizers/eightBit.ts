/**
 * AdamW with both states in 8 bits: a number in fp32 for each block of 256 elements scales them. Tensors of fewer than 4,096
 * elements keep fp32 states. One kernel updates a tensor.
 *
 * Source: bitsandbytes 0.44 bitsandbytes/optim/optimizer.py, `Optimizer2State.init_state`, `min_8bit_size`;
 * bitsandbytes/functional.py, `optimizer_update_8bit_blockwise`; csrc/ops.cu, blocks of 256.
 */

import type { OptimizerDefinition, UpdatedTensor } from './optimizerDefinition.ts';
import { passOver } from './tensorKernels.ts';

export const adamwEightBit: OptimizerDefinition = {
  title: 'AdamW with 8-bit states',
  documentation: 'AdamW with two states of 8 bits per parameter (bitsandbytes)',
  hasFused: false,
  ofRows: 'adam',
  update: {
    kind: 'by tensor',
    // Reads parameter, gradient and states; writes parameter and states.
    kernels: (tensor, width) => [passOver(tensor.elements, 3 * width + 2 * stateBytesPerElement(tensor))],
    stateBytes: (tensor) => tensor.elements * stateBytesPerElement(tensor),
    temporaryBytes: () => 0,
    waits: 0,
  },
};

const stateBytesPerElement = ({ elements }: UpdatedTensor): number =>
  elements < leastInEightBits ? 8 : 2 * (1 + 4 / block);

const leastInEightBits = 4096;
const block = 256;
