/** The work of one step in seconds: the input of the simulation. */

import type { Seconds } from '../model/units.ts';
import type { MessageColumns } from './messageColumns.ts';

export interface StepWork {
  readonly forward: LaunchedWork;
  /** In the order it runs, last layer first. */
  readonly backward: LaunchedWork;
  readonly update: UpdateWork;
  /**
   * The host waits for what the update waits for before it launches it; else the GPU alone does, and the host has launched
   * it long before. Left out, false.
   */
  readonly hostWaits?: boolean;
  /** In the order they are issued. */
  readonly messages: MessageColumns;
  readonly channels: readonly ChannelOrder[];
  /**
   * By channel: the share by which kernels take longer while it carries a message, because messages are kernels of the
   * GPU too; of several at a time the largest counts. Left out, none.
   */
  readonly slowing?: readonly number[];
  /** Left out where reading is not described. */
  readonly input?: TimedInput;
}

/** Kernels of like size, `launches` of them (left out, 1), that the host takes `host` to launch in all. */
export interface UpdateWork {
  readonly device: Seconds;
  readonly host: Seconds;
  readonly launches?: number;
  /** The host waits for the GPU to end backward before it launches them; left out, false. */
  readonly hostWaits?: boolean;
}

/** Pieces of GPU work, each with the host time it takes to launch it; columns of one length. */
export interface LaunchedWork {
  readonly device: Float64Array;
  readonly host: Float64Array;
}

/** Which of the messages that are ready goes next: the one that has been ready for longest, or that of lowest priority. */
export type ChannelOrder = 'first come' | 'by priority';

/** Of the batch of one GPU. */
export interface TimedInput {
  /** Reading and decoding. */
  readonly read: Seconds;
  /** To the GPU. */
  readonly copy: Seconds;
  /** What is done for later steps while one computes. */
  readonly ahead: 'nothing' | 'reading' | 'reading and copying';
  /** Batches are read and copied at once; else one thread does one after the other. */
  readonly pipelined: boolean;
}
