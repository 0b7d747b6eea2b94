/**
 * GPU memory of a worker of one rank of the pipeline: that of a step of its stages with one micro-batch, and the activations of the
 * micro-batches that have gone forward and not yet backward. How many these are follows from the schedule.
 */

import { entryAt } from '../../model/at.ts';
import type { PeakMemory } from '../../model/stepCost.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import type { PipelineAction } from '../../schedule/pipelineAction.ts';
import { keptBy } from '../../schedule/pipelineTimeline.ts';
import { memoryOf, momentsOf } from '../memory/memoryOf.ts';
import type { PeakMoment, StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';

export interface RankMemory {
  readonly kinds: MemoryKinds;
  readonly peakAt: Omit<PeakMemory, 'layer'>;
  /** The stage where the peak is, and the index of its operator there; absent in the update. */
  readonly stage: number;
  readonly operator: number | undefined;
  readonly peak: Bytes;
  readonly capacity: Bytes;
}

type MemoryKinds = Omit<StepMemory, 'peakAt' | 'largestBatch'>;

/** `plans` are those of the rank's stages, by stage; `actions` what it does. */
export function rankMemory(
  plans: ReadonlyMap<number, StepPlan>,
  actions: readonly PipelineAction[],
): RankMemory {
  const memories = new Map([...plans].map(([stage, plan]) => [stage, memoryOf(plan)]));
  const beside = mostBeside(memories, actions);
  const [only, ...more] = memories;
  if (only !== undefined && more.length === 0 && beside.every(({ size }) => size === 0)) {
    const [stage, { peakAt, largestBatch: _, ...kinds }] = only;
    return rankMemoryAt({ stage, kinds, moment: peakAt }, kinds.peak);
  }
  const candidates = [...plans].flatMap(([stage, plan]): readonly Candidate[] => {
    const { peakAt: _, largestBatch: __, ...kinds } = entryAt(memories, stage);
    const fixed = [...memories].flatMap(([other, memory]) => (other === stage ? [] : [memory]));
    return mostOfPhases(momentsOf(plan)).map((moment): Candidate => {
      // In the update no micro-batch is on its way.
      const others = beside.find((each) => each.stage === stage && each.pass === moment.phase)?.size ?? 0;
      return {
        stage,
        kinds: withFixed({ ...kinds, activations: bytes(kinds.activations + others) }, fixed),
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
  return { kinds: { ...kinds, peak }, peakAt, stage, operator, peak, capacity: kinds.capacity };
}

interface Candidate {
  readonly stage: number;
  readonly kinds: MemoryKinds;
  readonly moment: PeakMoment;
}

/** The most that others keep while a stage computes in a pass. */
interface Beside {
  readonly stage: number;
  readonly pass: 'forward' | 'backward';
  readonly size: number;
}

function mostBeside(
  memories: ReadonlyMap<number, StepMemory>,
  actions: readonly PipelineAction[],
): readonly Beside[] {
  const alive = new Map([...memories.keys()].map((stage) => [stage, 0]));
  const most = new Map<string, Beside>();
  for (const action of actions) {
    const { stage } = action;
    const pass = action.pass === 'forward' ? 'forward' : 'backward';
    const before = entryAt(alive, stage);
    // Of the stage, all but the micro-batch that it computes.
    const own = pass === 'forward' ? before : before - 1;
    let size = 0;
    for (const [each, { activations }] of memories)
      size += (each === stage ? own : entryAt(alive, each)) * activations;
    const key = `${pass} ${stage}`;
    const known = most.get(key);
    if (known === undefined || size > known.size) most.set(key, { stage, pass, size });
    alive.set(stage, before + keptBy(action));
  }
  return [...most.values()];
}

const mostOfPhases = (moments: readonly PeakMoment[]): readonly PeakMoment[] =>
  (['forward', 'backward', 'update'] as const).flatMap((phase) => {
    const own = moments.filter((moment) => moment.phase === phase);
    return own.length === 0
      ? []
      : [own.reduce((best, moment) => (sizeOf(moment) > sizeOf(best) ? moment : best))];
  });

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
