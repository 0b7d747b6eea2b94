/**
 * GPU memory of a worker of one rank of the pipeline: that of a step of its stages with one micro-batch, and the activations of the
 * micro-batches that have gone forward and not yet backward. How many these are follows from the schedule.
 */

import { entryAt, floatAt, itemAt } from '../../model/at.ts';
import type { PeakMemory } from '../../model/stepCost.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import type { PipelineAction } from '../../schedule/pipelineAction.ts';
import { keptBy } from '../../schedule/pipelineTimeline.ts';
import type { MemoryKinds, PeakMoment, StepMemory } from '../memory/stepMemory.ts';

export interface RankMemory {
  readonly kinds: MemoryKinds;
  readonly peakAt: Omit<PeakMemory, 'layer'>;
  /** The stage where the peak is, and the index of its operator there; absent in the update. */
  readonly stage: number;
  readonly operator: number | undefined;
  readonly peak: Bytes;
  readonly capacity: Bytes;
}

/** A stage of a rank, with one micro-batch. */
export interface StageMemory {
  readonly stage: number;
  readonly memory: StepMemory;
}

/** `stages` are those of the rank; `actions` what it does. */
export function rankMemory(stages: readonly StageMemory[], actions: readonly PipelineAction[]): RankMemory {
  const beside = mostBeside(stages, actions);
  const [only, ...more] = stages;
  if (
    only !== undefined &&
    more.length === 0 &&
    beside.every(({ forward, backward }) => forward + backward === 0)
  )
    return rankMemoryAt(
      { stage: only.stage, kinds: only.memory, moment: only.memory.peakAt },
      only.memory.peak,
    );
  const candidates = stages.flatMap(({ stage, memory }, place): readonly Candidate[] => {
    const fixed = stages.flatMap((other) => (other.stage === stage ? [] : [other.memory]));
    return memory.mostOfPhases().map((moment): Candidate => {
      // In the update no micro-batch is on its way.
      const others = moment.phase === 'update' ? 0 : itemAt(beside, place)[moment.phase];
      return {
        stage,
        kinds: withFixed({ ...memory, activations: bytes(memory.activations + others) }, fixed),
        moment: withFixed({ ...moment, activations: bytes(moment.activations + others) }, fixed),
      };
    });
  });
  const most = candidates.reduce((best, candidate) =>
    sizeOf(candidate.moment) > sizeOf(best.moment) ? candidate : best,
  );
  return rankMemoryAt(most, bytes(sizeOf(most.moment)));
}

function rankMemoryAt({ stage, kinds, moment }: Candidate, peak: Bytes): RankMemory {
  const { operator, ...peakAt } = moment;
  const { parameters, gradients, optimizerState, activations, workspace, communicationBuffers, cache } =
    kinds;
  const { capacity } = kinds;
  return {
    kinds: {
      ...{ parameters, gradients, optimizerState, activations, workspace, communicationBuffers },
      ...(cache === undefined ? {} : { cache }),
      peak,
      capacity,
    },
    peakAt,
    stage,
    operator,
    peak,
    capacity,
  };
}

interface Candidate {
  readonly stage: number;
  readonly kinds: MemoryKinds;
  readonly moment: PeakMoment;
}

/** The most that others keep while a stage computes forward, and while it computes backward; 0 where it does not. */
interface Beside {
  readonly forward: number;
  readonly backward: number;
}

/** By stage of the rank. */
function mostBeside(stages: readonly StageMemory[], actions: readonly PipelineAction[]): readonly Beside[] {
  const alive = new Float64Array(stages.length);
  const [forward, backward] = [new Float64Array(stages.length), new Float64Array(stages.length)];
  const kept = Float64Array.from(stages, ({ memory }) => memory.activations);
  const placeOf = new Map(stages.map(({ stage }, place) => [stage, place]));
  for (const action of actions) {
    const own = entryAt(placeOf, action.stage);
    const isForward = action.pass === 'forward';
    let size = 0;
    // Of the stage, all but the micro-batch that it computes.
    for (let place = 0; place < stages.length; place += 1)
      size += (floatAt(alive, place) - (place === own && !isForward ? 1 : 0)) * floatAt(kept, place);
    const most = isForward ? forward : backward;
    most[own] = Math.max(floatAt(most, own), size);
    alive[own] = floatAt(alive, own) + keptBy(action);
  }
  return stages.map((_, place) => ({ forward: floatAt(forward, place), backward: floatAt(backward, place) }));
}

/** With what other stages of the rank hold all the time. */
function withFixed<Kinds extends Pick<PeakMoment, HeldKind>>(
  kinds: Kinds,
  others: readonly StepMemory[],
): Kinds {
  const sum = (kind: HeldKind): Bytes =>
    bytes(others.reduce<number>((total, other) => total + other[kind], kinds[kind]));
  return {
    ...kinds,
    parameters: sum('parameters'),
    gradients: sum('gradients'),
    optimizerState: sum('optimizerState'),
    communicationBuffers: sum('communicationBuffers'),
  };
}

type HeldKind = 'parameters' | 'gradients' | 'optimizerState' | 'communicationBuffers';

const sizeOf = (moment: PeakMoment): number =>
  moment.parameters +
  moment.gradients +
  moment.optimizerState +
  moment.activations +
  moment.workspace +
  moment.communicationBuffers;
