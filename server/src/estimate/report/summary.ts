/** The totals of a report in words, shared by every rendering that a person reads. */

import { counted } from '../../model/counted.ts';
import {
  atLeast,
  atMost,
  formatBytes,
  formatCount,
  formatDuration,
  formatEnergy,
  formatFlops,
  formatPercent,
  formatPrice,
  formatRate,
  formatTime,
  significant,
} from '../../model/format.ts';
import { markedMemory } from '../../model/gpuMemory.ts';
import { offerText } from '../../model/price.ts';
import { bytes, flops, joules, type Seconds, seconds } from '../../model/units.ts';
import { hasAllParameters } from '../leftOut.ts';
import { decodingRows } from './decodingRows.ts';
import { parallelRows } from './parallelRows.ts';
import type { Report } from './report.ts';

export interface SummaryRow {
  readonly name: string;
  /** The number itself. */
  readonly value: string;
  /** What it is made of. */
  readonly detail: string;
}

/** `resnet50 (onnx): 25,557,032 parameters, 161 operators in 126 layers`. */
export function describeModel(report: Report): string {
  const { model } = report;
  return `${model.name} (${model.format}): ${describeParameters(report)}, ${counted(model.operators, 'operator')} in ${counted(report.layers.length, 'layer')}`;
}

/** `25,557,032 parameters`; what could not be read of a spec or a net may have more. */
export const describeParameters = (report: Report): string =>
  `${atLeast(formatCount(report.model.parameters), hasAllWeights(report))} parameters${trainedText(report)}`;

/** Exported graphs do not say what is trained. */
function trainedText({ model, scenario }: Report): string {
  if (model.frozenParameters !== undefined)
    return ` trained and ${formatCount(model.frozenParameters)} frozen`;
  return scenario.mode === 'training' && model.format.startsWith('onnx') ? ', all taken as trained' : '';
}

export const hasAllWeights = ({ model, totals }: Report): boolean => hasAllParameters(model.format, totals);

/** Found where the step does not fit; else it follows from what a sample of this step needs. */
function largestBatchText(batch: number, fits: Report['totals']['memory']['fits']): string {
  if (batch === 0) return 'no batch fits';
  return `fits up to ${fits === 'no' ? '' : 'about '}batch ${batch}`;
}

/** `20 % of kernel time from this GPU's curves, 80 % from another GPU's`; the rest is a roofline. */
function basisText({ measured, transferred }: NonNullable<Report['totals']['basis']>): string {
  const parts = [
    ...(measured >= 0.005 ? [`${formatPercent(measured)} of kernel time from this GPU’s curves`] : []),
    ...(transferred >= 0.005 ? [`${formatPercent(transferred)} from another GPU’s`] : []),
  ];
  if (parts.length === 0) return 'kernel time from a roofline';
  return measured >= 0.005
    ? parts.join(', ')
    : `${formatPercent(transferred)} of kernel time from another GPU’s curves`;
}

/** The totals, the most important first. Lower bounds are marked. */
export function summarize(report: Report): readonly SummaryRow[] {
  const { totals, scenario } = report;
  const { time, memory } = totals;
  const bound = (text: string): string => atLeast(text, totals.exact);
  const weights = (text: string): string => atLeast(text, hasAllWeights(report));
  const training = scenario.mode === 'training';
  return [
    {
      name: 'step time',
      value: atLeast(timeText(time.step), time.exact),
      detail: [
        ...(time.stepRange === null || !time.exact
          ? []
          : [`${timeText(time.stepRange[0])} to ${timeText(time.stepRange[1])}`]),
        `forward ${bound(timeText(time.forward))}`,
        ...(training
          ? [`backward ${bound(timeText(time.backward))}`, `update ${weights(timeText(time.update))}`]
          : []),
        ...((scenario.gpus > 1 && training) || (time.communication ?? 0) > 0
          ? [
              `${timeText(time.exposedCommunication)} of ${weights(timeText(time.communication))} communication exposed`,
            ]
          : []),
        ...(time.exposedInput === null || time.exposedInput < 1e-9
          ? []
          : [`${timeText(time.exposedInput)} waiting for input`]),
        ...(totals.imbalance === undefined || totals.imbalance.time < 1e-9
          ? []
          : [`${timeText(totals.imbalance.time)} waiting for the slowest worker`]),
        ...(totals.mixed === undefined || totals.mixed.time < 1e-9
          ? []
          : [
              `${timeText(totals.mixed.time)} for which ${totals.mixed.faster.gpu} waits for ${totals.mixed.slower.gpu}`,
            ]),
        ...(totals.basis === undefined ? [] : [basisText(totals.basis)]),
      ].join(', '),
    },
    ...decodingRows(report),
    ...parallelRows(report),
    ...inputRows(totals),
    {
      name: 'throughput',
      value: throughputText(report),
      detail: [
        ...(totals.tokenThroughput === undefined ||
        totals.tokenThroughput === null ||
        report.decoding !== undefined
          ? []
          : [atMost(formatRate(totals.tokenThroughput, 'tokens'), time.exact)]),
        ...(scenario.gpus > 1 && scenario.parallel === undefined
          ? [
              [
                `weak scaling efficiency ${formatPercent(totals.scalingEfficiency)}`,
                ...totals.efficiencyNotes,
                ...(totals.strongScalingEfficiency === undefined
                  ? []
                  : [
                      `strong scaling efficiency ${formatPercent(totals.strongScalingEfficiency)} (one ${scenario.device ?? 'GPU'} takes the whole batch)`,
                    ]),
              ].join(', '),
            ]
          : []),
        ...(totals.asynchronous === undefined ? [] : [asynchronousText(totals.asynchronous)]),
        `MFU ${formatPercent(totals.mfu)}`,
      ].join(', '),
    },
    ...runRows(totals),
    {
      name: 'memory',
      value: memoryOfReport(report),
      detail: [
        ofCapacity(report),
        `driver and framework ${formatBytes(bytes(memory.context))}`,
        ...(totals.exact && isReservedOfInterest(memory)
          ? [
              `${formatBytes(bytes(memory.neededRange[0]))} to ${formatBytes(bytes(memory.neededRange[1]))}`,
              `reserved ${formatBytes(bytes(memory.reserved[1]))}`,
            ]
          : []),
        ...(memory.largestBatch === null ? [] : [largestBatchText(memory.largestBatch, memory.fits)]),
        `tensors ${bound(formatBytes(bytes(memory.peak)))} at the peak in ${memory.peakAt.phase}${memory.peakAt.layer === '' ? '' : ` at ${memory.peakAt.layer}`}: ${atPeak(report).join(', ')}`,
      ].join(', '),
    },
    {
      name: 'FLOPs',
      value: bound(formatFlops(flops(totals.flops.forward + totals.flops.backward))),
      detail: `forward ${bound(formatFlops(flops(totals.flops.forward)))}${training ? `, backward ${bound(formatFlops(flops(totals.flops.backward)))}` : ''} per ${scenario.device ?? 'GPU'}`,
    },
  ];
}

/** What tensors are at the peak, as the chart of memory has it: parts that add up. */
function atPeak(report: Report): readonly string[] {
  const { totals, scenario } = report;
  const { peakAt, cache } = totals.memory;
  const bound = (text: string): string => atLeast(text, totals.exact);
  const weights = (text: string): string => atLeast(text, hasAllWeights(report));
  const training = scenario.mode === 'training';
  return [
    `parameters ${weights(formatBytes(bytes(peakAt.parameters)))}`,
    ...(training
      ? [
          `gradients ${weights(formatBytes(bytes(peakAt.gradients)))}`,
          `optimizer ${weights(formatBytes(bytes(peakAt.optimizerState)))}`,
        ]
      : []),
    `activations ${bound(formatBytes(bytes(peakAt.activations)))}${cache === undefined ? '' : ` (cache ${formatBytes(bytes(cache))} of them)`}`,
    `workspace ${formatBytes(bytes(peakAt.workspace))}`,
    ...(peakAt.communicationBuffers > 0
      ? [`communication buffers ${weights(formatBytes(bytes(peakAt.communicationBuffers)))}`]
      : []),
  ];
}

/** `13.4 GiB`, or `out of memory: 325 GiB`: what a GPU needs. */
export const memoryOfReport = ({ totals: { memory, exact } }: Report): string =>
  markedMemory({ needed: bytes(memory.needed), fits: memory.fits, exact });

/** `of 79.2 GiB`. */
export const ofCapacity = ({ totals: { memory } }: Report): string =>
  `of ${memory.capacity === null ? 'unknown capacity' : formatBytes(bytes(memory.capacity))}`;

/** A decode step gives each sequence a token. */
export const throughputText = ({ totals: { throughput, time }, decoding }: Report): string =>
  throughput === null
    ? '?'
    : atMost(formatRate(throughput, decoding === undefined ? 'samples' : 'tokens'), time.exact);

/** What the allocator takes on top of tensors tells where they need half of the GPU and fit; placing them takes its time. */
const isReservedOfInterest = ({ peak, capacity }: Report['totals']['memory']): boolean =>
  capacity !== null && peak > capacity / 2 && peak <= capacity;

/** `read 12.1 ms, decoded in 40.0 ms, copied in 3.2 ms`: what is not known is said with what would tell it. */
function inputRows({ input, time }: Report['totals']): readonly SummaryRow[] {
  if (input === undefined) return [];
  const parts = [
    ...(input.storage === null ? [] : [`read in ${timeText(input.storage)}`]),
    ...(input.decoding === null ? [] : [`decoded in ${timeText(input.decoding)}`]),
    `copied in ${timeText(input.copying)}`,
    ...input.unknown.map((reason) => `unknown: ${reason}`),
    ...input.undescribed.map((part) => `not described: ${part}`),
  ];
  const isKnown = input.unknown.length === 0;
  return [{ name: 'input', value: atLeast(timeText(time.input), isKnown), detail: parts.join(', ') }];
}

function asynchronousText({ staleness, saturatesAt }: NonNullable<Report['totals']['asynchronous']>): string {
  const servers =
    saturatesAt === null ? '' : `, servers saturated from ${formatCount(Math.ceil(saturatesAt))} GPUs`;
  return `asynchronous, ${formatCount(staleness)} updates stale on average${servers}`;
}

function runRows({ run, time }: Report['totals']): readonly SummaryRow[] {
  if (run === undefined) return [];
  const isKnown = run.exact && time.exact;
  return [
    {
      name: 'run',
      value: atLeast(formatDuration(seconds(run.time)), isKnown),
      detail: [
        counted(run.steps, 'step'),
        run.initialisation === null
          ? 'without initialisation, which is unknown'
          : `${timeText(run.initialisation)} before the first`,
        ...(run.price === null ? [] : [atLeast(formatPrice(run.price), isKnown)]),
        ...(run.offer === undefined ? [] : [`price of ${offerText(run.offer)}`]),
      ].join(', '),
    },
    ...energyRows(run),
  ];
}

/** The boards draw less than they may; what is around them is left out, and said so. */
function energyRows({ energy, exact }: NonNullable<Report['totals']['run']>): readonly SummaryRow[] {
  if (energy === null) return [];
  const { atMost, boardPower, utilisation, pue } = energy;
  const factors = `${formatCount(boardPower)} W of a GPU × ${formatPercent(utilisation)} busy × PUE ${significant(pue)}`;
  const start = exact ? '' : ', without the initialisation';
  return [
    {
      name: 'energy',
      value: `≤ ${formatEnergy(joules(atMost))}`,
      detail: `upper estimate for the GPUs: ${factors}${start}; hosts and network are not in it`,
    },
  ];
}

export const timeText = (value: number | null): string => formatTime(known(value));

const known = (value: number | null): Seconds | null => (value === null ? null : seconds(value));
