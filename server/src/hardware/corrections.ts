/**
 * Factors by which whole steps differ from the sum of their kernels: by kind of kernel, fitted to measured steps of training and
 * of inference of many models on one GPU, each by itself, and judged on families of models that the fit has not seen; and of matmuls on tensor cores,
 * fitted to steps of language models and judged on sources that the fit has not seen (`npm run calibrate`).
 */

import { type Range, rangeOf } from '../model/estimate.ts';
import type { Mode } from '../model/scenario.ts';
import type { GpuProfile } from './clusterProfile.ts';
import file from './corrections.json';
import type { KernelEnvironment, Layout } from './kernelEnvironment.ts';
import type { KernelKind } from './kernelKind.ts';
import { type Nearness, nearestCurve } from './nearestCurve.ts';

export interface Correction {
  readonly factors: ReadonlyMap<KernelKind, number>;
  readonly nearness: Nearness;
  /** How unlike the GPU is on which the steps were measured. */
  readonly distance: number;
  /** The GPU on which the steps were measured. */
  readonly gpu: string;
  readonly models: number;
  /** Measured / predicted step: 80 % of the models that the fit has not seen lie between. */
  readonly ratio: Range;
}

/** How much longer matmuls on tensor cores take in a step than by their curve, which was measured one at a time. */
export type SustainedMatmuls = Pick<Correction, 'gpu' | 'models' | 'ratio'> & { readonly factor: number };

/** What steps show of the matmuls that `curve`, a GPU, was measured with: it goes wherever the curve goes. */
export const sustainedMatmuls = (curve: string): SustainedMatmuls | undefined =>
  matmuls.get(inStepAs.get(curve) ?? curve);

/**
 * GPUs whose matmuls were measured alone, and the GPU whose steps stand for theirs. Linear layers on an H200 take in a step what
 * they take alone (benchmark of TinyLlama at 4 sequences of 2,048, PyTorch 2.11: 1.02 of the curve at 1,965 to 1,980 MHz,
 * layers add up to 0.99 of the step). What holds Blackwell back in a step is much the same: of Llama 3 8B in FP8 by Megatron-Bridge (25.11,
 * docs/performance-summary.md: 8 GPUs, no tensor or pipeline parallelism) B200 trains 2.12 times as many tokens as H100 and
 * GB200 2.18 times, where its large matmuls alone are 1.99 and 2.24 times as fast. Boards that already reach their limit of power in single
 * matmuls (L40S) have none.
 */
const inStepAs: ReadonlyMap<string, string> = new Map([
  ['b200', 'h100-sxm'],
  ['gb200', 'h100-sxm'],
]);

export function findCorrection(
  gpu: GpuProfile,
  { layout, mixed, inference }: KernelEnvironment,
): Correction | undefined {
  const mode = inference === true ? 'inference' : 'training';
  const key = `${layout} ${mixed} ${mode}`;
  let own = known.get(gpu);
  if (own === undefined) {
    own = new Map();
    known.set(gpu, own);
  }
  if (!own.has(key)) own.set(key, lookUp(gpu, layout, mixed, mode));
  return own.get(key);
}

/** As the file has them. */
interface CorrectionEntry {
  readonly gpu: string;
  readonly layout: string;
  readonly mixed: boolean;
  readonly mode: string;
  readonly models: number;
  readonly spread: readonly number[];
  readonly factors: Readonly<Record<string, number | undefined>>;
}

const entries: readonly CorrectionEntry[] = file.corrections;

const matmuls: ReadonlyMap<string, SustainedMatmuls> = new Map(
  file.matmuls.map(({ gpu, factor, models, spread }) => [
    gpu,
    { gpu, factor, models, ratio: rangeOf(spread) },
  ]),
);

const known = new WeakMap<GpuProfile, Map<string, Correction | undefined>>();

function lookUp(gpu: GpuProfile, layout: Layout, mixed: boolean, mode: Mode): Correction | undefined {
  const found = nearestCurve(
    gpu,
    entries.filter((entry) => entry.layout === layout && entry.mixed === mixed && entry.mode === mode),
  );
  if (found === undefined) return undefined;
  const { entry, nearness, distance } = found;
  return {
    factors: new Map(Object.entries(entry.factors).map(([kind, factor]) => [kind, factor ?? 1])),
    nearness,
    distance,
    gpu: entry.gpu,
    models: entry.models,
    ratio: rangeOf(entry.spread),
  };
}
