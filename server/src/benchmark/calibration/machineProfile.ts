/** What was measured on a machine as a cluster profile: a file that a person can read, share and give as `--cluster`. */

import { gpuOfDevice } from '../../hardware/gpuOfDevice.ts';
import type { KernelRates } from '../../hardware/kernelRates.ts';
import type { ClusterFile, KernelsFile, LaunchFile } from '../../hardware/profileOfFile.ts';
import type { BenchmarkDevice } from '../deviceSchema.ts';
import type { LinkFile } from './fitLink.ts';

/** Of a processor, as its system tells. */
export interface Processor {
  readonly megahertz: number;
  readonly memoryGiB: number;
}

export type MachineFile = ClusterFile & { readonly gpu: unknown };

/** `node`: GPUs of it and their link, where collectives were measured. `launch`: of the host, where it was timed. `undefined` for a GPU that has no profile. */
export function machineProfile(
  device: BenchmarkDevice,
  processor: Processor,
  source: string,
  kinds: ReadonlyMap<string, KernelRates>,
  node: { readonly gpus: number; readonly link?: LinkFile | undefined } = { gpus: 1 },
  launch?: LaunchFile,
): MachineFile | undefined {
  const known = device.kind === 'cuda' ? gpuOfDevice(device.name, device.memoryBytes)?.name : undefined;
  const gpu = device.kind === 'cuda' ? known : processorFile(device.name, processor);
  if (gpu === undefined) return undefined;
  return {
    name: `calibrated-${wordsOf(known ?? device.name)}`,
    title: `${device.name}, calibrated`,
    gpu,
    gpusPerNode: node.gpus,
    ...(node.link === undefined ? {} : { link: node.link }),
    ...(launch === undefined ? {} : { host: { launch } }),
    ...(kinds.size === 0 ? {} : { kernels: { source, kinds: kindsFile(kinds) } }),
  };
}

const kindsFile = (kinds: ReadonlyMap<string, KernelRates>): KernelsFile['kinds'] =>
  Object.fromEntries(
    [...kinds]
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([kind, { perFlop, perByte, perLaunch, ofProfile, low, high, measurements }]) => [
        kind,
        {
          ...(perFlop > nothing ? { gflops: rounded(1e-9 / perFlop) } : {}),
          ...(perByte > nothing ? { gbytesPerSecond: rounded(1e-9 / perByte) } : {}),
          ...(perLaunch > 0 ? { microseconds: rounded(perLaunch * 1e6) } : {}),
          ...(ofProfile === undefined ? {} : { factor: rounded(ofProfile) }),
          low: rounded(low),
          high: rounded(high),
          measurements,
        },
      ]),
  );

/** Seconds for a FLOP or a byte that no machine comes near: what a fit leaves of a quantity that decides nothing. */
const nothing = 1e-17;

/** What a person reads; within the limits of a profile file. */
const rounded = (value: number): number => Number(Math.min(1e9, Math.max(1e-6, value)).toPrecision(4));

const wordsOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');

/** A processor that is timed by its own kernels; the rest is what its kind reaches at most. */
function processorFile(name: string, { megahertz, memoryGiB }: Processor): unknown {
  const threads = Number(/(\d+) threads?\)$/.exec(name)?.[1] ?? '1');
  return {
    name: wordsOf(name),
    title: name,
    architecture: 'cpu',
    multiprocessors: { value: threads, source: 'threads of PyTorch' },
    memoryGiB: { value: rounded(memoryGiB), source: 'the system' },
    memoryBandwidthGBs: { value: 25.6, source: 'assumption: one channel of DDR4-3200' },
    peakTflops: {
      fp32: {
        value: rounded((threads * megahertz * 32) / 1e6),
        source: 'assumption: two 256-bit multiply-adds a cycle, at the clock that the system reports',
      },
    },
    tensorCores: [],
  };
}
