/**
 * Profile files turned into profiles in base units. Their form is checked before: a person's own file by the schema
 * when it is read, the built-in ones by a test.
 */

import { type Dtype, dtypes } from '../model/dtype.ts';
import {
  type Bytes,
  type BytesPerSecond,
  bytes,
  bytesPerSecond,
  type FlopsPerSecond,
  flopsPerSecond,
  microseconds,
  seconds,
  watts,
} from '../model/units.ts';
import {
  type ClusterProfile,
  type FabricKind,
  fabricKinds,
  type GpuProfile,
  type Host,
  type LinkKind,
  linkKinds,
  type Sourced,
} from './clusterProfile.ts';
import type { MeasuredKernels } from './kernelRates.ts';
import { tcpRate } from './tcpRate.ts';

type Sources = Readonly<Record<string, string>>;

/** A number in a profile file: with the source or its key, or by itself. */
type SourcedNumber = number | { readonly value: number; readonly source: string };

/** A GPU as its file describes it, by the schema of `profileSchema.ts`. */
export interface GpuFile {
  readonly name: string;
  readonly title: string;
  readonly vendor?: string | undefined;
  readonly architecture?: string | undefined;
  readonly sources?: Sources | undefined;
  readonly multiprocessors: SourcedNumber;
  readonly boostMHz?: SourcedNumber | undefined;
  readonly memoryGiB: SourcedNumber;
  readonly memoryBandwidthGBs: SourcedNumber;
  readonly l2MiB?: SourcedNumber | undefined;
  readonly peakTflops: { readonly [N in Dtype | 'fp32Matrix']?: SourcedNumber | undefined };
  readonly tensorCores: readonly string[];
  readonly sustainedCompute?: SourcedNumber | undefined;
  readonly hostLinkGBs?: SourcedNumber | undefined;
  readonly gpuLinkGBs?: SourcedNumber | undefined;
  readonly boardWatts?: SourcedNumber | undefined;
}

export interface KernelsFile {
  readonly source: string;
  readonly kinds: Readonly<Record<string, KernelRatesFile>>;
}

/** A rate that is left out stands for no time. */
interface KernelRatesFile {
  readonly gflops?: number | undefined;
  readonly gbytesPerSecond?: number | undefined;
  readonly microseconds?: number | undefined;
  readonly factor?: number | undefined;
  readonly low: number;
  readonly high: number;
  readonly measurements: number;
}

/** Microseconds. */
export interface LaunchFile {
  readonly microseconds: number;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  readonly source?: string | undefined;
}

/** A cluster as its file describes it; its GPU is looked up apart. */
export interface ClusterFile {
  readonly name: string;
  readonly title?: string | undefined;
  readonly sources?: Sources | undefined;
  readonly kernels?: KernelsFile | undefined;
  readonly gpusPerNode: SourcedNumber;
  readonly instance?: { readonly provider: string; readonly name: string } | undefined;
  readonly link?:
    | {
        readonly kind: string;
        readonly title?: string | undefined;
        readonly busBandwidthGBs: SourcedNumber;
        readonly latencyMicroseconds?: SourcedNumber | undefined;
        readonly groups?: { readonly gpus: SourcedNumber; readonly acrossGBs: SourcedNumber } | undefined;
        readonly inSwitchReductionGBs?: SourcedNumber | undefined;
      }
    | undefined;
  readonly network?:
    | {
        readonly kind: string;
        readonly title?: string | undefined;
        readonly nics: SourcedNumber;
        readonly linkGbits: SourcedNumber;
        readonly nodeBandwidthGBs?: SourcedNumber | undefined;
        readonly treeGBs?: SourcedNumber | undefined;
        readonly switchedTreeGBs?: SourcedNumber | undefined;
        readonly latencyMicroseconds?: SourcedNumber | undefined;
        readonly lowLatencyProtocols?: boolean | undefined;
        readonly oversubscription?:
          | { readonly ratio: SourcedNumber; readonly nodesPerSwitch: SourcedNumber }
          | undefined;
      }
    | undefined;
  readonly host?:
    | {
        readonly title?: string | undefined;
        readonly cores?: SourcedNumber | undefined;
        readonly memoryGiB?: SourcedNumber | undefined;
        readonly memoryBandwidthGBs?: SourcedNumber | undefined;
        readonly gpusPerHostLink?: SourcedNumber | undefined;
        readonly launch?: LaunchFile | undefined;
      }
    | undefined;
  readonly storage?:
    | {
        readonly title?: string | undefined;
        readonly localGBs?: SourcedNumber | undefined;
        readonly sharedGBs?: SourcedNumber | undefined;
        readonly perClientGBs?: SourcedNumber | undefined;
        readonly sameFileGBs?: SourcedNumber | undefined;
      }
    | undefined;
  readonly pricePerGpuHour?: SourcedNumber | undefined;
  readonly nccl?: { readonly release: string; readonly source?: string | undefined } | undefined;
}

export function gpuProfileOfFile(file: GpuFile): GpuProfile {
  const sources = file.sources ?? {};
  const peak = new Map<Dtype, Sourced<FlopsPerSecond>>();
  for (const dtype of dtypes) {
    const entry = file.peakTflops[dtype];
    if (entry !== undefined) {
      peak.set(dtype, convert(entry, sources, teraflops));
    }
  }
  return {
    name: file.name,
    title: file.title,
    vendor: file.vendor ?? '',
    architecture: file.architecture ?? '',
    multiprocessors: convert(file.multiprocessors, sources, same),
    clock: optional(file.boostMHz, sources, megahertz),
    memory: convert(file.memoryGiB, sources, gibibytes),
    memoryBandwidth: convert(file.memoryBandwidthGBs, sources, gigabytesPerSecond),
    l2: optional(file.l2MiB, sources, mebibytes),
    peak,
    matrixFp32: optional(file.peakTflops.fp32Matrix, sources, teraflops),
    tensorCores: new Set(dtypes.filter((dtype) => file.tensorCores.includes(dtype))),
    sustainedCompute:
      file.sustainedCompute === undefined
        ? { value: 1, source: 'assumption: the boost clock holds under load' }
        : convert(file.sustainedCompute, sources, same),
    hostLink: optional(file.hostLinkGBs, sources, gigabytesPerSecond),
    gpuLink: optional(file.gpuLinkGBs, sources, gigabytesPerSecond),
    boardPower: optional(file.boardWatts, sources, watts),
  };
}

const measuredKernelsOfFile = ({ source, kinds }: KernelsFile): MeasuredKernels => ({
  source,
  kinds: new Map(
    Object.entries(kinds).map(
      ([kind, { gflops, gbytesPerSecond, microseconds: launch, factor, ...rest }]) => [
        kind,
        {
          perFlop: seconds(gflops === undefined ? 0 : 1e-9 / gflops),
          perByte: seconds(gbytesPerSecond === undefined ? 0 : 1e-9 / gbytesPerSecond),
          perLaunch: launch === undefined ? seconds(0) : microseconds(launch),
          ...(factor === undefined ? {} : { ofProfile: factor }),
          ...rest,
        },
      ],
    ),
  ),
});

/** `gpu` is the profile that `file.gpu` names or describes. */
export function clusterProfileOfFile(file: ClusterFile, gpu: GpuProfile): ClusterProfile {
  const sources = file.sources ?? {};
  const link = file.link && { ...file.link, kind: kindOf(file.link.kind, linkKinds) };
  const network = file.network && { ...file.network, kind: kindOf(file.network.kind, fabricKinds) };
  return {
    name: file.name,
    title: file.title ?? file.name,
    gpu: file.kernels === undefined ? gpu : { ...gpu, kernels: measuredKernelsOfFile(file.kernels) },
    gpusPerNode: convert(file.gpusPerNode, sources, same),
    instance: file.instance,
    link: link && {
      kind: link.kind,
      title: link.title ?? link.kind,
      busBandwidth: convert(link.busBandwidthGBs, sources, gigabytesPerSecond),
      latency:
        link.latencyMicroseconds === undefined
          ? { value: microseconds(hopMicroseconds[link.kind]), source: ncclHops }
          : convert(link.latencyMicroseconds, sources, microseconds),
      groups: link.groups && {
        size: convert(link.groups.gpus, sources, same),
        acrossBandwidth: convert(link.groups.acrossGBs, sources, gigabytesPerSecond),
      },
      inSwitchReduction: optional(link.inSwitchReductionGBs, sources, gigabytesPerSecond),
    },
    network: network && {
      kind: network.kind,
      title: network.title ?? network.kind,
      nics: convert(network.nics, sources, same),
      portBandwidth: convert(network.linkGbits, sources, gigabits),
      nodeBandwidth:
        network.nodeBandwidthGBs === undefined
          ? assumedBandwidth(network.kind, numberOf(network.nics), numberOf(network.linkGbits))
          : convert(network.nodeBandwidthGBs, sources, gigabytesPerSecond),
      tree: optional(network.treeGBs, sources, gigabytesPerSecond),
      switchedTree: optional(network.switchedTreeGBs, sources, gigabytesPerSecond),
      latency:
        network.latencyMicroseconds === undefined
          ? { value: microseconds(14), source: ncclHops }
          : convert(network.latencyMicroseconds, sources, microseconds),
      lowLatencyProtocols: network.lowLatencyProtocols ?? true,
      oversubscription: network.oversubscription && {
        ratio: convert(network.oversubscription.ratio, sources, same),
        nodesPerSwitch: convert(network.oversubscription.nodesPerSwitch, sources, same),
      },
    },
    host: file.host && {
      title: file.host.title ?? 'host',
      cores: optional(file.host.cores, sources, same),
      memory: optional(file.host.memoryGiB, sources, gibibytes),
      memoryBandwidth: optional(file.host.memoryBandwidthGBs, sources, gigabytesPerSecond),
      gpusPerHostLink: optional(file.host.gpusPerHostLink, sources, same),
      launch: file.host.launch && launchOfFile(file.host.launch, sources),
    },
    storage: file.storage && {
      title: file.storage.title ?? 'storage',
      local: optional(file.storage.localGBs, sources, gigabytesPerSecond),
      shared: optional(file.storage.sharedGBs, sources, gigabytesPerSecond),
      perClient: optional(file.storage.perClientGBs, sources, gigabytesPerSecond),
      sameFile: optional(file.storage.sameFileGBs, sources, gigabytesPerSecond),
    },
    pricePerGpuHour: optional(file.pricePerGpuHour, sources, same),
    nccl: file.nccl && {
      release: file.nccl.release,
      source: textOfSource(file.nccl.source, sources),
    },
  };
}

function launchOfFile(
  { microseconds: middle, low = middle, high = middle, source }: LaunchFile,
  sources: Sources,
): NonNullable<Host['launch']> {
  return {
    time: {
      middle: microseconds(middle),
      low: microseconds(Math.min(low, middle)),
      high: microseconds(Math.max(high, middle)),
    },
    source: textOfSource(source, sources),
  };
}

const textOfSource = (source: string | undefined, sources: Sources): string =>
  source === undefined ? givenInProfile : (sources[source] ?? source);

const givenInProfile = 'given in the profile';

const ncclHops =
  'NCCL 2.30 src/graph/tuning.cc, hardware latency per ring hop, Simple protocol: NVLink 3.4 µs, PCI 5.7 µs, NET 14 µs';

const hopMicroseconds: Readonly<Record<LinkKind, number>> = { nvlink: 3.4, nvswitch: 3.4, pcie: 5.7 };

/** What all-reduce gets through so many ports of a nominal rate in Gb/s, where a profile does not give the bandwidth itself. */
function assumedBandwidth(kind: FabricKind, ports: number, rate: number): Sourced<BytesPerSecond> {
  if (kind !== 'ethernet') {
    const value = gigabits(ports * rate * assumedShare[kind]);
    return { value, source: kind === 'infiniband' ? infinibandSource : assumedShareSource };
  }
  if (rate > fastestMeasuredPort) {
    return { value: gigabits((ports * rate) / 2), source: 'assumption: half of the nominal rate' };
  }
  return { value: bytesPerSecond(ports * tcpRate(gigabits(rate), 'nccl')), source: tcpSource };
}

/** Gb/s. Faster ones have libraries that move bytes between GPU and network without copies of the host, such as GPUDirect-TCPX. */
const fastestMeasuredPort = 100;

const tcpSource =
  'derived: what TCP leaves of frames of 1,538 bytes on the wire, and copies of the host at 7.57 GB/s after it, by all-reduces over ports of 25 to 100 Gb/s (measured/tcp-rates.csv)';

const infinibandSource = 'derived: nominal rate times 0.96, as measured on 4 × HDR InfiniBand';

/** Share of the nominal rate. */
const assumedShare = {
  roce: 0.9,
  infiniband: 0.96,
  efa: 0.8,
  'omni-path': 0.8,
  gemini: 0.5,
} as const;

const assumedShareSource = 'assumption: nominal rate times 0.9 (RoCE), 0.8 (EFA, Omni-Path) or 0.5 (Gemini)';

function kindOf<Kind extends string>(text: string, kinds: readonly Kind[]): Kind {
  const kind = kinds.find((candidate) => candidate === text);
  if (kind === undefined) throw new Error(`a profile has the kind ${text}`);
  return kind;
}

const same = (value: number): number => value;
const megahertz = (value: number): number => value * 1e6;
const teraflops = (value: number): FlopsPerSecond => flopsPerSecond(value * 1e12);
const mebibytes = (value: number): Bytes => bytes(value * 2 ** 20);
const gibibytes = (value: number): Bytes => bytes(Math.round(value * 2 ** 30));
const gigabytesPerSecond = (value: number): BytesPerSecond => bytesPerSecond(value * 1e9);
const gigabits = (value: number): BytesPerSecond => bytesPerSecond((value * 1e9) / 8);

const numberOf = (entry: SourcedNumber): number => (typeof entry === 'number' ? entry : entry.value);

function convert<Value extends number>(
  entry: SourcedNumber,
  sources: Sources,
  unit: (value: number) => Value,
): Sourced<Value> {
  if (typeof entry === 'number') return { value: unit(entry), source: givenInProfile };
  return { value: unit(entry.value), source: sources[entry.source] ?? entry.source };
}

const optional = <Value extends number>(
  entry: SourcedNumber | undefined,
  sources: Sources,
  unit: (value: number) => Value,
): Sourced<Value> | undefined => (entry === undefined ? undefined : convert(entry, sources, unit));
