/**
 * Seven ways to send gradients on 4 to 32 GPUs, over 10 GbE and 100 Gb/s InfiniBand (`scaling-survey.csv`).
 *
 * The bandwidth of each link is set by BERT-Large sent at once after backward, the largest message, in which nothing else
 * weighs much: 4 GPUs give that inside a node, 8 to 32 that of the network, as NCCL uses it and as parameter servers do,
 * which send by another library (ps-lite). What ByteScheduler takes for an update is set by its three networks on the 4 GPUs
 * of a node, over 10 GbE: their geometric mean. All other rows are predicted.
 */

import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { FrameworkChoice, Optimizer } from '../../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { calibratedMachine, machine } from './clusters.ts';
import { scaledGraph } from './graphs.ts';
import type { Given, ScaledRow } from './judged.ts';
import { predictStep } from './predictStep.ts';
import { solveBandwidth } from './solveBandwidth.ts';

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
  { spread, links }: Given,
): readonly SurveyRow[] | undefined {
  const rows = readMeasured(folder, 'scaling-survey.csv');
  const judge = (row: MeasuredRow, cluster: ClusterProfile): SurveyRow | undefined => {
    const opened = open(scaledGraph(graphOf(row.model ?? '')));
    if (opened === undefined) return undefined;
    const gpus = numberIn(row, 'gpus');
    const request = {
      gpus,
      nodes: numberIn(row, 'nodes'),
      batch: numberIn(row, 'batch'),
      precision: 'fp32',
      optimizer: optimizerOf(row),
      framework: frameworkOf(row),
    } as const;
    const alone = stepOf(only(rows, { model: row.model, gpus: '1' }));
    const [model, network, method] = [row.model ?? '', row.network ?? '', row.method ?? ''];
    const predicted = predictStep(opened, request, cluster, alone, spread);
    return {
      label: `${model}, ${network}, ${method}, ${gpus} GPUs`,
      model,
      network,
      method,
      gpus,
      predicted: predicted.step,
      measured: stepOf(row),
      ranged: predicted,
    };
  };
  const judged: SurveyRow[] = [];
  for (const network of new Set(rows.map((row) => row.network ?? ''))) {
    const clusterBy = (sentBy: 'bsp-a2a' | 'bsp-ps'): ClusterProfile =>
      links ? calibrated(rows, network, sentBy, judge) : machine(`survey-${network}`);
    const byNccl = clusterBy('bsp-a2a');
    const byServers = clusterBy('bsp-ps');
    for (const row of rows) {
      if (row.network !== network || row.gpus === '1' || setsBandwidth(row) || setsUpdate(row)) continue;
      const one = judge(row, row.method?.endsWith('-ps') ? byServers : byNccl);
      if (one === undefined) return undefined;
      judged.push(one);
    }
  }
  return judged;
}

/** Inside a node NCCL adds whatever sends between them. */
const setsBandwidth = ({ model, method, gpus }: MeasuredRow): boolean =>
  model === 'bert-large' && (method === 'bsp-a2a' || (method === 'bsp-ps' && gpus !== '4'));

/** What ByteScheduler takes for an update (`frameworks/byteScheduler.ts`). */
const setsUpdate = ({ network, method, gpus }: MeasuredRow): boolean =>
  network === '10gbe' && method === 'bytescheduler-a2a' && gpus === '4';

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

/**
 * Inside a node and between nodes what each setting row asks for, in turn; of 8, 16 and 32 GPUs the mean.
 */
function calibrated(
  rows: readonly MeasuredRow[],
  network: string,
  sentBy: 'bsp-a2a' | 'bsp-ps',
  judge: (row: MeasuredRow, cluster: ClusterProfile) => ScaledRow | undefined,
): ClusterProfile {
  const solve = (method: string, gpus: number, clusterWith: (rate: number) => ClusterProfile): number => {
    const row = only(rows, { model: 'bert-large', network, method, gpus: String(gpus) });
    return solveBandwidth(
      [0.1, 12.5],
      (rate) => judge(row, clusterWith(rate)) ?? { predicted: 0, measured: 0 },
    );
  };
  const name = `survey-${network}`;
  const inside = solve('bsp-a2a', 4, (rate) => calibratedMachine(name, { inside: rate }));
  const between = [8, 16, 32].map((gpus) =>
    solve(sentBy, gpus, (rate) => calibratedMachine(name, { inside, between: rate })),
  );
  return calibratedMachine(name, {
    inside,
    between: between.reduce((total, rate) => total + rate, 0) / between.length,
  });
}

/** As the scripts have it, and as PyTorch 1.4 launches it, tensor by tensor (bert_benchmark.py, AdamW without decay; imagenet_benchmark.py). */
const optimizerOf = ({ model }: MeasuredRow): Optimizer =>
  model?.startsWith('bert') === true ? 'adam' : 'sgd';
/** Messages of fewer elements take the next gradient in (mgwfbp/hv_distributed_optimizer.py). */
const merging = { 'fewest-elements': '8192' };
/** Horovod 0.19, whose cache the script turns off (mgwfbp/bert_benchmark.py: HOROVOD_CACHE_CAPACITY). */
const oldHorovod = { 'waits-for-data': 'true', cache: 'false' };
const inLoop = { 'optimizer-kernels': 'loop' };

/** 64 tokens of a sentence, the vocabulary padded (bert_benchmark.py): 110,111,042 parameters. */
const graphOf = (model: string): string => (model.startsWith('bert') ? `${model}-64` : model);

/**
 * As the published scripts run them: one fused message, which is merging at a start-up beyond all bounds, or none fused, Horovod without a cycle (mgwfbp/bert_benchmark.py);
 * merges by constants that the authors wrote down, not by what a message takes (mgwfbp/hv_distributed_optimizer.py);
 * ByteScheduler's parts of 4,000,000 elements (bytescheduler/horovod_mpi_cj.sh), handed over after backward, because its
 * script waits for the GPU with Python's lock held (bytescheduler/imagenet_benchmark.py). Servers of BytePS are nodes of their own,
 * as many as there are workers' nodes, and its scheduling is that of the servers, without crossing the barrier
 * (byteps/launch.sh: BYTEPS_SERVER_ENABLE_SCHEDULE).
 */
function frameworkOf({ method, network, gpus }: MeasuredRow): FrameworkChoice {
  const servers = { ...inLoop, colocated: 'false' };
  switch (method) {
    case 'bsp-a2a':
      return { name: 'mg-wfbp', options: { ...inLoop, 'startup-us': '1e12', 'ns-per-byte': '0' } };
    case 'wfbp-a2a':
      return { name: 'horovod', options: { ...inLoop, ...oldHorovod, 'fusion-mb': '0', 'cycle-ms': '0' } };
    case 'mg-wfbp': {
      const [startup = '', perByte = ''] = assumedCost(network === '10gbe', gpus);
      return {
        name: 'mg-wfbp',
        options: { ...inLoop, ...merging, 'startup-us': startup, 'ns-per-byte': perByte },
      };
    }
    case 'bytescheduler-a2a':
      return {
        name: 'bytescheduler',
        options: {
          ...inLoop,
          'partition-elements': '4000000',
          'credit-elements': '16000000',
          patched: 'false',
        },
      };
    case 'bsp-ps':
      return { name: 'byteps', options: { ...servers, overlap: 'false' } };
    case 'wfbp-ps':
    case 'bytescheduler-ps':
      return { name: 'byteps', options: servers };
    default:
      throw new Error(`no method is called ${method}`);
  }
}

/** Microseconds and nanoseconds per byte that the merges are chosen by, the same over 100 Gb/s as over 56. */
function assumedCost(isEthernet: boolean, gpus: string | undefined): readonly string[] {
  switch (gpus) {
    case '4':
      return ['42.04', '0.20589'];
    case '8':
      return isEthernet ? ['523.03', '0.85707'] : ['97.537', '0.30568'];
    case '16':
      return isEthernet ? ['908.10', '0.73957'] : ['707.51', '0.40595'];
    default:
      return isEthernet ? ['4042.9', '0.86433'] : ['406.32', '0.4907'];
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
