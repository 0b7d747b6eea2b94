/** The row of memory: what a GPU needs, what is reserved, and what tensors are at the peak. */

import { formatBytes } from '../../model/format.ts';
import { bytes } from '../../model/units.ts';
import type { Report } from './report.ts';
import { memoryOfReport, ofCapacity, ofWeights, ofWork, type SummaryRow } from './reportText.ts';

export function memoryRow(report: Report): SummaryRow {
  const { exact, memory } = report.totals;
  const detail = [
    ofCapacity(report),
    `driver and framework ${formatBytes(bytes(memory.context))}`,
    ...(exact && isReservedOfInterest(memory) ? reservedTexts(memory) : []),
    ...(memory.largestBatch === null ? [] : [largestBatchText(memory.largestBatch, memory.fits)]),
    peakText(report),
  ];
  return { name: 'memory', value: memoryOfReport(report), detail: detail.join(', ') };
}

const reservedTexts = ({
  neededRange: [low, high],
  reserved,
}: Report['totals']['memory']): readonly string[] => [
  `${formatBytes(bytes(low))} to ${formatBytes(bytes(high))}`,
  `reserved ${formatBytes(bytes(reserved[1]))}`,
];

function peakText(report: Report): string {
  const { peak, peakAt } = report.totals.memory;
  const layer = peakAt.layer === '' ? '' : ` at ${peakAt.layer}`;
  const tensors = ofWork(report, formatBytes(bytes(peak)));
  return `tensors ${tensors} at the peak in ${peakAt.phase}${layer}: ${atPeak(report).join(', ')}`;
}

/** What tensors are at the peak, as the chart of memory has it: parts that add up. */
function atPeak(report: Report): readonly string[] {
  const { totals, scenario } = report;
  const { peakAt, cache } = totals.memory;
  const weights = (text: string): string => ofWeights(report, text);
  const training = scenario.mode === 'training';
  return [
    `parameters ${weights(formatBytes(bytes(peakAt.parameters)))}`,
    ...(training
      ? [
          `gradients ${weights(formatBytes(bytes(peakAt.gradients)))}`,
          `optimizer ${weights(formatBytes(bytes(peakAt.optimizerState)))}`,
        ]
      : []),
    `activations ${ofWork(report, formatBytes(bytes(peakAt.activations)))}${cache === undefined ? '' : ` (cache ${formatBytes(bytes(cache))} of them)`}`,
    `workspace ${formatBytes(bytes(peakAt.workspace))}`,
    ...(peakAt.communicationBuffers > 0
      ? [`communication buffers ${weights(formatBytes(bytes(peakAt.communicationBuffers)))}`]
      : []),
  ];
}

/** Found where the step does not fit; else it follows from what a sample of this step needs. */
function largestBatchText(batch: number, fits: Report['totals']['memory']['fits']): string {
  if (batch === 0) return 'no batch fits';
  return `fits up to ${fits === 'no' ? '' : 'about '}batch ${batch}`;
}

/** What the allocator takes on top of tensors tells where they need half of the GPU and fit; placing them takes its time. */
const isReservedOfInterest = ({ peak, capacity }: Report['totals']['memory']): boolean =>
  capacity !== null && peak > capacity / 2 && peak <= capacity;
