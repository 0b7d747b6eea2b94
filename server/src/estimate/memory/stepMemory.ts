/**
 * GPU memory of a step by kind, and its peak.
 *
 * Parameters (with the half-precision copies that autocast keeps until backward), optimizer state and the copies that
 * gradient messages are sent from are there all the time. Training has its peak at an operator of forward
 * (`forwardMemory.ts`), at one of backward (`backwardMemory.ts`), or in the update, where activations are gone but the
 * optimizer has temporaries. What the model is given stays, and what it gives out until backward has ended, as a training
 * loop holds them. The workspace is the most that gradients between operators take at once, what is made again instead of
 * kept, and the matrix library's own. Where gradients are added to those of the passes or the step before, these are there
 * from the start. What the caching allocator reserves for it is found in `reservedMemory.ts`.
 * Inference: parameters and the largest set of values alive at once.
 */

import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import { floatAt } from '../../model/at.ts';
import { lazy } from '../../model/lazy.ts';
import type { PeakMemory } from '../../model/stepCost.ts';
import { sumOf } from '../../model/sumOf.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import { addsToGradients, gradientsLeave, type StepPlan } from '../plan/stepPlan.ts';
import { addedGradients, parameterGradients, passingGradients } from './backwardMemory.ts';
import { valueBytes } from './forwardMemory.ts';
import { beforeShards, heldGradients, heldSums } from './heldParameters.ts';
import { tightestGpu } from './tightestGpu.ts';

export interface StepMemory {
  readonly parameters: Bytes;
  readonly gradients: Bytes;
  readonly optimizerState: Bytes;
  readonly activations: Bytes;
  readonly workspace: Bytes;
  readonly communicationBuffers: Bytes;
  /** Keys and values of a decode step's context; at the peak they are among the activations. */
  readonly cache?: Bytes;
  readonly peak: Bytes;
  readonly capacity: Bytes;
  readonly peakAt: PeakMoment;
  /** The most of forward, of backward and of the update, as far as a step has them; of alike moments the first that runs. */
  readonly mostOfPhases: () => readonly PeakMoment[];
  /** What a batch may have at most so that a step needs no more than `room`; 0 where none fits. */
  readonly largestBatch: (room: number) => number;
}

/** Bytes by kind alone. */
export type MemoryKinds = Omit<StepMemory, 'peakAt' | 'mostOfPhases' | 'largestBatch'>;

/** The candidate of the peak, by the index of an operator; absent in the update. */
export interface PeakMoment extends Omit<PeakMemory, 'layer'> {
  readonly operator: number | undefined;
}

export interface ModelState {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly communicationBuffers: number;
  readonly updateTemporaries: number;
  /** Keys and values that a decode step reads. */
  readonly cache: number;
}

export function stepMemory(plan: StepPlan, state: ModelState): StepMemory {
  const { scenario, saved, training } = plan;
  const learns = scenario.mode === 'training';
  const copies = learns ? sumOf(saved.weightCopies) + sumOf(saved.recopied) : 0;
  const { library, forward, backward, update } = candidatesOf(plan, state);
  const kept = learns ? sumOf(saved.activations) : mostOf(plan.live().unkept);
  const always = state.parameters + state.optimizerState + state.communicationBuffers + library;
  const candidates = [...peakOf('forward', forward), ...peakOf('backward', backward), update];
  const peak = candidates.reduce((best, candidate) => (sizeOf(candidate) > sizeOf(best) ? candidate : best));
  return {
    parameters: bytes(state.parameters + copies),
    gradients: bytes(state.gradients),
    optimizerState: bytes(state.optimizerState),
    activations: bytes(kept),
    workspace: bytes(mostOf(backward.workspace) + library),
    communicationBuffers: bytes(state.communicationBuffers),
    ...(state.cache === 0 ? {} : { cache: bytes(state.cache) }),
    peak: bytes(always + sizeOf(peak)),
    capacity: tightestGpu(plan).memory.value,
    peakAt: momentOf(peak, state, library),
    mostOfPhases: lazy(() => {
      const most = [
        ...peakOf('forward', forward),
        ...peakOf('backward', backward, 'of the last'),
        ...(learns ? [update] : []),
      ];
      return most.map((candidate) => momentOf(candidate, state, library));
    }),
    largestBatch: (room) => largestBatch(room - always, [forward, backward], update, training.batch),
  };
}

/** Memory at each operator of forward in its order, of backward in its order, and in the update. */
export function memoryMoments(plan: StepPlan, state: ModelState): readonly PeakMoment[] {
  const { library, forward, backward, update } = candidatesOf(plan, state);
  const momentAt = (phase: PeakCandidate['phase'], pass: PassCandidates, index: number): PeakMoment =>
    momentOf(candidateAt(phase, pass, index), state, library);
  return [
    ...Array.from(forward.kept, (_, index) => momentAt('forward', forward, index)),
    ...Array.from(backward.kept, (_, index) => momentAt('backward', backward, index)).reverse(),
    ...(plan.scenario.mode === 'training' ? [momentOf(update, state, library)] : []),
  ];
}

interface StepCandidates {
  /** Workspace of the matrix library, which is there all the time. */
  readonly library: number;
  readonly forward: PassCandidates;
  readonly backward: PassCandidates;
  readonly update: PeakCandidate;
}

function candidatesOf(plan: StepPlan, state: ModelState): StepCandidates {
  const learns = plan.scenario.mode === 'training';
  const live = plan.live();
  const inputs = learns ? takenIn(plan.folded ?? plan) : 0;
  return {
    library: libraryWorkspace(plan.cluster.gpu),
    forward: forwardOf(plan, live.unkept, state),
    backward: learns ? backwardOf(plan, live.gradients, inputs) : noMoments,
    update: {
      phase: 'update',
      operator: undefined,
      copies: 0,
      gradients: state.gradients,
      kept: inputs,
      workspace: 0,
      temporaries: state.updateTemporaries,
    },
  };
}

const momentOf = (candidate: PeakCandidate, state: ModelState, library: number): PeakMoment => ({
  phase: candidate.phase,
  operator: candidate.operator,
  parameters: bytes(state.parameters + candidate.copies),
  gradients: bytes(candidate.gradients),
  optimizerState: bytes(state.optimizerState),
  activations: bytes(candidate.kept),
  workspace: bytes(library + candidate.workspace + candidate.temporaries),
  communicationBuffers: bytes(state.communicationBuffers),
});

interface PeakCandidate {
  readonly phase: PeakMemory['phase'];
  readonly operator: number | undefined;
  readonly copies: number;
  readonly gradients: number;
  /** These two grow with the batch, the others do not. */
  readonly kept: number;
  readonly workspace: number;
  readonly temporaries: number;
}

const sizeOf = ({ copies, gradients, kept, workspace, temporaries }: PeakCandidate): number =>
  copies + gradients + temporaries + kept + workspace;

/** The candidates of a pass, one for each operator: columns, because a model may have tens of thousands. */
interface PassCandidates {
  readonly copies: Float64Array;
  readonly gradients: Float64Array;
  readonly kept: Float64Array;
  readonly workspace: Float64Array;
}

const nothing = new Float64Array(0);
const noMoments: PassCandidates = { copies: nothing, gradients: nothing, kept: nothing, workspace: nothing };

/** What is kept by then, and what nothing keeps; autocast holds its copies of weights until forward ends. */
function forwardOf(plan: StepPlan, unkept: Float64Array, { gradients, cache }: ModelState): PassCandidates {
  const { activations, weightCopies, recopied } = plan.saved;
  return {
    copies: added(runningSum(weightCopies, 0), runningSum(recopied, 0)),
    gradients: new Float64Array(unkept.length).fill(addsToGradients(plan) ? gradients : 0),
    kept: added(unkept, runningSum(activations, cache)),
    workspace: new Float64Array(unkept.length),
  };
}

function backwardOf(plan: StepPlan, between: Float64Array, inputs: number): PassCandidates {
  const { saved, training, exchange } = plan;
  const held = givenOutOf(plan) + inputs;
  const { parameters } = training.analysis;
  const shards = exchange.shards.gradients;
  const sizes = beforeShards(parameters, heldGradients(plan), shards);
  const column = (): Float64Array => {
    if (gradientsLeave(plan)) {
      // What shards are reduced from is counted as a buffer.
      return shards === 1
        ? passingGradients(training, between.length, sizes)
        : new Float64Array(between.length);
    }
    return addsToGradients(plan)
      ? addedGradients(training, sumOf(beforeShards(parameters, heldSums(plan), shards)), sizes, shards)
      : parameterGradients(training, between.length, sizes).map((size) => size / shards);
  };
  return {
    copies: runningSum(saved.weightCopies, 0),
    gradients: column(),
    kept: runningSum(saved.activations, held),
    workspace: added(between, saved.recomputed),
  };
}

/** The candidate of a pass that needs the most, the first or the last of several; none where there is none. */
function peakOf(
  phase: PeakCandidate['phase'],
  pass: PassCandidates,
  ofAlike: 'of the first' | 'of the last' = 'of the first',
): readonly PeakCandidate[] {
  const { copies, gradients, kept, workspace } = pass;
  let best = -1;
  let most = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < kept.length; index += 1) {
    const size =
      floatAt(copies, index) + floatAt(gradients, index) + floatAt(kept, index) + floatAt(workspace, index);
    if (size < most || (size === most && ofAlike === 'of the first')) continue;
    most = size;
    best = index;
  }
  return best < 0 ? [] : [candidateAt(phase, pass, best)];
}

const candidateAt = (
  phase: PeakCandidate['phase'],
  { copies, gradients, kept, workspace }: PassCandidates,
  operator: number,
): PeakCandidate => ({
  phase,
  operator,
  copies: floatAt(copies, operator),
  gradients: floatAt(gradients, operator),
  kept: floatAt(kept, operator),
  workspace: floatAt(workspace, operator),
  temporaries: 0,
});

/** The least of what fits at every candidate. `room` is what is left beside what is there all the time. */
function largestBatch(
  room: number,
  passes: readonly PassCandidates[],
  update: PeakCandidate,
  batch: number,
): number {
  let fewest = Number.POSITIVE_INFINITY;
  const consider = (fixed: number, growing: number): void => {
    if (room - fixed < 0) fewest = 0;
    else if (growing > 0) fewest = Math.min(fewest, ((room - fixed) / growing) * batch);
  };
  consider(update.copies + update.gradients + update.temporaries, update.kept + update.workspace);
  for (const { copies, gradients, kept, workspace } of passes) {
    for (let index = 0; index < kept.length; index += 1) {
      consider(
        floatAt(copies, index) + floatAt(gradients, index),
        floatAt(kept, index) + floatAt(workspace, index),
      );
    }
  }
  return Math.floor(fewest);
}

function mostOf(column: Float64Array): number {
  let most = 0;
  for (let index = 0; index < column.length; index += 1) most = Math.max(most, floatAt(column, index));
  return most;
}

function added(left: Float64Array, right: Float64Array): Float64Array {
  const sums = new Float64Array(left.length);
  for (let index = 0; index < sums.length; index += 1)
    sums[index] = floatAt(left, index) + floatAt(right, index);
  return sums;
}

function runningSum(column: Float64Array, start: number): Float64Array {
  const sums = new Float64Array(column.length);
  let total = start;
  for (let index = 0; index < column.length; index += 1) {
    total += floatAt(column, index);
    sums[index] = total;
  }
  return sums;
}

/** What the model is given, as far as forward does not keep it anyway: a training loop holds its batch until the next one. */
function takenIn({ training, lowered }: LoweredTraining): number {
  const { graph } = training.analysis;
  const kept = new Set(lowered.operators.flatMap((operator) => operator?.saved.map(({ key }) => key) ?? []));
  let size = 0;
  for (const name of graph.inputs) {
    const tensor = training.tensors.get(name);
    if (tensor === undefined) continue;
    const own = valueBytes(tensor, 4);
    if (!kept.has(`${name}:${own / tensor.elements}`)) size += own;
  }
  return size;
}

/** Where no block left out gives anything out, the folded graph gives out what the whole one does. */
function givenOutOf(plan: StepPlan): number {
  const { folded, training } = plan;
  if (folded === undefined) return givenOut(plan);
  const kept = folded.training.analysis.graph.outputs.length;
  return givenOut(kept === training.analysis.graph.outputs.length ? folded : plan);
}

/** Values that the model gives out and backward does not keep anyway; a view is what it shows. */
function givenOut({ training, lowered }: LoweredTraining): number {
  const { operators, outputs, values } = training.analysis.graph;
  const owners = new Set<string>();
  // What has been passed has its owner already; views in a circle show nothing and have none.
  const passed = new Set<string>();
  for (const output of outputs) {
    let name: string | undefined = output;
    while (name !== undefined && !passed.has(name)) {
      passed.add(name);
      const producer: number = values.get(name)?.producer ?? -1;
      const isView: boolean = lowered.operators[producer]?.view === true;
      const source: string | undefined = isView ? operators[producer]?.inputs[0] : undefined;
      if (source === undefined) owners.add(name);
      name = source;
    }
  }
  let size = 0;
  for (const name of owners) {
    const tensor = training.tensors.get(name);
    const value = values.get(name);
    const producer = lowered.operators[value?.producer ?? -1];
    if (tensor === undefined || value === undefined || producer === undefined) continue;
    if ([value.producer ?? -1, ...value.consumers].some((index) => keeps(training, index, name))) continue;
    size += valueBytes(tensor, producer.bytesPerElement);
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

/**
 * cuBLAS workspace as PyTorch sets it: 32 MiB on Hopper, else 8 MiB and 128 KiB.
 * Source: PyTorch 2.x aten/src/ATen/cuda/CublasHandlePool.cpp, `parseChosenWorkspaceSize`.
 */
const libraryWorkspace = (gpu: GpuProfile): number =>
  gpu.architecture === 'hopper' ? 32 * 2 ** 20 : 4096 * 1024 * 2 + 16 * 1024 * 8;

type LoweredTraining = Pick<StepPlan, 'training' | 'lowered'>;
