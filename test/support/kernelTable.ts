/** Kernels of a small layer spec as text, and words for what a table expects of them. */

import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import type { Mode, Precision } from '../../server/src/model/scenario.ts';

interface Run {
  readonly precision?: Precision;
  readonly mode?: Mode;
  readonly framework?: string;
  readonly options?: Readonly<Record<string, string>>;
}

/** Lines of what launches or keeps something: `Relu fp32 4 | F elementwise 800 | D elementwise 1200 | S r:4 400`. */
export function kernelsOf(
  inputs: readonly string[],
  layers: readonly string[],
  { precision = 'fp32', mode = 'training', framework = 'pytorch-ddp', options = {} }: Run = {},
): readonly string[] {
  const text = `dims: { batch: 2 }\ninputs:\n${lines(inputs, '  ')}layers:\n${lines(layers, '  - ')}`;
  const { training, issues } = estimateModel(openLayerSpec(text, 'net.layers.yaml'), [
    {
      cluster: 'a100-sxm-80gb',
      gpus: 1,
      precision,
      mode,
      loss: 'none',
      framework: { name: framework, options },
    },
  ]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const { behaviour } = resolveFramework({ name: framework, options });
  const { operators } = behaviour.lower(training, precision, mode);
  return operators.flatMap((lowered, index) => {
    if (lowered === undefined || partsOf(lowered).length === 0) return [];
    return [operatorText(training.analysis.graph.operators[index]?.type, lowered)];
  });
}

/** One line. */
export const operatorText = (type: string | undefined, lowered: LoweredOperator): string =>
  [`${type} ${lowered.dtype} ${lowered.bytesPerElement}`, ...partsOf(lowered)].join(' | ');

const lines = (texts: readonly string[], indent: string): string =>
  texts.map((text) => `${indent}${text}\n`).join('');

const partsOf = ({ forward, backwardData, backwardWeight, saved }: LoweredOperator): readonly string[] => [
  ...passOf('F', forward),
  ...passOf('D', backwardData),
  ...passOf('W', backwardWeight),
  ...(saved.length === 0 ? [] : [`S ${saved.map(({ key, bytes }) => `${key} ${bytes}`).join(', ')}`]),
];

const passOf = (pass: string, kernels: readonly KernelWork[]): readonly string[] =>
  kernels.length === 0 ? [] : [`${pass} ${kernels.map(kernelText).join(', ')}`];

/** `normalization 800 r64 ×2`: rows of 64 elements, launched twice; what bounds its instructions, if they do, stands in brackets. */
const kernelText = ({ class: kind, bytes, launches, rowLength, instructions }: KernelWork): string =>
  [
    `${kind} ${bytes}`,
    ...(rowLength === undefined ? [] : [`r${rowLength}`]),
    ...(launches === 1 ? [] : [`×${launches}`]),
    ...(instructions === undefined ? [] : [`[${instructions.kernel}]`]),
  ].join(' ');

type Size = number | readonly [size: number, more: string];

/** Kernels of one class, by bytes; `[800, 'r64 ×2']` says more of one. */
export const kernelsOfClass =
  (kind: string) =>
  (...sizes: readonly Size[]): string =>
    sizes
      .map((size) => (typeof size === 'number' ? `${kind} ${size}` : `${kind} ${size[0]} ${size[1]}`))
      .join(', ');

export const elementwise = kernelsOfClass('elementwise');
export const matmul = kernelsOfClass('matmul');
export const normalization = kernelsOfClass('normalization');
export const reduction = kernelsOfClass('reduction');
export const attention = kernelsOfClass('attention');
export const movement = kernelsOfClass('movement');
export const convolution = kernelsOfClass('convolution');
export const pooling = kernelsOfClass('pooling');

/** A cast from four bytes to two moves six. */
export const narrowed = (...elements: readonly number[]): string =>
  elementwise(...elements.map((count) => 6 * count));

/** And so does one the other way, which writes more than it reads. */
export const widened = (...elements: readonly number[]): string =>
  elementwise(...elements.map((count): Size => [6 * count, '[widened]']));
