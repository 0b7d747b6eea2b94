/** Sliding windows: output sizes of convolutions and pools (ONNX Operators, Conv-22 and MaxPool-22). */

import {
  addDimensions,
  ceilDivideDimensions,
  type Dimension,
  floorDivideDimensions,
  multiplyDimensions,
  subtractDimensions,
} from '../../model/dimension.ts';

export interface Window {
  readonly kernel: Dimension;
  readonly stride: number;
  readonly dilation: number;
  readonly begin: number;
  readonly end: number;
  /** 'NOTSET', 'VALID', 'SAME_UPPER' or 'SAME_LOWER'. */
  readonly autoPad: string;
  /** Whether a last window that is only partly covered counts. */
  readonly ceil: boolean;
}

/** What reads attributes of windows: both rule contexts do. */
export interface WindowAttributes {
  int(name: string, otherwise: number): number;
  ints(name: string): readonly number[] | undefined;
  string(name: string, otherwise: string): string;
}

/** The window of each spatial axis, defaults filled in. */
export function windowsOf(context: WindowAttributes, kernels: readonly Dimension[]): readonly Window[] {
  const strides = context.ints('strides');
  const dilations = context.ints('dilations');
  const pads = context.ints('pads');
  return kernels.map((kernel, axis) => ({
    kernel,
    stride: strides?.[axis] ?? 1,
    dilation: dilations?.[axis] ?? 1,
    begin: pads?.[axis] ?? 0,
    end: pads?.[axis + kernels.length] ?? 0,
    autoPad: context.string('auto_pad', 'NOTSET'),
    ceil: context.int('ceil_mode', 0) !== 0,
  }));
}

/** What is wrong with the attributes of a window, in words; `undefined` where nothing is. */
export function windowProblem(context: WindowAttributes): string | undefined {
  for (const name of ['kernel_shape', 'strides', 'dilations']) {
    const values = context.ints(name);
    if (values?.some((value) => value <= 0)) return `${name} [${values.join(', ')}] must be positive`;
  }
  for (const name of ['pads', 'output_padding']) {
    const values = context.ints(name);
    if (values?.some((value) => value < 0)) return `${name} [${values.join(', ')}] must not be negative`;
  }
  return undefined;
}

/** Elements a dilated kernel spans: dilation·(kernel − 1) + 1. */
export const extentOf = (window: Window): Dimension =>
  addDimensions(multiplyDimensions(subtractDimensions(window.kernel, 1), window.dilation), 1);

/**
 * Positions a window takes on an axis of this size:
 * ⌊(size + pads − extent) / stride⌋ + 1, ⌈size / stride⌉ with automatic padding to the same size. With
 * `ceil_mode` the last window must start inside the input or its left padding (MaxPool-22, as PyTorch).
 */
export function outputSize(size: Dimension, window: Window): Dimension {
  if (window.stride <= 0) return floorDivideDimensions(size, 0);
  if (window.autoPad.startsWith('SAME')) return ceilDivideDimensions(size, window.stride);
  const padding = window.autoPad === 'VALID' ? 0 : window.begin + window.end;
  const room = subtractDimensions(addDimensions(size, padding), extentOf(window));
  const steps = window.ceil
    ? ceilDivideDimensions(room, window.stride)
    : floorDivideDimensions(room, window.stride);
  const count = addDimensions(steps, 1);
  const begin = window.autoPad === 'VALID' ? 0 : window.begin;
  const startsOutside =
    window.ceil &&
    typeof count === 'number' &&
    typeof size === 'number' &&
    (count - 1) * window.stride >= size + begin;
  return startsOutside ? addDimensions(count, -1) : count;
}
