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
export type SustainedMatmuls = Pick<Correction, 'gpu' | 'ratio'> & { readonly factor: number } & (
    | Pick<Correction, 'models'>
    | { readonly rows: number }
  );

/**
 * What a step makes of the matmuls that `curve`, a GPU, was measured with: it goes wherever the curve goes. `older`: by
 * cuBLAS of CUDA 12.4 or before.
 */
export function sustainedMatmuls(
  curve: string,
  { older = false, fp8 = false }: Partial<MatmulKind> = {},
): SustainedMatmuls | undefined {
  const lists = [
    ...(older ? [[matmulsOf.older, olderAs.get(curve) ?? curve] as const] : []),
    ...[curve, inStepAs.get(curve)].flatMap((gpu) => [
      ...(fp8 ? [[matmulsOf.fp8, gpu] as const] : []),
      [matmulsOf.half, gpu] as const,
    ]),
  ];
  for (const [list, gpu] of lists) {
    const found = gpu === undefined ? undefined : list.get(gpu);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface MatmulKind {
  readonly older: boolean;
  readonly fp8: boolean;
}

/**
 * GPUs whose matmuls were measured alone, and the GPU whose steps stand for theirs. What holds Blackwell back in a step is much
 * the same: of Llama 3 8B in FP8 by Megatron-Bridge (25.11, docs/performance-summary.md: 8 GPUs, no tensor or pipeline
 * parallelism) B200 trains 2.12 times as many tokens as H100 and GB200 2.18 times, where its large matmuls alone are 1.99
 * and 2.24 times as fast. Boards that already reach their limit of power in single matmuls (L40S) have none.
 */
const inStepAs: ReadonlyMap<string, string> = new Map([
  ['b200', 'h100-sxm'],
  ['gb200', 'h100-sxm'],
]);

/** The same processor at the same limit of power; no step by an older library was measured on it. */
const olderAs: ReadonlyMap<string, string> = new Map([['h200-sxm', 'h100-sxm']]);

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

/** As the file has them: of steps of models, or of single sizes without a pause. */
interface MatmulEntry {
  readonly gpu: string;
  readonly factor: number;
  readonly spread: readonly number[];
  readonly models?: number;
  readonly rows?: number;
  /** Of steps by an older cuBLAS. */
  readonly older?: boolean;
  /** Left out, half precision and whatever has no factor of its own. */
  readonly precision?: string;
}

const matmulEntries: readonly MatmulEntry[] = file.matmuls;

const matmulsWhere = (accepts: (entry: MatmulEntry) => boolean): ReadonlyMap<string, SustainedMatmuls> =>
  new Map(
    matmulEntries
      .filter(accepts)
      .map(({ gpu, factor, models, rows = 0, spread }) => [
        gpu,
        { gpu, factor, ratio: rangeOf(spread), ...(models === undefined ? { rows } : { models }) },
      ]),
  );

const matmulsOf = {
  older: matmulsWhere(({ older }) => older === true),
  fp8: matmulsWhere(({ older, precision }) => older !== true && precision === 'fp8'),
  half: matmulsWhere(({ older, precision }) => older !== true && precision === undefined),
};

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
