/**
 * GPU memory of a step by kind, and its peak.
 *
 * Parameters (with the half-precision copies that autocast keeps until backward), optimizer state and the copies that
 * gradient messages are sent from are there all the time. Training has its peak while forward runs, at an operator of
 * backward (`backwardMemory.ts`), or in the update, where activations are gone but the optimizer has temporaries. What
 * the model gives out stays until backward has ended, as a training loop holds it. The workspace is the most that
 * gradients between operators take at once, what is computed again instead of kept, and the matrix library's own.
 * Rounding and fragmentation of the caching allocator are not modelled.
 * Inference: parameters and the largest set of values alive at once.
 */

import type { LoweredGraph } from '../frameworks/behaviour.ts';
import type { GpuProfile } from '../hardware/clusterProfile.ts';
import { bitsPerElement } from '../model/elementType.ts';
import type { PeakMemory } from '../model/stepCost.ts';
import { type Bytes, bytes } from '../model/units.ts';
import type { BoundTensor } from '../operators/definition.ts';
import { backwardMemory } from './backwardMemory.ts';
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
  readonly peakAt: PeakMoment;
  /** What a batch may have at most so that a step needs no more than `room`; 0 where none fits. */
  readonly largestBatch: (room: number) => number;
}

/** The moment of the peak, by the index of an operator; absent in the update. */
export interface PeakMoment extends Omit<PeakMemory, 'layer'> {
  readonly operator: number | undefined;
}

export interface ModelState {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly communicationBuffers: number;
  readonly updateTemporaries: number;
}

export function stepMemory(plan: StepPlan, state: ModelState): StepMemory {
  const { scenario, saved, cluster, training, lowered } = plan;
  const library = libraryWorkspace(cluster.gpu);
  const learns = scenario.mode === 'training';
  const copies = learns ? sumOf(saved.weightCopies) : 0;
  const forward = liveActivations(plan);
  const kept = learns ? sumOf(saved.activations) : forward.most;
  const { recomputedBytes } = lowered;
  const always = state.parameters + state.optimizerState + state.communicationBuffers;
  const moments: Moment[] = [
    { phase: 'forward', operator: forward.operator, copies, gradients: 0, kept: forward.most, workspace: 0 },
  ];
  let transient = 0;
  if (learns) {
    const backward = backwardMemory(training, lowered, saved);
    const outputs = givenOut(plan);
    for (let index = 0; index < backward.gradients.length; index += 1) {
      transient = Math.max(transient, backward.gradients[index] ?? 0);
      moments.push({
        phase: 'backward',
        operator: index,
        copies: backward.weightCopies[index] ?? 0,
        gradients: backward.parameterGradients[index] ?? 0,
        kept: (backward.activations[index] ?? 0) + outputs,
        workspace: (backward.gradients[index] ?? 0) + recomputedBytes,
      });
    }
    moments.push({
      phase: 'update',
      operator: undefined,
      copies: 0,
      gradients: state.gradients,
      kept: 0,
      workspace: 0,
      temporaries: state.updateTemporaries,
    });
  }
  const sizeOf = (moment: Moment): number => fixedOf(moment) + moment.kept + moment.workspace;
  const fixedOf = (moment: Moment): number =>
    always + library + moment.copies + moment.gradients + (moment.temporaries ?? 0);
  const most = moments.reduce((best, moment) => (sizeOf(moment) > sizeOf(best) ? moment : best));
  return {
    parameters: bytes(state.parameters + copies),
    gradients: bytes(state.gradients),
    optimizerState: bytes(state.optimizerState),
    activations: bytes(kept),
    workspace: bytes(transient + library + recomputedBytes),
    communicationBuffers: bytes(state.communicationBuffers),
    peak: bytes(sizeOf(most)),
    capacity: cluster.gpu.memory.value,
    peakAt: {
      phase: most.phase,
      operator: most.operator,
      parameters: bytes(state.parameters + most.copies),
      gradients: bytes(most.gradients),
      optimizerState: bytes(state.optimizerState),
      activations: bytes(most.kept),
      workspace: bytes(library + most.workspace + (most.temporaries ?? 0)),
      communicationBuffers: bytes(state.communicationBuffers),
    },
    largestBatch: (room) => {
      let fewest = Number.POSITIVE_INFINITY;
      for (const moment of moments) {
        const left = room - fixedOf(moment);
        const perBatch = moment.kept + moment.workspace;
        if (left < 0) return 0;
        if (perBatch > 0) fewest = Math.min(fewest, (left / perBatch) * training.batch);
      }
      return Math.floor(fewest);
    },
  };
}

interface Moment {
  readonly phase: PeakMemory['phase'];
  readonly operator: number | undefined;
  readonly copies: number;
  readonly gradients: number;
  /** These two grow with the batch, the others do not. */
  readonly kept: number;
  readonly workspace: number;
  readonly temporaries?: number;
}

/** Values that the model gives out and backward does not keep anyway; a view is what it shows. */
function givenOut({ training, lowered }: LoweredTraining): number {
  const { operators, outputs, values } = training.analysis.graph;
  const owners = new Set<string>();
  for (let name of outputs) {
    for (;;) {
      const producer = values.get(name)?.producer ?? -1;
      const source = operators[producer]?.inputs[0];
      if (lowered.operators[producer]?.view !== true || source === undefined) break;
      name = source;
    }
    owners.add(name);
  }
  let size = 0;
  for (const name of owners) {
    const tensor = training.tensors.get(name);
    const value = values.get(name);
    const producer = lowered.operators[value?.producer ?? -1];
    if (tensor === undefined || value === undefined || producer === undefined) continue;
    if ([value.producer ?? -1, ...value.consumers].some((index) => keeps(training, index, name))) continue;
    size += valueBytes(tensor, producer.width);
  }
  return size;
}

/** Whether the backward of an operator needs a value, by its own rule. */
function keeps({ analysis, costs }: StepPlan['training'], index: number, name: string): boolean {
  const operator = analysis.graph.operators[index];
  const cost = costs[index];
  if (operator === undefined || cost?.kind !== 'known') return false;
  return cost.saved.some(
    (tensor) =>
      (tensor.kind === 'input' && operator.inputs[tensor.index] === name) ||
      (tensor.kind === 'output' && operator.outputs[tensor.index] === name),
  );
}

const valueBytes = (tensor: BoundTensor, width: number): number =>
  tensor.elements *
  (tensor.elementType === 'float32' ? width : (bitsPerElement(tensor.elementType) ?? 0) / 8);

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

/** The largest set of activations alive at once when each is freed after its last reader; views share memory. */
function liveActivations({ training, lowered }: LoweredTraining): {
  readonly most: number;
  readonly operator: number | undefined;
} {
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
  let most = 0;
  let busiest: number | undefined;
  const allocate = (name: string, width: number): void => {
    const tensor = training.tensors.get(name);
    if (tensor === undefined) return;
    const size = valueBytes(tensor, width);
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
    if (live > most) {
      most = live;
      busiest = index;
    }
    live -= dying.get(index) ?? 0;
  }
  return { most, operator: busiest };
}
