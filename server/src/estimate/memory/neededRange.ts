/** How much memory a step may take of a GPU, at least and at most. */

import efficiency from '../../hardware/efficiency.json';
import type { Range } from '../../model/estimate.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import { mostRuntimeReserve, runtimeReserve } from './reservedMemory.ts';

/** What GPUs keep: a whole copy of the model, or parts whose tensor parallel groups are of one node or of several. */
export type KeptModel = 'copy' | 'part' | 'partAcrossNodes';

/** Half-widths of what tensors take, as natural logarithms. */
export type MemoryDoubts = Readonly<Record<KeptModel, Range>>;

const { copy, part, partAcrossNodes } = efficiency.memoryDoubts;
export const memoryDoubts: MemoryDoubts = { copy, part, partAcrossNodes };

export interface SharedModel extends Pick<Scenario, 'gpus' | 'nodes'> {
  readonly parallel?: Pick<ParallelScenario, 'tensor'>;
}

export function keptModel({ gpus, nodes, parallel }: SharedModel): KeptModel {
  if (parallel === undefined) return 'copy';
  return parallel.tensor > Math.ceil(gpus / nodes) ? 'partAcrossNodes' : 'part';
}

/** What tensors take at least, and what the allocator takes for them at most: 80 % of measured peaks should lie between. */
export function reservedRange(
  peak: number,
  reserved: Range<number>,
  kept: KeptModel,
  doubts: MemoryDoubts = memoryDoubts,
): Range<Bytes> {
  const { low, high } = doubts[kept];
  return { low: bytes(peak * Math.exp(-low)), high: bytes(Math.max(peak, reserved.high) * Math.exp(high)) };
}

/** The same with driver, framework and what kernels work in. */
export function neededRange(peak: number, reserved: Range<number>, kept: KeptModel): Range<Bytes> {
  const { low, high } = reservedRange(peak, reserved, kept);
  return { low: bytes(low + runtimeReserve), high: bytes(high + mostRuntimeReserve) };
}
