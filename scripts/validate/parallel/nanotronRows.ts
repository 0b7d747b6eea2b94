/**
 * The sweep of nanotron over layouts (`../shared/measured/parallel/SOURCE.md`).
 *
 * Its code is the source of what is set (huggingface/nanotron, src/nanotron): gradients are added in fp32 and sent so, in buckets
 * of DDP of 25 MiB during backward, summed or, with ZeRO 1, scattered (optim/gradient_accumulator.py, `get_fp32_accum_hook`);
 * parameters are gathered at once after the update (optim/zero.py); stages are cut by `nanotronStages.ts`. The table does not tell
 * whether collectives were all-reduces or those of sequence parallelism: the code's default is taken, the latter. The peak is that of
 * the first GPU, which writes the table, and has the first stage (logging/base.py, `log_throughput`; parallel/context.py).
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { StepCost } from '../../../server/src/model/stepCost.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { machine } from '../scaling/clusters.ts';
import { nanotronStages } from './nanotronStages.ts';
import { frameworkOf, type ParallelRow, predictRow } from './parallelRow.ts';

/** What is not known of the study: times of the host in microseconds, and its cluster. */
export interface NanotronSetting {
  readonly cluster: ClusterProfile;
  /** Of a kernel launch. */
  readonly launch?: number;
  /**
   * What a call of a collective took longer for each GPU of its group, in pipelines over several nodes. Where groups span nodes,
   * their memory says that they gathered again for backward what others kept.
   */
  readonly callPerGpu?: number;
}

export const usualSetting = (): NanotronSetting => ({ cluster: machine('p5-48xlarge') });

/** `undefined` where the table is absent. */
export function nanotronTable(shared: string): readonly MeasuredRow[] | undefined {
  const folder = join(shared, 'measured/parallel');
  return existsSync(join(folder, 'nanotron_h100.csv'))
    ? readMeasured(folder, 'nanotron_h100.csv')
    : undefined;
}

/** Layouts that are refused are left out. */
export const predictNanotron = (
  rows: readonly MeasuredRow[],
  open: OpenGraph,
  settingOf: (row: MeasuredRow) => NanotronSetting,
): readonly ParallelRow[] => rows.flatMap((row) => predicted(row, open, settingOf(row)));

/** Where collectives took longer. */
export const isPipelineOverNodes = ({ pp, nodes, tp }: MeasuredRow): boolean =>
  pp !== '1' && nodes !== '1' && tp !== '1';

const common =
  'weights=half-with-copy,gradients=fp32-sums,optimizer-kernels=fused,clip-norm=true,cross-entropy=in-place,torch=2.6';

/** Elements of a bucket: 25 MiB in bf16. */
const scattered = `deepspeed-zero,stage=1,communication-data-type=fp32,overlap-comm=true,reduce-bucket-size=${(25 * 2 ** 20) / 2}`;

function predicted(
  row: MeasuredRow,
  open: OpenGraph,
  { cluster, launch, callPerGpu }: NanotronSetting,
): readonly ParallelRow[] {
  const opened = open(
    `measured/models/llama-training.layers.yaml#nanotron-${(row.model ?? '').toLowerCase()}`,
  );
  if (opened === undefined) return [];
  const checked = callPerGpu !== undefined && isPipelineOverNodes(row);
  const tensor = numberIn(row, 'tp');
  const framework = [
    row.zero_stage === '1' ? scattered : 'pytorch-ddp,gradient-dtype=fp32',
    common,
    ...(launch === undefined ? [] : [`launch-us=${launch}`]),
    ...(checked ? [`collective-us=${(launch ?? 0) + callPerGpu * tensor}`] : []),
  ];
  const request: ScenarioRequest = {
    precision: 'bf16',
    ...frameworkOf(framework.join(',')),
    parallel: {
      tensor,
      pipeline: numberIn(row, 'pp'),
      sequence: tensor > 1,
      ...(checked && tensor > cluster.gpusPerNode.value ? { gathered: 'again' } : {}),
      ...(row.pp === '1' ? {} : { stages: nanotronStages(row) }),
    },
  };
  return predictRow(row, opened, cluster, request, peakOfFirst);
}

/** Without stages all GPUs are alike. */
const peakOfFirst = ({ totals, parallel }: StepCost): number =>
  parallel?.stages[0]?.peak ?? totals.memory.peak;
