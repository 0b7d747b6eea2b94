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

import type { LoweredGraph } from '../frameworks/behaviour.ts';
import type { GpuProfile } from '../hardware/clusterProfile.ts';
import { bitsPerElement } from '../model/elementType.ts';
import { type Bytes, bytes } from '../model/units.ts';
import type { StepPlan } from './stepPlan.ts';

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
}

export interface ModelState {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly communicationBuffers: number;
  readonly updateTemporaries: number;
}

export function stepMemory(plan: StepPlan, state: ModelState): StepMemory {
  const { scenario, saved, cluster } = plan;
  const library = libraryWorkspace(cluster.gpu);
  const learns = scenario.mode === 'training';
  const activations = learns ? sumOf(saved.activations) : liveActivations(plan);
  // Like blocks have like gradients, so that the largest is among those of the folded graph.
  const transient = learns ? largestGradientPair(plan.folded ?? plan) : 0;
  const parameters = state.parameters + sumOf(saved.weightCopies);
  const { recomputedBytes } = plan.lowered;
  const workspace = transient + library + recomputedBytes;
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
    capacity: cluster.gpu.memory.value,
    perBatch: bytes(activations + transient + recomputedBytes),
  };
}

/**
 * cuBLAS workspace as PyTorch sets it: 32 MiB on Hopper, else 8 MiB and 128 KiB.
 * Source: PyTorch 2.x aten/src/ATen/cuda/CublasHandlePool.cpp, `parseChosenWorkspaceSize`.
 */
const libraryWorkspace = (gpu: GpuProfile): number =>
  gpu.architecture === 'hopper' ? 32 * 2 ** 20 : 4096 * 1024 * 2 + 16 * 1024 * 8;

/** What each operator is the first to keep for backward, in bytes; columns aligned with the operators of the graph. */
export interface SavedBytes {
  readonly activations: Float64Array;
  readonly weightCopies: Float64Array;
}

export function savedBytes({ operators }: LoweredGraph): SavedBytes {
  const activations = new Float64Array(operators.length);
  const weightCopies = new Float64Array(operators.length);
  const seen = new Set<string>();
  for (let index = 0; index < operators.length; index += 1) {
    for (const tensor of operators[index]?.saved ?? []) {
      if (seen.has(tensor.key)) continue;
      seen.add(tensor.key);
      const column = tensor.weightCopy ? weightCopies : activations;
      column[index] = (column[index] ?? 0) + tensor.bytes;
    }
  }
  return { activations, weightCopies };
}

function sumOf(column: Float64Array): number {
  let total = 0;
  for (let index = 0; index < column.length; index += 1) total += column[index] ?? 0;
  return total;
}

type LoweredTraining = Pick<StepPlan, 'training' | 'lowered'>;

/** The largest sum of the gradients of one operator's activations, inputs and outputs together. */
function largestGradientPair({ training, lowered }: LoweredTraining): number {
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
function liveActivations({ training, lowered }: LoweredTraining): number {
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
