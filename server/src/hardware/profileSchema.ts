/**
 * The form of profile files, in the units people write: GiB, GB/s, TFLOP/s, Gb/s, µs.
 *
 * A number is `{ "value": 312, "source": "datasheet" }`, the source a key of the file's `sources` or the text
 * itself; in a person's own file a bare number will do. `syntaxes/cluster-profile.schema.json` is generated
 * from `clusterFile`.
 */

import { z } from 'zod';
import { fabricKinds, linkKinds } from './clusterProfile.ts';

/** Nothing that is built is near either end, and times made of such numbers stay finite. */
export const leastNumber = 1e-6;
export const greatestNumber = 1e9;

const positive = z.number().min(leastNumber).max(greatestNumber);

const sourced = z.union([positive, z.strictObject({ value: positive, source: z.string().min(1) })]);

/** Whether a type is that of a number with its source, which may be left out or not. */
export const isSourced = (type: z.ZodType): boolean =>
  type === sourced || (type instanceof z.ZodOptional && type.unwrap() === sourced);

const name = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9.]+)*$/, 'must be lower case words joined by hyphens, such as "my-cluster"');

const sources = z.record(z.string(), z.string().min(1));

export const gpuFile = z.strictObject({
  name,
  title: z.string().min(1),
  vendor: z.string().min(1).optional(),
  architecture: z.string().min(1).optional(),
  sources: sources.optional(),
  multiprocessors: sourced,
  boostMHz: sourced.optional(),
  memoryGiB: sourced,
  memoryBandwidthGBs: sourced,
  l2MiB: sourced.optional(),
  peakTflops: z.strictObject({
    fp32: sourced,
    fp32Matrix: sourced.optional(),
    tf32: sourced.optional(),
    fp16: sourced.optional(),
    bf16: sourced.optional(),
    fp8: sourced.optional(),
    nvfp4: sourced.optional(),
  }),
  tensorCores: z.array(z.enum(['tf32', 'fp16', 'bf16', 'fp8', 'nvfp4'])),
  sustainedCompute: sourced.optional(),
  hostLinkGBs: sourced.optional(),
  gpuLinkGBs: sourced.optional(),
  /** What the board draws at most. */
  boardWatts: sourced.optional(),
});

/** What `layercost calibrate` measured; a term that is left out takes no time. */
const kernelRates = z.strictObject({
  gflops: positive.optional(),
  gbytesPerSecond: positive.optional(),
  microseconds: positive.optional(),
  /** Times what is known of the GPU, in place of the three. */
  factor: positive.optional(),
  /** Measured over fitted: from the 10th to the 90th percentile of the time. */
  low: positive,
  high: positive,
  measurements: positive,
});

export const clusterFile = z.strictObject({
  $schema: z.string().optional(),
  name,
  title: z.string().min(1).optional(),
  sources: sources.optional(),
  /** Name of a built-in GPU, or a GPU described here. */
  gpu: z.union([z.string().min(1), gpuFile]),
  /** Kernel times of this machine by kind, which go before what is known of its GPU. */
  kernels: z.strictObject({ source: z.string().min(1), kinds: z.record(z.string(), kernelRates) }).optional(),
  gpusPerNode: sourced,
  /** The machine of a cloud that a node is: prices are looked up by it. */
  instance: z.strictObject({ provider: z.string().min(1), name: z.string().min(1) }).optional(),
  link: z
    .strictObject({
      kind: z.enum(linkKinds),
      title: z.string().min(1).optional(),
      busBandwidthGBs: sourced,
      latencyMicroseconds: sourced.optional(),
      /** GPUs on one switch, socket or bridge, and the bus bandwidth of more of them. */
      groups: z.strictObject({ gpus: sourced, acrossGBs: sourced }).optional(),
      /** All-reduce that NVSwitch adds up (NVLink SHARP). */
      inSwitchReductionGBs: sourced.optional(),
    })
    .optional(),
  network: z
    .strictObject({
      kind: z.enum(fabricKinds),
      title: z.string().min(1).optional(),
      nics: sourced,
      linkGbits: sourced,
      nodeBandwidthGBs: sourced.optional(),
      /** Of trees over more than two nodes, where they were measured: of GPUs, and of sums in NVSwitch. */
      treeGBs: sourced.optional(),
      switchedTreeGBs: sourced.optional(),
      latencyMicroseconds: sourced.optional(),
      /** Whether NCCL may run LL and LL128 over it; left out, it may. */
      lowLatencyProtocols: z.boolean().optional(),
      oversubscription: z.strictObject({ ratio: sourced, nodesPerSwitch: sourced }).optional(),
    })
    .optional(),
  host: z
    .strictObject({
      title: z.string().min(1).optional(),
      cores: sourced.optional(),
      memoryGiB: sourced.optional(),
      /** Of all sockets together: channels × their rate. */
      memoryBandwidthGBs: sourced.optional(),
      /** GPUs behind one PCIe switch, which share its link to the host. */
      gpusPerHostLink: sourced.optional(),
      /** Of eager PyTorch, for a kernel: in 80 of 100 models between low and high, where these are given. */
      launch: z
        .strictObject({
          microseconds: positive,
          low: positive.optional(),
          high: positive.optional(),
          source: z.string().min(1).optional(),
        })
        .optional(),
    })
    .optional(),
  storage: z
    .strictObject({
      title: z.string().min(1).optional(),
      localGBs: sourced.optional(),
      sharedGBs: sourced.optional(),
      perClientGBs: sourced.optional(),
      sameFileGBs: sourced.optional(),
    })
    .optional(),
  /** US dollars. */
  pricePerGpuHour: sourced.optional(),
  /** Release of NCCL, such as "2.4.8", where it is not the newest. */
  nccl: z
    .strictObject({
      release: z.string().regex(/^[12]\.\d+(\.\d+)?$/, 'must be a release of NCCL, such as "2.18.3"'),
      source: z.string().min(1).optional(),
    })
    .optional(),
});
