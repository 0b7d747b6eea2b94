/** The ranks of a pipeline as figures to be drawn: when each computes which micro-batch, and what it holds at its peak. */

import type { RankBar, RankMemoryBars } from '../../charts/rankMemoryChart.ts';
import type { Timeline, TimelineLane, TimelineSegment } from '../../charts/timelineChart.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import { seconds } from '../../model/units.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import { bubbleOf, type LaidOutStep } from '../parallel/laidOutStep.ts';
import type { StagePlan } from '../parallel/parallelPlan.ts';
import { timesOf } from '../plan/plannedTimes.ts';

/** More lanes than this are not read: some of all ranks are drawn, the first and the last among them. */
const mostRanks = 16;

export function pipelineTimelineFigure(step: LaidOutStep): Timeline {
  const { times } = step;
  const { ranks } = step.plan;
  const drawn = drawnRanks(ranks.length);
  const bubble = bubbleOf(step);
  const waits = `rank ${times.slowest + 1}, which ends last, waits ${formatTime(seconds(bubble))} (${formatPercent(bubble / times.step)}) for other stages`;
  return {
    from: 0,
    until: times.step,
    pieces: 'micro-batches',
    summary: `Each lane is a rank of the pipeline: of ${formatTime(seconds(times.step))}, ${waits}.`,
    note: drawn.length === ranks.length ? '' : `${drawn.length} of ${ranks.length} ranks are drawn.`,
    lanes: drawn.map((rank) => laneOf(step, rank)),
  };
}

/** By rank: its passes in order, then what is exchanged and not hidden, then the update. */
export function laneOf({ times, plan }: LaidOutStep, rank: number): TimelineLane {
  const { actions, ends } = times.timeline;
  const own = itemAt(plan.ranks, rank);
  const { rest, update } = itemAt(times.ranks, rank);
  const idleShares = plan.stages.map(idleShare);
  const segments: TimelineSegment[] = itemAt(actions, rank).map(
    ({ pass, stage, microBatch, start, end }) => ({
      name: own.length === 1 ? `${microBatch + 1}` : `${microBatch + 1} of stage ${stage + 1}`,
      kind: pass === 'forward' ? 'forward' : 'backward',
      start,
      end,
      idle: (end - start) * itemAt(idleShares, stage),
    }),
  );
  const end = floatAt(ends, rank);
  const exchanged = end + Math.max(0, rest - update);
  const tail: readonly TimelineSegment[] = [
    { name: 'gradients', kind: 'message', start: end, end: exchanged },
    { name: 'update', kind: 'update', start: exchanged, end: exchanged + update },
  ];
  return {
    title: `rank ${rank + 1}, ${stagesText(own)}`,
    segments: withWaits(
      [...segments, ...tail].filter((each) => each.end > each.start),
      times.step,
    ),
  };
}

/** Of forward and backward of a stage: the GPU has nothing to run until the host has launched it. */
function idleShare({ plan }: StagePlan): number {
  const { hostTime, updateHostTime, forwardTime, backwardTime } = timesOf(plan, 'middle');
  const busy = forwardTime + backwardTime;
  return busy > 0 ? Math.min(1, (hostTime - updateHostTime) / busy) : 0;
}

/** What a worker of each rank needs where it needs the most. */
export function rankMemoryFigure(step: LaidOutStep, capacity: number | null): RankMemoryBars {
  const drawn = drawnRanks(step.memories.length);
  const { stages } = step.plan;
  return {
    capacity,
    note:
      drawn.length === step.memories.length
        ? ''
        : `${drawn.length} of ${step.memories.length} ranks are drawn.`,
    ranks: drawn.map((rank): RankBar => {
      const { peakAt, stage, operator } = itemAt(step.memories, rank);
      const layer =
        operator === undefined
          ? undefined
          : itemAt(stages, stage).plan.training.analysis.layers.find(({ operators }) =>
              operators.includes(operator),
            )?.name;
      return {
        title: `rank ${rank + 1}`,
        where: layer === undefined ? peakAt.phase : `${peakAt.phase} at ${layer}`,
        runtime: runtimeReserve,
        parameters: peakAt.parameters,
        state: peakAt.optimizerState,
        buffers: peakAt.communicationBuffers,
        gradients: peakAt.gradients,
        activations: peakAt.activations,
        workspace: peakAt.workspace,
      };
    }),
  };
}

function drawnRanks(ranks: number): readonly number[] {
  const drawn = Math.min(ranks, mostRanks);
  return Array.from({ length: drawn }, (_, index) =>
    drawn === 1 ? 0 : Math.round((index * (ranks - 1)) / (drawn - 1)),
  );
}

const stagesText = (stages: readonly number[]): string =>
  `${stages.length === 1 ? 'stage' : 'stages'} ${stages.map((stage) => stage + 1).join(', ')}`;

function withWaits(segments: readonly TimelineSegment[], until: number): readonly TimelineSegment[] {
  const least = until * 1e-9;
  let end = 0;
  const all: TimelineSegment[] = [];
  const wait = (start: number): void => {
    if (start - end > least) all.push({ name: 'wait', kind: 'wait', start: end, end: start });
  };
  for (const segment of segments) {
    wait(segment.start);
    all.push(segment);
    end = segment.end;
  }
  wait(until);
  return all;
}
