/** The exchange of fully sharded parameters, block by block: that of PyTorch's FSDP, and of what is built on it. */

import { totalElements } from '../model/totalElements.ts';
import { type Bytes, bytes } from '../model/units.ts';
import { type Exchange, noExchange, type WorkerGroup, wholeState } from './exchange.ts';
import type { FrozenWeight, Gradient } from './gradient.ts';
import { withHostCopies } from './offload.ts';
import { allReduceEach } from './packBuckets.ts';
import { gathersOfForward, shardedMessages, shardStream, type Unit, unitOf } from './shardedUnits.ts';

export interface FullSharding {
  /** `node`: over the GPUs of a node, with an all-reduce across nodes. */
  readonly over: 'all' | 'node';
  /** Parameters stay whole from forward to backward. */
  readonly keeps: boolean;
  readonly parameterBytesPerElement: number;
  readonly gradientBytesPerElement: number;
  readonly backwardPrefetch: 'pre' | 'post' | 'none';
  /** Bytes per element of parameters and gradients in the memory of the host; left out, they stay on the GPU. */
  readonly onHost?: number;
}

/** Of a group of more than one GPU, or of one whose parameters lie in host memory. */
export function fsdpExchange(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  { onHost, ...how }: FullSharding,
): Exchange {
  if (onHost === undefined) return exchangeOfGpus(gradients, group, how);
  const ways = waysOf(how.over, group);
  const [largest] = largestTwo(blocksOf(gradients, group).map(({ elements }) => elements));
  return withHostCopies(shardedExchange(gradients, group, how), group, {
    perReduced: onHost / how.gradientBytesPerElement,
    perGathered: onHost / how.parameterBytesPerElement,
    onHost: { gradients: true, parameters: true },
    // What a gather is made from.
    buffers: bytes((onHost * largest) / ways),
  });
}

function exchangeOfGpus(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  how: Omit<FullSharding, 'onHost'>,
): Exchange {
  if (waysOf(how.over, group) > 1) return shardedExchange(gradients, group, how);
  const { parameterBytesPerElement, gradientBytesPerElement } = how;
  return replicated(blocksOf(gradients, group), parameterBytesPerElement, gradientBytesPerElement);
}

function shardedExchange(
  gradients: readonly Gradient[],
  group: WorkerGroup,
  {
    over,
    keeps,
    parameterBytesPerElement,
    gradientBytesPerElement,
    backwardPrefetch,
  }: Omit<FullSharding, 'onHost'>,
): Exchange {
  const units = blocksOf(gradients, group);
  const ways = waysOf(over, group);
  return {
    ...noExchange,
    messages: shardedMessages(units, group, {
      over,
      parameterBytesPerElement,
      gradientBytesPerElement,
      // A model without blocks is all root.
      gathersAgain: !keeps && units.length > 1,
      ahead: 2,
      aheadInBackward: backwardPrefetch === 'pre' ? 1 : 0,
      // It goes by the order of forward (_fully_shard/_fsdp_param_group.py, `_backward_prefetch`).
      gathersBlindly: true,
      // After the backward of a unit its hook prefetches, then reduces (_runtime_utils.py, `_post_backward_hook`).
      gathersFirst: backwardPrefetch === 'post',
    }),
    shards: { parameters: ways, gradients: ways, optimizerState: ways },
    buffers: bytes(
      (keeps
        ? allUnits(units, parameterBytesPerElement)
        : wholeUnits(units, parameterBytesPerElement) + gradientsOfLargest(units, parameterBytesPerElement)) +
        castGradients(units, parameterBytesPerElement, gradientBytesPerElement),
    ),
  };
}

/** In inference: forward alone. */
export function fsdpInference(
  parameters: readonly Gradient[],
  group: WorkerGroup,
  { over, keeps, parameterBytesPerElement }: FullSharding,
): Exchange {
  const ways = waysOf(over, group);
  if (ways === 1) return noExchange;
  const units = blocksOf(parameters, group);
  return {
    ...noExchange,
    // What stays whole was gathered in the first pass.
    messages: keeps ? [] : gathersOfForward(units, { over, parameterBytesPerElement, ahead: 2 }),
    shards: { ...wholeState, parameters: ways },
    buffers: keeps ? allUnits(units, parameterBytesPerElement) : wholeUnits(units, parameterBytesPerElement),
  };
}

/** GPUs that a parameter is split over. */
export const waysOf = (over: FullSharding['over'], { gpus, gpusPerNode }: WorkerGroup): number =>
  over === 'node' ? gpusPerNode : gpus;

/**
 * Nodes of one GPU have nobody to share with: each keeps all (`_init_utils.py`: "switching to NO_SHARD"), and gradients
 * of a unit are added up across nodes.
 */
function replicated(units: readonly Unit[], parameterBytes: number, gradientBytes: number): Exchange {
  const buckets = units
    .filter(({ trained }) => trained > 0)
    .map(({ gradients, trained, backwardLast }) => ({
      gradients,
      bytes: bytes(trained * gradientBytes),
      readyAfter: backwardLast,
    }))
    .sort((a, b) => a.readyAfter - b.readyAfter);
  return {
    ...noExchange,
    messages: allReduceEach(buckets, {}, shardStream),
    buffers: castGradients(units, parameterBytes, gradientBytes),
  };
}

/** The name up to its first number, as `layers.3` of `layers.3.mlp.weight`; empty outside of blocks. */
export const blockOfParameter = (parameter: string): string =>
  /^(.*?\D)??\d+(?=[./\]]|$)/.exec(parameter)?.[0] ?? '';

/** In the order of forward; the root, which is whole before forward begins, comes first (_fully_shard/_fsdp_state.py, `_root_pre_forward`). */
function blocksOf(gradients: readonly Gradient[], group: WorkerGroup): readonly Unit[] {
  // The root begins with forward, and sorting keeps it in front of what does so too.
  const blocks = new Map<string, (Gradient | FrozenWeight)[]>([[root, []]]);
  for (const weight of [...gradients, ...(group.frozen ?? [])]) {
    const name = blockOfParameter(weight.parameter);
    const block = blocks.get(name);
    if (block === undefined) blocks.set(name, [weight]);
    else block.push(weight);
  }
  return [...blocks]
    .filter(([, weights]) => weights.length > 0)
    .map(([name, weights]): Unit => {
      const unit = unitOf(weights, group);
      return name === root ? { ...unit, first: 0, staysWhole: true } : unit;
    })
    .sort((a, b) => a.first - b.first);
}

/** Block of what lies outside of blocks. */
const root = '';

/** All units are whole, in the type that they are gathered in, beside their shards. */
const allUnits = (units: readonly Unit[], bytesPerElement: number): Bytes =>
  bytes(totalElements(units) * bytesPerElement);

/** Two units are whole at a time. */
const wholeUnits = (units: readonly Unit[], bytesPerElement: number): Bytes => {
  const [first, second] = largestTwo(units.map(({ elements }) => elements));
  return bytes((first + second) * bytesPerElement);
};

/** The gradients of one unit are whole beside them. */
const gradientsOfLargest = (units: readonly Unit[], bytesPerElement: number): Bytes =>
  bytes(largestTwo(units.map(({ trained }) => trained))[0] * bytesPerElement);

/** Gradients are added in a copy where they change their type; the largest unit is the root, whose turn comes last. */
const castGradients = (units: readonly Unit[], from: number, to: number): Bytes =>
  bytes(from === to ? 0 : largestTwo(units.map(({ trained }) => trained))[1] * to);

function largestTwo(sizes: readonly number[]): readonly [number, number] {
  const [first = 0, second = 0] = sizes.toSorted((a, b) => b - a);
  return [first, second];
}
