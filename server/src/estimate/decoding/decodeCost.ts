/** The cost of a decode step beyond that of its graph: prefill, and what the cache takes and leaves room for. */

import type { StepCost } from '../../model/stepCost.ts';
import { bytes } from '../../model/units.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { bytesOfToken, cacheBytes } from './cacheBytes.ts';

type DecodeCost = NonNullable<StepCost['decoding']>;

/** The pass over the prompt, and the tokens of a sequence in it. */
export interface Prefill {
  readonly cost: StepCost;
  readonly tokens: number | undefined;
}

/** `undefined` where the plan is of no decode step. */
export function decodeCost(
  { training, scenario }: StepPlan,
  memory: StepMemory,
  prefill: Prefill | undefined,
): DecodeCost | undefined {
  const { caches } = training.analysis;
  const { past } = scenario;
  if (caches === undefined || past === undefined) return undefined;
  const bindings = new Map(Object.entries(scenario.dimensions));
  const ofOne = (isFixed: boolean): number =>
    caches
      .filter((cache) => cache.isFixed === isFixed)
      .reduce((total, cache) => total + bytesOfToken(cache, bindings, scenario.precision), 0);
  const room = memory.capacity - runtimeReserve;
  const batch = memory.largestBatch(room);
  const cacheAt = (context: number): number => cacheBytes(training, { ...scenario, past: context });
  const held = memory.peak - cacheAt(past);
  const time = prefill?.cost.totals.time;
  return {
    past,
    prefill: {
      tokens: prefill?.tokens ?? null,
      time: time?.step ?? null,
      range: time?.range ?? null,
    },
    bytesPerToken: bytes(ofOne(false) / training.batch),
    cache: bytes(cacheAt(past)),
    fixed: bytes(ofOne(true)),
    largestBatch: Number.isFinite(batch) ? batch : null,
    longestContext: longestContext((context) => held + cacheAt(context) <= room),
  };
}

/** The most tokens for which `fits` holds; 0 where none do, null where windows keep the cache small for any. */
function longestContext(fits: (context: number) => boolean): number | null {
  if (!fits(1)) return 0;
  let high = 2;
  while (fits(high)) {
    if (high >= mostTokens) return null;
    high *= 2;
  }
  let low = high / 2;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const mostTokens = 2 ** 40;
