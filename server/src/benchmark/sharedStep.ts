/** How several processes share a step: what the runner gives to DistributedDataParallel or `fully_shard`. */

import { blockOfParameter } from '../frameworks/fsdpExchange.ts';
import { optionValues } from '../frameworks/registry.ts';
import type { Scenario } from '../model/scenario.ts';
import type { BenchmarkPlan } from './planSchema.ts';

export type SharedStepPlan =
  | {
      readonly kind: 'ddp';
      readonly bucketMb: number;
      readonly firstBucketMb: number;
      readonly gradientAsBucketView: boolean;
      readonly gradientDtype: string;
    }
  | {
      readonly kind: 'fsdp';
      readonly units: readonly ShardedUnit[];
      /** Parameters are given up after forward, and gathered again for backward. */
      readonly reshards: boolean;
      readonly parameterDtype: 'half' | 'fp32';
      readonly reduceDtype: 'half' | 'fp32';
    };

/** A block of the model: its parameters are whole while its operators run. */
export interface ShardedUnit {
  readonly parameters: readonly string[];
  /** By position in the plan, one after another. */
  readonly operators: readonly number[];
}

/** `refusal`: what to change, where the runner would measure another step. */
export function planSharedStep(
  plan: BenchmarkPlan,
  { framework, mode, parallel }: Pick<Scenario, 'framework' | 'mode' | 'parallel'>,
): { readonly how: SharedStepPlan } | { readonly refusal: string } {
  const options = optionValues(framework);
  const value = (name: string): string => options.get(name) ?? '';
  if (mode === 'inference') return { refusal: 'in inference there is no step to share: measure one GPU' };
  if (parallel !== undefined)
    return { refusal: 'the benchmark shares a step by its batch only: leave out the parallel layout' };
  if (framework.name === 'pytorch-ddp')
    return {
      how: {
        kind: 'ddp',
        bucketMb: Number(value('bucket-mb')),
        firstBucketMb: Number(value('first-bucket-mb')),
        gradientAsBucketView: value('gradient-as-bucket-view') === 'true',
        gradientDtype: value('gradient-dtype'),
      },
    };
  if (framework.name !== 'pytorch-fsdp')
    return {
      refusal: `${framework.name} is not what the benchmark runs in several processes: choose pytorch-ddp or pytorch-fsdp`,
    };
  if (value('backward-prefetch') !== 'pre')
    return { refusal: 'FSDP2, which the benchmark runs, has no backward-prefetch: leave it out' };
  const communicated = value('communication-dtype') === 'fp32' ? 'fp32' : 'half';
  const reduced = value('reduce-dtype');
  return {
    how: {
      kind: 'fsdp',
      units: unitsOf(plan),
      // On one node hybrid shards over all of its GPUs, as full does.
      reshards: value('sharding') !== 'shard-grad-op',
      parameterDtype: communicated,
      reduceDtype: reduced === 'auto' ? communicated : reduced === 'fp32' ? 'fp32' : 'half',
    },
  };
}

/** Blocks whose operators follow one another; parameters of other blocks are gathered with the rest. */
function unitsOf(plan: BenchmarkPlan): readonly ShardedUnit[] {
  const blockOf = new Map(
    plan.values
      .filter(({ role, gradient }) => role === 'parameter' && gradient)
      .map(({ name }) => [name, blockOfParameter(name)]),
  );
  const spans = new Map<string, { first: number; last: number }>();
  plan.operators.forEach((operator, position) => {
    for (const name of [operator, ...(operator.parts ?? [])].flatMap(({ inputs }) => inputs)) {
      const block = blockOf.get(name);
      if (block === undefined || block === '') continue;
      const span = spans.get(block);
      if (span === undefined) spans.set(block, { first: position, last: position });
      else span.last = position;
    }
  });
  const units: ShardedUnit[] = [];
  let end = -1;
  for (const [block, { first, last }] of [...spans].sort(([, one], [, other]) => one.first - other.first)) {
    if (first <= end) continue;
    end = last;
    units.push({
      parameters: [...blockOf].flatMap(([name, own]) => (own === block ? [name] : [])),
      operators: Array.from({ length: last - first + 1 }, (_, index) => first + index),
    });
  }
  return units;
}
