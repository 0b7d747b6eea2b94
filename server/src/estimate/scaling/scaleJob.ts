/** The same job on other numbers of GPUs. */

import { itemAt } from '../../model/at.ts';
import { type DeviceNoun, deviceNounFor } from '../../model/deviceNoun.ts';
import { formatBytes, formatPercent } from '../../model/format.ts';
import { gpuMemory } from '../../model/gpuMemory.ts';
import type { Issue } from '../../model/issue.ts';
import type { StepCost } from '../../model/stepCost.ts';
import type { Steps } from '../../model/steps.ts';
import type { ModelEstimate } from '../estimateModel.ts';
import { describeJob } from '../report/describeScenario.ts';
import { reportScenario } from '../report/reportScenario.ts';
import { type ScalingPoint, scalingCurve } from './scalingCurve.ts';

export interface Scaling {
  /** Of the model. */
  readonly name: string;
  /** `dgx-a100: batch 64 per GPU, bf16, adamw, pytorch-ddp, training`. */
  readonly job: string;
  /** What the points count. */
  readonly device: DeviceNoun;
  /** The batch over all GPUs is what all points share; else that of each GPU is. */
  readonly isStrong: boolean;
  readonly points: readonly ScalingPoint[];
  /** Sentences that explain an efficiency above 100 %, or a single GPU without memory for the step. */
  readonly notes: readonly string[];
  /** Numbers of GPUs that could not be costed; `issues` say why. */
  readonly missing: readonly number[];
  /** Of all points, each said once. */
  readonly issues: readonly Issue[];
}

/** One step for each number of GPUs; `costOn` costs the job on so many, and `costAlone` on one where all share a batch. */
export function* scaleInSteps(
  name: string,
  gpuCounts: readonly number[],
  costOn: (gpus: number) => ModelEstimate,
  costAlone: () => ModelEstimate = () => costOn(1),
): Steps<Scaling> {
  const costs: StepCost[] = [];
  const missing: number[] = [];
  const issues = new Map<string, Issue>();
  let batchSymbol: string | undefined;
  for (const gpus of gpuCounts) {
    const { opened, cost, costed, issues: said } = costOn(gpus);
    for (const issue of said) issues.set(`${issue.code} ${issue.message}`, issue);
    if (cost === undefined || !costed) missing.push(gpus);
    else costs.push(cost);
    batchSymbol = opened.analysis?.batchSymbol;
    yield;
  }
  for (const issue of otherBatchIssues(costs)) issues.set(issue.code, issue);
  const [first] = costs;
  const isStrong = first?.scenario.globalBatch !== undefined;
  const alone = !isStrong ? undefined : first.scenario.gpus === 1 ? first : costAlone().cost;
  const points = scalingCurve(costs, alone);
  return {
    name,
    job: first === undefined ? '' : describeJob(reportScenario(first), batchSymbol ?? null),
    device: first?.device ?? 'GPU',
    isStrong,
    points,
    notes: notesOf(costs, points, alone),
    missing,
    issues: [...issues.values()],
  };
}

/** A measured step is of one batch per GPU; where all share a batch, each number of GPUs has another. */
function otherBatchIssues(costs: readonly StepCost[]): readonly Issue[] {
  const batches = new Set(costs.map(({ scenario }) => scenario.batchPerGpu));
  if (batches.size < 2 || costs.every(({ scenario }) => scenario.measuredStep === undefined)) return [];
  return [
    {
      code: 'scenario/measured-step',
      severity: 'warning',
      message: `The measured step is taken for every batch per GPU, from ${Math.min(...batches)} to ${Math.max(...batches)}, and was measured with one; set \`batch\` instead of \`global-batch\``,
      scenarioKey: 'measuredStep',
    },
  ];
}

/** Of the point with the highest efficiency; of a batch that all share, a single GPU takes the whole. */
function notesOf(
  costs: readonly StepCost[],
  points: readonly ScalingPoint[],
  alone: StepCost | undefined,
): readonly string[] {
  if (!points.some(({ gpus }) => gpus > 1)) return [];
  if (alone !== undefined) {
    const { needed, capacity, fits } = gpuMemory(alone);
    return fits === 'no' && capacity !== null
      ? [
          `A single ${alone.device} would need ${formatBytes(needed)} of its ${formatBytes(capacity)} for the whole batch`,
        ]
      : [];
  }
  const known = points.flatMap(({ gpus, scalingEfficiency }, index) =>
    gpus > 1 && scalingEfficiency !== null ? [{ index, gpus, efficiency: scalingEfficiency }] : [],
  );
  const [best] = known.toSorted((one, other) => other.efficiency - one.efficiency);
  if (best === undefined) return [];
  const { device } = itemAt(costs, best.index);
  const own = `With ${best.gpus} ${deviceNounFor(best.gpus, device)} the efficiency is ${formatPercent(best.efficiency)}`;
  return itemAt(costs, best.index).totals.efficiencyNotes.map((note) => `${own}, ${note}`);
}
