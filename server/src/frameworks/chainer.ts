/**
 * Chainer: gradients aggregated after backward, by one process for all GPUs, one for each, or ChainerMN over nodes.
 *
 * - ParallelUpdater: one process; the gradients of each GPU are added on the first, one GPU after another, and the
 *   parameters copied back (chainer/training/updaters/parallel_updater.py, addgrads and copyparams).
 * - MultiprocessParallelUpdater: one process for each GPU, NCCL reduce to the first, update there, NCCL broadcast
 *   (multiprocess_parallel_updater.py).
 * - ChainerMN: allreduce_grad of the communicator after backward (chainermn/communicators/*.py): `naive` and `flat` through
 *   MPI, `hierarchical` NCCL inside nodes and MPI between their first GPUs, `two_dimensional` with every GPU between nodes
 *   on its share, `pure_nccl` one NCCL all-reduce, whose double buffering uses gradients one step old.
 */

import type { CollectiveOperation, Operation } from '../communication/operation.ts';
import { type Bytes, bytes, sum } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { cudnnEra, cudnnEraNote, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import {
  backwardEnd,
  type Channel,
  type Exchange,
  forwardAt,
  type Message,
  noExchange,
  type SyncPoint,
  theUpdate,
  type WorkerGroup,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { cudnnEraOptimizers } from './optimizers/optimizerRules.ts';
import { oneOf } from './options.ts';

const updaters = ['parallel', 'multiprocess', 'chainermn'] as const;
const communicators = ['naive', 'flat', 'hierarchical', 'two_dimensional', 'pure_nccl'] as const;

export const chainer: FrameworkEntry = {
  name: 'chainer',
  documentation:
    'Chainer: ParallelUpdater, MultiprocessParallelUpdater or ChainerMN, gradients after backward',
  trainsIn: 'fp32',
  optimizers: cudnnEraOptimizers,
  overlaps:
    'input: read and decoded ahead, copied before forward; gradients: after backward, or with `double-buffering` during the next step; update: after all',
  sources: [
    'chainer/training/updaters/parallel_updater.py and multiprocess_parallel_updater.py, Chainer 7',
    'chainermn/communicators/*.py, Chainer 7',
  ],
  options: [
    {
      name: 'updater',
      default: 'chainermn',
      documentation: `${updaters.join(', ')}; the first two run on one node; several nodes use ChainerMN`,
      expects: oneOf(...updaters),
    },
    {
      name: 'communicator',
      default: 'pure_nccl',
      documentation: `ChainerMN: ${communicators.join(', ')}`,
      expects: oneOf(...communicators),
    },
    {
      name: 'double-buffering',
      default: 'false',
      documentation: 'true (pure_nccl only): gradients are sent during the next step and are one step old',
      expects: oneOf('true', 'false'),
    },
    ...cudnnEraOptions,
  ],
  create: (options) => {
    const updater = options.get('updater');
    return {
      ...cudnnEra(options),
      name: 'chainer',
      input: { ahead: 'reading', pipelined: true, reads: 'own share' },
      exchange: (gradients, group) => {
        if (group.gpus === 1) return noExchange;
        if (group.nodes === 1 && updater === 'parallel') return oneProcess(gradients, group);
        if (group.nodes === 1 && updater === 'multiprocess') return reduceAndBroadcast(gradients, group);
        return chainerMn(gradients, group, options);
      },
      notes: [`Chainer, ${updater}: gradients after backward`, cudnnEraNote],
    };
  },
};

const links: Channel = { name: 'links between GPUs', order: 'first come' };
const nccl: Channel = { name: 'NCCL stream', order: 'first come', runsKernels: true };
const mpi: Channel = { name: 'MPI', order: 'first come' };

const messageOf = (
  gradients: readonly Gradient[],
  size: Bytes,
  after: SyncPoint,
  before: SyncPoint,
  stages: readonly { readonly channel: Channel; readonly operation: Operation }[],
): Message => ({ gradients, bytes: size, after, before, stages });

const collective = (
  kind: CollectiveOperation['collective'],
  size: Bytes,
  over: CollectiveOperation['over'],
  more: Partial<CollectiveOperation> = {},
): CollectiveOperation => ({ kind: 'collective', collective: kind, bytes: size, over, ...more });

/** G − 1 whole copies to one GPU and as many back, all over its own link: one copy of as many bytes. */
function oneProcess(gradients: readonly Gradient[], group: WorkerGroup): Exchange {
  const size = sum(gradients.map((gradient) => gradient.bytes));
  const all = bytes((group.gpusPerNode - 1) * size);
  return {
    ...noExchange,
    messages: [
      messageOf(gradients, size, backwardEnd(group), theUpdate, [
        { channel: links, operation: collective('reduce', all, 'node') },
      ]),
      messageOf(gradients, size, theUpdate, forwardAt(0), [
        { channel: links, operation: collective('broadcast', all, 'node') },
      ]),
    ],
    buffers: size,
  };
}

function reduceAndBroadcast(gradients: readonly Gradient[], group: WorkerGroup): Exchange {
  const size = sum(gradients.map((gradient) => gradient.bytes));
  return {
    ...noExchange,
    messages: [
      messageOf(gradients, size, backwardEnd(group), theUpdate, [
        { channel: nccl, operation: collective('reduce', size, 'node') },
      ]),
      messageOf(gradients, size, theUpdate, forwardAt(0), [
        { channel: nccl, operation: collective('broadcast', size, 'node') },
      ]),
    ],
    buffers: size,
  };
}

function chainerMn(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const communicator = options.get('communicator');
  const size = sum(gradients.map((gradient) => gradient.bytes));
  const isBuffered = communicator === 'pure_nccl' && options.get('double-buffering') === 'true';
  const routeOf = bySize((whole) => stagesOf(communicator, whole, group));
  const send = (carried: readonly Gradient[], whole: Bytes): Message => ({
    ...messageOf(carried, whole, backwardEnd(group), theUpdate, routeOf(whole)),
    ...(isBuffered ? { stepsLater: 1 } : {}),
  });
  return {
    ...noExchange,
    messages:
      communicator === 'naive'
        ? gradients.map((gradient) => send([gradient], gradient.bytes))
        : [send(gradients, size)],
    buffers: communicator === 'naive' ? bytes(0) : bytes(2 * size),
  };
}

function stagesOf(
  communicator: string | undefined,
  size: Bytes,
  { nodes, gpusPerNode }: WorkerGroup,
): Message['stages'] {
  const throughHost = { library: 'open-mpi' } as const;
  switch (communicator) {
    case 'naive':
    case 'flat':
      return [{ channel: mpi, operation: collective('all-reduce', size, 'all', throughHost) }];
    case 'hierarchical':
      return [
        { channel: nccl, operation: collective('reduce', size, 'node') },
        { channel: mpi, operation: collective('all-reduce', size, 'first of each node', throughHost) },
        { channel: nccl, operation: collective('broadcast', size, 'node') },
      ];
    case 'two_dimensional': {
      const share = bytes(size / gpusPerNode);
      return [
        { channel: nccl, operation: collective('reduce-scatter', size, 'node') },
        {
          channel: mpi,
          operation: collective('all-reduce', nodes > 1 ? share : bytes(0), 'across nodes', throughHost),
        },
        { channel: nccl, operation: collective('all-gather', size, 'node') },
      ];
    }
    default:
      return [{ channel: nccl, operation: collective('all-reduce', size, 'all') }];
  }
}
