/** Pipelines whose stages wait: for others, for the longest of them, or for what copies share. */

import { itemAt } from '../../model/at.ts';
import { capitalized } from '../../model/capitalized.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatCount, formatPercent, formatTime } from '../../model/format.ts';
import type { FrameworkChoice, ParallelScenario } from '../../model/scenario.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { exchangesPerStep, passesOf } from '../plan/stepPlan.ts';
import { bubbleOf, type LaidOutStep, layOutStep } from './laidOutStep.ts';
import { changed, fits, microBatchText, smallerMicroBatches, timeOf } from './otherLayouts.ts';

/** A bubble says itself which stage is the longest. */
export function pipelineFindings(step: LaidOutStep): readonly Finding[] {
  const bubble = pipelineBubble(step);
  return [...(bubble.length > 0 ? bubble : unevenStages(step)), ...shardedPipeline(step)];
}

function pipelineBubble(step: LaidOutStep): readonly Finding[] {
  const { parallel, plan, times, scenario } = step;
  const threshold = thresholdOf(scenario.thresholds, 'pipeline-bubble');
  const share = bubbleOf(step) / times.step;
  if (parallel.pipeline === 1 || share < threshold) return [];
  const passes = passesOf(scenario);
  const { rank, excess } = longestStage(step);
  const few = passes < plan.ranks.length ? ', fewer than stages' : '';
  const uneven =
    excess < thresholdOf(scenario.thresholds, 'uneven-stages')
      ? ''
      : `. Stage ${rank + 1} takes ${formatPercent(excess)} longer than the mean of the stages`;
  return [
    {
      code: 'findings/pipeline-bubble',
      severity: 'warning',
      layer: '',
      message: `For ${formatPercent(share)} of the step (${formatTime(seconds(bubbleOf(step)))}) the last of ${plan.ranks.length} pipeline stages waits for others. A step has ${formatCount(passes)} micro-batch${passes === 1 ? '' : 'es'}${few}${uneven}`,
      fix: capitalized(
        [
          ...balancedAdvice(step),
          ...microBatchAdvice(step, threshold),
          ...scheduleAdvice(step),
          ...fewerStagesAdvice(step),
        ].join('; or ') || 'use fewer stages, or more GPUs for the longest one',
      ),
    },
  ];
}

interface LongestStage {
  /** Of the pipeline. */
  readonly rank: number;
  /** By how much it takes longer than the mean: 0 where all take as long. */
  readonly excess: number;
}

function longestStage({ times }: LaidOutStep): LongestStage {
  const works = times.ranks.map(({ forward, backward }) => forward + backward);
  const most = Math.max(...works);
  return {
    rank: works.indexOf(most),
    excess: (most * works.length) / works.reduce((total, work) => total + work, 0) - 1,
  };
}

/** With many micro-batches the longest stage hardly waits, and all others wait for it. */
function unevenStages(step: LaidOutStep): readonly Finding[] {
  const { plan, scenario } = step;
  const { rank, excess } = longestStage(step);
  if (plan.ranks.length === 1 || excess < thresholdOf(scenario.thresholds, 'uneven-stages')) return [];
  return [
    {
      code: 'findings/uneven-stages',
      severity: 'warning',
      layer: '',
      message: `Stage ${rank + 1} of ${plan.ranks.length} takes ${formatPercent(excess)} longer than the mean of the stages. The others wait for it in each of ${formatCount(passesOf(scenario))} micro-batches`,
      fix: capitalized(
        [...balancedAdvice(step), ...scheduleAdvice(step), ...fewerStagesAdvice(step)].join('; or ') ||
          'give that stage fewer blocks (`stages`), or split its largest layer (`tp`)',
      ),
    },
  ];
}

/** Copies that share gradients exchange them, and weights with them, behind each pass that one stage has ended. */
function shardedPipeline(step: LaidOutStep): readonly Finding[] {
  const { plan, parallel, scenario } = step;
  const first = itemAt(plan.stages, 0).plan;
  const exchanges = exchangesPerStep(first);
  if (parallel.pipeline === 1 || exchanges === 1) return [];
  const { framework } = scenario;
  const what =
    first.exchange.shards.parameters > 1 ? 'gather their weights and scatter gradients' : 'scatter gradients';
  const refused = framework.name === 'deepspeed-zero' ? '. DeepSpeed runs no pipeline with ZeRO 2 and 3' : '';
  const once: FrameworkChoice = { name: 'deepspeed-zero', options: { stage: '1' } };
  const after = changed(step, {}, { framework: once });
  const takes =
    after !== undefined && fits(after)
      ? `, which takes ${timeOf(after)} a step instead of ${timeOf(step)}`
      : '';
  return [
    {
      code: 'findings/sharded-pipeline',
      severity: 'warning',
      layer: '',
      message: `With \`${framework.name}\` copies of a stage ${what} in each of ${formatCount(exchanges)} micro-batches${refused}`,
      fix: `Share the optimizer state alone (\`deepspeed-zero,stage=1\`)${takes}`,
    },
  ];
}

function balancedAdvice(step: LaidOutStep): readonly string[] {
  if (step.parallel.stages === 'balanced') return [];
  const after = changed(step, { stages: 'balanced' });
  return after !== undefined && after.times.step < step.times.step && fits(after)
    ? [`cut into stages of like time (\`stages=balanced\`), which takes ${timeOf(after)} a step`]
    : [];
}

/** Several stages on each rank, or gradients of weights in the bubble: the fastest that fits. */
function scheduleAdvice(step: LaidOutStep): readonly string[] {
  const { schedule } = step.parallel;
  if (schedule !== '1f1b' && schedule !== 'gpipe') return [];
  const [best] = otherSchedules
    .flatMap(({ text, layout }) => {
      const after = changed(step, layout);
      return after !== undefined && after.times.step < step.times.step && fits(after)
        ? [{ text, after }]
        : [];
    })
    .sort((one, other) => one.after.times.step - other.after.times.step);
  return best === undefined
    ? []
    : [`use ${best.text}, which takes ${timeOf(best.after)} a step instead of ${timeOf(step)}`];
}

const otherSchedules: readonly {
  readonly text: string;
  readonly layout: Pick<ParallelScenario, 'chunks' | 'schedule'>;
}[] = [
  {
    text: 'two stages on each rank (`vp=2,schedule=interleaved-1f1b`)',
    layout: { chunks: 2, schedule: 'interleaved-1f1b' },
  },
  {
    text: 'a backward in two parts (`schedule=zb-h1`)',
    layout: { chunks: 1, schedule: 'zb-h1' },
  },
];

/** The micro-batch with which a step of as many samples is shortest; else how many more of this size it takes. */
function microBatchAdvice(step: LaidOutStep, threshold: number): readonly string[] {
  const [best] = smallerMicroBatches(step)
    .filter((after) => after.times.step < step.times.step && fits(after))
    .sort((one, other) => one.times.step - other.times.step);
  if (best !== undefined)
    return [
      `${microBatchText(best)}, which takes ${timeOf(best)} a step of as many samples instead of ${timeOf(step)}`,
    ];
  const { training, scenario, parallel, cluster } = step;
  const before = passesOf(scenario);
  for (let passes = before * 2; passes <= Math.max(mostPasses, before * 4); passes *= 2) {
    const after = layOutStep(training, { ...scenario, accumulate: passes }, parallel, cluster);
    if (after === undefined) return [];
    const share = bubbleOf(after) / after.times.step;
    if (share < threshold)
      return [
        `use more samples in a step: ${formatCount(passes)} micro-batches of this size leave ${formatPercent(share)}`,
      ];
  }
  return [];
}

const mostPasses = 256;

function fewerStagesAdvice(step: LaidOutStep): readonly string[] {
  const { pipeline } = step.parallel;
  const fewer = pipeline / 2;
  const after = Number.isInteger(fewer) ? changed(step, { pipeline: fewer }) : undefined;
  return after !== undefined && after.times.step < step.times.step && fits(after)
    ? [
        `use ${fewer === 1 ? 'one stage' : `${fewer} stages`} (\`pp=${fewer}\`), which takes ${timeOf(after)} a step of as many samples`,
      ]
    : [];
}
