/**
 * Seven ways to send gradients on 4 to 32 GPUs, over 10 GbE and 100 Gb/s InfiniBand (`scaling-survey.csv`).
 *
 * The bandwidth of each link is set by BERT-Base sent as one message after backward, the middle of the three models: 4
 * GPUs give that inside a node, 8 to 32 that of the network. All other rows are predicted.
 */

import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { FrameworkChoice } from '../../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../calibrate/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { calibratedMachine } from './clusters.ts';
import { scaledGraph } from './graphs.ts';
import type { ScaledRow } from './judged.ts';
import { predictStep } from './predictStep.ts';

export interface SurveyRow extends ScaledRow {
  readonly model: string;
  readonly network: string;
  readonly method: string;
  readonly gpus: number;
}

/** `undefined` where a graph is absent. */
export function judgeSurvey(
  folder: string,
  open: OpenGraph,
  spread: number,
): readonly SurveyRow[] | undefined {
  const rows = readMeasured(folder, 'scaling-survey.csv');
  const aloneOf = (row: MeasuredRow): number => stepOf(only(rows, { model: row.model, gpus: '1' }));
  const judged: SurveyRow[] = [];
  for (const network of new Set(rows.map((row) => row.network))) {
    const cluster = calibrated(rows, network ?? '', aloneOf);
    for (const row of rows) {
      const method = row.method ?? '';
      if (row.network !== network || row.gpus === '1' || setsBandwidth(row)) continue;
      const opened = open(scaledGraph(row.model ?? ''));
      if (opened === undefined) return undefined;
      const request = {
        gpus: numberIn(row, 'gpus'),
        nodes: numberIn(row, 'nodes'),
        batch: numberIn(row, 'batch'),
        precision: 'fp32',
        optimizer: 'momentum',
        framework: frameworkOf(method),
      } as const;
      const { step } = predictStep(opened, request, cluster, aloneOf(row), spread);
      judged.push({
        label: `${row.model}, ${network}, ${method}, ${row.gpus} GPUs`,
        model: row.model ?? '',
        network: network ?? '',
        method,
        gpus: numberIn(row, 'gpus'),
        predicted: step,
        measured: stepOf(row),
      });
    }
  }
  return judged;
}

const setsBandwidth = (row: MeasuredRow): boolean => row.model === 'bert-base' && row.method === 'bsp-a2a';

const stepOf = (row: MeasuredRow): number =>
  (numberIn(row, 'batch') * numberIn(row, 'gpus')) / numberIn(row, 'rate');

function only(
  rows: readonly MeasuredRow[],
  wanted: Readonly<Record<string, string | undefined>>,
): MeasuredRow {
  const row = rows.find((one) => Object.entries(wanted).every(([column, value]) => one[column] === value));
  if (row === undefined) throw new Error(`no row ${JSON.stringify(wanted)}`);
  return row;
}

/** BERT-Base's 110,111,042 parameters in fp32, as the authors count them. */
const messageBytes = 4 * 110_111_042;

function calibrated(
  rows: readonly MeasuredRow[],
  network: string,
  aloneOf: (row: MeasuredRow) => number,
): ClusterProfile {
  const busBandwidth = (gpus: number): number => {
    const row = only(rows, { model: 'bert-base', network, method: 'bsp-a2a', gpus: String(gpus) });
    return ((2 * (gpus - 1)) / gpus) * (messageBytes / (stepOf(row) - aloneOf(row))) * 1e-9;
  };
  const between = [8, 16, 32].map(busBandwidth);
  return calibratedMachine(`survey-${network}`, {
    inside: busBandwidth(4),
    between: between.reduce((total, rate) => total + rate, 0) / between.length,
  });
}

/** Options of the published scripts: one fused message, none fused, and ByteScheduler's parts of 4,000,000 elements. */
function frameworkOf(method: string): FrameworkChoice {
  switch (method) {
    case 'bsp-a2a':
      return { name: 'naive', options: {} };
    case 'wfbp-a2a':
      return { name: 'horovod', options: { 'fusion-mb': '0', 'cycle-ms': '5' } };
    case 'mg-wfbp':
      return { name: 'mg-wfbp', options: {} };
    case 'bytescheduler-a2a':
      return {
        name: 'bytescheduler',
        options: { 'partition-elements': '4000000', 'credit-elements': '16000000' },
      };
    case 'bsp-ps':
      return { name: 'byteps', options: { overlap: 'false' } };
    case 'wfbp-ps':
      return { name: 'byteps', options: {} };
    case 'bytescheduler-ps':
      return { name: 'byteps', options: { 'cross-barrier': 'true' } };
    default:
      throw new Error(`no method is called ${method}`);
  }
}

/** Pairs of methods on the same GPUs that differ by more than 10 % in measurement, and how many keep their order. */
export function orderKept(rows: readonly SurveyRow[]): { readonly pairs: number; readonly kept: number } {
  let pairs = 0;
  let kept = 0;
  for (const [index, left] of rows.entries()) {
    for (const right of rows.slice(index + 1)) {
      const isSame = left.model === right.model && left.network === right.network && left.gpus === right.gpus;
      if (!isSame || Math.abs(Math.log(left.measured / right.measured)) < Math.log(1.1)) continue;
      pairs += 1;
      if (left.measured < right.measured === left.predicted < right.predicted) kept += 1;
    }
  }
  return { pairs, kept };
}
