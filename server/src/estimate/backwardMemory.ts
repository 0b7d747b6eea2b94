/**
 * What is alive while backward runs, operator by operator.
 *
 * Backward starts with everything that forward kept. Each operator makes the gradients of its inputs and of its
 * parameters, and leaves: what it kept and the gradients of its outputs are freed. A gradient that is handed on as it
 * is, through a view or an addition, is one tensor for all who hold it; a second one that arrives at a value is added
 * to the first in place where nobody else holds it (PyTorch 2.x torch/csrc/autograd/input_buffer.cpp, `accumulate`).
 * Gradients of parameters arise here and stay until the update, as `zero_grad(set_to_none=True)` frees them after it.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../frameworks/behaviour.ts';
import { bitsPerElement } from '../model/elementType.ts';
import { parameterBytes } from './gradients.ts';

/** Bytes at the moment when the backward of each operator has made its gradients; columns by operator. */
export interface BackwardMemory {
  /** What forward kept and backward has not freed yet. */
  readonly activations: Float64Array;
  /** Narrower copies of parameters that forward kept. */
  readonly weightCopies: Float64Array;
  /** Of values between operators. */
  readonly gradients: Float64Array;
  /** Of parameters. */
  readonly parameterGradients: Float64Array;
}

/** `saved` is what each operator is the first to keep: its backward is the last to need it. */
export function backwardMemory(
  training: TrainingGraph,
  lowered: LoweredGraph,
  saved: { readonly activations: Float64Array; readonly weightCopies: Float64Array },
): BackwardMemory {
  const { graph, parameters } = training.analysis;
  const count = graph.operators.length;
  const born = new Float64Array(count);
  for (const parameter of parameters) {
    const last = parameter.operators.at(-1);
    if (last !== undefined) born[last] = (born[last] ?? 0) + parameterBytes(parameter);
  }
  const live = new LiveGradients();
  for (const name of graph.outputs) {
    if (training.requiresGradient.has(name)) live.arrive(name, gradientBytes(training, lowered, name));
  }
  const gradients = new Float64Array(count);
  const parameterGradients = new Float64Array(count);
  let ofParameters = 0;
  for (let index = count - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    const kernels = lowered.operators[index];
    if (operator === undefined) continue;
    ofParameters += born[index] ?? 0;
    live.newMoment();
    const handsOn =
      kernels !== undefined && kernels.inside !== true && (kernels.view || sums.has(operator.type));
    const [output] = operator.outputs;
    const elements = training.tensors.get(output ?? '')?.elements;
    for (const [position, name] of operator.inputs.entries()) {
      if (kernels === undefined || output === undefined || operator.inputs.indexOf(name) !== position)
        continue;
      if (!training.requiresGradient.has(name)) continue;
      if (graph.values.get(name)?.role !== 'activation') continue;
      const whole = operator.type === 'Concat' || training.tensors.get(name)?.elements === elements;
      if (handsOn && whole) live.handOn(output, name);
      else live.arrive(name, gradientBytes(training, lowered, name), kernels.inside === true);
    }
    gradients[index] = live.most;
    parameterGradients[index] = ofParameters;
    for (const name of operator.outputs) live.release(name);
  }
  return {
    activations: runningSum(saved.activations),
    weightCopies: runningSum(saved.weightCopies),
    gradients,
    parameterGradients,
  };
}

/** Operators whose inputs get the output's gradient itself, or a view of it. */
const sums: ReadonlySet<string> = new Set(['Add', 'Sum', 'Concat', 'Identity']);

/** Bytes of a value's gradient, in the type of the value; none inside a fused kernel. */
function gradientBytes(training: TrainingGraph, lowered: LoweredGraph, name: string): number {
  const tensor = training.tensors.get(name);
  const producer = lowered.operators[training.analysis.graph.values.get(name)?.producer ?? -1];
  if (tensor === undefined || producer?.inside === true) return 0;
  const width =
    tensor.elementType === 'float32' ? (producer?.width ?? 4) : (bitsPerElement(tensor.elementType) ?? 0) / 8;
  return tensor.elements * width;
}

interface Storage {
  readonly size: number;
  holders: number;
}

/** Gradients by the value they belong to; several values may hold one. */
class LiveGradients {
  /** The most bytes at once since the moment began. */
  most = 0;
  private live = 0;
  private readonly held = new Map<string, Storage>();

  newMoment(): void {
    this.most = this.live;
  }

  /** A gradient in memory of its own. Inside a fused kernel a second one is added before it is stored. */
  arrive(name: string, size: number, inside = false): void {
    const before = this.held.get(name);
    if (before !== undefined && inside) return;
    this.grow(size);
    if (before === undefined) this.held.set(name, { size, holders: 1 });
    else if (before.holders === 1) this.live -= size;
    else {
      before.holders -= 1;
      this.held.set(name, { size, holders: 1 });
    }
  }

  /** The gradient of `from` is that of `to` too. */
  handOn(from: string, to: string): void {
    const given = this.held.get(from);
    if (given === undefined) return;
    const before = this.held.get(to);
    if (before === undefined) {
      given.holders += 1;
      this.held.set(to, given);
    } else if (before.holders > 1) {
      before.holders -= 1;
      this.grow(before.size);
      this.held.set(to, { size: before.size, holders: 1 });
    }
  }

  release(name: string): void {
    const storage = this.held.get(name);
    if (storage === undefined) return;
    this.held.delete(name);
    storage.holders -= 1;
    if (storage.holders === 0) this.live -= storage.size;
  }

  private grow(size: number): void {
    this.live += size;
    this.most = Math.max(this.most, this.live);
  }
}

function runningSum(column: Float64Array): Float64Array {
  const sums = new Float64Array(column.length);
  let total = 0;
  for (let index = 0; index < column.length; index += 1) {
    total += column[index] ?? 0;
    sums[index] = total;
  }
  return sums;
}
