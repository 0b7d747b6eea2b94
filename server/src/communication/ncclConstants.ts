/**
 * Constants of NCCL's own tuning model: time = latency + bytes / bandwidth, by protocol.
 *
 * Source: NCCL 2.30 `src/graph/tuning.cc` (base and hardware latencies, bandwidth caps). Simple moves full
 * lines and pays the larger latency; LL sends a flag with every 4 bytes, so it has half the bandwidth and a
 * fraction of the latency. LL128 lies between the two and is not modelled.
 */

import type { LinkKind } from '../hardware/clusterProfile.ts';
import { type BytesPerSecond, bytesPerSecond, microseconds, type Seconds, seconds } from '../model/units.ts';

export interface Protocol {
  readonly name: 'Simple' | 'LL';
  /** Once per collective, ring. */
  readonly base: Seconds;
  /** Latency of a ring step from the profile's, which is that of Simple. */
  readonly linkStep: (kind: LinkKind, simple: Seconds) => Seconds;
  readonly networkStep: (simple: Seconds) => Seconds;
  readonly bandwidth: (bus: BytesPerSecond, nodes: number, architecture: string) => BytesPerSecond;
}

const simple: Protocol = {
  name: 'Simple',
  base: microseconds(8.4),
  linkStep: (_, step) => step,
  networkStep: (step) => step,
  bandwidth: (bus) => bus,
};

const lowLatency: Protocol = {
  name: 'LL',
  base: microseconds(6.6),
  linkStep: (kind, step) => atLeastZero(step - (kind === 'pcie' ? 4.7e-6 : 2.8e-6)),
  networkStep: (step) => atLeastZero(step - 11.3e-6),
  bandwidth: (bus, nodes, architecture) =>
    bytesPerSecond(Math.min(bus * 0.5, llCap(nodes, architecture) * 1e9)),
};

export const protocols: readonly Protocol[] = [simple, lowLatency];

/** Total LL bandwidth in GB/s at 1, 2 and 3 or more nodes; GPUs before Volta are given Volta's. */
function llCap(nodes: number, architecture: string): number {
  const caps = llCaps[architecture] ?? llCaps.volta;
  return caps?.[Math.min(nodes, 3) - 1] ?? 20.4;
}

const llCaps: Readonly<Record<string, readonly number[]>> = {
  volta: [39, 39, 20.4],
  turing: [39, 39, 20.4],
  ampere: [87.7, 22.5, 19],
  ada: [87.7, 22.5, 19],
  hopper: [141, 45, 35],
  blackwell: [282, 90, 70],
};

const atLeastZero = (value: number): Seconds => seconds(Math.max(0, value));
