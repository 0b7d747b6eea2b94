/** TensorFlow 1 on K80 and P100, 2 to 64 GPUs, given the row of one (`scaling-tensorflow.csv`). */

import type { FrameworkChoice } from '../../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { machine } from './clusters.ts';
import { scaledGraph } from './graphs.ts';
import type { Given, ScaledRow } from './judged.ts';
import { predictStep } from './predictStep.ts';

export interface TensorflowRow extends ScaledRow {
  readonly data: string;
  readonly placement: string;
}

export function judgeTensorflow(
  folder: string,
  open: OpenGraph,
  { spread, links }: Given,
  accepts: (row: MeasuredRow) => boolean = () => true,
): readonly TensorflowRow[] | undefined {
  const rows = readMeasured(folder, 'scaling-tensorflow.csv');
  const judged: TensorflowRow[] = [];
  for (const row of rows.toSorted((a, b) => (a.model ?? '').localeCompare(b.model ?? ''))) {
    const gpus = numberIn(row, 'gpus');
    if (gpus === 1 || setsSharedBoard(row) || setsGrpc(row) || !accepts(row)) continue;
    const alone = rows.find((one) => one.gpus === '1' && isAlike(one, row));
    if (alone === undefined) throw new Error(`no row of one GPU: ${JSON.stringify(row)}`);
    const opened = open(scaledGraph(row.model ?? ''));
    if (opened === undefined) return undefined;
    const predicted = predictStep(
      opened,
      {
        gpus,
        nodes: row.placement === 'distributed' ? Math.ceil(gpus / 8) : 1,
        batch: numberIn(row, 'batch'),
        precision: 'fp32',
        optimizer: 'sgd',
        framework: frameworkOf(row, links),
      },
      machine(machineOf(row)),
      stepOf(alone) * (links && isSharedBoard(row) ? sharedBoard : 1),
      spread,
    );
    judged.push({
      label: `${row.cluster}, ${row.placement}, ${row.model}, batch ${row.batch}, ${row.data}, ${gpus} GPUs`,
      data: row.data ?? '',
      placement: row.placement ?? '',
      gpus,
      predicted: predicted.step,
      measured: stepOf(row),
      ranged: predicted,
    });
  }
  return judged;
}

/**
 * Two dies of a K80 share one board and its 300 W: the step of two by themselves is longer than that of one, by what
 * Inception-v3 on two dies of the Google machine shows (57.8 images/s for 30.5), less the spread of two workers.
 */
const sharedBoard = (2 * 30.5) / 57.8;
const isSharedBoard = ({ cluster }: MeasuredRow): boolean => cluster !== 'dgx-1-p100';
const setsSharedBoard = ({ cluster, model, batch, data, gpus }: MeasuredRow): boolean =>
  cluster === 'gce-8x-k80' &&
  model === 'inception-v3' &&
  batch === '64' &&
  data === 'synthetic' &&
  gpus === '2';

/** What gRPC moves between the nodes of EC2, in GB/s: ResNet-152 on 64 GPUs, whose four servers are what limits the step. */
const grpcOnEc2 = '0.6';
const setsGrpc = ({ placement, model, gpus }: MeasuredRow): boolean =>
  placement === 'distributed' && model === 'resnet152' && gpus === '64';

const isAlike = (left: MeasuredRow, right: MeasuredRow): boolean =>
  (['cluster', 'placement', 'model', 'batch', 'data'] as const).every(
    (column) => left[column] === right[column],
  );

const stepOf = (row: MeasuredRow): number =>
  (numberIn(row, 'batch') * numberIn(row, 'gpus')) / numberIn(row, 'rate');

/** AlexNet and VGG-16 are what sends by NCCL, on DGX-1 alone. */
const machineOf = ({ cluster = '', model }: MeasuredRow): string =>
  cluster === 'dgx-1-p100' && isLarge(model) ? 'dgx-1-p100-nccl-1' : cluster;

const isLarge = (model: string | undefined): boolean => model === 'alexnet' || model === 'vgg16';

/** As the page says they were run. */
function frameworkOf(
  { cluster, placement, model, batch, gpus }: MeasuredRow,
  links: boolean,
): FrameworkChoice {
  const options = optionsOf(cluster, placement, model, links);
  const servers = placement === 'distributed' && gpus === '64' ? fewerServers(model, batch) : undefined;
  return { name: 'tensorflow', options: { ...options, ...(servers === undefined ? {} : { servers }) } };
}

function fewerServers(model: string | undefined, batch: string | undefined): string | undefined {
  if (model === 'inception-v3' && batch === '64') return '6';
  if (model === 'resnet152' || (model === 'resnet50' && batch === '32')) return '4';
  return undefined;
}

function optionsOf(
  cluster: string | undefined,
  placement: string | undefined,
  model: string | undefined,
  links: boolean,
): Readonly<Record<string, string>> {
  const onCpu = { 'variable-update': 'parameter-server', 'local-parameter-device': 'cpu' };
  const onGpu = { 'variable-update': 'parameter-server', 'local-parameter-device': 'gpu' };
  if (placement === 'distributed')
    return { 'variable-update': 'distributed-replicated', ...(links ? { 'grpc-gbs': grpcOnEc2 } : {}) };
  if (cluster === 'dgx-1-p100') return isLarge(model) ? { 'variable-update': 'replicated' } : onCpu;
  if (cluster === 'gce-8x-k80') return onCpu;
  if (isLarge(model)) return onGpu;
  return model === 'inception-v3' ? onCpu : { 'variable-update': 'replicated', 'all-reduce': 'copies' };
}
