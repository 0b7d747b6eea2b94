/**
 * How measured collectives start, beside the constants that NCCL chooses by.
 *
 * NCCL's tuning model ranks algorithms; its latencies are those of steps in steady state. Fitted by hand to two runs of
 * nccl-tests, all-reduce on 8 × A100 (microsoft/superbenchmark, tests/data/nccl_allreduce.log) and on 8 × H100
 * (NVIDIA/dgxc-benchmarking, nccl/README.md), which are therefore not judged in `test/validation/collectives.test.ts`.
 */

import type { Generation } from './versions.ts';

export interface MeasuredStartup {
  /** µs before the first step: 4 bytes took 34.7 µs on the A100 system, 13 µs on the H100 one; the model says 15. */
  readonly launch: number;
  /** Factor on the latency of a step inside a node; NCCL has the same 1.4 for large messages between nodes. */
  readonly hop: number;
  /** Factor on the latency of NVLink SHARP. */
  readonly nvls: number;
}

/** The tuning model as it is. */
export const asTuned: MeasuredStartup = { launch: 0, hop: 1, nvls: 1 };

export const measuredStartup = (generation: Generation): MeasuredStartup => ({
  launch: generation === 'ampere' ? 20 : 0,
  hop: 1.4,
  nvls: 2,
});
