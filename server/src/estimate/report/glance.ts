/** The step at a glance: the few numbers that a reader wants first, and what limits it in a sentence. */

import {
  atLeast,
  atMost,
  formatCount,
  formatDuration,
  formatPercent,
  formatPrice,
  formatRate,
} from '../../model/format.ts';
import { offerText } from '../../model/price.ts';
import type { StepLimit } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { decodingRows } from './decodingRows.ts';
import type { Report } from './report.ts';
import { memoryOfReport, ofCapacity, type SummaryRow, throughputText, timeText } from './summary.ts';

export function glanceAt(report: Report): readonly SummaryRow[] {
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
    ...(scenario.gpus === 1
      ? []
      : [
          {
            name: `efficiency on ${formatCount(scenario.gpus)} GPUs`,
            value: formatPercent(totals.scalingEfficiency),
            detail: `${timeText(time.exposedCommunication)} of ${timeText(time.communication)} communication exposed`,
          },
        ]),
    {
      name: 'peak memory',
      value: memoryOfReport(report),
      detail:
        memory.capacity === null
          ? ofCapacity(report)
          : `${formatPercent(memory.needed / memory.capacity)} ${ofCapacity(report)}`,
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
        ]),
  ];
}

function passName({ scenario, decoding }: Report): string {
  if (scenario.mode === 'training') return 'one training step';
  return decoding === undefined ? 'one forward pass' : 'one token of each sequence';
}

/** Whether it runs at all comes first. Sums that miss a part say nothing of what limits. */
export function limitSentence({ totals }: Report): string {
  const { kind, share } = totals.limit;
  const room = totals.memory.fits === 'no' ? [noRoom] : [];
  const limit = totals.time.exact ? [sentences[kind](formatPercent(share))] : [];
  return [...room, ...limit].join(' ');
}

const noRoom = 'The step does not fit into memory; its times are of a GPU with room for it.';

const sentences: Readonly<Record<StepLimit['kind'], (share: string) => string>> = {
  compute: (share) =>
    `Computation takes ${share} of the step: little is left to gain from communication or input.`,
  pipeline: (share) =>
    `For ${share} of the step the stage that ends last waits for other stages of the pipeline.`,
  host: (share) => `For ${share} of the step the GPU waits for the host to launch kernels.`,
  input: (share) => `For ${share} of the step the GPU waits for input.`,
  latency: (share) => `For ${share} of the step the GPU waits for messages to start up.`,
  communication: (share) => `Messages that are short of bandwidth add ${share} of the step.`,
  server: (share) => `For ${share} of the step the GPU waits for parameter servers.`,
  imbalance: (share) => `For ${share} of the step GPUs wait for the slowest worker.`,
};
