/** The behaviour of a framework that a person describes in a file. */

import type { CollectiveOperation } from '../communication/operation.ts';
import { placeTensors } from '../communication/parameterServer.ts';
import type { FrameworkDescription } from '../model/frameworkDescription.ts';
import { type Bytes, bytes, sum } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import { cudnnEra, cudnnEraOptions } from './cudnn/cudnnEra.ts';
import {
  backwardAt,
  backwardEnd,
  type Channel,
  type Exchange,
  forwardAt,
  type Message,
  noExchange,
  type Stage,
  theUpdate,
  type UpdatePolicy,
  type WorkerGroup,
  wholeState,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { cudnnEraOptimizers } from './optimizers/optimizerRules.ts';
import { type Bucket, packBuckets, packLayers } from './packBuckets.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';

export const describedFramework = (description: FrameworkDescription): FrameworkEntry => {
  const isPytorch = description.kernels === 'pytorch';
  return {
    name: description.name,
    documentation: description.title,
    trainsIn: isPytorch ? 'half' : 'fp32',
    ...(isPytorch ? {} : { optimizers: cudnnEraOptimizers }),
    overlaps: 'as described',
    sources: ['user-defined framework'],
    options: isPytorch ? eagerOptions : cudnnEraOptions,
    create: (options): FrameworkBehaviour => ({
      ...(isPytorch ? eagerPytorch(options) : cudnnEra(options)),
      name: description.name,
      input: {
        ahead:
          description.input.ahead === 'reading-and-copying' ? 'reading and copying' : description.input.ahead,
        pipelined: description.input.pipelined,
        reads: description.input.reads === 'everything' ? 'everything' : 'own share',
      },
      exchange: (gradients, group) => exchangeOf(description, gradients, group),
      ...(description.gradients.partMiB === undefined
        ? {}
        : { partBytes: description.gradients.partMiB * 2 ** 20 }),
      notes: [`${description.title}, user-defined framework`],
    }),
  };
};

const updates: Readonly<Record<FrameworkDescription['update'], UpdatePolicy>> = {
  'after-all': 'after all',
  'as-they-arrive': 'as they arrive',
  'at-servers': 'at servers',
};

function exchangeOf(
  description: FrameworkDescription,
  gradients: readonly Gradient[],
  group: WorkerGroup,
): Exchange {
  if (group.gpus === 1) return noExchange;
  const buckets = bucketsOf(description, gradients);
  const stagesOf = routeOf(description, gradients, group);
  const copies = description.gradients.messages === 'buckets' || description.gradients.messages === 'one';
  return {
    messages: buckets.flatMap((bucket) => messagesOf(bucket, description, group, stagesOf)),
    synchrony: description.servers.asynchronous ? 'asynchronous' : 'synchronous',
    update: updates[description.update],
    shards: wholeState,
    buffers: copies ? sum(buckets.map((bucket) => bucket.bytes)) : bytes(0),
  };
}

function bucketsOf(
  { gradients: how }: FrameworkDescription,
  gradients: readonly Gradient[],
): readonly Bucket[] {
  const bytesPerElement = how.bytesPerElement;
  switch (how.messages) {
    case 'buckets':
      return packBuckets(gradients, [how.firstBucketMiB * 2 ** 20, how.bucketMiB * 2 ** 20], bytesPerElement);
    case 'one':
      return packBuckets(gradients, [Number.POSITIVE_INFINITY], bytesPerElement);
    case 'tensors':
      return packBuckets(gradients, [0], bytesPerElement);
    case 'layers':
      return packLayers(gradients).flatMap(({ gradients: own }) =>
        packBuckets(own, [Number.POSITIVE_INFINITY], bytesPerElement),
      );
  }
}

/** A bucket as one message, or in parts. What it is needed for is the earliest use of what it carries. */
function messagesOf(
  { gradients, bytes: size, readyAfter }: Bucket,
  { gradients: how }: FrameworkDescription,
  group: WorkerGroup,
  stagesOf: (size: Bytes) => readonly Stage[],
): readonly Message[] {
  const usedFrom = gradients.reduce(
    (first, gradient) => Math.min(first, gradient.usedFrom),
    group.operators - 1,
  );
  const parts = how.partMiB === undefined ? 1 : Math.max(1, Math.ceil(size / (how.partMiB * 2 ** 20)));
  const part = bytes(size / parts);
  const message: Message = {
    gradients,
    bytes: part,
    after: how.send === 'after-backward' ? backwardEnd(group) : backwardAt(readyAfter),
    before: how.neededBy === 'next-use' ? forwardAt(usedFrom) : theUpdate,
    stages: stagesOf(part),
    priority: usedFrom,
    ...(how.everySteps === 1 ? {} : { everySteps: how.everySteps }),
    ...(how.stepsLater === 0 ? {} : { stepsLater: how.stepsLater }),
  };
  return new Array<Message>(parts).fill(message);
}

function routeOf(
  { gradients: how, servers }: FrameworkDescription,
  gradients: readonly Gradient[],
  { nodes, gpusPerNode }: WorkerGroup,
): (size: Bytes) => readonly Stage[] {
  const order = how.order === 'by-priority' ? 'by priority' : 'first come';
  const channel = (name: string): Channel => ({ name, order });
  const stream: Channel =
    how.library === 'nccl' ? { ...channel('NCCL stream'), runsKernels: true } : channel('MPI');
  const network = channel('network');
  const library = how.library === 'nccl' ? {} : { library: how.library };
  const collective = (
    kind: CollectiveOperation['collective'],
    size: Bytes,
    over: CollectiveOperation['over'],
  ): Stage => ({
    channel: stream,
    operation: { kind: 'collective', collective: kind, bytes: size, over, ...library },
  });
  switch (how.over) {
    case 'all-reduce': {
      const isTwoLevel = how.hierarchical && nodes > 1 && how.library === 'nccl';
      return (size) => {
        const { channel: own, operation } = collective('all-reduce', size, 'all');
        return [
          {
            channel: own,
            operation:
              isTwoLevel && operation.kind === 'collective'
                ? { ...operation, algorithm: 'two-level ring' }
                : operation,
          },
        ];
      };
    }
    case 'reduce-and-broadcast':
      return (size) => [collective('reduce', size, 'all'), collective('broadcast', size, 'all')];
    case 'parameter-servers': {
      const count = servers.count ?? nodes;
      const tensors = gradients.map((gradient) => gradient.bytes);
      const total = sum(tensors);
      const split = servers.splitFromElements;
      const { busiest } = placeTensors(tensors, count, split === undefined ? undefined : bytes(4 * split));
      const busiestShare = total === 0 ? 1 / count : busiest / total;
      return (size) => [
        ...(gpusPerNode > 1 ? [collective('reduce', size, 'node')] : []),
        {
          channel: network,
          operation: {
            kind: 'server',
            way: 'push and pull',
            bytes: size,
            servers: count,
            colocated: servers.colocated,
            busiestShare,
            senders: 'nodes',
          },
        },
        ...(gpusPerNode > 1 ? [collective('broadcast', size, 'node')] : []),
      ];
    }
  }
}
