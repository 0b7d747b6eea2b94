/** A scaling curve as numbers to be drawn. */

import type { ScalingMark } from '../../charts/scalingChart.ts';
import { limitText } from '../scaling/scalingCells.ts';
import type { ScalingPoint } from '../scaling/scalingCurve.ts';

/** A step that is longer has a lower rate: the bounds change places. */
export const scalingMarks = (points: readonly ScalingPoint[]): readonly ScalingMark[] =>
  points.map((point) => ({
    gpus: point.gpus,
    throughput: point.throughput,
    throughputRange: boundsOf(point),
    efficiency: point.scalingEfficiency,
    limit: point.fits === 'no' ? `out of memory; ${limitText(point)}` : limitText(point),
    fits: point.fits !== 'no',
  }));

function boundsOf({ throughput, step, stepRange }: ScalingPoint): readonly [number, number] | null {
  if (throughput === null || step === null || stepRange === null) return null;
  return [(throughput * step) / stepRange.high, (throughput * step) / stepRange.low];
}
