/**
 * What PyTorch's caching allocator takes from the GPU for the tensors of a step, by placing them in the order in which they
 * come and go, and what is taken before it.
 *
 * What is not placed is what kernels of cuDNN ask for while they run, and tensors that live within an operator alone.
 */

import type { Range } from '../../model/estimate.ts';
import { lazy } from '../../model/lazy.ts';
import { memoizeOfObject } from '../../model/memoize.ts';
import type { Fit } from '../../model/stepCost.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { CachingAllocator } from './cachingAllocator.ts';
import { type MemoryTrace, memoryTrace, replay } from './memoryTrace.ts';
import type { StepMemory } from './stepMemory.ts';

/**
 * Driver, libraries and the kernels they load, streams, NCCL: what the framework takes before the first tensor, at least.
 * An assumption, the same for all GPUs; nothing published tells it apart by generation.
 */
export const runtimeReserve = bytes(512 * 2 ** 20);

/**
 * The same and what kernels work in, at most: an assumption. Of every second network that timm trained on an RTX 3090
 * (PyTorch 1.12, which loads all its kernels at once), batches that ran can be placed in 21.65 GiB of its 23.7, and those that
 * did not run cannot in 21.95, with few exceptions; the other half of the networks says the same (docs/ACCURACY.md).
 */
export const mostRuntimeReserve = bytes(1.9 * 2 ** 30);

/** What a GPU needs where tensors take so much. */
export const withRuntime = (tensors: number): Bytes => bytes(tensors + runtimeReserve);

export interface ReservedMemory {
  /** What tensors need at least, rounded to segments, and what the allocator takes where the GPU has all it asks for. */
  readonly bounds: Range<Bytes>;
  /** Whether the step can be placed in so much, where what is free is given back before more is taken. */
  readonly fitsIn: (room: number) => boolean;
  /** The same also where variables of the program hold what they name as long as they can (`valueLifetimes.ts`). */
  readonly surelyFitsIn: (room: number) => boolean;
  /** What tensors need at once where variables do, and what the allocator takes for that. */
  readonly held: () => Placed;
}

interface Placed {
  readonly peak: Bytes;
  readonly reserved: Bytes;
}

const segment = 2 * 2 ** 20;

/** `allocated`: the most that tensors need at once. Places a whole step: not for each keystroke. */
export function reservedMemory(plan: StepPlan, allocated: number): ReservedMemory {
  const { trace, free } = placedFreely(plan);
  // What the trace does not have, the library's workspace above all, lies beside what it has.
  const beside = Math.max(0, allocated - free.mostAllocated);
  const low = roundToSegments(allocated);
  const high = Math.max(low, roundToSegments(free.mostReserved + beside));
  const fits = (events: MemoryTrace, reserved: number, room: number): boolean =>
    reserved <= room || replay(events, new CachingAllocator(Math.max(0, room - beside)));
  const fitsIn = (room: number): boolean => low <= room && fits(trace, high, room);
  const longest = lazy(() => {
    const events = memoryTrace(plan, 'held');
    const all = new CachingAllocator();
    replay(events, all);
    const peak = Math.max(allocated, all.mostAllocated + beside);
    return { events, peak: bytes(peak), reserved: bytes(roundToSegments(all.mostReserved + beside)) };
  });
  return {
    bounds: { low: bytes(low), high: bytes(high) },
    fitsIn,
    surelyFitsIn: (room) => fitsIn(room) && fits(longest().events, longest().reserved, room),
    held: longest,
  };
}

/** On a GPU that has all it asks for. Found once for a plan: layouts that differ in their schedule have its stages in common. */
const placedFreely = memoizeOfObject((plan: StepPlan): FreelyPlaced => {
  const trace = memoryTrace(plan);
  const free = new CachingAllocator();
  replay(trace, free);
  return { trace, free };
});

interface FreelyPlaced {
  readonly trace: MemoryTrace;
  /** After the replay: it is read, and nothing more is placed. */
  readonly free: Pick<CachingAllocator, 'mostAllocated' | 'mostReserved'>;
}

const roundToSegments = (size: number): number => Math.ceil(size / segment) * segment;

/** Where tensors need so little of what is surely left, no order of them takes all of it; the step is not placed then. */
export const isFarBelow = ({ peak, capacity }: Pick<StepMemory, 'peak' | 'capacity'>): boolean =>
  peak <= 0.75 * (capacity - mostRuntimeReserve);

/** Whether tensors fit, and can be placed, in what driver and framework leave at best. */
export const fitsAtBest = (
  memory: Pick<StepMemory, 'peak' | 'capacity'>,
  reserved: () => ReservedMemory,
): boolean => {
  const room = memory.capacity - runtimeReserve;
  return memory.peak <= room && (isFarBelow(memory) || reserved().fitsIn(room));
};

export const fitOf = (memory: Pick<StepMemory, 'peak' | 'capacity'>, reserved: () => ReservedMemory): Fit => {
  if (!fitsAtBest(memory, reserved)) return 'no';
  const isSure = isFarBelow(memory) || reserved().surelyFitsIn(memory.capacity - mostRuntimeReserve);
  return isSure ? 'yes' : 'may';
};
