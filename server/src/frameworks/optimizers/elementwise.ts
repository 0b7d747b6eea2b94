/**
 * Optimizers that update every element alike. Bytes are counted operand by operand, four for each element.
 *
 * Sources: PyTorch 2.13 torch/optim/{sgd,adam,adamw,adagrad,rmsprop}.py, `_multi_tensor_*`, with their defaults; timm 1.0
 * timm/optim/lion.py, `_multi_tensor_lion`; NVIDIA apex 22.04 csrc/multi_tensor_lamb.cu and apex/optimizers/fused_lamb.py.
 */

import {
  added,
  addedQuotient,
  addedSquare,
  type ElementwiseUpdate,
  mapped,
  type OptimizerDefinition,
  type Pass,
  scaled,
} from './optimizerDefinition.ts';

/** One kernel that keeps one value for each element. */
const oneState: readonly Pass[] = [{ size: 20, lists: 3, kind: 'fused' }];

const plain: ElementwiseUpdate = {
  kind: 'elementwise',
  states: 0,
  onePass: [{ size: 12, lists: 2 }],
  passes: [{ size: 12, lists: 2 }],
  temporaries: 0,
};

export const sgd: OptimizerDefinition = {
  title: 'SGD',
  documentation: 'Plain gradient descent, no state',
  torchClass: 'SGD',
  hasFused: true,
  ofRows: 'sgd',
  update: plain,
};

export const momentum: OptimizerDefinition = {
  title: 'SGD with momentum',
  documentation: 'Gradient descent with momentum, one state per parameter',
  torchClass: 'SGD',
  hasFused: true,
  ofRows: 'momentum',
  update: {
    kind: 'elementwise',
    states: 1,
    onePass: oneState,
    // m = µ·m, m += g, p −= lr·m
    passes: [scaled, added, added],
    temporaries: 0,
  },
};

/** lerp of m, v·β₂, v += g², √v, ÷ bias, + ε, p += step·m/… */
const adamPasses: readonly Pass[] = [added, scaled, addedSquare, mapped, scaled, scaled, addedQuotient];

const adamUpdate: ElementwiseUpdate = {
  kind: 'elementwise',
  states: 2,
  onePass: [{ size: 28, lists: 4, kind: 'fused' }],
  passes: adamPasses,
  temporaries: 1,
};

export const adam: OptimizerDefinition = {
  title: 'Adam',
  documentation: 'Adam, two states per parameter',
  torchClass: 'Adam',
  hasFused: true,
  ofRows: 'adam',
  update: adamUpdate,
};

export const adamw: OptimizerDefinition & { readonly update: ElementwiseUpdate } = {
  ...adam,
  title: 'AdamW',
  documentation: 'AdamW, two states per parameter',
  torchClass: 'AdamW',
  // The decay p·(1 − lr·λ) comes before the others.
  update: { ...adamUpdate, passes: [scaled, ...adamPasses] },
};

export const adagrad: OptimizerDefinition = {
  title: 'Adagrad',
  documentation: 'Adagrad, one state per parameter',
  torchClass: 'Adagrad',
  hasFused: true,
  ofRows: 'adagrad',
  update: {
    kind: 'elementwise',
    states: 1,
    onePass: oneState,
    // s += g², √s, + ε, lr·g, p += …/…
    passes: [addedSquare, mapped, scaled, mapped, addedQuotient],
    temporaries: 2,
  },
};

export const rmsprop: OptimizerDefinition = {
  title: 'RMSprop',
  documentation: 'RMSprop without momentum, one state per parameter',
  torchClass: 'RMSprop',
  hasFused: false,
  ofRows: 'adam',
  update: {
    kind: 'elementwise',
    states: 1,
    onePass: oneState,
    // v·α, v += g², √v, + ε, p += g/…
    passes: [scaled, addedSquare, mapped, scaled, addedQuotient],
    temporaries: 1,
  },
};

export const lion: OptimizerDefinition = {
  title: 'Lion',
  documentation: 'Lion, one state per parameter',
  hasFused: false,
  ofRows: 'adam',
  update: {
    kind: 'elementwise',
    states: 1,
    onePass: oneState,
    // The decay, β₁·m, + g, its sign, p −= lr·…, m·β₂, m += g
    passes: [scaled, mapped, added, scaled, added, scaled, added],
    temporaries: 1,
  },
};

/** Gradient, parameter and moments in, moments and the update (in the place of the gradient) out; norms; then the step. */
const lambPasses: readonly Pass[] = [
  { size: 4, lists: 1 },
  { size: 28, lists: 4, kind: 'fused' },
  { size: 4, lists: 1 },
  { size: 4, lists: 1 },
  { size: 12, lists: 2 },
];

export const lamb: OptimizerDefinition = {
  title: 'LAMB',
  documentation: 'LAMB as one kernel a stage (FusedLAMB), two states per parameter',
  hasFused: true,
  needsWholeTensors: true,
  ofRows: 'adam',
  update: { kind: 'elementwise', states: 2, onePass: lambPasses, passes: lambPasses, temporaries: 0 },
};
