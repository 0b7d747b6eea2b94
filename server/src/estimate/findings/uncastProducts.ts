/** `findings/uncast-products`: matmuls that autocast leaves in fp32 take a share of the step. */

import { operatorMarks } from '../../analysis/operatorMarks.ts';
import { takesOption } from '../../frameworks/registry.ts';
import { counted } from '../../model/counted.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Layer } from '../../model/graph.ts';
import type { Finding } from '../../model/stepCost.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import { isMatmulClass } from '../../operators/definition.ts';
import { definitionOf } from '../../operators/registry.ts';
import { timesOf } from '../plan/plannedTimes.ts';
import { passTimesOf, type StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';
import type { EstimatedStep } from './estimatedStep.ts';

/** Of the time of all kernels. */
const leastShare = 0.05;
/** Of the step, that other weights must save. */
const leastGain = 0.05;

export function uncastProducts({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { precision } = plan.scenario;
  if (precision !== 'fp16' && precision !== 'bf16') return [];
  // The whole graph is made only where there are such products.
  const seen = operatorsLeft(plan.folded ?? plan);
  if (seen.size === 0) return [];
  const left = plan.folded === undefined ? seen : operatorsLeft(plan);
  const share = shareOf(plan, left);
  const [layer, ...others] = layersOf(plan, left);
  if (layer === undefined || share < leastShare) return [];
  const half = halfWeights(plan, timeline.step);
  const more = others.length === 0 ? '' : ` and ${counted(others.length, 'more layer')}`;
  return [
    {
      code: 'findings/uncast-products',
      severity: 'warning',
      layer: layer.name,
      message: `${formatPercent(share)} of all kernel time goes to matmuls of \`${layer.name}\`${more} in fp32. No list of autocast names torch._grouped_mm, which takes the type of its weights`,
      fix:
        half === undefined
          ? 'Keep the weights of experts in half precision'
          : `Keep weights in half precision (weights=half): ${formatTime(half)} a step`,
      ...(half === undefined
        ? {}
        : { change: { kind: 'framework-option', name: 'weights', value: 'half' } as const }),
    },
  ];
}

/** Indices of matmuls that run in fp32 without a line that says so. */
function operatorsLeft({ training, lowered }: Pick<StepPlan, 'training' | 'lowered'>): ReadonlySet<number> {
  const marks = operatorMarks(training.analysis);
  const left = new Set<number>();
  for (const operator of training.analysis.graph.operators) {
    const { index } = operator;
    const cost = training.costs[index];
    const isMatmul = cost?.kind === 'known' && isMatmulClass(cost.class) && cost.forward.flops > 0;
    if (!isMatmul || lowered.operators[index]?.dtype !== 'fp32') continue;
    const isLeft = definitionOf(operator)?.pytorch.autocast === 'fp32';
    if (isLeft && marks?.[index]?.precision === undefined) left.add(index);
  }
  return left;
}

function shareOf(plan: StepPlan, operators: ReadonlySet<number>): number {
  const { forward, backward } = passTimesOf(plan);
  let all = 0;
  let own = 0;
  for (const { middle } of [forward, backward]) {
    for (const [index, time] of middle.entries()) {
      all += time;
      if (operators.has(index)) own += time;
    }
  }
  return all === 0 ? 0 : own / all;
}

const layersOf = ({ training }: StepPlan, operators: ReadonlySet<number>): readonly Layer[] =>
  training.analysis.layers.filter((layer) => layer.operators.some((index) => operators.has(index)));

/** Seconds of a step with weights in half precision, where the framework has them and they save enough. */
function halfWeights(plan: StepPlan, step: number): Seconds | undefined {
  const { framework } = plan.scenario;
  if (!takesOption(framework, 'weights', 'half') || plan.measured !== undefined) return undefined;
  const after = recost(plan, {
    framework: { name: framework.name, options: { ...framework.options, weights: 'half' } },
  });
  const time = after === undefined ? step : timesOf(after, 'middle').step;
  return time < (1 - leastGain) * step ? seconds(time) : undefined;
}
