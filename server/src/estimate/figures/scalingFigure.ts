import type { Chart } from '../../charts/chart.ts';
import { scalingChart } from '../../charts/scalingChart.ts';
import { commonNoun } from '../../model/deviceNoun.ts';
import { type ScalingCurve, titleOfCurve } from '../scaling/scalingOverlay.ts';
import { scalingMarks } from './scalingMarks.ts';

/** Curves of one kind, weak or strong, in one drawing; `undefined` where there is nothing to draw. */
export const scalingFigure = (curves: readonly ScalingCurve[]): Chart | undefined =>
  scalingChart(
    curves.map((curve) => ({ title: titleOfCurve(curve), marks: scalingMarks(curve.scaling.points) })),
    curves[0]?.scaling.isStrong ?? false,
    commonNoun(curves.map(({ scaling }) => scaling.device)),
  );
