/** NVIDIA's examples, Lambda's and DLPerf's runs of them, given the row of one GPU. */

import type { FrameworkChoice, Precision } from '../../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { machine } from './clusters.ts';
import { scaledGraph } from './graphs.ts';
import type { Given, ScaledRow } from './judged.ts';
import { predictStep } from './predictStep.ts';

export interface ExampleRow extends ScaledRow {
  readonly source: string;
}

export interface Examples {
  readonly rows: readonly ExampleRow[];
  /** Rows that contradict the row of one GPU: more than 1.1 times as fast as so many of it. */
  readonly contradicting: number;
  /** Rows of DLPerf's ResNet-50 that decode JPEG on the CPU at the rate of half precision, or in Python. */
  readonly decoding: number;
  /** Rows that ran over a network that is not described. */
  readonly overSockets: number;
}

export function judgeExamples(folder: string, open: OpenGraph, { spread }: Given): Examples | undefined {
  const all = [
    ...readMeasured(folder, 'scaling-examples.csv').map((row) => ({
      ...row,
      nodes: '1',
      variant: row.memory ?? '',
    })),
    ...readMeasured(folder, 'scaling-dlperf.csv').map((row) => ({
      ...row,
      source: `dlperf, ${row.framework}`,
      cluster: 'dlperf',
    })),
  ] satisfies readonly MeasuredRow[];
  const groups = new Map<string, MeasuredRow[]>();
  for (const row of all) {
    const key = ['source', 'cluster', 'model', 'batch', 'precision', 'variant']
      .map((name) => (row as MeasuredRow)[name])
      .join();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  const judged: ExampleRow[] = [];
  let contradicting = 0;
  let decoding = 0;
  let overSockets = 0;
  for (const group of groups.values()) {
    const alone = group.find((row) => row.gpus === '1');
    if (alone === undefined) throw new Error(`no row of one GPU: ${JSON.stringify(group[0])}`);
    const opened = open(scaledGraph(alone.model ?? ''));
    if (opened === undefined) return undefined;
    for (const row of group) {
      const gpus = numberIn(row, 'gpus');
      if (gpus === 1) continue;
      if (numberIn(row, 'rate') > 1.1 * gpus * numberIn(alone, 'rate')) {
        contradicting += 1;
        continue;
      }
      if (isDecoding(row)) {
        decoding += 1;
        continue;
      }
      if (isOverSockets(row)) {
        overSockets += 1;
        continue;
      }
      const predicted = predictStep(
        opened,
        {
          gpus,
          nodes: numberIn(row, 'nodes'),
          batch: numberIn(row, 'batch'),
          precision: precisionOf(row),
          optimizer: 'momentum',
          framework: frameworkOf(row),
        },
        machine(row.cluster ?? ''),
        stepOf(alone),
        spread,
      );
      judged.push({
        label: [
          row.source,
          row.cluster,
          row.model,
          `batch ${row.batch}`,
          row.precision,
          row.variant,
          `${gpus} GPUs`,
        ].join(', '),
        source: row.source ?? '',
        gpus,
        predicted: predicted.step,
        measured: stepOf(row),
        ranged: predicted,
      });
    }
  }
  return { rows: judged, contradicting, decoding, overSockets };
}

/** 8,000 images/s of a node, which two processors of the time do not decode; what then decides is not communication. */
function isDecoding({ source = '', model, precision, variant = '' }: MeasuredRow): boolean {
  if (!source.startsWith('dlperf') || model !== 'resnet50') return false;
  if (variant.startsWith('dataloader')) return true;
  const decodesOnGpu = /dali/.test(variant) || /nvidia-(mxnet|pytorch)/.test(source);
  return precision === 'fp16' && !decodesOnGpu && !/synthetic/.test(variant);
}

/** PaddlePaddle's BERT ran on several nodes with NCCL_IB_DISABLE=1 (PaddlePaddle/bert/scripts/multi_node_train.sh). */
const isOverSockets = ({ source, model, nodes }: MeasuredRow): boolean =>
  source === 'dlperf, paddlepaddle' && model === 'bert-base' && nodes !== '1';

const stepOf = (row: MeasuredRow): number =>
  (numberIn(row, 'batch') * numberIn(row, 'gpus')) / numberIn(row, 'rate');

const precisionOf = ({ precision }: MeasuredRow): Precision =>
  precision === 'fp16' || precision === 'tf32' ? precision : 'fp32';

/**
 * What each implementation uses: DistributedDataParallel (PyTorch), apex's (NVIDIA's PyTorch), Horovod (NVIDIA's TensorFlow and MXNet,
 * GluonNLP), a fused all-reduce during backward (PaddlePaddle, MindSpore), all gradients packed into one all-reduce after
 * backward (TensorFlow's own models: MultiWorkerMirroredStrategy, one pack), the kvstore (MXNet's own).
 */
function frameworkOf(row: MeasuredRow): FrameworkChoice {
  const { source = '' } = row;
  if (source === 'dlperf, tensorflow') return { name: 'naive', options: {} };
  if (source === 'dlperf, mxnet') return { name: 'mxnet', options: {} };
  if (source.includes('nvidia-pytorch')) return { name: 'pytorch-ddp', options: ofApex(row) };
  const usesHorovod = /mxnet|tensorflow/.test(source);
  return usesHorovod
    ? { name: 'horovod', options: { 'waits-for-data': 'true', 'fusion-mb': '64', 'cycle-ms': '5' } }
    : { name: 'pytorch-ddp', options: {} };
}

/**
 * apex sends a message when it holds so many elements: 250,000,000 in pre-training of BERT, more than BERT-Base has, so that
 * nothing is sent before backward has ended (NVIDIA/DeepLearningExamples, PyTorch/LanguageModeling/BERT/run_pretraining.py),
 * else its default of 10,000,000 (apex/parallel/distributed.py). BERT in half precision is trained at level O2, whose
 * gradients are in half precision.
 */
function ofApex({ model = '', precision }: MeasuredRow): FrameworkChoice['options'] {
  const elements = model === 'bert-base' ? 250e6 : 10e6;
  const isHalf = model.startsWith('bert') && precision === 'fp16';
  const size = String((elements * (isHalf ? 2 : 4)) / 2 ** 20);
  return {
    'bucket-mb': size,
    'first-bucket-mb': size,
    ...(isHalf ? { 'gradient-dtype': 'fp16' } : {}),
  };
}
