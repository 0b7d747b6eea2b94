/**
 * What the workers of a job exchange in a step, as plain data: messages, when each may start, what waits for it, and
 * over which channels it goes. `communication/` gives the operations their time, `schedule/` lays them on a timeline.
 *
 * Wait-free backpropagation is messages `afterBackward` of their last gradient and `beforeUpdate` on one channel; naive
 * synchronous SGD the same `afterBackward` of everything; sharded parameters are messages before the layers that use
 * them; priority scheduling is messages before the next forward on a channel with an order of its own.
 */

import type { Operation } from '../communication/operation.ts';
import type { Placement } from '../communication/placement.ts';
import type { Precision } from '../model/scenario.ts';
import { type Bytes, bytes, type Seconds } from '../model/units.ts';
import type { FrozenWeight, Gradient } from './gradient.ts';

/** Who takes part. */
export interface WorkerGroup extends Placement {
  readonly gpus: number;
  /** Of the graph: positions of forward and of backward are 0 to one less. */
  readonly operators: number;
  readonly precision: Precision;
  /** Weights that are not trained, in the order of forward; left out, none. */
  readonly frozen?: readonly FrozenWeight[];
  /** It computes one stage of a pipeline, whose passes are micro-batches. */
  readonly pipelined?: true;
}

/**
 * What a framework that measures its first steps, and then decides what to send together, would find. An exchange that
 * asks for none of it is the same for every batch, and is kept.
 */
export interface ProfiledStep {
  /** When each position of backward ends, from the start of backward. */
  readonly backwardEnds: () => Float64Array;
  /** When the host has launched each position of backward, from the same start: below 0 where it is ahead of the GPU. */
  readonly backwardLaunches: () => Float64Array;
  /** Samples of one step. */
  readonly batchPerGpu: () => number;
  readonly timeOf: (operation: Operation) => Seconds;
}

export interface Exchange {
  /** In the order they are issued; where several are ready for a channel at once, the first goes first. */
  readonly messages: readonly Message[];
  /** Whether a step waits for the other workers. Asynchronous workers meet only at the servers. */
  readonly synchrony: 'synchronous' | 'asynchronous';
  readonly update: UpdatePolicy;
  /** The host waits for the messages before it launches the update, instead of leaving that to the GPU. */
  readonly hostWaits?: true;
  readonly shards: Shards;
  /** State that lies in the memory of the host instead of that of the GPU; left out, none. */
  readonly onHost?: { readonly gradients: boolean; readonly parameters: boolean };
  /** Memory of one GPU that messages are sent from, beyond gradients and parameters themselves. */
  readonly buffers: Bytes;
}

/**
 * - `after all`: the optimizer runs once everything it waits for has arrived;
 * - `as they arrive`: the parameters of a message are updated when it has arrived;
 * - `at servers`: workers run no optimizer and keep no state; what the servers take is an operation of the messages.
 */
export type UpdatePolicy = 'after all' | 'as they arrive' | 'at servers';

/** Over how many GPUs each kind of model state is split; 1 where each keeps all of it. */
export interface Shards {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizerState: number;
}

/**
 * Over how many GPUs a parameter is split where others are split over `shards`: experts that are divided over GPUs have as
 * many holders less. Source: NVIDIA/Megatron-LM, docs, "Parallel folding": expert data parallelism is N/(p·e·etp).
 */
export const shardsOf = ({ expertWays = 1 }: Pick<Gradient, 'expertWays'>, shards: number): number =>
  shards === 1 ? 1 : Math.max(1, shards / expertWays);

/** Something that carries one message at a time. The same object is the same channel. */
export interface Channel {
  /** As a person reads it in a trace: "NCCL stream", "copies to host", "network". */
  readonly name: string;
  /**
   * First come: messages go in the order they become ready. By priority: of those that are ready the one of the lowest
   * `priority`; one on its way is not interrupted, so that large messages are sent in parts.
   */
  readonly order: 'first come' | 'by priority';
  /** Its messages are kernels of the GPU, as NCCL's are, and take processors and memory bandwidth from those beside them. */
  readonly runsKernels?: true;
}

export interface Message {
  /** Those it carries, or whose parameters it carries. */
  readonly gradients: readonly Gradient[];
  /** Weights without gradients that it carries; left out, none. */
  readonly frozen?: readonly FrozenWeight[];
  /** On the wire. */
  readonly bytes: Bytes;
  readonly after: SyncPoint;
  readonly before: SyncPoint;
  /** One after another; different messages may be at different stages at a time. */
  readonly stages: readonly Stage[];
  /** Steps that what waits goes on without it: 1 where parameters one step old are used. */
  readonly stepsLater?: number;
  /** Sent once in so many steps, so that a step bears a part of its time; left out, in each. */
  readonly everySteps?: number;
  /** Lower goes first on channels by priority. */
  readonly priority?: number;
}

export interface Stage {
  readonly channel: Channel;
  readonly operation: Operation;
  /** Of those that take part, where these are not all workers. */
  readonly group?: Placement;
}

/**
 * A place in the step of one worker. A message comes `after` it has ended, or `before` it starts; where what waits lies
 * before what it follows, it is that of the next step. Positions count the operators in the order the pass runs them:
 * position p of backward is operator n − 1 − p.
 */
export type SyncPoint =
  | { readonly pass: 'start' }
  | { readonly pass: 'forward' | 'backward'; readonly position: number }
  | { readonly pass: 'update' };

export const stepStart: SyncPoint = { pass: 'start' };
export const forwardAt = (position: number): SyncPoint => ({ pass: 'forward', position });
export const backwardAt = (position: number): SyncPoint => ({ pass: 'backward', position });
/** The end of backward. */
export const backwardEnd = ({ operators }: WorkerGroup): SyncPoint => backwardAt(operators - 1);
export const theUpdate: SyncPoint = { pass: 'update' };

export const wholeState: Shards = { parameters: 1, gradients: 1, optimizerState: 1 };

/** One worker by itself. */
export const noExchange: Exchange = {
  messages: [],
  synchrony: 'synchronous',
  update: 'after all',
  shards: wholeState,
  buffers: bytes(0),
};

/** How a framework feeds the GPU. */
export interface InputHandling {
  /**
   * What is done for the next steps while this one computes: nothing (t_io + t_h2d come before forward), reading and
   * decoding (the copy to the GPU comes before forward), or both.
   */
  readonly ahead: 'nothing' | 'reading' | 'reading and copying';
  /** Reading, decoding and copying of different batches run at once; else one thread does one after the other. */
  readonly pipelined: boolean;
  /** Each worker reads its share of the samples, or all read all of them. */
  readonly reads: 'own share' | 'everything';
  /** Before the first step each worker reads the whole data set, whatever it reads in the steps. */
  readonly readsAllFirst?: true;
}

/** Worker processes decode ahead, and the copy of the next batch is issued before it is needed. */
export const prefetchedInput: InputHandling = {
  ahead: 'reading and copying',
  pipelined: true,
  reads: 'own share',
};
