import type { BenchmarkPlan } from '../../server/src/benchmark/planSchema.ts';

/** One linear layer and its activation, batch 4: enough for a runner to have something to run. */
export function smallPlan(changes: Partial<BenchmarkPlan> = {}): BenchmarkPlan {
  const activation = { role: 'activation', elementType: 'float32', shape: [4, 8], gradient: true } as const;
  return {
    version: 3,
    model: 'good',
    batch: 4,
    mode: 'training',
    precision: 'fp32',
    optimizer: 'adamw',
    accumulate: 1,
    channelsLast: false,
    compile: null,
    optimizerKernels: 'foreach',
    clipsNorm: false,
    addsGradients: false,
    weights: 'fp32',
    convTf32: true,
    caches: 'hot',
    budgetSeconds: 1,
    opset: 17,
    values: [
      { name: 'x', role: 'input', elementType: 'float32', shape: [4, 16], gradient: false },
      { name: 'w', role: 'parameter', elementType: 'float32', shape: [16, 8], gradient: true },
      { name: 'y', ...activation, shape: [4, 8] },
      { name: 'z', ...activation, shape: [4, 8] },
    ],
    operators: [
      { name: 'fc/MatMul', type: 'MatMul', domain: '', inputs: ['x', 'w'], outputs: ['y'], attributes: {} },
      { name: 'act/Relu', type: 'Relu', domain: '', inputs: ['y'], outputs: ['z'], attributes: {} },
    ],
    layers: [
      { name: 'fc', type: 'Linear', operators: [0] },
      { name: 'act', type: 'ReLU', operators: [1] },
    ],
    outputs: ['z'],
    checkpoint: 'none',
    recomputed: [],
    reentrant: false,
    ...changes,
  };
}
