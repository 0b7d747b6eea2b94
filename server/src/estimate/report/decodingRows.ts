/** What a decode step adds to the totals: the prompt before it, and its cache. */

import { counted } from '../../model/counted.ts';
import { formatBytes, formatCount, formatTime } from '../../model/format.ts';
import { bytes, seconds } from '../../model/units.ts';
import type { Report } from './report.ts';

interface Row {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
}

export function decodingRows({ decoding, scenario }: Report): readonly Row[] {
  if (decoding === undefined) return [];
  const { prefill, past, bytesPerToken, cache, fixed, largestBatch, longestContext } = decoding;
  const sequences =
    scenario.batchPerGpu === 1 ? 'one sequence' : `${formatCount(scenario.batchPerGpu)} sequences`;
  return [
    {
      name: 'decode',
      value: `${formatCount(scenario.batchPerGpu)} × 1 token`,
      detail: `after ${counted(past, 'token')}, in one step; one replica per ${scenario.device ?? 'GPU'}, no continuous batching`,
    },
    {
      name: 'prefill',
      value: timeText(prefill.time),
      detail: [
        ...(prefill.range === null ? [] : [`${timeText(prefill.range[0])} to ${timeText(prefill.range[1])}`]),
        prefill.tokens === null ? sequences : `${sequences} of ${counted(prefill.tokens, 'token')}`,
      ].join(', '),
    },
    {
      name: 'cache',
      value: formatBytes(bytes(cache)),
      detail: [
        `${formatBytes(bytes(bytesPerToken))} per token of a sequence`,
        ...(fixed === 0 ? [] : [`${formatBytes(bytes(fixed))} of it of another sequence`]),
        ...(largestBatch === null ? [] : [`fits up to batch ${formatCount(largestBatch)} at this context`]),
        longestContext === null
          ? 'fits at any context'
          : `up to ${counted(longestContext, 'token')} at this batch`,
      ].join(', '),
    },
  ];
}

const timeText = (value: number | null): string => formatTime(value === null ? null : seconds(value));
