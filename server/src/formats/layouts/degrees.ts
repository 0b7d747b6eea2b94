/** Degrees and batches of a layout, however they were written; and where they contradict each other. */

import type { ParallelRequest, ScenarioRequest } from '../../model/scenario.ts';
import type { GroupResult } from '../scenarioGroups.ts';

/** What a text says of a layout, and what comes with it. */
export type LayoutRequest = Pick<
  ScenarioRequest,
  'parallel' | 'gpus' | 'globalBatch' | 'framework' | 'checkpoint' | 'precision'
>;

/** `batch` counts the samples of a pass; a batch over all GPUs beside it would be a second one. */
export function besideBatch(
  { globalBatch, ...layout }: LayoutRequest,
  batch: number | undefined,
): LayoutRequest {
  return globalBatch === undefined || batch !== undefined ? layout : { ...layout, globalBatch };
}

export interface Numbers {
  readonly tensor?: number | undefined;
  readonly pipeline?: number | undefined;
  readonly context?: number | undefined;
  readonly chunks?: number | undefined;
  readonly expert?: number | undefined;
  readonly expertTensor?: number | undefined;
  /** Copies of the model. */
  readonly replicas?: number | undefined;
  readonly microBatch?: number | undefined;
  readonly globalBatch?: number | undefined;
  /** Micro-batches of a step. */
  readonly passes?: number | undefined;
  readonly gpus?: number | undefined;
}

export function degreesOf(numbers: Numbers): GroupResult<LayoutRequest> {
  const { tensor, pipeline, context, chunks, expert, expertTensor, microBatch } = numbers;
  const ways = (tensor ?? 1) * (pipeline ?? 1) * (context ?? 1);
  const { gpus = numbers.replicas === undefined ? undefined : ways * numbers.replicas } = numbers;
  const replicas = numbers.replicas ?? (gpus === undefined ? undefined : gpus / ways);
  const each = microBatch === undefined || replicas === undefined ? undefined : microBatch * replicas;
  const counted = each === undefined || numbers.passes === undefined ? undefined : each * numbers.passes;
  const { globalBatch = counted } = numbers;
  const problems = [
    ...(numbers.gpus !== undefined &&
    numbers.replicas !== undefined &&
    numbers.gpus !== ways * numbers.replicas
      ? [
          `${numbers.gpus} GPUs are not ${ways} (a copy of the model) × ${numbers.replicas} copies = ${ways * numbers.replicas}; correct one of them`,
        ]
      : []),
    ...(numbers.globalBatch !== undefined && counted !== undefined && numbers.globalBatch !== counted
      ? [
          `a global batch of ${numbers.globalBatch} is not ${microBatch} (micro-batch) × ${numbers.passes} passes × ${replicas} copies = ${counted}; correct one of them`,
        ]
      : []),
    ...(globalBatch !== undefined && each !== undefined && globalBatch % each !== 0
      ? [
          `a global batch of ${globalBatch} does not divide into micro-batches of ${microBatch} on ${replicas} copies; use a multiple of ${each}`,
        ]
      : []),
    ...((expert ?? 1) > 1 && (expertTensor ?? 1) > 1
      ? [`experts that are split over ${expertTensor} GPUs beside expert parallelism are not costed; use 1`]
      : []),
  ];
  const parallel: ParallelRequest = {
    ...(tensor === undefined ? {} : { tensor }),
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(context === undefined ? {} : { context }),
    ...(expert === undefined ? {} : { expert }),
    ...(chunks === undefined || chunks === 1 || (pipeline ?? 1) === 1 ? {} : { chunks }),
    ...(microBatch === undefined ? {} : { microBatch }),
  };
  return {
    value: {
      parallel,
      ...(gpus === undefined ? {} : { gpus }),
      ...(globalBatch === undefined ? {} : { globalBatch }),
    },
    problems,
  };
}
