/** The shares of its roofs that a GPU reaches where no curve was measured, and what launches take (`efficiency.json`). */

import type { Estimate } from '../model/estimate.ts';
import type { KernelClass, MatmulLayout } from '../operators/definition.ts';
import type { GpuProfile } from './clusterProfile.ts';
import efficiency from './efficiency.json';

export interface ClassShares {
  readonly vector: Estimate;
  readonly tensor: Estimate;
  readonly memory: Estimate;
}

/** The file has [middle, low, high]. */
function estimate(values: readonly number[]): Estimate {
  const [middle, low, high] = values;
  if (middle === undefined || low === undefined || high === undefined) {
    throw new RangeError(`not three values: ${values.join(', ')}`);
  }
  return { middle, low, high };
}

export function sharesOf(kernelClass: KernelClass, gpu: GpuProfile): ClassShares {
  const shares = classShares.get(kernelClass) ?? otherShares;
  const tensor = kernelClass === 'attention' ? attentionShares.get(gpu.architecture) : undefined;
  return tensor === undefined ? shares : { ...shares, tensor };
}

export const elementwiseCompute = estimate(efficiency.elementwiseCompute.share);

/** Gradients of fused attention: their rate beside that of forward, and what starting a block costs more, as keys. */
export const attentionBackward = {
  share: estimate(efficiency.attentionBackward.share),
  depth: efficiency.attentionBackward.depth,
};

/** Cycles of a multiprocessor that drawing takes for each score that fused attention computes. */
export const attentionDropout = efficiency.attentionDropout.cycles;

/** Rates of kernels of attention beside those of FlashAttention-2. */
export const olderAttention = efficiency.olderAttention;

export const columnSumLoads = estimate(efficiency.columnSums.elementsPerCycle);
export const sharedColumnSumLoads = estimate(efficiency.sharedColumnSums.elementsPerCycle);

/** What a layer normalization takes: `memory` times its bytes, and cycles of a multiprocessor for each row. */
export const rowSums = { forward: efficiency.rowSums.forward, backward: efficiency.rowSums.backward };

export const channelLoads = {
  forward: estimate(efficiency.channelSums.forward),
  backward: estimate(efficiency.channelSums.backward),
};

/** What pooling by PyTorch's own kernels takes: `memory` times its bytes, and cycles of a multiprocessor. */
export interface PoolingFactors {
  readonly microseconds: number;
  readonly memory: number;
  readonly entries: number;
  readonly inputs: number;
}

const { source: _, ...poolingByLayout } = efficiency.windowPooling;

export const windowPooling: Readonly<
  Record<
    'channels-first' | 'channels-last',
    Readonly<Record<`${'max' | 'average'} ${'forward' | 'backward'}`, PoolingFactors>>
  >
> = poolingByLayout;

/** Of the bandwidth, by kernels that make weights of few bits whole. */
export const dequantizedShare = estimate(efficiency.dequantization.share);

/** Cycles of a multiprocessor for an element. */
export const instructionCycles = efficiency.instructionBound.cycles;

/** What a block takes for a chunk of a list of tensors, alone on its multiprocessor. */
export const listChunks = efficiency.listChunks;

/** How much longer TF32 takes on Hopper, by which operands lie across what is summed. */
export const tf32Across: Readonly<Record<MatmulLayout, number>> = efficiency.tf32Across.factors;

/** What PyTorch's own batch normalization takes: `memory` times its bytes, and cycles. */
export interface OwnBatchNorm {
  readonly microseconds: number;
  readonly memory: number;
  readonly loads: number;
  readonly planes: number;
}

export const ownBatchNorm: Readonly<
  Record<'channels-first' | 'channels-last', Readonly<Record<'forward' | 'backward', OwnBatchNorm>>>
> = efficiency.ownBatchNorm;

/** What a convolution by a kernel of its own takes; cycles are of one multiprocessor. */
export interface ConvolutionFactors {
  readonly microseconds: number;
  /** Times that its tensors of images pass through memory, at the nominal bandwidth. */
  readonly memory: number;
  /** Cycles for each multiply-add; `ofInputs`: for each entry of the input and of the window. */
  readonly multiplyAdds: number;
  readonly ofInputs?: boolean;
  readonly outputs: number;
  readonly inputs: number;
  readonly weights: number;
}

export const countedConvolutions: Readonly<
  Record<string, Readonly<Record<string, ConvolutionFactors | undefined>> | undefined>
> = efficiency.countedConvolutions.kernels;

/** FLOP that a multiprocessor does in a cycle in matmuls of unaligned rows. */
export const unalignedFlops = efficiency.unalignedMatmuls.flopsPerCycle;

export const launchTimes = estimate(efficiency.launch.microseconds.map((value) => value * 1e-6));

export const recurrentLaunchTimes = estimate(
  efficiency.recurrentLaunch.microseconds.map((value) => value * 1e-6),
);

const classShares: ReadonlyMap<string, ClassShares> = new Map(
  Object.entries(efficiency.classes).map(([name, entry]) => [
    name,
    {
      vector: 'vector' in entry ? estimate(entry.vector.share) : elementwiseCompute,
      tensor: 'tensor' in entry ? estimate(entry.tensor.share) : elementwiseCompute,
      memory: estimate(entry.memory.share),
    },
  ]),
);

/** Views and shape arithmetic launch nothing; what they are charged with is treated as movement. */
const otherShares: ClassShares = classShares.get('movement') ?? {
  vector: elementwiseCompute,
  tensor: elementwiseCompute,
  memory: { middle: 1, low: 1, high: 1 },
};

/** Fused attention is written for the tensor cores of one architecture; others reach less of their peak with it. */
const attentionShares: ReadonlyMap<string, Estimate> = new Map(
  Object.entries(efficiency.fusedAttention).map(([name, { share }]) => [name, estimate(share)]),
);
