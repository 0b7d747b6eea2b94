/**
 * What is alive while backward runs, operator by operator.
 *
 * Backward starts with everything that forward kept. Each operator makes the gradients of its inputs and of its
 * parameters, and leaves: what it kept and the gradients of its outputs are freed. A gradient that is handed on as it
 * is, through a view or an addition, is one tensor for all who hold it; a second one that arrives at a value is added
 * to the first in place where nobody else holds it (PyTorch 2.x torch/csrc/autograd/input_buffer.cpp, `accumulate`).
 * Gradients of parameters arise here and stay until the update, as `zero_grad(set_to_none=True)` frees them after it.
 */

import { hasBackward } from '../../analysis/hasBackward.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../../frameworks/behaviour.ts';
import { broadcastOperand } from '../../frameworks/pytorch/broadcastOperand.ts';
import { floatAt } from '../../model/at.ts';
import { distinct } from '../../model/distinct.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import { hasTrait, inPyTorch } from '../../operators/operatorFacts.ts';

/** Bytes of the gradients of parameters when the backward of each operator has run, by operator; `sizes` by parameter. */
export function parameterGradients(
  training: TrainingGraph,
  operators: number,
  sizes: Float64Array,
): Float64Array {
  const column = ownGradients(training, operators, sizes);
  let born = 0;
  for (let index = operators - 1; index >= 0; index -= 1) {
    born += floatAt(column, index);
    column[index] = born;
  }
  return column;
}

/**
 * The same in a pass that adds to the gradients of passes before: all of them are there, each in `shards`, and a new
 * one until it has been added to its old one (torch/csrc/autograd/functions/accumulate_grad.h). What the pieces of
 * sharded gradients are sent from is counted as a buffer. `all`: bytes of the sums; `sizes`: of each new gradient.
 */
export function addedGradients(
  training: TrainingGraph,
  all: number,
  sizes: Float64Array,
  shards: number,
): Float64Array {
  return ownGradients(training, training.costs.length, sizes).map(
    (size) => all / shards + (shards === 1 ? size : 0),
  );
}

/**
 * The same where a gradient leaves when it is complete: one that a parameter gets in several places is held from the first of them in
 * backward to the last (torch/csrc/autograd/input_buffer.cpp; hooks of `AccumulateGrad` run behind it).
 */
export function passingGradients(
  { analysis }: TrainingGraph,
  operators: number,
  sizes: Float64Array,
): Float64Array {
  const column = new Float64Array(operators);
  for (const [index, { operators: places }] of analysis.parameters.entries()) {
    const [first] = places;
    const last = places.at(-1);
    if (first === undefined || last === undefined) continue;
    for (let operator = first; operator <= last; operator += 1)
      column[operator] = floatAt(column, operator) + floatAt(sizes, index);
  }
  return column;
}

/** Bytes of the gradients that arise in the backward of each operator, by operator. */
function ownGradients({ analysis }: TrainingGraph, operators: number, sizes: Float64Array): Float64Array {
  const column = new Float64Array(operators);
  for (const [index, parameter] of analysis.parameters.entries()) {
    const last = parameter.operators.at(-1);
    if (last !== undefined) column[last] = floatAt(column, last) + floatAt(sizes, index);
  }
  return column;
}

/** Records memory as it is allocated and freed. */
export interface MemoryRecorder {
  /** A number to give it back by. */
  readonly take: (bytes: number) => number;
  readonly give: (taken: number) => void;
  /** The backward of an operator begins, or has ended. */
  readonly begins: (operator: number) => void;
  readonly ends: (operator: number) => void;
}

/** The most bytes of gradients between operators while the backward of each operator runs, by operator. */
export function gradientsBetween(
  training: TrainingGraph,
  lowered: LoweredGraph,
  recorder?: MemoryRecorder,
): Float64Array {
  const { graph } = training.analysis;
  const count = graph.operators.length;
  const live = new LiveGradients(recorder);
  for (const name of graph.outputs) {
    // What a loss is taken of is handed out beside it, and gets its gradient from the loss alone.
    const isScored = graph.values.get(name)?.consumers.some((index) => {
      const operator = graph.operators[index];
      return operator !== undefined && hasTrait(operator, 'loss-of-scores');
    });
    if (isScored !== true && training.requiresGradient.has(name))
      live.arrive(name, gradientBytes(training, lowered, name));
  }
  const gradients = new Float64Array(count);
  for (let index = count - 1; index >= 0; index -= 1) {
    const operator = graph.operators[index];
    const kernels = lowered.operators[index];
    if (operator === undefined) continue;
    live.newMoment();
    recorder?.begins(index);
    if (operator.inputs.length === 0) {
      gradients[index] = live.most;
      recorder?.ends(index);
      continue;
    }
    const handsOn =
      kernels !== undefined &&
      kernels.inside !== true &&
      (kernels.view || hasTrait(operator, 'passes-gradient') || hasTrait(operator, 'joins'));
    const computed = computedBytes(training, lowered, index);
    if (hasTrait(operator, 'loss-of-scores')) live.pass(2 * computed);
    const isPassed = hasBackward(training, operator);
    const [output] = operator.outputs;
    const elements = training.tensors.get(output ?? '')?.elements;
    for (const name of distinct(operator.inputs)) {
      if (kernels === undefined || output === undefined || !isPassed) continue;
      if (!training.requiresGradient.has(name)) continue;
      if (graph.values.get(name)?.role !== 'activation') continue;
      const whole = hasTrait(operator, 'joins') || training.tensors.get(name)?.elements === elements;
      if (handsOn && whole) live.handOn(output, name, gradientBytes(training, lowered, name));
      else live.arrive(name, gradientBytes(training, lowered, name), kernels.inside === true);
    }
    live.pass(computed + broadcastBytes(training, lowered, index));
    gradients[index] = live.most;
    for (const name of operator.outputs) live.release(name);
    recorder?.ends(index);
  }
  return gradients;
}

/**
 * Bytes of the gradient of an operator's first input as it is computed, where it is cast before it is handed on; 0 where
 * it is stored as it is computed. A loss of scores makes that of its log-softmax beside it, whatever the type.
 */
function computedBytes(training: TrainingGraph, lowered: LoweredGraph, index: number): number {
  const operator = training.analysis.graph.operators[index];
  const kernels = lowered.operators[index];
  const [input] = operator?.inputs ?? [];
  if (operator === undefined || kernels === undefined || input === undefined) return 0;
  if (kernels.gradientsAsStored === true) return 0;
  if (kernels.view || kernels.inside === true || !training.requiresGradient.has(input)) return 0;
  const tensor = training.tensors.get(input);
  if (tensor?.elementType !== 'float32') return 0;
  const { values } = training.analysis.graph;
  const stored = lowered.operators[values.get(input)?.producer ?? -1]?.bytesPerElement ?? 4;
  const isLoss = hasTrait(operator, 'loss-of-scores');
  return kernels.bytesPerElement > stored || isLoss ? tensor.elements * kernels.bytesPerElement : 0;
}

/**
 * Bytes of gradients of what was broadcast, which arise in the size of the result and are summed after (torch/csrc/autograd,
 * `sum_to_size` of `mul` and `div`; `ExpandBackward` of what a product wrote out), the largest of them.
 */
function broadcastBytes(training: TrainingGraph, lowered: LoweredGraph, index: number): number {
  const operator = training.analysis.graph.operators[index];
  const kernels = lowered.operators[index];
  if (operator === undefined || kernels === undefined || kernels.inside === true) return 0;
  const isMatmul = inPyTorch(operator)?.operands === 'matrices';
  if (!isMatmul && !hasTrait(operator, 'multiplies')) return 0;
  const output = training.tensors.get(operator.outputs[0] ?? '')?.elements ?? 0;
  let most = 0;
  for (const name of operator.inputs) {
    if (!training.requiresGradient.has(name)) continue;
    const own = training.tensors.get(name)?.elements ?? 0;
    const made = isMatmul ? (broadcastOperand(training, operator, name) ?? 0) : output;
    if (made > own) most = Math.max(most, made * kernels.bytesPerElement);
  }
  return most;
}

/** Bytes of a value's gradient, in the type of the value; none inside a fused kernel. */
function gradientBytes(training: TrainingGraph, lowered: LoweredGraph, name: string): number {
  const tensor = training.tensors.get(name);
  const producer = lowered.operators[training.analysis.graph.values.get(name)?.producer ?? -1];
  if (tensor === undefined || producer?.inside === true) return 0;
  const bytesPerElement =
    tensor.elementType === 'float32' ? (producer?.bytesPerElement ?? 4) : bytesOnGpu(tensor.elementType);
  return tensor.elements * bytesPerElement;
}

interface Storage {
  readonly size: number;
  holders: number;
  readonly taken: number;
}

/** Gradients by the value they belong to; several values may hold one. */
class LiveGradients {
  /** The most bytes at once since the operator began. */
  most = 0;
  private live = 0;
  private readonly held = new Map<string, Storage>();

  constructor(private readonly recorder: MemoryRecorder | undefined) {}

  newMoment(): void {
    this.most = this.live;
  }

  /** Memory that exists only during one operator. */
  pass(size: number): void {
    this.most = Math.max(this.most, this.live + size);
    if (this.recorder !== undefined && size > 0) this.recorder.give(this.recorder.take(size));
  }

  /** A gradient in memory of its own. Inside a fused kernel a second one is added before it is stored. */
  arrive(name: string, size: number, inside = false): void {
    const before = this.held.get(name);
    if (before !== undefined && inside) return;
    const made = this.make(size);
    if (before === undefined) this.held.set(name, made);
    else if (before.holders === 1) this.drop(made);
    else {
      before.holders -= 1;
      this.held.set(name, made);
    }
  }

  /** The gradient of `from`, or a part of it, is that of `to` too, whose own is `size` large. */
  handOn(from: string, to: string, size: number): void {
    const given = this.held.get(from);
    if (given === undefined) return;
    const before = this.held.get(to);
    if (before === undefined) {
      given.holders += 1;
      this.held.set(to, given);
    } else if (before.holders > 1) {
      before.holders -= 1;
      this.held.set(to, this.make(size));
    }
  }

  release(name: string): void {
    const storage = this.held.get(name);
    if (storage === undefined) return;
    this.held.delete(name);
    storage.holders -= 1;
    if (storage.holders === 0) this.drop(storage);
  }

  private make(size: number): Storage {
    this.live += size;
    this.most = Math.max(this.most, this.live);
    return { size, holders: 1, taken: this.recorder?.take(size) ?? -1 };
  }

  private drop({ size, taken }: Storage): void {
    this.live -= size;
    this.recorder?.give(taken);
  }
}
