/**
 * What a message does on its way, as plain data: the words in which a framework says what it sends, each turned into
 * a time by `operationTime.ts`.
 */

import type { TcpLibrary } from '../hardware/tcpRate.ts';
import type { Bytes, BytesPerSecond, Seconds } from '../model/units.ts';
import type { Algorithm } from './candidate.ts';
import type { CollectiveKind } from './collectiveKind.ts';
import type { CollectiveRequest } from './collectiveTime.ts';

export type Operation =
  | CollectiveOperation
  | ServerOperation
  | CopyOperation
  | RootGatherOperation
  | HostPassOperation
  | FixedOperation;

/** A collective of NCCL or MPI. */
export interface CollectiveOperation {
  readonly kind: 'collective';
  readonly collective: CollectiveKind;
  /** As nccl-tests count: the whole buffer, over all ranks of the group. */
  readonly bytes: Bytes;
  /** The ranks it joins: all, those of one node, those of one place in each node, or the first of each node alone. */
  readonly over: 'all' | 'node' | 'across nodes' | 'first of each node';
  /** Left out: the cluster's own (`CollectiveRequest.library`). */
  readonly library?: CollectiveRequest['library'];
  readonly algorithm?: Algorithm;
  /** Of MPI: nothing is copied from the GPU and back (`CollectiveRequest.inHostMemory`). */
  readonly inHostMemory?: boolean;
  /** Collectives on the same links at a time, this one included; those of a group's like are added. */
  readonly concurrent?: number;
}

/** A push to parameter servers, a pull from them, or both at once. */
export interface ServerOperation {
  readonly kind: 'server';
  readonly way: 'push' | 'pull' | 'push and pull';
  readonly bytes: Bytes;
  readonly servers: number;
  /**
   * Of the bytes, what the busiest server holds: 1/servers where tensors are split, more where they go whole
   * (`placeTensors`). A message of many takes its share, so that the messages of a step add up to one exchange.
   */
  readonly busiestShare: number;
  /** Servers run on the workers' nodes and share their ports; else on nodes of their own with the same network. */
  readonly colocated: boolean;
  /** Who sends: each node once, its GPUs having added their gradients, or every GPU. */
  readonly senders: 'nodes' | 'gpus';
  /** Where the sockets of a library of its own limit what TCP moves. */
  readonly library?: Exclude<TcpLibrary, 'nccl'>;
}

/** Over the host link of a GPU, by a copy engine. */
export interface CopyOperation {
  readonly kind: 'copy';
  readonly way: 'to host' | 'to GPU';
  readonly bytes: Bytes;
  /** GPUs of a node that copy at once over one link to the host; 1 where each has its own; or as many as the cluster says. */
  readonly sharing: number | 'as linked';
}

/** Rank 0 takes a small message from each of the others, one by one, and answers each: 2(P−1)α. */
export interface RootGatherOperation {
  readonly kind: 'gather at rank 0';
  /** Of one message. */
  readonly bytes: Bytes;
}

/** The host reads and writes bytes at a rate that the framework's own code reaches. */
export interface HostPassOperation {
  readonly kind: 'host pass';
  readonly bytes: Bytes;
  readonly rate: BytesPerSecond;
  /** "sum of 4 gradients by 4 threads". */
  readonly what: string;
  /** Where the host is the busiest of several parameter servers. */
  readonly at?: Pick<ServerOperation, 'servers' | 'busiestShare'>;
}

/** A time that is known as such: a cycle to wait for, a negotiation. */
export interface FixedOperation {
  readonly kind: 'fixed';
  readonly time: Seconds;
  /** Work of the host, as a copy in its memory is; left out, a start-up. */
  readonly isWork?: true;
  readonly what: string;
}
