/** A plan as a table: the best layouts, one for each pair of degrees, why they are slower, and the best in launchers' words. */

import { bestOfDegrees } from '../../estimate/planner/bestOfDegrees.ts';
import { chooseLayout } from '../../estimate/planner/chooseLayout.ts';
import { whySlower } from '../../estimate/planner/compareLayouts.ts';
import { launcherOptions } from '../../estimate/planner/launcherOptions.ts';
import type { LayoutCandidate, LayoutSearch } from '../../estimate/planner/layoutCandidate.ts';
import { stepText } from '../../estimate/planner/parallelText.ts';
import type { FoundLayouts } from '../../estimate/planner/searchLayouts.ts';
import { unknownPartsText } from '../../estimate/planner/unknownParts.ts';
import { type Column, layoutColumns } from '../../estimate/report/columns.ts';
import { hasManyOptions, labelFramework, printFramework } from '../../formats/frameworkText.ts';
import { counted } from '../../model/counted.ts';
import { atMost, formatCount, formatPercent, formatRate, formatTime } from '../../model/format.ts';
import { gpuMemory, markedMemory } from '../../model/gpuMemory.ts';
import { type AskedGoal, frontTable, goalText, plainFront } from './renderGoal.ts';

export interface PlannedGpus {
  readonly gpus: number;
  readonly search: LayoutSearch;
  readonly found: FoundLayouts;
}

export function renderPlan(
  planned: readonly PlannedGpus[],
  format: 'table' | 'json',
  top: number,
  asked: AskedGoal = { goal: 'fastest' },
): string {
  const layouts = planned.flatMap(({ gpus, found }) => found.fitting.map((layout) => ({ gpus, layout })));
  const choice = chooseLayout(layouts, asked.goal, asked.deadline);
  if (format === 'json')
    return `${JSON.stringify(
      planned.map((each) => ({
        ...plainPlan(each, top),
        front: plainFront(layouts.filter(({ gpus }) => gpus === each.gpus)),
        ...('chosen' in choice && choice.chosen.gpus === each.gpus
          ? { chosen: { goal: asked.goal, why: choice.why, request: choice.chosen.layout.request } }
          : {}),
      })),
      null,
      2,
    )}\n`;
  const tables = planned.map((each) => planTable(each, top));
  const several = planned.length > 1 ? [gpusTable(planned)] : [];
  const goal = layouts.length === 0 ? [] : [goalText(choice, asked), frontTable(layouts, top)];
  return `${[...several, ...tables, ...goal].join('\n\n')}\n`;
}

const columns: readonly Column[] = [
  { title: '', align: 'right' },
  { title: 'tp', align: 'right' },
  { title: 'pp', align: 'right' },
  { title: 'dp', align: 'right' },
  { title: 'layout', align: 'left' },
  { title: 'micro-batch', align: 'right' },
  { title: 'passes', align: 'right' },
  { title: 'checkpoint', align: 'left' },
  { title: 'framework', align: 'left' },
  { title: 'step', align: 'right' },
  { title: 'range', align: 'right' },
  { title: 'throughput', align: 'right' },
  { title: 'MFU', align: 'right' },
  { title: 'memory', align: 'right' },
  { title: 'why it is slower', align: 'left' },
];

function planTable({ gpus, search, found }: PlannedGpus, top: number): string {
  const shown = bestOfDegrees(found.fitting).slice(0, top);
  const [best] = shown;
  const tokens = best?.cost.totals.tokensPerSample;
  const ofTokens = tokens === undefined ? '' : ` of ${counted(tokens, 'token')}`;
  const head = `${counted(gpus, 'GPU')}, ${counted(search.globalBatch, 'sample')}${ofTokens} a step`;
  if (best === undefined) return `${head}: ${whyNone(search, found)}`;
  const lines = layoutColumns(
    columns,
    shown.map((candidate, index) => rowOf(candidate, index, best)),
  );
  const left =
    found.leftOut === 0
      ? ''
      : `; ${formatCount(found.leftOut)} sets of degrees with over 8 times the GPUs of a copy that fits are left out`;
  const bounded =
    found.bounded === 0 ? '' : `; ${formatCount(found.bounded)} cannot be among the fastest, by a bound`;
  const isExact = found.fitting.every(({ cost }) => cost.totals.exact);
  const unknown = unknownPartsText(isExact);
  const paste = launcherOptions(best).map(({ launcher, text }) => `  ${launcher}\n    ${text}`);
  return [
    `${head}: ${formatCount(found.costed)} layouts costed, ${formatCount(found.fitting.length)} fit${bounded}${left}${unknown}`,
    '',
    ...lines,
    ...optionLines(shown),
    '',
    'The first in the words of',
    ...paste,
  ].join('\n');
}

function whyNone({ fixedMicroBatch }: LayoutSearch, { costed }: FoundLayouts): string {
  if (costed > 0)
    return `no layout fits, of ${formatCount(costed)} costed. Use more GPUs, GPUs with more memory, or fewer tokens in a sample.`;
  return fixedMicroBatch === undefined
    ? 'no layout can be costed. Use a number of samples that the GPUs divide, or leave out `--framework`.'
    : `no layout can be costed. The file fixes its batch at ${formatCount(fixedMicroBatch)}: use as many samples for each GPU, or a multiple, or export it with a dynamic batch.`;
}

function rowOf(candidate: LayoutCandidate, index: number, best: LayoutCandidate): readonly string[] {
  const { tensor, pipeline, replicas, microBatch, passes, checkpoint, framework, cost } = candidate;
  const { time, throughput, tokensPerSample, mfu } = cost.totals;
  const range = time.range;
  return [
    String(index + 1),
    ...[tensor, pipeline, replicas].map(formatCount),
    besideDegrees(candidate),
    ...[microBatch, passes].map(formatCount),
    checkpoint,
    labelFramework(framework),
    stepText(candidate),
    range === null ? '' : `${formatTime(range.low)} to ${formatTime(range.high)}`,
    atMost(
      tokensPerSample === undefined || throughput === null
        ? formatRate(throughput)
        : formatRate(throughput * tokensPerSample, 'tokens'),
      time.exact || throughput === null,
    ),
    formatPercent(mfu),
    markedMemory(gpuMemory(cost)),
    index === 0 ? '' : whySlower(candidate, best),
  ];
}

/** Options that would make a column too wide, each framework once. */
function optionLines(shown: readonly LayoutCandidate[]): readonly string[] {
  const texts = new Set(
    shown.flatMap(({ framework }) => (hasManyOptions(framework) ? [printFramework(framework)] : [])),
  );
  return texts.size === 0 ? [] : ['', ...[...texts].map((text) => `with ${text}`)];
}

/** `ep=8`, `cp=2`, `vp=2 interleaved-1f1b`: what not all layouts have. */
const besideDegrees = ({ pipeline, context, expert, chunks, schedule }: LayoutCandidate): string =>
  [
    ...(context === 1 ? [] : [`cp=${context}`]),
    ...(expert === 1 ? [] : [`ep=${expert}`]),
    ...(chunks === 1 ? [] : [`vp=${chunks}`]),
    ...(pipeline === 1 ? [] : [schedule]),
  ].join(' ');

/** The best on each number of GPUs: the fewest that fit come first. */
function gpusTable(planned: readonly PlannedGpus[]): string {
  const rows = planned.map(({ gpus, found }) => {
    const [best] = found.fitting;
    if (best === undefined) return [formatCount(gpus), 'none fits', '', '', ''];
    const { throughput, time } = best.cost.totals;
    return [
      formatCount(gpus),
      `tp=${best.tensor},pp=${best.pipeline},micro-batch=${best.microBatch}`,
      stepText(best),
      throughput === null ? '' : atMost(formatRate(throughput / gpus), time.exact),
      markedMemory(gpuMemory(best.cost)),
    ];
  });
  return layoutColumns(
    [
      { title: 'GPUs', align: 'right' },
      { title: 'best layout', align: 'left' },
      { title: 'step', align: 'right' },
      { title: 'throughput of a GPU', align: 'right' },
      { title: 'memory', align: 'right' },
    ],
    rows,
  ).join('\n');
}

/** In base units. */
function plainPlan({ gpus, search, found }: PlannedGpus, top: number) {
  const shown = bestOfDegrees(found.fitting).slice(0, top);
  return {
    gpus,
    globalBatch: search.globalBatch,
    costed: found.costed,
    fitting: found.fitting.length,
    layouts: shown.map((candidate, index) => {
      const { cost, request: _, ...layout } = candidate;
      const { time, throughput, mfu } = cost.totals;
      const need = gpuMemory(cost);
      return {
        ...layout,
        exact: time.exact,
        range: time.range,
        throughput,
        mfu,
        memory: need.needed,
        fits: need.fits,
        why: index === 0 || shown[0] === undefined ? '' : whySlower(candidate, shown[0]),
      };
    }),
    ...(shown[0] === undefined ? {} : { paste: launcherOptions(shown[0]) }),
  };
}
