/**
 * DeepSpeed ZeRO: optimizer state (stage 1), gradients (2) and parameters (3) in shards over all GPUs.
 *
 * Rules, DeepSpeed 0.1x, deepspeed/runtime/zero: stages 1 and 2 scatter gradients in buckets of `reduce-bucket-size`
 * elements as they become ready (stage_1_and_2.py), on the stream of backward unless `overlap-comm`, and gather the
 * updated parameters at once, or in equal pieces of `allgather-bucket-size`. Stage 3 gathers parameters before they are used, as far ahead
 * as `prefetch-bucket-size` elements; those of at most `persistence-threshold` elements stay whole
 * (partition_parameters.py). In half precision the whole model is cast, and the optimizer updates an fp32 copy (runtime/engine.py,
 * `_configure_distributed_model`; stage_1_and_2.py, `single_partition_of_fp32_groups`).
 */

import type { CollectiveKind } from '../communication/collectiveKind.ts';
import { itemAt } from '../model/at.ts';
import { largestOf } from '../model/extremes.ts';
import { totalElements } from '../model/totalElements.ts';
import { type Bytes, bytes } from '../model/units.ts';
import type { FrameworkBehaviour } from './behaviour.ts';
import {
  backwardAt,
  backwardEnd,
  type Exchange,
  forwardAt,
  type Message,
  noExchange,
  theUpdate,
  type WorkerGroup,
  wholeState,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { FrozenWeight, Gradient } from './gradient.ts';
import { hostCopy, largestOfGradients, updateOnHost, updatesOnHost, withHostCopies } from './offload.ts';
import { fromZero, oneOf, positiveNumber } from './options.ts';
import { packBuckets, packWithin } from './packBuckets.ts';
import { both, copyIntoBuffer } from './pytorch/gradientHandling.ts';
import { eagerOptionsWith, eagerPytorch } from './pytorchDdp.ts';
import { bytesPerElementOf } from './pytorchFsdp.ts';
import { gathersOfForward, shardedMessages, shardStream, type Unit, unitOf } from './shardedUnits.ts';

const allOrNumber = (text: string): string | undefined =>
  text === 'all' || positiveNumber(text) === undefined ? undefined : 'all or a positive number';

export const deepspeedZero: FrameworkEntry = {
  name: 'deepspeed-zero',
  documentation: 'DeepSpeed ZeRO 1, 2 or 3: sharded optimizer state, gradients, parameters',
  trainsIn: 'half',
  optimizers: { splitsTensors: true },
  // deepspeed/sequence/layer.py; runtime/pipe/engine.py, which trains with `schedule.TrainSchedule` alone.
  layout: { defaults: { contextExchange: 'all-to-all' }, schedules: ['1f1b'] },
  overlaps:
    'input: read, decoded and copied ahead; gradients: in buckets, with `overlap-comm` and stage 3 during backward; parameters: after the update, in stage 3 ahead of their use; update: after all',
  sources: [
    'Rajbhandari et al., "ZeRO", SC 2020',
    'Ren et al., "ZeRO-Offload", USENIX ATC 2021',
    'microsoft/DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py, stage3.py, partition_parameters.py, config.py',
  ],
  options: [
    { name: 'stage', default: '2', documentation: '1, 2 or 3', expects: oneOf('1', '2', '3') },
    {
      name: 'reduce-bucket-size',
      default: '5e8',
      documentation: 'elements of a bucket of gradients',
      expects: positiveNumber,
    },
    {
      name: 'allgather-bucket-size',
      default: 'all',
      documentation:
        'all: updated parameters are gathered at once, as from PyTorch 1.13 on; or elements of a piece, before',
      expects: allOrNumber,
    },
    {
      name: 'overlap-comm',
      default: 'auto',
      documentation: 'true: gradients are sent during backward; auto: only in stage 3',
      expects: oneOf('auto', 'true', 'false'),
    },
    {
      name: 'communication-data-type',
      default: 'model',
      documentation:
        'stages 1 and 2: dtype of gradients on the wire, that of the model or another (communication_data_type)',
      expects: oneOf('model', 'fp32', 'fp16', 'bf16'),
    },
    {
      name: 'grad-accum-dtype',
      default: 'model',
      documentation:
        'stage 1: fp32 adds gradients up in fp32 and all-reduces the sums after backward (grad_accum_dtype; BF16_Optimizer)',
      expects: oneOf('model', 'fp32'),
    },
    {
      name: 'prefetch-bucket-size',
      default: '5e7',
      documentation: 'stage 3: elements gathered ahead of their use',
      expects: positiveNumber,
    },
    {
      name: 'persistence-threshold',
      default: '1e5',
      documentation: 'stage 3: parameters with at most so many elements stay whole',
      expects: fromZero,
    },
    {
      name: 'offload-optimizer',
      default: 'none',
      documentation:
        'cpu: gradients and optimizer state lie in host memory, and DeepSpeedCPUAdam updates there (offload_optimizer)',
      expects: oneOf('none', 'cpu'),
    },
    {
      name: 'offload-param',
      default: 'none',
      documentation:
        'stage 3 with offload-optimizer: cpu keeps shards of parameters in host memory too (offload_param)',
      expects: oneOf('none', 'cpu'),
    },
    ...eagerOptionsWith({ weights: 'half-with-copy' }),
  ],
  contradiction,
  create: (options) => (options.get('grad-accum-dtype') === 'fp32' ? wideSums(options) : zero(options)),
};

function contradiction(options: ReadonlyMap<string, string>): string | undefined {
  if (options.get('grad-accum-dtype') === 'fp32' && options.get('stage') !== '1')
    return '`grad-accum-dtype=fp32` is costed with stage 1; set `stage=1`';
  if (options.get('grad-accum-dtype') === 'fp32' && updatesOnHost(options))
    return '`offload-optimizer=cpu` is costed with gradients of the dtype of the model; leave `grad-accum-dtype` out';
  if (options.get('offload-param') === 'cpu' && !(updatesOnHost(options) && options.get('stage') === '3'))
    return '`offload-param=cpu` is costed with stage 3 and `offload-optimizer=cpu`; set both';
  return undefined;
}

function zero(options: ReadonlyMap<string, string>): FrameworkBehaviour {
  return {
    ...eagerPytorch(options),
    name: 'deepspeed-zero',
    handleGradients: (group, pass, precision) => {
      const eager = eagerPytorch(options);
      // From stage 2 on a pass adds to a shard, which is small.
      const keepsAll = options.get('stage') === '1';
      return both(
        eager.handleGradients(group, { ...pass, adds: pass.adds && keepsAll }, precision),
        copyIntoBuffer(pass, group, eager.weightBytesPerElement(precision)),
      );
    },
    exchange: (gradients, group) => {
      if (updatesOnHost(options)) return offloaded(gradients, group, options);
      if (group.gpus === 1) return noExchange;
      return options.get('stage') === '3'
        ? shardedParameters(gradients, group, options)
        : shardedGradients(gradients, group, options);
    },
    ...(updatesOnHost(options) && {
      update: (optimizer, precision, sizes) =>
        updateOnHost(optimizer, precision, sizes, {
          held: { bytesPerElement: 4, copied: false, clipped: false },
          isFused: true,
          // `unscale_and_clip_grads` reads and writes gradients; then weights are cast to those of the GPU.
          beside: 8 + 4 + bytesPerElementOf('auto', { precision }),
        }),
    }),
    exchangeInInference: (parameters, group) =>
      group.gpus === 1 || options.get('stage') !== '3'
        ? noExchange
        : gatheredParameters(parameters, group, options),
    notes: [`ZeRO stage ${options.get('stage')}`],
  };
}

/**
 * deepspeed/runtime/bf16_optimizer.py, `update_hp_grads`: after each backward a gradient is cast to fp32 and added to its sum.
 * runtime/pipe/engine.py, `_bf16_reduce_grads`, and runtime/engine.py, `allreduce_bucket`: sums are copied together in buckets of
 * `reduce-bucket-size` elements, all-reduced and copied back. Copies share the update, and gather what it gave.
 */
function wideSums(options: ReadonlyMap<string, string>): FrameworkBehaviour {
  const eager = eagerPytorch(new Map([...options, ['gradients', 'fp32-sums']]));
  return {
    ...eager,
    name: 'deepspeed-zero',
    handleGradients: (group, pass, precision) => {
      const computed = eager.weightBytesPerElement(precision);
      const added = { bytesPerElement: computed + 4 + 3 * 4, launches: 2 };
      return both(added, copyIntoBuffer(pass, group, 4));
    },
    exchange: (gradients, group) => (group.gpus === 1 ? noExchange : wholeSums(gradients, group, options)),
    notes: ['ZeRO stage 1, gradients added up in fp32'],
  };
}

function wholeSums(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const weight = bytesPerElementOf('auto', group);
  const buckets = packWithin(gradients, Number(options.get('reduce-bucket-size')) * 4, 4);
  const sums = buckets.map(
    ({ gradients: own, bytes: size }): Message => ({
      gradients: own,
      bytes: size,
      after: backwardEnd(group),
      before: theUpdate,
      stages: overAll('all-reduce', size),
    }),
  );
  const largest = buckets.reduce((most, bucket) => Math.max(most, bucket.bytes), 0);
  return {
    ...noExchange,
    messages: [...sums, ...gathersOfUpdate(gradients, weight, options)],
    shards: { parameters: 1, gradients: 1, optimizerState: group.gpus },
    buffers: bytes(largest),
  };
}

function shardedGradients(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const bytesPerElement = bytesPerElementOf('auto', group);
  const limit = Number(options.get('reduce-bucket-size')) * bytesPerElement;
  const overlaps = options.get('overlap-comm') === 'true';
  const buckets = packWithin(gradients, limit, bytesPerElement);
  const sent = wireBytesPerElement(options.get('communication-data-type')) ?? bytesPerElement;
  const last = group.operators - 1;
  // The gradient that does not fit sends the bucket before it; the last one goes at the end of backward.
  const closedAfter = (index: number): number =>
    Math.max(itemAt(buckets, index).readyAfter, buckets[index + 1]?.gradients[0]?.readyAfter ?? last);
  const scatters = buckets.map(({ gradients: own, bytes: held }, index): Message => {
    const size = bytes((held / bytesPerElement) * sent);
    return {
      gradients: own,
      bytes: size,
      after: backwardAt(closedAfter(index)),
      before: overlaps || closedAfter(index) >= last ? theUpdate : backwardAt(closedAfter(index) + 1),
      stages: overAll('reduce-scatter', size),
    };
  });
  const gathers = gathersOfUpdate(gradients, bytesPerElement, options);
  const largest = buckets.reduce((most, bucket) => Math.max(most, bucket.bytes), 0);
  return {
    ...noExchange,
    messages: [...scatters, ...gathers],
    shards: {
      parameters: 1,
      gradients: options.get('stage') === '2' ? group.gpus : 1,
      optimizerState: group.gpus,
    },
    buffers: bytes(overlaps ? 2 * largest : largest),
  };
}

/**
 * Gradients go to the host in fp32, those of the GPU's own part. Stages 1 and 2 copy updated weights to the GPU and gather them; stage
 * 3 copies its shards after the update, or before each gather where they lie in host memory (stage3.py, `partition_grads`).
 */
function offloaded(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const weight = bytesPerElementOf('auto', group);
  const isStage3 = options.get('stage') === '3';
  const sent = isStage3 ? weight : (wireBytesPerElement(options.get('communication-data-type')) ?? weight);
  const staysOnGpu = isStage3 && options.get('offload-param') !== 'cpu';
  const elements = totalElements(gradients);
  const largest = largestOfGradients(gradients);
  const exchange = withHostCopies(
    isStage3 ? shardedParameters(gradients, group, options) : shardedGradients(gradients, group, options),
    group,
    {
      perReduced: 4 / sent,
      perGathered: staysOnGpu ? 0 : 1,
      onHost: {
        // In stage 1 a GPU keeps the gradients that others update.
        gradients: options.get('stage') !== '1' || group.gpus === 1,
        parameters: options.get('offload-param') === 'cpu',
      },
      // The fp32 copy of a gradient on its way, and `temp_grad_buffer_for_gpu_offload`.
      buffers: bytes((4 * largest) / group.gpus + (isStage3 ? 0 : weight * largest)),
    },
  );
  if (!staysOnGpu || elements === 0) return exchange;
  const size = bytes((elements * weight) / group.gpus);
  const updated: Message = {
    gradients,
    bytes: size,
    after: theUpdate,
    before: forwardAt(0),
    stages: [hostCopy('to GPU', size)],
  };
  return { ...exchange, messages: [...exchange.messages, updated] };
}

/** One collective of all GPUs. */
const overAll = (collective: CollectiveKind, size: Bytes): Message['stages'] => [
  { channel: shardStream, operation: { kind: 'collective', collective, bytes: size, over: 'all' } },
];

/** Parameters that copies updated in shards. */
function gathersOfUpdate(
  gradients: readonly Gradient[],
  bytesPerElement: number,
  options: ReadonlyMap<string, string>,
): readonly Message[] {
  const elements = totalElements(gradients);
  const pieces = piecesOf(elements, options.get('allgather-bucket-size') ?? 'all');
  const size = bytes((elements * bytesPerElement) / pieces);
  const gather: Message = {
    gradients,
    bytes: size,
    after: theUpdate,
    before: forwardAt(0),
    stages: overAll('all-gather', size),
  };
  return elements === 0 ? [] : Array.from({ length: pieces }, () => gather);
}

/** `undefined` for the type of the model. */
const wireBytesPerElement = (type: string | undefined): number | undefined =>
  type === 'fp32' ? 4 : type === 'fp16' || type === 'bf16' ? 2 : undefined;

/** Equal pieces (deepspeed/runtime/utils.py, `all_gather_dp_groups`), or all at once (`all_gather_into_tensor_dp_groups`). */
const piecesOf = (elements: number, limit: string): number =>
  limit === 'all' ? 1 : Math.max(1, Math.floor(elements / Number(limit)));

function shardedParameters(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const bytesPerElement = bytesPerElementOf('auto', group);
  const threshold = Number(options.get('persistence-threshold'));
  const whole = gradients.filter(({ elements }) => elements <= threshold);
  const units = prefetchedUnits(gradients, group, options);
  const messages = shardedMessages(units, group, {
    over: 'all',
    parameterBytesPerElement: bytesPerElement,
    gradientBytesPerElement: bytesPerElement,
    gathersAgain: true,
    ahead: 2,
    aheadInBackward: 1,
  });
  const persistent = packBuckets(whole, [Number.POSITIVE_INFINITY], bytesPerElement).flatMap(
    ({ gradients: own, bytes: size, readyAfter }): readonly Message[] => [
      {
        gradients: own,
        bytes: size,
        after: backwardAt(readyAfter),
        before: theUpdate,
        stages: overAll('reduce-scatter', size),
      },
      {
        gradients: own,
        bytes: size,
        after: theUpdate,
        before: forwardAt(0),
        stages: overAll('all-gather', size),
      },
    ],
  );
  const largest = largestOf([0, ...units.map(({ elements }) => elements)]);
  const largestTrained = largestOf([0, ...units.map(({ trained }) => trained)]);
  return {
    ...noExchange,
    messages: [...messages, ...persistent],
    shards: { parameters: group.gpus, gradients: group.gpus, optimizerState: group.gpus },
    buffers: bytes((2 * largest + largestTrained) * bytesPerElement),
  };
}

/** Forward alone; parameters that stay whole are so from the start. */
function gatheredParameters(
  parameters: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): Exchange {
  const parameterBytesPerElement = bytesPerElementOf('auto', group);
  const units = prefetchedUnits(parameters, group, options);
  const largest = largestOf([0, ...units.map(({ elements }) => elements)]);
  return {
    ...noExchange,
    messages: gathersOfForward(units, { over: 'all', parameterBytesPerElement, ahead: 2 }),
    shards: { ...wholeState, parameters: group.gpus },
    buffers: bytes(2 * largest * parameterBytesPerElement),
  };
}

/** What is gathered at a time, in the order of forward. */
function prefetchedUnits(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  options: ReadonlyMap<string, string>,
): readonly Unit[] {
  const threshold = Number(options.get('persistence-threshold'));
  const most = Number(options.get('prefetch-bucket-size'));
  const units: (Gradient | FrozenWeight)[][] = [];
  let left = 0;
  for (const weight of [...gradients, ...(group.frozen ?? [])].sort((a, b) => a.usedFrom - b.usedFrom)) {
    if (weight.elements <= threshold) continue;
    if (left > 0) units.at(-1)?.push(weight);
    else {
      units.push([weight]);
      left = most;
    }
    left -= weight.elements;
  }
  return units.map((weights) => unitOf(weights, group));
}
