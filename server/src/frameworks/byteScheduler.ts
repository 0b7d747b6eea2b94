/**
 * ByteScheduler over eager PyTorch: gradients in parts, those that the next forward needs first sent first.
 *
 * A part is at most `partition-elements`; parts are all-reduced by Horovod or exchanged with parameter servers, and
 * each layer of the next forward waits for its own (Peng et al., SOSP 2019; bytescheduler/common/bytecore.py:
 * BYTESCHEDULER_PARTITION 1,000,000 and BYTESCHEDULER_CREDIT 4,000,000 parameters). Credit bounds what is on its way
 * at a time: what has been handed over is not called back, so that an urgent part waits for one credit.
 *
 * Over Horovod one thread of Python asks after every event in turn and updates one parameter after another
 * (bytescheduler/pytorch/horovod.py, `_poll`), each found by going through all of them by name (`_sgd`, `_adam`). What that
 * takes for each is set from three published rows, ResNet-50, BERT-Base and BERT-Large on 4 GPUs (HKBU-HPML/ddl-benchmarks),
 * less the search, whose loop was timed by itself (CPython 3.11, 400 parameters). Horovod without ByteScheduler's patch (horovod_pytorch.patch) waits once more, for all that has
 * been launched when a part is handed over, which is the whole of backward; a script that ends its step with
 * `torch.cuda.synchronize` holds Python's lock meanwhile (torch/csrc/cuda/Module.cpp up to PyTorch 1.9), so that with the
 * patch too nothing is handed over before backward has ended. Rank 0 then hands over by priority, and Horovod sends together
 * what it was handed within one of its cycles.
 */

import { smallestOf } from '../model/extremes.ts';
import { bytes, seconds } from '../model/units.ts';
import {
  backwardEnd,
  type Channel,
  forwardAt,
  type Message,
  noExchange,
  type Stage,
  type WorkerGroup,
  wholeState,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { fromZero, numberFrom, oneOf } from './options.ts';
import { partitionedMessages, type StagesOf } from './partitions.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { chooseServers, serverOptions } from './serverChoice.ts';
import { serverStages } from './serverStages.ts';

export const byteScheduler: FrameworkEntry = {
  name: 'bytescheduler',
  documentation: 'ByteScheduler: gradients in parts, in the order in which the next forward needs them',
  trainsIn: 'half',
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
      documentation: 'largest number of elements in a part (BYTESCHEDULER_PARTITION)',
      expects: numberFrom(1_000),
    },
    {
      name: 'credit-elements',
      default: '4000000',
      documentation: 'largest number of elements in flight (BYTESCHEDULER_CREDIT)',
      expects: numberFrom(1_000),
    },
    {
      name: 'patched',
      default: 'true',
      documentation:
        "all-reduce: false is Horovod without ByteScheduler's patch, which sends nothing during backward",
      expects: oneOf('true', 'false'),
    },
    {
      name: 'update-us',
      default: '730',
      documentation: 'all-reduce: time of its thread to notice and update one parameter, in microseconds',
      expects: fromZero,
    },
    {
      name: 'search-us',
      default: '2.4',
      documentation: 'all-reduce: time of its thread to skip one parameter, in microseconds',
      expects: fromZero,
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
      partBytes: handedOver,
      exchange: (gradients, group) => {
        if (group.gpus === 1) return noExchange;
        return {
          messages: messagesOf(gradients, group, options, handedOver),
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

function messagesOf(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
  handedOver: number,
): readonly Message[] {
  if (options.get('over') === 'parameter-servers') {
    const choice = chooseServers(options, group, gradients, bytes(0));
    return partitionedMessages(gradients, handedOver, serverStages(group, choice));
  }
  const perUpdate = updateTime(options, gradients.length);
  return options.get('patched') === 'false'
    ? afterBackward(gradients, group, Number(options.get('partition-elements')), perUpdate)
    : partitionedMessages(gradients, handedOver, allReduced, { finishing: [updating(1, perUpdate)] });
}

/** Of one parameter, which is found halfway through all of them on average. */
const updateTime = (options: ReadonlyMap<string, string>, parameters: number): number =>
  (Number(options.get('update-us')) + (Number(options.get('search-us')) * parameters) / 2) * 1e-6;

/**
 * What is handed over within a cycle goes as one message. Workers but the first hand over in the order of backward, so that
 * the first layer of a message is updated last.
 */
function afterBackward(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  partition: number,
  perUpdate: number,
): readonly Message[] {
  const messages: Message[] = [];
  let [own, size, parts, finished]: [Gradient[], number, number, number] = [[], 0, 0, 0];
  const send = (): void => {
    if (parts === 0) return;
    const usedFrom = smallestOf(own.map((gradient) => gradient.usedFrom));
    messages.push({
      gradients: own,
      bytes: bytes(size),
      after: backwardEnd(group),
      before: forwardAt(usedFrom),
      stages: [handingOver(parts), ...allReduced(bytes(size)), updating(finished, perUpdate)],
      priority: usedFrom,
    });
    [own, size, parts, finished] = [[], 0, 0, 0];
  };
  for (const gradient of gradients.toSorted((a, b) => a.usedFrom - b.usedFrom)) {
    const count = Math.max(1, Math.ceil(gradient.elements / partition));
    for (let part = 1; part <= count; part += 1) {
      const more = gradient.bytes / count;
      if (size + more > fusionBytes || parts === partsOfCycle) send();
      if (own.at(-1) !== gradient) own.push(gradient);
      size += more;
      parts += 1;
      if (part === count) finished += 1;
    }
  }
  send();
  return messages;
}

/** HOROVOD_FUSION_THRESHOLD and HOROVOD_CYCLE_TIME up to Horovod 0.20. */
const fusionBytes = 64 * 2 ** 20;
const cycle = 5e-3;

/** What a thread of Python takes to hand one part over, through two queues to Horovod: an assumption of the usual size. */
const handOver = 100e-6;
const partsOfCycle = Math.round(cycle / handOver);

const handingOver = (parts: number): Stage => ({
  channel: handingThread,
  operation: {
    kind: 'fixed',
    time: seconds(parts * handOver),
    isWork: true,
    what: `handing over of ${parts} ${parts === 1 ? 'part' : 'parts'} by one thread of Python`,
  },
});

const allReduced: StagesOf = (size) => [
  {
    channel: scheduledStream,
    operation: { kind: 'collective', collective: 'all-reduce', bytes: size, over: 'all' },
  },
];

const updating = (parameters: number, each: number): Stage => ({
  channel: updatingThread,
  operation: {
    kind: 'fixed',
    time: seconds(parameters * each),
    isWork: true,
    what: `update of ${parameters} ${parameters === 1 ? 'parameter' : 'parameters'} by one thread of Python`,
  },
});

const scheduledStream: Channel = {
  name: 'NCCL stream, by priority',
  order: 'by priority',
  runsKernels: true,
};
const handingThread: Channel = { name: 'scheduling thread', order: 'first come' };
const updatingThread: Channel = { name: 'updating thread', order: 'first come' };
