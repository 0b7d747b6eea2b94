/**
 * How long a batch takes to come to its GPU: read from storage, decoded by the host, copied over PCIe.
 *
 * Readers share a source (Shi, Wang, Chu, arXiv 1711.05979, and their companions): with G of them on a source of
 * bandwidth B_src and D bytes for each, t_io = max(t_decode, G·D/B_src), G the GPUs of a node for its own disk and all
 * workers for a shared file system; copies of k GPUs behind one PCIe switch get B/k each.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { operationTime } from '../../communication/operationTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { InputHandling } from '../../frameworks/exchange.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import { knownPart } from '../../model/knownPart.ts';
import type { InputScenario, Scenario } from '../../model/scenario.ts';
import { bytes, type Seconds, seconds } from '../../model/units.ts';
import type { TimedInput } from '../../schedule/stepWork.ts';

export interface InputWork {
  readonly timed: TimedInput;
  /** From storage; null where it is not described, or the cluster does not say how fast it is. */
  readonly storage: Seconds | null;
  /** By the host; null where the rate of a core is not described, or the cores are not known. */
  readonly decoding: Seconds | null;
  readonly copying: Seconds;
  readonly slowest: 'storage' | 'decoding' | 'copying';
  /** What a part that was asked for is not known for: the step is then a lower bound. */
  readonly unknown: readonly string[];
  /** Parts that nobody described, which are not modelled. */
  readonly undescribed: readonly string[];
}

/** `undefined` where the scenario does not describe the input. */
export function inputWork(
  training: TrainingGraph,
  { input }: Scenario,
  cluster: ClusterProfile,
  placement: Placement,
  handling: InputHandling,
): InputWork | undefined {
  if (input === undefined) return undefined;
  const unknown: string[] = [];
  const undescribed: string[] = [];
  const storage = storageTime(input, training.batch, cluster, placement, handling);
  if (storage === null && input.sampleBytes !== undefined) {
    unknown.push(`reading (\`${cluster.name}\` does not say how fast its storage is; give read-gbs)`);
  }
  if (input.sampleBytes === undefined) undescribed.push('reading (sample-bytes)');
  const decoding = decodingTime(input, training.batch, cluster, placement);
  if (decoding === null && input.decodeRate !== undefined) {
    unknown.push(`decoding (\`${cluster.name}\` does not say how many cores its host has)`);
  }
  if (input.decodeRate === undefined) undescribed.push('decoding (decode-rate)');
  const copying = operationTime(cluster, placement, {
    kind: 'copy',
    way: 'to GPU',
    bytes: bytes(inputBytes(training)),
    sharing: 'as linked',
  }).time;
  const read = seconds(Math.max(knownPart(storage), knownPart(decoding)));
  return {
    timed: { read, copy: copying, ahead: handling.ahead, pipelined: handling.pipelined },
    storage,
    decoding,
    copying,
    slowest: copying > read ? 'copying' : knownPart(storage) >= knownPart(decoding) ? 'storage' : 'decoding',
    unknown,
    undescribed,
  };
}

/** Every worker reads its share at once, or all of them everything. */
function storageTime(
  { sampleBytes, source, readRate }: InputScenario,
  batch: number,
  { storage }: ClusterProfile,
  { nodes, gpusPerNode }: Placement,
  { reads }: InputHandling,
): Seconds | null {
  if (sampleBytes === undefined) return null;
  const gpus = nodes * gpusPerNode;
  const each = batch * sampleBytes * (reads === 'everything' ? gpus : 1);
  const ofNode = gpusPerNode * each;
  return readingTime({ source, readRate }, storage, ofNode, gpus * each);
}

/** Of `ofNode` bytes by each node and `ofAll` by all, perhaps of one file; null where no rate is known. */
export function readingTime(
  {
    source,
    readRate,
  }: { readonly source?: 'local' | 'shared' | undefined; readonly readRate?: number | undefined },
  storage: ClusterProfile['storage'],
  ofNode: number,
  ofAll: number,
  isSameFile = false,
): Seconds | null {
  if (readRate !== undefined) return seconds(ofNode / readRate);
  const { local, perClient, sameFile } = storage ?? {};
  const shared = isSameFile ? (sameFile ?? storage?.shared) : storage?.shared;
  const isShared = source === 'shared' || (source === undefined && (shared ?? perClient) !== undefined);
  if (!isShared) return local === undefined ? null : seconds(ofNode / local.value);
  if (shared === undefined && perClient === undefined) return null;
  return seconds(
    Math.max(
      shared === undefined ? 0 : ofAll / shared.value,
      perClient === undefined ? 0 : ofNode / perClient.value,
    ),
  );
}

/** The cores of a node decode for its GPUs. */
function decodingTime(
  { decodeRate }: InputScenario,
  batch: number,
  { host, gpusPerNode: present, gpu }: ClusterProfile,
  { gpusPerNode }: Placement,
): Seconds | null {
  const cores = host?.cores?.value ?? (gpu.architecture === 'cpu' ? gpu.multiprocessors.value : undefined);
  if (decodeRate === undefined || cores === undefined) return null;
  // A job that uses part of a node has the part of its cores.
  const own = (cores * gpusPerNode) / present.value;
  return seconds((batch * gpusPerNode) / (own * decodeRate));
}

/** Of the batch of one GPU, as the model takes it. */
function inputBytes({ analysis, tensors }: TrainingGraph): number {
  let total = 0;
  for (const name of analysis.graph.inputs) {
    const tensor = tensors.get(name);
    if (tensor !== undefined) total += tensor.elements * bytesOnGpu(tensor.elementType);
  }
  return total;
}
