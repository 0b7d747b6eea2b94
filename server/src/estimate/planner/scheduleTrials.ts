/** Pipelines that are tried with other schedules, once they are costed with 1F1B. */

import { findFramework } from '../../frameworks/registry.ts';
import type { FrameworkChoice, ParallelScenario, PipelineScheduleName } from '../../model/scenario.ts';
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
      for (const { runner, chunks, schedule } of schedulesTried(search, layout)) {
        if (pipeline * chunks > search.blocks || (chunks > 1 && passes % pipeline !== 0)) continue;
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

/** Chunks of a rank: a few, and about twice as many. Where all stages have as many blocks, they divide those of a rank. */
export function chunksTried(blocks: number, pipeline: number, areAlike: boolean): readonly number[] {
  const ofRank = blocks / pipeline;
  if (!areAlike) return [2, 4].filter((chunks) => chunks <= ofRank);
  const least = (from: number): readonly number[] =>
    Array.from({ length: mostChunks + 1 - from }, (_, index) => from + index)
      .filter((chunks) => ofRank % chunks === 0)
      .slice(0, 1);
  return [...new Set([...least(2), ...least(4)])];
}

interface TriedSchedule extends Pick<ParallelScenario, 'chunks' | 'schedule'> {
  readonly runner: FrameworkChoice;
}

/** Instead of 1F1B with this framework. */
function schedulesTried(
  { blocks, isLanguageModel, framework: only }: LayoutSearch,
  { framework, pipeline }: Pick<LayoutCandidate, 'framework' | 'pipeline'>,
): readonly TriedSchedule[] {
  const triedIn = (
    schedule: PipelineScheduleName,
    chunksOf: (runner: FrameworkChoice) => readonly number[],
  ): readonly TriedSchedule[] => {
    const runner = only ?? runnerOf(framework, schedule, isLanguageModel);
    return runner === undefined ? [] : chunksOf(runner).map((chunks) => ({ runner, chunks, schedule }));
  };
  return [
    ...triedIn('interleaved-1f1b', ({ name }) =>
      chunksTried(blocks, pipeline, findFramework(name)?.layout?.defaults.stages === 'uniform'),
    ),
    ...triedIn('zb-h1', () => [1]),
    ...triedIn('zb-v', () => [2]),
  ];
}
