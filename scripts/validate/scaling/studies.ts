/** Steps of four studies of how gradients are sent (`scaling-studies.csv`). */

import type { OpenedModel } from '../../../server/src/analysis/openedModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { FrameworkChoice, Precision, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { calibratedMachine, machine } from './clusters.ts';
import { scaledGraph } from './graphs.ts';
import type { Given, ScaledRow } from './judged.ts';
import { predictStep, slowestOf } from './predictStep.ts';
import { solveBandwidth } from './solveBandwidth.ts';

type Study = 'tpds' | 'horovod' | 'caffe-mpi';

const rowsOf = (folder: string, study: Study): readonly MeasuredRow[] =>
  readMeasured(folder, 'scaling-studies.csv').filter(({ source }) => source === study);

function aloneOf(rows: readonly MeasuredRow[], { model, precision, network }: MeasuredRow): number {
  const row = rows.find(
    (one) =>
      one.method === 'alone' && one.model === model && one.precision === precision && one.network === network,
  );
  // The sixteen V100 have one row for both networks.
  const any =
    row ?? rows.find((one) => one.method === 'alone' && one.model === model && one.precision === precision);
  if (any === undefined) throw new Error(`no step of one GPU: ${model}`);
  return numberIn(any, 'milliseconds') * 1e-3;
}

function requestOf(row: MeasuredRow, framework: FrameworkChoice): ScenarioRequest {
  return {
    gpus: numberIn(row, 'gpus'),
    nodes: numberIn(row, 'nodes'),
    batch: numberIn(row, 'batch'),
    precision: precisionOf(row),
    optimizer: 'momentum',
    framework,
  };
}

const precisionOf = ({ precision }: MeasuredRow): Precision => (precision === 'fp16' ? 'fp16' : 'fp32');

const labelOf = ({ model, precision, network, method }: MeasuredRow): string =>
  `${model}, ${precision}, ${network}, ${method}`;

function judge(
  rows: readonly MeasuredRow[],
  row: MeasuredRow,
  framework: FrameworkChoice,
  cluster: ClusterProfile,
  opened: OpenedModel,
  spread: number,
): ScaledRow {
  const predicted = predictStep(opened, requestOf(row, framework), cluster, aloneOf(rows, row), spread);
  return {
    label: labelOf(row),
    gpus: numberIn(row, 'gpus'),
    predicted: predicted.step,
    measured: numberIn(row, 'milliseconds') * 1e-3,
    ranged: predicted,
  };
}

/** ResNet-152 in fp32 sent as one message sets the bandwidth of each network; all other rows are predicted. */
export function judgeSixteenV100(
  folder: string,
  open: OpenGraph,
  { spread, links }: Given,
): readonly ScaledRow[] | undefined {
  const rows = rowsOf(folder, 'tpds').filter(({ method }) => method !== 'alone');
  const all = rowsOf(folder, 'tpds');
  const judged: ScaledRow[] = [];
  const setter = ({ model, precision, method }: MeasuredRow): boolean =>
    model === 'resnet152' && precision === 'fp32' && method === 'one-message';
  for (const network of ['10gbe', '56gb-infiniband']) {
    const sets = rows.find((row) => row.network === network && setter(row));
    if (sets === undefined) throw new Error(`nothing sets ${network}`);
    const model = open(scaledGraph(sets.model ?? ''));
    if (model === undefined) return undefined;
    const clusterWith = (between: number): ClusterProfile =>
      calibratedMachine(`tpds-${network}`, { between });
    const calibrated = (): ClusterProfile =>
      clusterWith(
        solveBandwidth(network === '10gbe' ? [0.1, 1.25] : [0.1, 7], (bandwidth) =>
          judge(
            all,
            sets,
            sixteenV100Framework(sets, { 'gradient-dtype': 'fp32' }),
            clusterWith(bandwidth),
            model,
            spread,
          ),
        ),
      );
    const cluster = links ? calibrated() : machine(`tpds-${network}`);
    for (const row of rows) {
      if (row.network !== network || setter(row)) continue;
      const opened = open(scaledGraph(row.model ?? ''));
      if (opened === undefined) return undefined;
      const wire = { 'gradient-dtype': row.precision === 'fp16' ? 'fp16' : 'fp32' };
      judged.push(judge(all, row, sixteenV100Framework(row, wire), cluster, opened, spread));
    }
  }
  return judged;
}

/** Before 0.16.2: its thread waits for gradients, and rank 0 gathers their names. */
const oldHorovod = { 'waits-for-data': 'true', cache: 'false' };

/** Of what is not fp32 (dl_trainer.py, init_fp16: opt_level O2). */
const apexO2 = { 'kept-fp32': 'batch-norm' };

/**
 * As the published code runs them (HKBU-HPML/MG-WFBP, dist_trainer.py, distributed_optimizer.py): Horovod that fuses
 * nothing, its cycle that of its time, and merges by constants that the authors wrote down for each network.
 */
function sixteenV100Framework(
  { method, network }: MeasuredRow,
  wire: Record<string, string>,
): FrameworkChoice {
  const [startup, perByte] = network === '10gbe' ? ['908.10', '0.73957'] : ['235.84', '0.40595'];
  switch (method) {
    case 'wfbp':
      return { name: 'horovod', options: { ...wire, ...oldHorovod, 'fusion-mb': '0', 'cycle-ms': '5' } };
    case 'mg-wfbp':
      return {
        name: 'mg-wfbp',
        options: { ...wire, ...apexO2, 'startup-us': startup, 'ns-per-byte': perByte },
      };
    default:
      return { name: 'naive', options: wire };
  }
}

/**
 * ResNet-101 through servers sets what gRPC moves and what workers take in for their GPUs (`frameworks/tensorflow.ts`),
 * VGG-16 by NCCL the bandwidth of the network, which is not told: none of them is judged.
 */
export function judgeHorovod(
  folder: string,
  open: OpenGraph,
  { spread, links }: Given,
): readonly ScaledRow[] | undefined {
  const rows = rowsOf(folder, 'horovod');
  const isSetter = ({ model, method }: MeasuredRow): boolean =>
    (model === 'resnet101' && method?.startsWith('parameter-server') === true) ||
    (model === 'vgg16' && method === 'horovod-nccl');
  const cluster = links ? horovodCluster(rows, open, spread) : machine('horovod-25gbe');
  if (cluster === undefined) return undefined;
  const judged: ScaledRow[] = [];
  for (const row of rows) {
    if (row.method === 'alone' || isSetter(row)) continue;
    const opened = open(scaledGraph(row.model ?? ''));
    if (opened === undefined) return undefined;
    judged.push(judge(rows, row, horovodFramework(row.method), cluster, opened, spread));
  }
  return judged;
}

/** Between a tenth of the rate of the port and all of it. */
function horovodCluster(
  rows: readonly MeasuredRow[],
  open: OpenGraph,
  spread: number,
): ClusterProfile | undefined {
  const row = rows.find(({ model, method }) => model === 'vgg16' && method === 'horovod-nccl');
  const opened = open(scaledGraph('vgg16'));
  if (row === undefined || opened === undefined) return undefined;
  const clusterWith = (between: number): ClusterProfile => calibratedMachine('horovod-25gbe', { between });
  const between = solveBandwidth([0.3125, 3.125], (bandwidth) =>
    judge(rows, row, horovodFramework(row.method), clusterWith(bandwidth), opened, spread),
  );
  return clusterWith(between);
}

/** Horovod of 2017: a buffer of 64 MB, cycles of 5 ms. */
function horovodFramework(method: string | undefined): FrameworkChoice {
  const options = { ...oldHorovod, 'fusion-mb': '64', 'cycle-ms': '5' };
  switch (method) {
    case 'horovod-nccl':
      return { name: 'horovod', options };
    case 'horovod-mpi':
      return { name: 'horovod', options: { ...options, operations: 'mpi' } };
    case 'parameter-server-cpu':
      return { name: 'tensorflow', options: { 'local-parameter-device': 'cpu' } };
    default:
      return { name: 'tensorflow', options: {} };
  }
}

/** A speed-up is published and no time, so one GPU is predicted too; as 16 over the speed-up. */
export function judgeCaffeMpi(
  folder: string,
  open: OpenGraph,
  { spread, links }: Given,
): readonly ScaledRow[] | undefined {
  const cluster = machine('p40-infiniband');
  // One GPU is predicted too, so that by default nothing is said of workers.
  const slowest = links ? slowestOf(16, spread) : 1;
  const judged: ScaledRow[] = [];
  for (const row of rowsOf(folder, 'caffe-mpi')) {
    const opened = open(scaledGraph(row.model ?? ''));
    if (opened === undefined) return undefined;
    const request = requestOf(row, { name: 'caffe-mpi', options: {} });
    const stepOn = (gpus: number, nodes: number): number => {
      const step = estimateModel(opened, [{ ...request, gpus, nodes }], cluster).cost?.totals.time.step;
      if (step === undefined || step === null) throw new Error(`${row.model} cannot be costed`);
      return step;
    };
    const speedup = Number((row.milliseconds ?? '').slice(1));
    judged.push({
      label: `${row.model}, batch ${row.batch}, 16 GPUs`,
      predicted: (stepOn(16, 4) / stepOn(1, 1)) * slowest,
      measured: 16 / speedup,
    });
  }
  return judged;
}
