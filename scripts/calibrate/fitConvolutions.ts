/** Curves of convolutions, each pass with its own. */

import type { ConvolutionCurve, ProductCurve } from '../../server/src/hardware/curves.ts';
import {
  type ConvolutionPass,
  type ConvolutionShape,
  convolutionTime,
} from '../../server/src/hardware/kernels/convolutionTime.ts';
import { descend, logLoss, residuals } from './descend.ts';
import { byGpuAndType, type Fit, ratesOf, sourcesOf, widthOf } from './fit.ts';
import { productCurveOf, productLimits, productStart } from './productParameters.ts';
import { halves, type MeasuredRow, numberIn, readMeasured } from './readMeasured.ts';
import { rounded } from './fit.ts';

export function fitConvolutions(folder: string): readonly Fit[] {
  return byGpuAndType(readMeasured(folder, 'convolutions.csv')).flatMap(({ gpu, type, rows }) =>
    passes.flatMap((pass) => {
      const own = rows.filter((row) => row.pass === pass);
      if (own.length === 0) return [];
      const sources = sourcesOf(own);
      const rates = ratesOf(gpu, type);
      const width = widthOf(type);
      const vector = gpu.peak.get('fp32')?.value ?? 0;
      const timesOf = (parameters: readonly number[], list: readonly Convolution[]): readonly number[] => {
        const curve = curveOf(pass, parameters, type === 'fp32');
        return list.map(
          ({ shape, source }) =>
            convolutionTime(rates, curve, shape, pass, width, vector).time +
            (parameters[start.length + sources.indexOf(source)] ?? 0),
        );
      };
      const { fitted, held } = halves(own.map(convolutionOf));
      const { parameters } = descend(
        [...start, ...sources.map(() => 5e-6)],
        [...limits, ...sources.map(() => 200e-6)],
        (candidate) => logLoss(timesOf(candidate, fitted), fitted.map(({ time }) => time)),
      );
      const { winograd, transforms, [pass]: product } = curveOf(pass, parameters, type === 'fp32');
      return {
        kind: `convolution ${pass}`,
        gpu: gpu.name,
        type,
        curve: { ...product, winograd: winograd ?? null, transforms },
        rows: own.length,
        sources,
        left: residuals(timesOf(parameters, held), held.map(({ time }) => time)),
      };
    }),
  );
}

const passes: readonly ConvolutionPass[] = ['forward', 'data', 'weight'];

const start = [...productStart, 0.4, 0.4, 1];
const limits = [...productLimits, 0.9, 0.9, 4];

function curveOf(pass: ConvolutionPass, parameters: readonly number[], winograd: boolean): ConvolutionCurve {
  const product: ProductCurve = productCurveOf(parameters);
  const at = productStart.length;
  return {
    forward: product,
    data: product,
    weight: product,
    winograd:
      winograd && pass !== 'weight'
        ? [
            [2, rounded(parameters[at] ?? 0)],
            [4, rounded(parameters[at + 1] ?? 0)],
          ]
        : undefined,
    transforms: rounded(parameters[at + 2] ?? 1),
    depthwise: { vector: 1, memory: 1 },
  };
}

type Convolution = ReturnType<typeof convolutionOf>;

function convolutionOf(row: MeasuredRow) {
  const [height, width, kernelH, kernelW, strideH, strideW, padH, padW] = [
    'height',
    'width',
    'kernel_h',
    'kernel_w',
    'stride_h',
    'stride_w',
    'pad_h',
    'pad_w',
  ].map((column) => numberIn(row, column)) as [number, number, number, number, number, number, number, number];
  const positions =
    (Math.floor((height + 2 * padH - kernelH) / strideH) + 1) * (Math.floor((width + 2 * padW - kernelW) / strideW) + 1);
  const shape: ConvolutionShape = {
    images: numberIn(row, 'images'),
    channels: numberIn(row, 'channels'),
    filters: numberIn(row, 'filters'),
    groups: 1,
    positions,
    plane: height * width,
    taps: kernelH * kernelW,
    winograd: kernelH === 3 && kernelW === 3 && strideH === 1 && strideW === 1,
  };
  return { source: row.source ?? '', shape, time: numberIn(row, 'microseconds') * 1e-6 };
}
