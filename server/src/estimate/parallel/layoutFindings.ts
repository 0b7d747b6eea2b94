/** What is wrong with a layout, and which other layout was found to be better: each advice was costed. */

import { findFramework, optionValues } from '../../frameworks/registry.ts';
import { itemAt } from '../../model/at.ts';
import { capitalized } from '../../model/capitalized.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBytes, formatCount, formatPercent, formatTime } from '../../model/format.ts';
import { contextExchanges, type FrameworkChoice, type ParallelScenario } from '../../model/scenario.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes, seconds } from '../../model/units.ts';
import { keyHeadsOfAttention } from '../../parallel/attentionCores.ts';
import { largestKind, shortageText } from '../findings/outOfMemory.ts';
import { withRuntime } from '../memory/reservedMemory.ts';
import { passesOf } from '../plan/stepPlan.ts';
import { expertFindings } from './expertFindings.ts';
import { exchangeTimeOf, type LaidOutStep, stagesOf } from './laidOutStep.ts';
import { launchBoundLayout } from './launchFindings.ts';
import { wholeLayers } from './layersOfWorkers.ts';
import { changed, fits, microBatchText, smallerMicroBatches, timeOf } from './otherLayouts.ts';
import { pipelineFindings } from './pipelineFindings.ts';

/** Where a cost is unknown, only memory that does not fit is sure: unknown work may hide what waits. */
export function layoutFindings(step: LaidOutStep, exact: boolean): readonly Finding[] {
  const waiting = exact
    ? [
        ...launchBoundLayout(step),
        ...pipelineFindings(step),
        ...tensorCommunication(step),
        ...contextCommunication(step),
        ...expertFindings(step),
      ]
    : [];
  return [...outOfMemory(step), ...waiting, ...(exact ? replicatedHeads(step) : []), ...unsplitLayers(step)];
}

function outOfMemory(step: LaidOutStep): readonly Finding[] {
  if (fits(step)) return [];
  const { plan, memories, fullest, cluster, parallel } = step;
  const { kinds, peak, capacity } = itemAt(memories, fullest);
  const [kind, size] = largestKind(kinds, true);
  const where = parallel.pipeline === 1 ? 'The step' : `Stage ${fullest + 1} of ${plan.ranks.length}`;
  const alone = outOfMemoryWays(step)
    .flatMap(({ kind: way, text, after }) =>
      after !== undefined && fits(after) ? [{ way, text, after }] : [],
    )
    .sort((one, other) => one.after.times.step - other.after.times.step);
  const fitting = alone.length > 0 ? alone : bothWays(step);
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
          : 'No smaller `micro-batch` fits, nor twice the degrees, also where blocks keep only their inputs: use more GPUs for a copy, or GPUs with more memory',
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

/** Where no single change is enough: the largest micro-batch that fits where blocks keep only their inputs. */
function bothWays(step: LaidOutStep): readonly FittingWay[] {
  if ((step.scenario.checkpoint ?? 'none') !== 'none') return [];
  for (const smaller of smallerMicroBatches(step)) {
    const after = changed(smaller, {}, { checkpoint: 'block' });
    if (after === undefined || !fits(after)) continue;
    const text = `${microBatchText(smaller)} and keep only the inputs of blocks (\`checkpoint: block\`)`;
    return [{ way: 'checkpoint', text, after }];
  }
  return [];
}

interface FittingWay {
  readonly way: Way['kind'];
  readonly text: string;
  readonly after: LaidOutStep;
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
    // A group of one has nothing to split.
    .filter((tensor) => tensor > 1)
    .find((tensor) => {
      const after = changed(step, { tensor });
      return after !== undefined && wholeShare(after) < threshold;
    });
  const more = others.length === 0 ? '' : `, and ${formatCount(others.length)} more`;
  const heads = sharesHeads(step)
    ? undefined
    : keyHeadsOfAttention(step.training.analysis).find((each) => each % parallel.tensor !== 0);
  const shared =
    heads === undefined
      ? ''
      : `. ${formatCount(heads)} heads of keys and values do not divide by ${parallel.tensor}, so that attention stays whole`;
  return [
    {
      code: 'findings/unsplit-layers',
      severity: 'information',
      layer: first?.layer ?? '',
      message: `${formatPercent(share)} of the FLOPs of forward are computed whole by each of the ${parallel.tensor * parallel.context} GPUs of a group. ${more === '' ? 'This is' : 'These are'} \`${first?.layer ?? ''}\` (${first?.reason ?? ''})${more}${shared}`,
      fix:
        divides === undefined
          ? 'Choose sizes that divide by the degree: heads, channels, or classes that are padded'
          : `Use \`tp=${divides}\`, which splits them, or sizes that divide by ${parallel.tensor}`,
    },
  ];
}

/** Heads of keys and values that are fewer than the GPUs of a group, and what it costs that several compute with the same. */
function replicatedHeads(step: LaidOutStep): readonly Finding[] {
  const { parallel, plan, times, training } = step;
  const { tensor } = parallel;
  const heads = keyHeadsOfAttention(training.analysis).find((each) => each < tensor);
  if (heads === undefined || !sharesHeads(step)) return [];
  const { operators } = training.analysis.graph;
  const time = stagesOf(plan, times.slowest).reduce((total, { plan: own, collectives }) => {
    const gathers = collectives.filter(
      ({ axis, operator }) => axis === 'tensor' && operators[operator]?.type === 'Attention',
    );
    return total + passesOf(own.scenario) * gathers.reduce((sum, each) => sum + each.time, 0);
  }, 0);
  const smaller = changed(step, { tensor: heads });
  return [
    {
      code: 'findings/replicated-heads',
      severity: 'information',
      layer: '',
      message: `K/V heads replicated: the ${tensor} GPUs of a group share ${formatCount(heads)} heads of keys and values, ${tensor / heads} GPUs each. Queries, keys and values are gathered for it, which takes ${formatPercent(time / times.step)} of the step (${formatTime(seconds(time))})`,
      fix:
        smaller !== undefined && fits(smaller) && smaller.times.step < times.step
          ? `Use \`tp=${heads}\`, which takes ${timeOf(smaller)} a step of as many samples instead of ${timeOf(step)}`
          : `No layout with \`tp=${heads}\` that fits is faster: leave it, or use a model with more heads of keys and values`,
    },
  ];
}

const sharesHeads = ({ scenario }: LaidOutStep): boolean =>
  findFramework(scenario.framework.name)?.layout?.sharesHeads === true;

const wholeLayersOf = ({ training, plan }: LaidOutStep) =>
  wholeLayers(training, [...plan.sharded.whole, ...plan.sharded.wholeSequence]);

const wholeShare = (step: LaidOutStep): number =>
  wholeLayersOf(step).reduce((total, { share }) => total + share, 0);

const degrees = ({ tensor, pipeline }: Pick<ParallelScenario, 'tensor' | 'pipeline'>): string =>
  `\`tp=${tensor}${pipeline === 1 ? '' : `,pp=${pipeline}`}\``;

const peakOf = ({ memories, fullest }: LaidOutStep) => bytes(itemAt(memories, fullest).peak);
