/** Kernels by themselves beside what an H200 took for them (measured/kernels-h200.jsonl, kernels-h200-b.jsonl), by kind: the median of the errors. */

import { expect, test } from 'vitest';
import { readKernels } from '../../scripts/measured/readKernels.ts';
import { type MeasuredRow, numberIn } from '../../scripts/measured/readMeasured.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import type { Layout } from '../../server/src/hardware/kernelEnvironment.ts';
import { convolutionBytes } from '../../server/src/hardware/kernels/convolutionTime.ts';
import { operandBytes } from '../../server/src/hardware/kernels/gemmTime.ts';
import { kernelTime, uncorrectedTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';
import type {
  ConvolutionPass,
  ConvolutionShape,
  MatmulLayout,
} from '../../server/src/operators/definition.ts';

const gpu = findGpu('h200-sxm');
if (gpu === undefined) throw new Error('h200-sxm');

const layoutOf = ({ layout }: MeasuredRow): Layout =>
  layout === 'channels-last' ? 'channels-last' : 'channels-first';
const isBackward = ({ pass }: MeasuredRow): boolean => pass === 'backward';
const widthOf = ({ measuredType }: MeasuredRow): number => (measuredType === 'fp32' ? 4 : 2);
const common = (row: MeasuredRow) => ({
  flops: flops(0),
  operations: 0,
  launches: 1,
  environment: {
    layout: layoutOf(row),
    mixed: true,
    ...(row.measuredType === 'bf16' ? { bf16: true as const } : {}),
  },
});

function product(row: MeasuredRow): KernelWork {
  const shape = {
    kind: 'matmul',
    layout: row.layout as MatmulLayout,
    batch: 1,
    m: numberIn(row, 'm'),
    n: numberIn(row, 'n'),
    k: numberIn(row, 'k'),
  } as const;
  return {
    ...common(row),
    class: 'matmul',
    dtype: 'bf16',
    flops: flops(2 * shape.m * shape.n * shape.k),
    bytes: bytes(operandBytes(shape, 2)),
    matmuls: [{ shape, count: 1 }],
    bytesPerElement: 2,
  };
}

/** Experts of equal share are a batch of products. */
function experts(row: MeasuredRow): KernelWork {
  const [batch, tokens, n, k] = ['experts', 'tokens', 'n', 'k'].map((column) => numberIn(row, column));
  if (batch === undefined || tokens === undefined || n === undefined || k === undefined)
    throw new Error('no sizes');
  const m = tokens / batch;
  const sizes = {
    forward: { layout: 'tn', m, n, k },
    data: { layout: 'nn', m, n: k, k: n },
    weight: { layout: 'nt', m: n, n: k, k: m },
  } as const;
  const shape = { kind: 'matmul', batch, ...sizes[row.pass as keyof typeof sizes] } as const;
  return {
    ...common(row),
    class: 'matmul',
    dtype: 'bf16',
    flops: flops(2 * tokens * n * k),
    bytes: bytes(operandBytes(shape, 2)),
    matmuls: [{ shape, count: 1 }],
    bytesPerElement: 2,
  };
}

function attention(row: MeasuredRow): KernelWork {
  const [sequences, tokens, size] = ['sequences', 'tokens', 'size'].map((column) => numberIn(row, column));
  if (sequences === undefined || tokens === undefined || size === undefined) throw new Error('no sizes');
  const elements = sequences * tokens * size;
  const causal = row.causal === '1';
  const work = common(row);
  return {
    ...work,
    class: 'attention',
    dtype: 'bf16',
    flops: flops((causal ? 2 : 4) * elements * tokens * (isBackward(row) ? 2.5 : 1)),
    bytes: bytes(2 * elements * (isBackward(row) ? 8 : 4)),
    bytesPerElement: 2,
    environment: {
      ...work.environment,
      attention: row.kernel === 'flash-attention-2' ? 'flash-attention-2' : 'newest',
    },
    attention: {
      pass: isBackward(row) ? 'backward' : 'forward',
      sequences,
      queries: tokens,
      keys: tokens,
      size,
      causal,
    },
  };
}

function convolution(row: MeasuredRow): KernelWork {
  const [side, kernel, stride] = ['height', 'kernel_h', 'stride_h'].map((column) => numberIn(row, column));
  if (side === undefined || kernel === undefined || stride === undefined) throw new Error('no sizes');
  const outputs = Math.floor((side + 2 * numberIn(row, 'pad_h') - kernel) / stride) + 1;
  const shape: ConvolutionShape = {
    kind: 'convolution',
    pass: row.pass as ConvolutionPass,
    images: numberIn(row, 'images'),
    channels: numberIn(row, 'channels'),
    filters: numberIn(row, 'filters'),
    groups: numberIn(row, 'groups'),
    positions: outputs ** 2,
    spatialSize: side ** 2,
    kernelElements: kernel ** 2,
    winograd: kernel === 3 && stride === 1,
    fourier: kernel >= 5 && stride === 1,
  };
  const { images, positions, filters, channels, groups, kernelElements } = shape;
  return {
    ...common(row),
    class: groups === channels ? 'depthwise-convolution' : 'convolution',
    dtype: 'bf16',
    flops: flops((2 * images * positions * filters * channels * kernelElements) / groups),
    bytes: bytes(convolutionBytes(shape, 2)),
    matmuls: [{ shape, count: 1 }],
    bytesPerElement: 2,
  };
}

function batchNorm(row: MeasuredRow): KernelWork {
  const [images, channels, positions] = ['images', 'channels', 'positions'].map((column) =>
    numberIn(row, column),
  );
  if (images === undefined || channels === undefined || positions === undefined) throw new Error('no sizes');
  const [tensors, reads] = isBackward(row) ? [5, 4] : [3, 2];
  return {
    ...common(row),
    class: 'normalization',
    dtype: 'fp32',
    bytes: bytes(tensors * images * channels * positions * 2),
    channelSums: {
      pass: isBackward(row) ? 'backward' : 'forward',
      channels,
      loads: reads * images * positions,
      ownPlanes: images * channels,
    },
  };
}

function pooling(row: MeasuredRow): KernelWork {
  const [side, kernel, stride] = ['side', 'kernel', 'stride'].map((column) => numberIn(row, column));
  if (side === undefined || kernel === undefined || stride === undefined) throw new Error('no sizes');
  const planes = numberIn(row, 'images') * numberIn(row, 'channels');
  const outputs = planes * (Math.floor((side + 2 * numberIn(row, 'padding') - kernel) / stride) + 1) ** 2;
  const inputs = planes * side ** 2;
  const kind = row.operation === 'max' ? 'max' : 'average';
  const indices = kind === 'max' ? 8 * outputs : 0;
  return {
    ...common(row),
    class: 'pooling',
    dtype: 'fp32',
    operations: outputs * kernel ** 2,
    bytes: bytes((inputs + outputs) * widthOf(row) + indices),
    pooling: { kind, pass: isBackward(row) ? 'backward' : 'forward', inputs },
  };
}

function widening(row: MeasuredRow): KernelWork {
  const elements = numberIn(row, 'rows') * numberIn(row, 'columns');
  return {
    ...common(row),
    class: 'elementwise',
    dtype: 'fp32',
    bytes: bytes(6 * elements),
    instructions: { elements, kernel: 'widened' },
  };
}

const isAligned = (row: MeasuredRow): boolean =>
  ['m', 'n', 'k'].every((side) => numberIn(row, side) % 8 === 0);
const isDepthwise = ({ groups, channels }: MeasuredRow): boolean => groups !== '1' && groups === channels;

const isHalf = ({ measuredType }: MeasuredRow): boolean => measuredType === 'bf16' || measuredType === 'fp16';

/** Products were timed by themselves, on a GPU that was cool. */
const timeOf = (table: string | undefined, work: KernelWork): number =>
  table === 'products' ? uncorrectedTime(gpu, work) : kernelTime(gpu, work).time;

test.each<[string, string, (row: MeasuredRow) => boolean, (row: MeasuredRow) => KernelWork, number, number]>([
  [
    'matmuls of whole vectors',
    'products',
    (row) => row.measuredType === 'bf16' && isAligned(row),
    product,
    30,
    0.1,
  ],
  [
    'matmuls of unaligned rows',
    'products',
    (row) => row.measuredType === 'bf16' && !isAligned(row),
    product,
    60,
    0.15,
  ],
  [
    'plain convolutions',
    'convolutions',
    (row) => isHalf(row) && row.groups === '1' && row.channels !== '3',
    convolution,
    330,
    0.2,
  ],
  [
    'images of three channels',
    'convolutions',
    (row) => row.measuredType === 'bf16' && row.channels === '3',
    convolution,
    24,
    0.1,
  ],
  [
    'depthwise convolutions',
    'convolutions',
    (row) => row.measuredType === 'bf16' && isDepthwise(row),
    convolution,
    90,
    0.12,
  ],
  ['matmuls without a pause', 'sustained', (row) => row.measuredType === 'bf16', product, 45, 0.05],
  ['products of experts of equal share', 'grouped', (row) => row.spread === 'even', experts, 24, 0.08],
  ['products of experts of unequal share', 'grouped', (row) => row.spread === 'uneven', experts, 24, 0.16],
  [
    'attention by cuDNN',
    'attention',
    (row) => isHalf(row) && Number(row.dropout) === 0 && row.kernel !== 'flash-attention-2',
    attention,
    40,
    0.05,
  ],
  [
    'attention by FlashAttention-2',
    'attention',
    (row) => row.kernel === 'flash-attention-2',
    attention,
    28,
    0.1,
  ],
  ['batch normalization', 'batch-norm', (row) => row.measuredType === 'bf16', batchNorm, 100, 0.15],
  ['pooling', 'pooling', (row) => row.operation !== 'global-average', pooling, 80, 0.1],
  [
    'casts to fp32',
    'rows',
    (row) => row.operation === 'cast' && row.measuredType === 'bf16' && row.pass === 'forward',
    widening,
    6,
    0.1,
  ],
])('%s', (_, table, accepts, workOf, fewest, most) => {
  const errors = readKernels('measured', table)
    .filter(accepts)
    .map((row) => Math.abs(timeOf(row.table, workOf(row)) / (numberIn(row, 'microseconds') * 1e-6) - 1))
    .sort((a, b) => a - b);
  expect(errors.length).toBeGreaterThanOrEqual(fewest);
  expect(errors[errors.length >> 1]).toBeLessThan(most);
});
