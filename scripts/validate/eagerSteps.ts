/** Steps of models as PyTorch runs them eager, measured for this project (`scripts/measured/gpuSteps.py`). */

import type { Optimizer, Precision, ScenarioRequest } from '../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import type { DataSet } from './dataSets.ts';

const held = 'all rows: no step of this set was fitted to, but kernels of this GPU by themselves were';

export const eagerSteps: readonly DataSet[] = [
  {
    title: 'PyTorch 2.11, eager, networks of images, H200',
    file: 'steps-eager.csv',
    accepts: (row) => row.sequence === '',
    graph: ({ model = '' }) =>
      model === 'inception_v3' ? undefined : `measured/models/eager/${model}.pt2.gz`,
    request,
    target: { statistic: 'mean', most: 0.12 },
    peer: '',
    held,
  },
  {
    title: 'PyTorch 2.11, eager, networks of text, H200',
    file: 'steps-eager.csv',
    accepts: (row) => row.sequence !== '',
    graph: ({ model }) => `measured/models/eager/${model}.config.json`,
    dimensions: (row) => ({ seq: numberIn(row, 'sequence') }),
    request,
    target: { statistic: 'mean', most: 0.12 },
    peer: '',
    held: 'as above',
  },
];

function request(row: MeasuredRow): ScenarioRequest {
  const { precision, optimizer, layout, attention } = row;
  return {
    cluster: row.gpu ?? '',
    batch: numberIn(row, 'batch'),
    precision: precisionOf(precision),
    optimizer: optimizerOf(optimizer),
    mode: row.mode === 'inference' ? 'inference' : 'training',
    ...(row.checkpoint === 'block' ? { checkpoint: 'block' } : {}),
    framework: {
      name: 'pytorch-ddp',
      options: {
        'memory-format': layout ?? 'channels-first',
        'optimizer-kernels': row.optimizer_kernels ?? 'foreach',
        ...(precision === 'fp32' ? { 'conv-tf32': 'false' } : {}),
        ...(attention === '' || attention === undefined ? {} : { attention }),
      },
    },
  };
}

function precisionOf(text: string | undefined): Precision {
  if (text === 'fp32' || text === 'tf32' || text === 'bf16' || text === 'fp16') return text;
  throw new Error(`no precision: ${text}`);
}

function optimizerOf(text: string | undefined): Optimizer {
  if (text === 'momentum' || text === 'adamw') return text;
  throw new Error(`no optimizer: ${text}`);
}
