/**
 * `findings/server-saturated`: the busiest parameter server is busy nearly all of the step, so that more workers wait.
 *
 * With W nodes it is busy for W·t_s, where t_s is what the gradients and parameters of one node take there; from
 * W = t_compute / t_s on it, and not the GPUs, says how long a step takes.
 */

import type { Operation, ServerOperation } from '../../communication/operation.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { Route } from '../plan/plannedTraffic.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function serverSaturated(step: EstimatedStep): readonly Finding[] {
  const { plan, timeline } = step;
  const server = serversOf(plan);
  if (server === undefined || timeline.step === 0) return [];
  const { nodes } = plan.placement;
  const busy = busyTime(step);
  if (busy < thresholdOf(plan.scenario.thresholds, 'server-saturated') * timeline.step) return [];
  const computing = timeline.forwardTime + timeline.backwardTime + timeline.updateTime;
  const most = Math.floor((computing * nodes) / busy);
  const crowded = server.busiestShare * server.servers > crowding;
  return [
    {
      code: 'findings/server-saturated',
      severity: 'warning',
      layer: '',
      message: `${server.servers === 1 ? 'The only parameter server' : `The busiest of ${server.servers} parameter servers`} is busy for ${formatTime(seconds(busy))}, ${formatPercent(Math.min(1, busy / timeline.step))} of the step, serving ${nodes} nodes; GPUs compute for ${formatTime(seconds(computing))}. ${most < 1 ? 'One node alone keeps it busy' : `From ${most + 1} nodes on it limits the step`}${crowded ? `. It holds ${formatPercent(server.busiestShare)} of all bytes, because large tensors lie whole on one server` : ''}`,
      fix: crowded
        ? 'Split large tensors over the servers (mxnet), or use all-reduce (horovod)'
        : `Use ${Math.ceil((server.servers * busy) / Math.max(computing, 1e-9))} servers or more, or use all-reduce (horovod)`,
    },
  ];
}

/** So much more than an even share of the bytes. */
const crowding = 1.5;

type Servers = Pick<ServerOperation, 'servers' | 'busiestShare'>;

function serversOf({ traffic }: EstimatedStep['plan']): Servers | undefined {
  for (const { stages } of traffic.routes) {
    for (const { operation } of stages) {
      const servers = atServer(operation);
      if (servers !== undefined) return servers;
    }
  }
  return undefined;
}

function atServer(operation: Operation): Servers | undefined {
  if (operation.kind === 'server') return operation;
  return operation.kind === 'host pass' ? operation.at : undefined;
}

/** By their places, those that keep its software at work, or its links where they are what is waited for. */
const stagesAtServer = ({ stages, times }: Route): readonly number[] =>
  stages.flatMap(({ operation }, stage) => {
    const waitsForLinks = times[stage]?.bound === 'server';
    return atServer(operation) !== undefined && (operation.kind !== 'server' || waitsForLinks) ? [stage] : [];
  });

/** How long its links or its software are at work in a step: intervals that overlap count once. */
function busyTime({ plan, timeline }: EstimatedStep): number {
  const busyStages = new Map(plan.traffic.routes.map((route) => [route.stages, stagesAtServer(route)]));
  const intervals: { readonly start: number; readonly end: number }[] = [];
  let index = 0;
  for (const { stages } of plan.exchange.messages) {
    for (const stage of busyStages.get(stages) ?? []) intervals.push(timeline.stageOf(index, stage));
    index += 1;
  }
  let busy = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const { start, end } of intervals.sort((a, b) => a.start - b.start)) {
    busy += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return busy;
}
