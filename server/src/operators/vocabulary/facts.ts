/** Words that definitions state their facts in. */

import type { OperatorInput, Runner } from '../definition.ts';

/** A tensor that is computed with; a gradient flows through it. */
export const data = (name: string): OperatorInput => ({ name, role: 'data', gradient: true });

/** A tensor that is computed with or chosen by, through which no gradient flows: indices, masks, scales of integers. */
export const detached = (name: string): OperatorInput => ({ name, role: 'data', gradient: false });

/** A tensor that is trained where it is stored, and data where it is not: either side of a matrix product. */
export const operand = (name: string): OperatorInput => ({ name, role: 'operand', gradient: true });

/** A tensor that is trained. */
export const weight = (name: string): OperatorInput => ({ name, role: 'weight', gradient: true });

/** A running statistic: stored with the model and updated by it, but not trained. */
export const statistic = (name: string): OperatorInput => ({ name, role: 'statistic', gradient: false });

/** A tensor whose numbers the host reads: a target shape, axes, scales. */
export const host = (name: string): OperatorInput => ({ name, role: 'host', gradient: false });

/** A tensor of which only sizes or element type are read. */
export const measured = (name: string): OperatorInput => ({ name, role: 'shape', gradient: false });

/** An input that may be given any number of times, the last of its operator. */
export const variadic = (input: OperatorInput): OperatorInput => ({ ...input, variadic: true });

/** Why the runner of benchmarks has no rule for an operator. */
export const noRule = {
  classicalModel: { reason: 'classical models are not measured' },
  dataDependent: { reason: 'the size of its result depends on data' },
  onnxRuntime: { reason: 'operators of ONNX Runtime have no rule yet' },
  quantized: { reason: 'the runner has no quantized kernels' },
  sequences: { reason: 'the runner holds tensors only, no sequences or optionals' },
  strings: { reason: 'torch has no tensors of strings' },
  subgraphs: { reason: 'the runner has no subgraphs' },
  training: { reason: 'the runner makes its own backward pass and update' },
  unwritten: { reason: 'no rule has been written yet' },
} as const satisfies Readonly<Record<string, Runner>>;
