/** What of an estimate is better looked at than read. Drawing changes no cost. */

import type { Chart } from '../../charts/chart.ts';
import { icicleChart } from '../../charts/icicleChart.ts';
import { memoryChart } from '../../charts/memoryChart.ts';
import { rankMemoryChart } from '../../charts/rankMemoryChart.ts';
import { rooflineChart } from '../../charts/rooflineChart.ts';
import { timelineChart } from '../../charts/timelineChart.ts';
import { computePath } from '../../hardware/computePath.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { formatBytes, formatShortCount, formatTime } from '../../model/format.ts';
import { bytes, seconds } from '../../model/units.ts';
import type { ModelEstimate } from '../estimateModel.ts';
import { drawnAmount } from '../report/layerCells.ts';
import type { LayerReport, Report } from '../report/report.ts';
import type { ScalingCurve } from '../scaling/scalingOverlay.ts';
import { type DrawnStep, drawnStep } from './drawnStep.ts';
import { memoryOverStep } from './memoryOverStep.ts';
import { moduleTree } from './moduleTree.ts';
import { pipelineTimelineFigure, rankMemoryFigure } from './pipelineFigures.ts';
import { rooflinePoints } from './rooflinePoints.ts';
import { scalingFigure } from './scalingFigure.ts';
import { stepTimelineFigure } from './stepTimelineFigure.ts';

/** Charts that have something to show, in the order a reader needs them; `curves` are drawn as one. */
export function stepCharts(
  { training, scenario, cluster, measurements }: ModelEstimate,
  report: Report,
  curves: readonly ScalingCurve[] = [],
): readonly Chart[] {
  if (training === undefined || scenario === undefined || cluster === undefined) return [];
  const drawn = drawnStep(training, scenario, cluster, measurements);
  if (drawn === undefined) return [];
  const over = chartsOverTime(drawn, report.totals.memory.capacity);
  if (over === undefined) return [];
  const { gpu } = cluster;
  const path = computePath(gpu, scenario.precision);
  const stages = report.parallel?.stages.length ?? 1;
  const overStages = stages === 1 ? {} : { over: ` over ${stages} stages` };
  const charts: readonly (Chart | undefined)[] = [
    ...over,
    ...quantities.map(({ amountOf, ...quantity }) =>
      icicleChart({
        ...quantity,
        ...overStages,
        root: moduleTree(report.model.name, report.layers, amountOf),
      }),
    ),
    rooflineChart({
      gpu: gpu.title,
      points: rooflinePoints(report.layers),
      peak: path.peak,
      what: path.unit === 'tensor' ? `${path.actual} on tensor cores` : path.actual,
      bandwidth: gpu.memoryBandwidth.value,
      device: deviceNoun(gpu),
    }),
    scalingFigure(curves),
  ];
  return charts.flatMap((chart) => chart ?? []);
}

/** `undefined` where nothing takes time. */
function chartsOverTime(
  drawn: DrawnStep,
  capacity: number | null,
): readonly (Chart | undefined)[] | undefined {
  if (drawn.kind === 'pipeline') {
    const { step } = drawn;
    return step.times.step > 0
      ? [timelineChart(pipelineTimelineFigure(step)), rankMemoryChart(rankMemoryFigure(step, capacity))]
      : undefined;
  }
  const { plan, timeline } = drawn;
  if (!(timeline.step > 0)) return undefined;
  return [
    timelineChart(stepTimelineFigure(plan, timeline)),
    memoryChart({
      moments: memoryOverStep(plan, timeline),
      until: timeline.step,
      capacity,
      device: deviceNoun(plan.cluster.gpu),
    }),
  ];
}

/** What modules are compared by; a part that is unknown adds nothing. */
const quantities: readonly {
  readonly name: string;
  readonly title: string;
  readonly amountOf: (layer: LayerReport) => number;
  readonly textOf: (value: number) => string;
}[] = [
  {
    name: 'time',
    title: 'time',
    amountOf: ({ time }) => drawnAmount(time.forward) + drawnAmount(time.backward),
    textOf: (time) => formatTime(seconds(time)),
  },
  {
    name: 'saved',
    title: 'saved activations',
    amountOf: ({ memory }) => drawnAmount(memory.activations),
    textOf: (size) => formatBytes(bytes(size)),
  },
  {
    name: 'parameters',
    title: 'parameters',
    amountOf: ({ parameters }) => parameters,
    textOf: formatShortCount,
  },
  {
    name: 'exposed',
    title: 'exposed communication',
    amountOf: ({ time }) => drawnAmount(time.exposedCommunication),
    textOf: (time) => formatTime(seconds(time)),
  },
];
