/**
 * CNTK 2: gradients aggregated after backward, beside a header of every worker that rank 0 gathers.
 *
 * - `data-parallel`: each tensor by NCCL, or copied to the host, all-reduced by MPI and copied back, one tensor's copy
 *   beside another's exchange; tensors of at most 32 KiB travel in one buffer (SimpleDistGradAggregator.h).
 * - `one-bit`: each gradient as one bit and two scales for each column, what is lost added to the next step; workers
 *   exchange shares and gather the sums (AllReduceDistGradAggregator.h, MatrixQuantizer; Seide et al., Interspeech 2014).
 * - `block-momentum`: workers train apart and average models after so many samples (BlockMomentumSGD.h; Chen, Huo, ICASSP
 *   2016).
 *
 * The readers of all workers read everything unless told to share (distributedMBReading, false by default). That of text
 * reads the whole file before the first step, to index it (microsoft/CNTK issues 1085 and 1219).
 */

import type { Operation } from '../communication/operation.ts';
import { type Bytes, bytes, sum } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import {
  backwardEnd,
  type Channel,
  type Message,
  noExchange,
  theUpdate,
  type WorkerGroup,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { cudnnEraOptimizers } from './optimizers/optimizerRules.ts';
import { oneOf, wholeNumber } from './options.ts';

const learners = ['data-parallel', 'one-bit', 'block-momentum'] as const;

export const cntk: FrameworkEntry = {
  name: 'cntk',
  documentation: 'CNTK 2: data-parallel, 1-bit or block-momentum SGD, gradients after backward',
  trainsIn: 'fp32',
  optimizers: cudnnEraOptimizers,
  overlaps:
    'input: read, decoded and copied ahead, the whole data set by every worker; gradients: after backward; update: after all',
  sources: [
    'microsoft/CNTK, Source/SGDLib/SimpleDistGradAggregator.h, AllReduceDistGradAggregator.h, BlockMomentumSGD.h',
    'CNTK documentation, "Multiple GPUs and machines"',
  ],
  options: [
    {
      name: 'learner',
      default: 'data-parallel',
      documentation: learners.join(', '),
      expects: oneOf(...learners),
    },
    {
      name: 'nccl',
      default: 'true',
      documentation: 'true: built with NCCL (Linux, from 2.0 beta 3); false: MPI through host memory',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'distributed-reading',
      default: 'false',
      documentation: 'true: each worker reads its part (distributedMBReading)',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'reader',
      default: 'images',
      documentation:
        'images, or text: CNTKTextFormatReader, which reads the whole file before the first step',
      expects: oneOf('images', 'text'),
    },
    {
      name: 'block-samples',
      default: '120000',
      documentation:
        'samples of one worker between two synchronizations of block momentum (blockSizePerWorker)',
      expects: wholeNumber,
    },
    ...cudnnEraOptions,
  ],
  create: (options) => {
    const learner = options.get('learner');
    const hasNccl = options.get('nccl') === 'true';
    return {
      ...cudnnEra(options),
      name: 'cntk',
      input: {
        ahead: 'reading and copying',
        pipelined: true,
        reads: options.get('distributed-reading') === 'true' ? 'own share' : 'everything',
        ...(options.get('reader') === 'text' ? { readsAllFirst: true } : {}),
      },
      exchange: (gradients, group, profiled) => {
        if (group.gpus === 1) return noExchange;
        if (learner === 'block-momentum') {
          const everySteps = Math.max(
            1,
            Math.round(Number(options.get('block-samples')) / profiled.batchPerGpu()),
          );
          const size = sum(gradients.map((gradient) => gradient.bytes));
          const message = messageOf(gradients, group, plainStages(size, group, hasNccl));
          return { ...noExchange, messages: [{ ...message, everySteps }], buffers: bytes(2 * size) };
        }
        const stagesOf = bySize((size) =>
          learner === 'one-bit' ? quantizedStages(size) : plainStages(size, group, hasNccl),
        );
        const packed = gradients.filter((gradient) => gradient.bytes <= packedUpTo);
        const alone = gradients.filter((gradient) => gradient.bytes > packedUpTo);
        const sent = [...(packed.length > 0 ? [packed] : []), ...alone.map((gradient) => [gradient])];
        return {
          ...noExchange,
          messages: [
            header(group),
            ...sent.map((own) => messageOf(own, group, stagesOf(sum(own.map((gradient) => gradient.bytes))))),
          ],
          buffers: sum(packed.map((gradient) => gradient.bytes)),
        };
      },
      notes: [
        `CNTK, ${learner}: gradients after backward, headers gathered at rank 0`,
        ...(learner === 'one-bit' ? ['kernels that quantize gradients are not modelled'] : []),
        cudnnEraNote,
      ],
    };
  },
};

/** SimpleDistGradAggregator.h, the default packing threshold in KiB. */
const packedUpTo = 32 * 1024;

const rankZero: Channel = { name: 'rank 0', order: 'first come' };
const nccl: Channel = { name: 'NCCL stream', order: 'first come', runsKernels: true };
const down: Channel = { name: 'copies to host', order: 'first come' };
const mpi: Channel = { name: 'MPI', order: 'first come' };
const up: Channel = { name: 'copies to GPU', order: 'first come' };

/** Samples, criterion and errors of a minibatch: DistGradHeader of a few evaluation nodes. */
const headerBytes = bytes(64);

const header = (group: WorkerGroup): Message => ({
  gradients: [],
  bytes: headerBytes,
  after: backwardEnd(group),
  before: theUpdate,
  stages: [{ channel: rankZero, operation: { kind: 'gather at rank 0', bytes: headerBytes } }],
});

const messageOf = (
  gradients: readonly Gradient[],
  group: WorkerGroup,
  stages: Message['stages'],
): Message => ({
  gradients,
  bytes: sum(gradients.map((gradient) => gradient.bytes)),
  after: backwardEnd(group),
  before: theUpdate,
  stages,
});

function plainStages(size: Bytes, { gpusPerNode }: WorkerGroup, hasNccl: boolean): Message['stages'] {
  const all = { kind: 'collective', collective: 'all-reduce', bytes: size, over: 'all' } as const;
  if (hasNccl) return [{ channel: nccl, operation: all }];
  const copy = { kind: 'copy', bytes: size, sharing: gpusPerNode } as const;
  return [
    { channel: down, operation: { ...copy, way: 'to host' } },
    { channel: mpi, operation: { ...all, library: 'open-mpi', inHostMemory: true } },
    { channel: up, operation: { ...copy, way: 'to GPU' } },
  ];
}

/**
 * One bit for each of 32, and two floats for each column, which for the matrices that matter is little: a share to each
 * worker, and the quantized sum of each share back to all, through host memory.
 */
function quantizedStages(size: Bytes): Message['stages'] {
  const quantized = bytes(size / 32);
  const exchange = (collective: 'reduce-scatter' | 'all-gather'): Operation => ({
    kind: 'collective',
    collective,
    bytes: quantized,
    over: 'all',
    library: 'open-mpi',
  });
  return [
    { channel: mpi, operation: exchange('reduce-scatter') },
    { channel: mpi, operation: exchange('all-gather') },
  ];
}
