/** The step at a glance: the few numbers that a reader wants first, and what limits it in a sentence. */

import { counted } from '../../model/counted.ts';
import type { DeviceNoun } from '../../model/deviceNoun.ts';
import {
  atLeast,
  atMost,
  formatBytes,
  formatCount,
  formatDuration,
  formatEnergy,
  formatPercent,
  formatPrice,
  formatRate,
  significant,
} from '../../model/format.ts';
import { memoryMark } from '../../model/gpuMemory.ts';
import { offerText } from '../../model/price.ts';
import type { StepLimit } from '../../model/stepCost.ts';
import { bytes, joules, seconds } from '../../model/units.ts';
import { decodingRows } from './decodingRows.ts';
import { parallelRows } from './parallelRows.ts';
import type { Report } from './report.ts';
import { ofCapacity, type SummaryRow, throughputText, timeText } from './reportText.ts';

export interface GlanceRow extends SummaryRow {
  /** What is wrong with the number, in words beside it. */
  readonly mark?: GlanceMark;
}

export interface GlanceMark {
  readonly severity: 'error' | 'warning';
  readonly text: string;
}

/** The same as a page draws it: a number and its unit stay on one line. */
export const drawnGlance = (report: Report): readonly GlanceRow[] =>
  glanceAt(report).map((row) => ({ ...row, detail: row.detail.replace(/(\d) (?=\S)/g, '$1\u00a0') }));

export function glanceAt(report: Report): readonly GlanceRow[] {
  const { totals, scenario, decoding } = report;
  const { time, memory, run } = totals;
  return [
    {
      name: passName(report),
      value: atLeast(timeText(time.step), time.exact),
      detail:
        time.stepRange === null || !time.exact
          ? ''
          : `${timeText(time.stepRange[0])} to ${timeText(time.stepRange[1])}`,
    },
    {
      name: 'throughput',
      value: throughputText(report),
      detail:
        totals.tokenThroughput === undefined || totals.tokenThroughput === null || decoding !== undefined
          ? `MFU ${formatPercent(totals.mfu)}`
          : `${atMost(formatRate(totals.tokenThroughput, 'tokens'), time.exact)}, MFU ${formatPercent(totals.mfu)}`,
    },
    ...decodingRows(report).filter(({ name }) => name !== 'decode'),
    ...(scenario.gpus === 1 ? [] : [onSeveralGpus(report)]),
    {
      name: 'peak memory',
      value: atLeast(formatBytes(bytes(memory.needed)), totals.exact),
      detail:
        memory.capacity === null
          ? ofCapacity(report)
          : `${atLeast(formatPercent(memory.needed / memory.capacity), totals.exact)} ${ofCapacity(report)}`,
      ...memoryMarkOf(report),
    },
    ...(run === undefined
      ? []
      : [
          {
            name: 'whole run',
            value: atLeast(formatDuration(seconds(run.time)), run.exact && time.exact),
            detail:
              run.price === null
                ? `${formatCount(run.steps)} steps`
                : [
                    `${atLeast(formatPrice(run.price), run.exact && time.exact)} for ${formatCount(run.steps)} steps`,
                    ...(run.offer === undefined ? [] : [offerText(run.offer)]),
                  ].join(', '),
          },
          ...(run.energy === null
            ? []
            : [
                {
                  name: 'energy of the run',
                  value: `≤ ${formatEnergy(joules(run.energy.atMost))}`,
                  detail: `upper estimate: ${formatCount(run.energy.boardPower)} W × ${formatPercent(run.energy.utilisation)} busy × PUE ${significant(run.energy.pue)}`,
                },
              ]),
        ]),
  ];
}

/** How well the GPUs are used; of those that share a copy of the model, how they do. */
function onSeveralGpus(report: Report): GlanceRow {
  const { totals, scenario } = report;
  const { time } = totals;
  const exposed = `${timeText(time.exposedCommunication)} of ${timeText(time.communication)} communication exposed`;
  const [layout] = parallelRows(report);
  if (layout === undefined)
    return {
      name: `efficiency on ${devicesOf(scenario)}`,
      value: formatPercent(totals.scalingEfficiency),
      detail: time.exact
        ? [exposed, ...whyAbove(totals.scalingEfficiency)].join(', ')
        : 'unknown, because a part of the step is',
    };
  const { bubble } = report.parallel ?? { bubble: 0 };
  const waiting =
    time.step === null || bubble === 0
      ? []
      : [`${formatPercent(bubble / time.step)} of the step is pipeline bubble`];
  return {
    name: `layout of ${devicesOf(scenario)}`,
    value: layout.value,
    detail: [...waiting, exposed].join(', '),
  };
}

const devicesOf = ({ gpus, device = 'GPU' }: Report['scenario']): string => counted(gpus, device);

/** A share over 100 % reads as a mistake where nothing is said. */
const whyAbove = (efficiency: number | null): readonly string[] =>
  efficiency !== null && Math.round(efficiency * 100) > 100 ? ['over 100 %: Totals say why'] : [];

function memoryMarkOf({ totals: { memory, exact } }: Report): { readonly mark?: GlanceMark } {
  const { fits } = memory;
  const text = memoryMark({ fits, exact });
  return text === '' ? {} : { mark: { severity: fits === 'no' ? 'error' : 'warning', text } };
}

function passName({ scenario, decoding }: Report): string {
  if (scenario.mode === 'training') return 'one training step';
  return decoding === undefined ? 'one forward pass' : 'one token of each sequence';
}

/** Whether it runs at all comes first. Sums that miss a part say nothing of what limits. */
export function limitSentence({ totals, scenario: { device = 'GPU' } }: Report): string {
  const { kind, share } = totals.limit;
  const room = totals.memory.fits === 'no' ? [noRoom(device)] : [];
  const limit = totals.time.exact ? [sentences[kind](formatPercent(share), device)] : [];
  return [...room, ...limit].join(' ');
}

const noRoom = (device: DeviceNoun): string =>
  `The step does not fit into memory; its times are of a ${device} with room for it.`;

const sentences: Readonly<Record<StepLimit['kind'], (share: string, device: DeviceNoun) => string>> = {
  compute: (share) =>
    `Computation takes ${share} of the step: little is left to gain from communication or input.`,
  pipeline: (share) =>
    `For ${share} of the step the stage that ends last waits for other stages of the pipeline.`,
  host: (share, device) => `For ${share} of the step the ${device} waits for the host to launch kernels.`,
  input: (share, device) => `For ${share} of the step the ${device} waits for input.`,
  latency: (share, device) => `For ${share} of the step the ${device} waits for messages to start up.`,
  communication: (share, device) =>
    `Messages short of bandwidth cost ${share} of the step: the ${device} waits for them, or computes more slowly beside them.`,
  server: (share, device) => `For ${share} of the step the ${device} waits for parameter servers.`,
  imbalance: (share, device) => `For ${share} of the step ${device}s wait for the slowest worker.`,
};
