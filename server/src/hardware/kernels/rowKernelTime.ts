/** Time of a kernel that memory bounds, by the curve of its kind. */

import { elementwiseCompute } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import { sustained, vectorPeak } from '../computePath.ts';
import { curvesOf, type RowKind } from '../curves.ts';
import type { KernelWork } from '../kernelWork.ts';
import { type BodyTime, spreadOver } from './bodyTime.ts';
import { rowCurveTime } from './rowCurveTime.ts';

/** Kernels that memory bounds, by the curve of their kind; `undefined` without one. */
export function rowKernelTime(gpu: GpuProfile, work: KernelWork): BodyTime | undefined {
  const kind = rowKindOf(work);
  const curve = kind && curvesOf(gpu).row[kind];
  if (curve === undefined) return undefined;
  const memory = rowCurveTime(gpu.memoryBandwidth.value, curve.curve, work.bytes, work.rowLength);
  const compute = work.operations / sustained(gpu, vectorPeak(gpu)) / elementwiseCompute.middle;
  return compute > memory ? undefined : spreadOver({ time: memory, bound: 'memory' }, curve);
}

function rowKindOf({ class: kernelClass, flops: matmuls, rowLength }: KernelWork): RowKind | undefined {
  if (matmuls > 0) return undefined;
  if (kernelClass === 'elementwise') return 'elementwise';
  if (rowLength === undefined) return undefined;
  if (kernelClass === 'reduction') return 'softmax';
  return kernelClass === 'normalization' ? 'normalization' : undefined;
}
