/** A point of a scaling curve of 8 GPUs a node, all of it known. */

import type { ScalingPoint } from '../../server/src/estimate/scaling/scalingCurve.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';

export const scalingPoint = (gpus: number, changes: Partial<ScalingPoint> = {}): ScalingPoint => ({
  gpus,
  nodes: Math.ceil(gpus / 8),
  batchPerGpu: 4,
  step: seconds(0.1),
  stepRange: { low: seconds(0.08), high: seconds(0.125) },
  communication: seconds(0.02),
  exposedCommunication: seconds(0.01),
  throughput: 40 * gpus,
  scalingEfficiency: 0.9,
  scaling: 'weak',
  speedup: 0.9 * gpus,
  limit: { kind: 'server', share: 0.1 },
  memory: bytes(2 ** 30),
  fits: 'yes',
  runTime: null,
  runPrice: null,
  runExact: true,
  exact: true,
  memoryExact: true,
  ...changes,
});
