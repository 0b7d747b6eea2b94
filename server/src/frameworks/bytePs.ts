/**
 * BytePS over eager PyTorch: gradients in parts of 4 MB through parameter servers, each aware of the links of a node.
 *
 * Parts are spread over the servers by a hash of their key, so evenly; of those that are ready the one that the next
 * forward needs first goes first (Jiang et al., OSDI 2020; byteps/common/global.cc: BYTEPS_PARTITION_BYTES 4,096,000;
 * scheduled_queue.cc). `optimizer.step()` waits on the host until all gradients are back (byteps/torch/__init__.py,
 * `synchronize`), unless the barrier is crossed. Push and pull of different parts share the network in both directions.
 */

import { bytes } from '../model/units.ts';
import { backwardEnd, noExchange, theUpdate, wholeState } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { numberFrom, oneOf } from './options.ts';
import { partitionedMessages } from './partitions.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { chooseServers, serverOptions } from './serverChoice.ts';
import { serverStages } from './serverStages.ts';

export const bytePs: FrameworkEntry = {
  name: 'byteps',
  documentation: 'BytePS over PyTorch: gradients in parts through parameter servers, by priority',
  trainsIn: 'half',
  overlaps:
    'input: read, decoded and copied ahead; gradients: in parts, during backward, and with `cross-barrier` during the next forward; update: after all, or as they arrive',
  sources: [
    'Jiang et al., "A Unified Architecture for Accelerating Distributed DNN Training", OSDI 2020',
    'bytedance/byteps, docs/architecture.md, docs/env.md, byteps/common/global.cc and scheduled_queue.cc',
  ],
  options: [
    {
      name: 'partition-mb',
      default: '4.096',
      documentation: 'largest part in 10^6 bytes (BYTEPS_PARTITION_BYTES)',
      expects: numberFrom(0.01),
    },
    {
      name: 'overlap',
      default: 'true',
      documentation: 'false: all gradients are sent after backward',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'cross-barrier',
      default: 'false',
      documentation: 'true: each layer of the next forward waits only for its own gradients',
      expects: oneOf('true', 'false'),
    },
    ...serverOptions,
    ...eagerOptions,
  ],
  create: (options) => {
    const crosses = options.get('cross-barrier') === 'true';
    const partition = Number(options.get('partition-mb')) * 1e6;
    return {
      ...eagerPytorch(options),
      name: 'byteps',
      partBytes: partition,
      exchange: (gradients, group) => {
        if (group.gpus === 1) return noExchange;
        const choice = chooseServers(options, group, gradients, bytes(0));
        // A job of one node asks no server (global.cc: it is distributed from two on).
        const stagesOf = serverStages(group, { ...choice, colocated: choice.colocated || group.nodes === 1 });
        return {
          messages: partitionedMessages(gradients, partition, stagesOf, {
            ...(options.get('overlap') === 'false' ? { after: backwardEnd(group) } : {}),
            ...(crosses ? {} : { before: theUpdate }),
          }),
          synchrony: 'synchronous',
          update: crosses ? 'as they arrive' : 'after all',
          ...(crosses ? {} : { hostWaits: true }),
          shards: wholeState,
          buffers: bytes(0),
        };
      },
      notes: [`BytePS, parts of ${options.get('partition-mb')} MB`],
    };
  },
};
