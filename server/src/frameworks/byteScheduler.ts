/**
 * ByteScheduler over eager PyTorch: gradients in parts, those that the next forward needs first sent first.
 *
 * A part is at most `partition-elements`; parts are all-reduced by Horovod or exchanged with parameter servers, and
 * each layer of the next forward waits for its own (Peng et al., SOSP 2019; bytescheduler/common/bytecore.py:
 * BYTESCHEDULER_PARTITION 1,000,000 and BYTESCHEDULER_CREDIT 4,000,000 parameters). Credit bounds what is on its way
 * at a time: what has been handed over is not called back, so that an urgent part waits for one credit.
 */

import { bytes } from '../model/units.ts';
import { type Channel, noExchange, wholeState } from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import { numberFrom, oneOf } from './options.ts';
import { partitionedMessages, type StagesOf } from './partitions.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { chooseServers, serverOptions } from './serverChoice.ts';
import { serverStages } from './serverStages.ts';

export const byteScheduler: FrameworkEntry = {
  name: 'bytescheduler',
  documentation: 'ByteScheduler: gradients in parts, those the next forward needs first sent first',
  overlaps:
    'input: read, decoded and copied ahead; gradients: in parts, during backward and the next forward; update: as they arrive',
  sources: [
    'Peng et al., "A Generic Communication Scheduler for Distributed DNN Training Acceleration", SOSP 2019',
    'bytedance/byteps, bytescheduler/common/bytecore.py',
  ],
  options: [
    {
      name: 'over',
      default: 'all-reduce',
      documentation: 'all-reduce (Horovod) or parameter-servers',
      expects: oneOf('all-reduce', 'parameter-servers'),
    },
    {
      name: 'partition-elements',
      default: '1000000',
      documentation: 'elements of a part at most (BYTESCHEDULER_PARTITION)',
      expects: numberFrom(1_000),
    },
    {
      name: 'credit-elements',
      default: '4000000',
      documentation: 'elements handed over at a time at most (BYTESCHEDULER_CREDIT)',
      expects: numberFrom(1_000),
    },
    ...serverOptions,
    ...eagerOptions,
  ],
  create: (options) => {
    const partition = Number(options.get('partition-elements'));
    // Without the parts themselves being preemptable, what is handed over at once behaves as one part of that size.
    const handedOver = 4 * Math.max(1, Math.min(partition, Number(options.get('credit-elements'))));
    return {
      ...eagerPytorch(options),
      name: 'bytescheduler',
      exchange: (gradients, group) => {
        if (group.gpus === 1) return noExchange;
        const stagesOf: StagesOf =
          options.get('over') === 'parameter-servers'
            ? serverStages(group, chooseServers(options, group, gradients, bytes(0)))
            : (size) => [
                {
                  channel: scheduledStream,
                  operation: { kind: 'collective', collective: 'all-reduce', bytes: size, over: 'all' },
                },
              ];
        return {
          messages: partitionedMessages(gradients, handedOver, stagesOf),
          synchrony: 'synchronous',
          update: 'as they arrive',
          shards: wholeState,
          buffers: bytes(0),
        };
      },
      notes: [
        `ByteScheduler over ${options.get('over')}, parts of ${options.get('partition-elements')} elements`,
      ],
    };
  },
};

const scheduledStream: Channel = { name: 'NCCL stream, by priority', order: 'by priority' };
