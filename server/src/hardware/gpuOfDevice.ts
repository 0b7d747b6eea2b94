/** The GPU that a driver names: `NVIDIA A100-SXM4-80GB`, `Tesla V100-PCIE-32GB`, `AMD Instinct MI300X`. */

import type { GpuProfile } from './clusterProfile.ts';
import { builtInGpus } from './gpus.ts';

/**
 * `memoryBytes`: what the driver says the device has. `undefined` where no profile is surely that of the device: another
 * model, or one of several boards that neither name nor memory tell apart.
 */
export function gpuOfDevice(device: string, memoryBytes: number | undefined): GpuProfile | undefined {
  const named = partsOf(device);
  const alike = builtInGpus.filter(({ name }) => {
    const own = partsOf(name);
    const hasBoard = own.board === undefined || named.board === undefined || own.board === named.board;
    return own.model === named.model && hasBoard;
  });
  const said = memoryBytes ?? named.memory;
  const fitting = alike.filter(({ memory }) => isOfMemory(memory.value, said));
  return fitting.length === 1 ? fitting[0] : undefined;
}

interface DeviceName {
  /** Without makers, product lines, boards and sizes of memory: `a100`, `rtx 3090`, `titan v`. */
  readonly model: string;
  readonly board: 'sxm' | 'pcie' | undefined;
  /** Bytes, where it has them: `80GB`. */
  readonly memory: number | undefined;
}

function partsOf(name: string): DeviceName {
  const all = name.toLowerCase().split(/[\s-]+/);
  const size = all.find((word) => /^\d+gb$/.test(word));
  const words = all.filter((word) => word !== '' && word !== size && !lines.has(word));
  // H100 of the SXM board has HBM3, which its driver says; that of PCIe has HBM2e.
  const isSxm = words.some((word) => /^sxm\d?$/.test(word) || word === 'hbm3');
  const board = isSxm ? 'sxm' : words.includes('pcie') ? 'pcie' : undefined;
  const memory = size === undefined ? undefined : Number.parseInt(size, 10) * 2 ** 30;
  return { model: words.filter((word) => !/^(?:sxm\d?|pcie|hbm\d.*)$/.test(word)).join(' '), board, memory };
}

/** Words that many products share. */
const lines: ReadonlySet<string> = new Set([
  'nvidia',
  'tesla',
  'geforce',
  'quadro',
  'amd',
  'instinct',
  'generation',
  'graphics',
  'blackwell',
]);

/** A driver has less than the board: error correction and the firmware take up to a tenth. */
const isOfMemory = (ofBoard: number, said: number | undefined): boolean =>
  said === undefined || (said > 0.85 * ofBoard && said < ofBoard + 2 ** 30);
