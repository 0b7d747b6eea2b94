/** Steps of models as PyTorch runs them eager, measured for this project (`scripts/measured/gpuSteps.py`). */

import type { Optimizer, Precision, ScenarioRequest } from '../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import type { DataSet } from './dataSets.ts';

const held = 'all rows: no step of this set was fitted to, but kernels of this GPU by themselves were';

const ofImages = ({ sequence }: MeasuredRow): boolean => sequence === '';

/** Compiled rows are not judged: eight networks were tuned at once, so that what was chosen by timing may be wrong. */
export const eagerSteps: readonly DataSet[] = [
  set('PyTorch 2.11, eager, networks of images, H200', 'layercost-h200', ofImages, held),
  set('PyTorch 2.11, eager, networks of text, H200', 'layercost-h200', (row) => !ofImages(row), 'as above'),
  set(
    'PyTorch 2.11, eager, other networks of images, H200',
    'layercost-h200-b',
    (row) => ofImages(row) && row.compile === '',
    'all rows, most of networks that were measured last: nothing was fitted to them',
  ),
  set(
    'PyTorch 2.11, eager, other networks of text, H200',
    'layercost-h200-b',
    (row) => !ofImages(row) && row.compile === '',
    'as above',
  ),
];

/** Rows of one machine. Those of images are of archives of torch.export, those of text of configs. */
function set(
  title: string,
  source: string,
  accepts: (row: MeasuredRow) => boolean,
  heldOut: string,
): DataSet {
  return {
    title,
    file: 'steps-eager.csv',
    accepts: (row) => row.source === source && accepts(row),
    graph: (row) => {
      if (row.model === 'inception_v3') return undefined;
      return `measured/models/eager/${row.model}${ofImages(row) ? '.pt2.gz' : '.config.json'}`;
    },
    dimensions: (row) => (ofImages(row) ? {} : { seq: numberIn(row, 'sequence') }),
    request,
    target: { statistic: 'mean', most: 0.12 },
    peer: '',
    held: heldOut,
  };
}

function request(row: MeasuredRow): ScenarioRequest {
  const { precision, optimizer, layout, attention } = row;
  const trains = row.mode !== 'inference';
  return {
    cluster: row.gpu ?? '',
    batch: numberIn(row, 'batch'),
    precision: precisionOf(precision),
    ...(trains ? { optimizer: optimizerOf(optimizer) } : {}),
    mode: trains ? 'training' : 'inference',
    ...(row.checkpoint === 'block' ? { checkpoint: 'block' } : {}),
    framework: {
      name: 'pytorch-ddp',
      options: {
        'memory-format': layout ?? 'channels-first',
        ...(trains ? { 'optimizer-kernels': row.optimizer_kernels ?? 'foreach' } : { weights: 'fp32' }),
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
