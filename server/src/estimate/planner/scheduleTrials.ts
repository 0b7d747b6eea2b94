/** Pipelines that are tried with other schedules, once they are costed with 1F1B. */

import type { ParallelScenario } from '../../model/scenario.ts';
import type { Steps } from '../../model/steps.ts';
import { runnerOf, selectionOf } from './copyFrameworks.ts';
import { type LayoutBounds, leastElsewhere, leastWith, mostChunks, withoutWaits } from './layoutBound.ts';
import { candidateOf, type LayoutCandidate, type LayoutSearch } from './layoutCandidate.ts';

/** Pipelines with schedules that wait less than 1F1B. */
export class ScheduleTrials {
  readonly fitting: LayoutCandidate[] = [];
  private readonly done = new Set<LayoutCandidate>();

  constructor(
    private readonly search: LayoutSearch,
    private readonly bounds: LayoutBounds,
  ) {}

  /** Those that would be the fastest of all without their waits, and of the list the fastest two in any case. `found`: with 1F1B, the fastest first. */
  *all(found: readonly LayoutCandidate[]): Steps<number> {
    const [first, second] = this.pipelinedOf(found);
    return yield* this.try(found, (layout) => layout === first || layout === second);
  }

  /** Those that would be the fastest of all without their waits. */
  promising(found: readonly LayoutCandidate[]): Steps<number> {
    return this.try(found, () => false);
  }

  private pipelinedOf(found: readonly LayoutCandidate[]): readonly LayoutCandidate[] {
    return found.filter((layout) => layout.pipeline > 1);
  }

  private *try(
    found: readonly LayoutCandidate[],
    isListed: (layout: LayoutCandidate) => boolean,
  ): Steps<number> {
    const { search, bounds, fitting, done } = this;
    let costed = 0;
    const ordered = this.pipelinedOf(found)
      .filter((layout) => !done.has(layout))
      .toSorted((one, other) => withoutWaits(one) - withoutWaits(other));
    for (const layout of ordered) {
      const isForList = isListed(layout);
      if (!isForList && withoutWaits(layout) > bounds.fastest()) continue;
      done.add(layout);
      const { framework, microBatch, checkpoint, passes, tensor, pipeline, context, expert } = layout;
      const own = { tensor, pipeline, context, expert };
      for (const { chunks, schedule } of schedulesTried(search, pipeline)) {
        if (pipeline * chunks > search.blocks || (chunks > 1 && passes % pipeline !== 0)) continue;
        const runner = search.framework ?? runnerOf(framework, schedule, search.isLanguageModel);
        if (runner === undefined) continue;
        const kept = checkpoint === selectionOf(framework) ? selectionOf(runner) : checkpoint;
        const least = runner === framework ? leastWith : leastElsewhere;
        if (bounds.isOverLimit(least(layout, { chunks, schedule }))) continue;
        const candidate = yield* candidateOf(search, own, runner, microBatch, kept, {
          chunks,
          schedule,
        });
        yield;
        if (candidate === undefined) continue;
        costed += 1;
        bounds.learn(candidate);
        if (!candidate.cost.mayFit) continue;
        fitting.push(candidate);
        bounds.list(candidate);
      }
    }
    return costed;
  }
}

/** Chunks of a rank that has as many blocks as the others: a few, and about twice as many, where they divide its blocks. */
export function chunksTried(blocks: number, pipeline: number): readonly number[] {
  const ofRank = blocks / pipeline;
  // Where ranks have unlike numbers of blocks, so have chunks.
  if (!Number.isInteger(ofRank)) return [2, 4];
  const least = (from: number): readonly number[] =>
    Array.from({ length: mostChunks + 1 - from }, (_, index) => from + index)
      .filter((chunks) => ofRank % chunks === 0)
      .slice(0, 1);
  return [...new Set([...least(2), ...least(4)])];
}

const schedulesTried = (
  { blocks }: LayoutSearch,
  pipeline: number,
): readonly Pick<ParallelScenario, 'chunks' | 'schedule'>[] => [
  ...chunksTried(blocks, pipeline).map((chunks) => ({ chunks, schedule: 'interleaved-1f1b' as const })),
  { chunks: 1, schedule: 'zb-h1' },
  { chunks: 2, schedule: 'zb-v' },
];
