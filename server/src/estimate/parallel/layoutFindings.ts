/** What is wrong with a layout, and which other layout was found to be better: each advice was costed. */

import { bindAnalysis } from '../../analysis/bindTrainingGraph.ts';
import { findFramework, optionValues } from '../../frameworks/registry.ts';
import { itemAt } from '../../model/at.ts';
import { capitalized } from '../../model/capitalized.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatCount, formatPercent, formatTime } from '../../model/format.ts';
import { contextExchanges, type FrameworkChoice, type ParallelScenario } from '../../model/scenario.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes, seconds } from '../../model/units.ts';
import { largestKind, shortageText } from '../findings/outOfMemory.ts';
import { withRuntime } from '../memory/reservedMemory.ts';
import { passesOf } from '../plan/stepPlan.ts';
import { expertFindings } from './expertFindings.ts';
import { bubbleOf, exchangeTimeOf, type LaidOutStep, layOutStep } from './laidOutStep.ts';
import { wholeLayers } from './layersOfWorkers.ts';
import { changed, fits, timeOf } from './otherLayouts.ts';

/** Where a cost is unknown, only memory that does not fit is sure: unknown work may hide what waits. */
export function layoutFindings(step: LaidOutStep, exact: boolean): readonly Finding[] {
  const waiting = exact
    ? [
        ...pipelineBubble(step),
        ...tensorCommunication(step),
        ...contextCommunication(step),
        ...expertFindings(step),
      ]
    : [];
  return [...outOfMemory(step), ...waiting, ...unsplitLayers(step)];
}

function outOfMemory(step: LaidOutStep): readonly Finding[] {
  if (fits(step)) return [];
  const { plan, memories, fullest, cluster, parallel } = step;
  const { kinds, peak, capacity } = itemAt(memories, fullest);
  const [kind, size] = largestKind(kinds, true);
  const where = parallel.pipeline === 1 ? 'The step' : `Stage ${fullest + 1} of ${plan.ranks.length}`;
  const fitting = outOfMemoryWays(step)
    .flatMap(({ kind: way, text, after }) =>
      after !== undefined && fits(after) ? [{ way, text, after }] : [],
    )
    .sort((one, other) => one.after.times.step - other.after.times.step);
  const better = fitting
    .filter(({ way }, index) => fitting.findIndex((other) => other.way === way) === index)
    .slice(0, 2)
    .map(
      ({ text, after }) =>
        `${text}, which needs ${formatBytes(withRuntime(peakOf(after)))} and takes ${timeOf(after)} a step`,
    );
  return [
    {
      code: 'findings/out-of-memory',
      severity: 'warning',
      layer: '',
      message: `${shortageText(where, cluster.gpu.title, { peak, capacity }, () => step.reserved().bounds.high)}. The largest part is ${kind}, ${formatBytes(size)}`,
      fix:
        better.length > 0
          ? capitalized(better.join('; or '))
          : 'No smaller `micro-batch` fits, nor twice the degrees, nor keeping only the inputs of blocks: use more GPUs for a copy, or GPUs with more memory',
    },
  ];
}

/** Of ways of one kind the fastest is enough. */
interface Way {
  readonly kind: 'micro-batch' | 'checkpoint' | 'degrees' | 'shards';
  readonly text: string;
  readonly after: LaidOutStep | undefined;
}

/** The samples of a step stay: where fewer copies are left, each has more passes. */
function outOfMemoryWays(step: LaidOutStep): readonly Way[] {
  const { scenario, parallel, cluster } = step;
  const { tensor, pipeline } = parallel;
  const keepsAll = (scenario.checkpoint ?? 'none') === 'none';
  const layouts = [
    ...(tensor * 2 <= cluster.gpusPerNode.value ? [{ tensor: tensor * 2, pipeline }] : []),
    { tensor, pipeline: pipeline * 2 },
  ];
  const copies = step.plan.layout.replicas;
  const microBatches = smallerMicroBatches(step).map(
    (after): Way => ({ kind: 'micro-batch', text: microBatchText(after), after }),
  );
  const degreesAlone = layouts.map(
    (layout): Way => ({ kind: 'degrees', text: `use ${degrees(layout)}`, after: changed(step, layout) }),
  );
  const lessKept = (keepsAll ? [undefined, ...layouts] : []).map((layout): Way => {
    const also = layout === undefined ? '' : `use ${degrees(layout)} and `;
    return {
      kind: 'checkpoint',
      text: `${also}keep only the inputs of blocks (\`checkpoint: block\`)`,
      after: changed(step, layout ?? {}, { checkpoint: 'block' }),
    };
  });
  const shards =
    copies === 1
      ? []
      : shardedState(scenario.framework).map(
          ({ what, written, framework }): Way => ({
            kind: 'shards',
            text: `split ${what} over the ${copies} copies (\`${written}\`)`,
            after: changed(step, {}, { framework }),
          }),
        );
  return [...microBatches, ...degreesAlone, ...lessKept, ...shards];
}

/** What copies of the model can share in the place of each having all of it. */
function shardedState({ name, options }: FrameworkChoice): readonly {
  readonly what: string;
  readonly written: string;
  readonly framework: FrameworkChoice;
}[] {
  if (name === 'pytorch-ddp')
    return [
      {
        what: 'gradients and optimizer state',
        written: 'deepspeed-zero,stage=2',
        framework: { name: 'deepspeed-zero', options: { stage: '2' } },
      },
    ];
  if (name === 'megatron' && options['distributed-optimizer'] !== 'true')
    return [
      {
        what: 'optimizer state',
        written: 'distributed-optimizer=true',
        framework: { name, options: { ...options, 'distributed-optimizer': 'true' } },
      },
    ];
  return [];
}

function pipelineBubble(step: LaidOutStep): readonly Finding[] {
  const { parallel, plan, times, scenario } = step;
  const threshold = thresholdOf(scenario.thresholds, 'pipeline-bubble');
  const share = bubbleOf(step) / times.step;
  if (parallel.pipeline === 1 || share < threshold) return [];
  const passes = passesOf(scenario);
  const works = times.ranks.map(({ forward, backward }) => forward + backward);
  const most = Math.max(...works);
  const longest = works.indexOf(most);
  const excess = (most * works.length) / works.reduce((total, work) => total + work, 0) - 1;
  const uneven =
    excess < unevenStages
      ? ''
      : `. Stage ${longest + 1} takes ${formatPercent(excess)} longer than the mean of the stages`;
  return [
    {
      code: 'findings/pipeline-bubble',
      severity: 'warning',
      layer: '',
      message: `For ${formatPercent(share)} of the step (${formatTime(seconds(bubbleOf(step)))}) the last of ${plan.ranks.length} pipeline stages waits for others: a step has ${formatCount(passes)} micro-batch${passes === 1 ? '' : 'es'}${uneven}`,
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

/** From which on stages of unlike time are worth a word. */
const unevenStages = 0.1;

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

function tensorCommunication(step: LaidOutStep): readonly Finding[] {
  const { plan, times, scenario, parallel, cluster } = step;
  const time = exchangeTimeOf(step, 'tensor');
  const share = time / times.step;
  if (share < thresholdOf(scenario.thresholds, 'tensor-communication')) return [];
  const { tensorGroup } = plan.layout;
  const across =
    tensorGroup.nodes === 1
      ? ''
      : `. The ${parallel.tensor} GPUs of a group lie on ${tensorGroup.nodes} nodes of ${cluster.gpusPerNode.value}`;
  const best = smallerGroups(step)
    .filter((after) => after.times.step < times.step && fits(after))
    .sort((one, other) => one.times.step - other.times.step)[0];
  return [
    {
      code: 'findings/tensor-communication',
      severity: 'warning',
      layer: '',
      message: `Collectives of tensor parallelism take ${formatPercent(share)} of the step (${formatTime(seconds(time))}), and nothing computes meanwhile${across}`,
      fix:
        [
          ...(best === undefined
            ? []
            : [
                `Use ${degrees(best.parallel)}, which takes ${timeOf(best)} a step of as many samples instead of ${timeOf(step)}`,
              ]),
          ...overlapAdvice(step).map((text) => (best === undefined ? capitalized(text) : text)),
        ].join('; or ') ||
        'No smaller group that fits in memory is faster: use faster links between the GPUs of a group',
    },
  ];
}

/** The framework's own option for collectives beside products, where it is off. */
function overlapAdvice(step: LaidOutStep): readonly string[] {
  const { framework } = step.scenario;
  const entry = findFramework(framework.name);
  const option = entry?.layout?.overlapOption;
  if (entry === undefined || option === undefined || optionValues(framework).get(option) === 'true')
    return [];
  const chosen = { ...framework, options: { ...framework.options, [option]: 'true' } };
  if (entry.contradiction?.(optionValues(chosen)) !== undefined) return [];
  const after = changed(step, { sequence: true }, { framework: chosen });
  if (after === undefined || after.times.step >= step.times.step || !fits(after)) return [];
  const sequence = step.parallel.sequence ? '' : ' with `sp`';
  return [
    `set \`${option}\` of \`${framework.name}\`${sequence}, which takes ${timeOf(after)} a step instead of ${timeOf(step)}`,
  ];
}

function contextCommunication(step: LaidOutStep): readonly Finding[] {
  const { plan, times, scenario, parallel, cluster } = step;
  const time = exchangeTimeOf(step, 'context');
  const share = time / times.step;
  if (share < thresholdOf(scenario.thresholds, 'context-communication')) return [];
  const { context, contextExchange } = parallel;
  const { contextGroup } = plan.layout;
  const across =
    contextGroup.nodes === 1
      ? ''
      : `. The ${context} GPUs of a group lie on ${contextGroup.nodes} nodes of ${cluster.gpusPerNode.value}`;
  const others = contextExchanges
    .filter((exchange) => exchange !== contextExchange)
    .map(
      (exchange): Way => ({
        kind: 'degrees',
        text: `use \`cp-comm=${exchange}\``,
        after: changed(step, { contextExchange: exchange }),
      }),
    );
  const smaller = [2, context]
    .filter((part) => context % part === 0)
    .map(
      (part): Way => ({
        kind: 'degrees',
        text: context === part ? 'leave `cp` out' : `use \`cp=${context / part}\``,
        after: changed(step, { context: context / part }),
      }),
    );
  const [best] = [...others, ...smaller]
    .flatMap(({ text, after }) => (after !== undefined && fits(after) ? [{ text, after }] : []))
    .filter(({ after }) => after.times.step < times.step)
    .sort((one, other) => one.after.times.step - other.after.times.step);
  const what =
    contextExchange === 'ring'
      ? 'Attention hides only a part of what the ring sends: the rest takes'
      : `Collectives of context parallelism (${contextExchange}) take`;
  return [
    {
      code: 'findings/context-communication',
      severity: 'warning',
      layer: '',
      message: `${what} ${formatPercent(share)} of the step (${formatTime(seconds(time))}), and nothing computes meanwhile${across}`,
      fix:
        best === undefined
          ? 'No smaller group that fits in memory is faster, nor another exchange: use faster links between the GPUs of a group'
          : `${capitalized(best.text)}, which takes ${timeOf(best.after)} a step of as many samples instead of ${timeOf(step)}`,
    },
  ];
}

/** Groups of a half and a quarter, with the GPUs that become free for copies or for stages. */
function smallerGroups(step: LaidOutStep): readonly LaidOutStep[] {
  const { tensor, pipeline } = step.parallel;
  return [2, 4]
    .filter((part) => tensor % part === 0)
    .flatMap((part) => [
      { tensor: tensor / part, pipeline },
      { tensor: tensor / part, pipeline: pipeline * part },
    ])
    .flatMap((layout) => changed(step, layout) ?? []);
}

function unsplitLayers(step: LaidOutStep): readonly Finding[] {
  const { parallel, scenario } = step;
  const threshold = thresholdOf(scenario.thresholds, 'unsplit-layers');
  const share = wholeShare(step);
  if (share < threshold) return [];
  const [first, ...others] = wholeLayersOf(step);
  const divides = [2, 4]
    .filter((part) => parallel.tensor % part === 0)
    .map((part) => parallel.tensor / part)
    .find((tensor) => {
      const after = changed(step, { tensor });
      return after !== undefined && wholeShare(after) < threshold;
    });
  const more = others.length === 0 ? '' : `, and ${formatCount(others.length)} more`;
  return [
    {
      code: 'findings/unsplit-layers',
      severity: 'information',
      layer: first?.layer ?? '',
      message: `${formatPercent(share)} of the FLOPs of forward are computed whole by each of the ${parallel.tensor * parallel.context} GPUs of a group: \`${first?.layer ?? ''}\` (${first?.reason ?? ''})${more}`,
      fix:
        divides === undefined
          ? 'Choose sizes that divide by the degree: heads, channels, or classes that are padded'
          : `Use \`tp=${divides}\`, which splits them, or sizes that divide by ${parallel.tensor}`,
    },
  ];
}

const wholeLayersOf = ({ training, plan }: LaidOutStep) =>
  wholeLayers(training, [...plan.sharded.whole, ...plan.sharded.wholeSequence]);

const wholeShare = (step: LaidOutStep): number =>
  wholeLayersOf(step).reduce((total, { share }) => total + share, 0);

/** Of a half, a quarter and so on, as far as whole samples go; none where the model fixes its batch. */
function smallerMicroBatches(step: LaidOutStep): readonly LaidOutStep[] {
  const { training, scenario, parallel, cluster } = step;
  const { batchSymbol } = training.analysis;
  const found: LaidOutStep[] = [];
  for (let parts = 2; batchSymbol !== undefined && scenario.batchPerGpu % parts === 0; parts *= 2) {
    const batch = scenario.batchPerGpu / parts;
    const dimensions = { ...scenario.dimensions, [batchSymbol]: batch };
    const bound = bindAnalysis(training.analysis, new Map(Object.entries(dimensions)), scenario.mode);
    const accumulate = passesOf(scenario) * parts;
    const after = layOutStep(
      bound,
      { ...scenario, batchPerGpu: batch, dimensions, accumulate },
      parallel,
      cluster,
    );
    if (after !== undefined) found.push(after);
  }
  return found;
}

const microBatchText = ({ scenario }: LaidOutStep): string =>
  `use a micro-batch of ${formatCount(scenario.batchPerGpu)} (\`micro-batch=${scenario.batchPerGpu}\`)`;

const degrees = ({ tensor, pipeline }: Pick<ParallelScenario, 'tensor' | 'pipeline'>): string =>
  `\`tp=${tensor}${pipeline === 1 ? '' : `,pp=${pipeline}`}\``;

const peakOf = ({ memories, fullest }: LaidOutStep) => bytes(itemAt(memories, fullest).peak);
