/**
 * GPU memory of a step by kind.
 *
 * Training: parameters (with the half-precision copies that autocast keeps until backward), gradients,
 * optimizer state, saved activations (every value once, however many operators keep it), the copies that
 * gradient messages are sent from, and a workspace: the gradients of one operator's inputs and outputs, which
 * live together while its backward runs (the largest over all operators), and the matrix library's own.
 * The peak is the larger of two moments: the start of backward, with every kind at its full size, and the
 * update, without activations but with the optimizer's temporaries. The first counts gradients that are not
 * all there yet, so it errs on the safe side. Rounding and fragmentation of the caching allocator are not modelled.
 * Inference: parameters and the largest set of values alive at once.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { LoweredGraph } from '../frameworks/behaviour.ts';
import type { GpuProfile } from '../hardware/clusterProfile.ts';
import { bitsPerElement } from '../model/elementType.ts';
import { type Bytes, bytes } from '../model/units.ts';

export interface StepMemory {
  readonly parameters: Bytes;
  readonly gradients: Bytes;
  readonly optimizerState: Bytes;
  readonly activations: Bytes;
  readonly workspace: Bytes;
  readonly communicationBuffers: Bytes;
  readonly peak: Bytes;
  readonly capacity: Bytes;
  /** The part of the peak that grows with the batch. */
  readonly perBatch: Bytes;
  /** Saved at first by each operator; aligned with the operators of the graph. */
  readonly savedByOperator: readonly number[];
}

export interface ModelState {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly communicationBuffers: number;
  readonly updateTemporaries: number;
}

export function stepMemory(
  training: TrainingGraph,
  lowered: LoweredGraph,
  gpu: GpuProfile,
  state: ModelState,
  mode: 'training' | 'inference',
): StepMemory {
  const saved = savedActivations(training, lowered);
  const library = libraryWorkspace(gpu);
  const activations = mode === 'training' ? saved.activations : liveActivations(training, lowered);
  const transient = mode === 'training' ? largestGradientPair(training, lowered) : 0;
  const parameters = state.parameters + saved.weightCopies;
  const workspace = transient + library + lowered.recomputedBytes;
  const resident = parameters + state.gradients + state.optimizerState + state.communicationBuffers;
  const peak = resident + Math.max(activations + workspace, library + state.updateTemporaries);
  return {
    parameters: bytes(parameters),
    gradients: bytes(state.gradients),
    optimizerState: bytes(state.optimizerState),
    activations: bytes(activations),
    workspace: bytes(workspace),
    communicationBuffers: bytes(state.communicationBuffers),
    peak: bytes(peak),
    capacity: gpu.memory.value,
    perBatch: bytes(activations + transient + lowered.recomputedBytes),
    savedByOperator: saved.byOperator,
  };
}

/**
 * cuBLAS workspace as PyTorch sets it: 32 MiB on Hopper, else 8 MiB and 128 KiB.
 * Source: PyTorch 2.x aten/src/ATen/cuda/CublasHandlePool.cpp, `parseChosenWorkspaceSize`.
 */
const libraryWorkspace = (gpu: GpuProfile): number =>
  gpu.architecture === 'hopper' ? 32 * 2 ** 20 : 4096 * 1024 * 2 + 16 * 1024 * 8;

interface Saved {
  readonly activations: number;
  readonly weightCopies: number;
  readonly byOperator: readonly number[];
}

function savedActivations(training: TrainingGraph, lowered: LoweredGraph): Saved {
  const seen = new Set<string>();
  let activations = 0;
  let weightCopies = 0;
  const byOperator = training.analysis.graph.operators.map((_, index) => {
    let own = 0;
    for (const tensor of lowered.operators[index]?.saved ?? []) {
      if (seen.has(tensor.key)) continue;
      seen.add(tensor.key);
      if (tensor.weightCopy) weightCopies += tensor.bytes;
      else own += tensor.bytes;
    }
    activations += own;
    return own;
  });
  return { activations, weightCopies, byOperator };
}

/** The largest sum of the gradients of one operator's activations, inputs and outputs together. */
function largestGradientPair(training: TrainingGraph, lowered: LoweredGraph): number {
  let largest = 0;
  const elementsOf = (name: string): number => {
    if (!training.requiresGradient.has(name)) return 0;
    if (training.analysis.graph.values.get(name)?.role !== 'activation') return 0;
    return training.tensors.get(name)?.elements ?? 0;
  };
  for (const { index, inputs, outputs } of training.analysis.graph.operators) {
    const kernels = lowered.operators[index];
    if (kernels === undefined || kernels.view) continue;
    let elements = 0;
    inputs.forEach((name, position) => {
      if (inputs.indexOf(name) === position) elements += elementsOf(name);
    });
    for (const name of outputs) elements += elementsOf(name);
    largest = Math.max(largest, elements * kernels.width);
  }
  return largest;
}

/** The largest set of activations alive at once when each is freed after its last reader; views share memory. */
function liveActivations(training: TrainingGraph, lowered: LoweredGraph): number {
  const { graph } = training.analysis;
  const root = new Map<string, string>();
  const lastUse = new Map<string, number>();
  const rootOf = (name: string): string => root.get(name) ?? name;
  for (const [index, operator] of graph.operators.entries()) {
    const source = operator.inputs[0];
    for (const input of operator.inputs) lastUse.set(rootOf(input), index);
    for (const output of operator.outputs) {
      if (lowered.operators[index]?.view === true && source !== undefined) root.set(output, rootOf(source));
      lastUse.set(rootOf(output), Math.max(lastUse.get(rootOf(output)) ?? index, index));
    }
  }
  for (const output of graph.outputs) lastUse.set(rootOf(output), graph.operators.length);
  const dying = new Map<number, number>();
  let live = 0;
  let peak = 0;
  const allocate = (name: string, width: number): void => {
    const tensor = training.tensors.get(name);
    if (tensor === undefined) return;
    const size =
      tensor.elements *
      (tensor.elementType === 'float32' ? width : (bitsPerElement(tensor.elementType) ?? 0) / 8);
    live += size;
    const end = lastUse.get(name) ?? 0;
    dying.set(end, (dying.get(end) ?? 0) + size);
  };
  for (const input of graph.inputs) allocate(input, 4);
  for (const [index, operator] of graph.operators.entries()) {
    if (lowered.operators[index]?.view !== true) {
      for (const output of operator.outputs) {
        if (output !== '') allocate(output, lowered.operators[index]?.width ?? 4);
      }
    }
    peak = Math.max(peak, live);
    live -= dying.get(index) ?? 0;
  }
  return peak;
}
