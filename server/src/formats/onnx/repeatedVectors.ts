/** Tells by its bytes that a stored tensor was looked up in a smaller table, or repeats itself along an axis. */

import { byteAt } from '../../model/at.ts';
import type { RepeatedVectors, TensorLiteral } from '../../model/attribute.ts';
import { countElements } from '../../model/countElements.ts';
import type { ByteSource } from '../byteSource.ts';
import type { PayloadRange } from './reading.ts';

/**
 * A table of position biases has one vector (an element per head) for each pair of positions, where pairs at the same distance
 * have the same: counted are vectors along the shortest axis that are not alike. Nothing is decoded; tensors of more than
 * `mostBytes` are not read. `undefined` where no vector repeats. A tensor without contents, or of
 * one number, proves nothing, unless it was recorded to repeat something (`expansion`): along its first axis, or along the second where
 * both change places after it, as attention does that computes sequence first.
 */
export function repeatedVectors(
  tensor: TensorLiteral,
  source: ByteSource,
  range: PayloadRange | undefined,
  expansion: 'none' | 'as it is' | 'transposed',
): RepeatedVectors | undefined {
  const { dimensions } = tensor;
  const elements = elementsOf(tensor, source, range);
  const count = countElements(dimensions);
  const block = count / (dimensions[0] ?? 1);
  if (elements === undefined || elements.every((element) => element === elements[0])) {
    const axis = expansion === 'transposed' ? 1 : 0;
    if (expansion === 'none' || (dimensions[axis] ?? 1) < 2) return undefined;
    const wide = dimensions.filter((size, other) => other !== axis && size > 1);
    return { broadcastAxis: axis, ...(wide.length > 1 ? { isAssumed: true } : {}) };
  }
  if (expansion === 'transposed') {
    const broadcastAxis = dimensions.findIndex(
      (size, axis) => size > 1 && isAlikeAlong(axis, dimensions, elements),
    );
    if (broadcastAxis >= 0) return { broadcastAxis };
  }
  const isBroadcast =
    block < count && elements.every((element, index) => element === elements[index % block]);
  const alike = isBroadcast ? alikeAxes(dimensions, elements) : [];
  if (alike.length > 0) return { broadcastAxis: 0, alike };
  const lookup = lookupIn(isBroadcast ? [1, ...dimensions.slice(1)] : dimensions, elements);
  return isBroadcast || lookup !== undefined
    ? { ...(isBroadcast ? { broadcastAxis: 0 } : {}), ...(lookup === undefined ? {} : { lookup }) }
    : undefined;
}

/** The axes behind the first along which no element changes: one row that was looked up for each token, a number for each head. */
const alikeAxes = (dimensions: readonly number[], elements: Float64Array): readonly number[] =>
  dimensions.flatMap((length, axis) =>
    axis > 0 && length > 1 && isAlikeAlong(axis, dimensions, elements) ? [axis] : [],
  );

/** Whether all slices along an axis are alike. */
function isAlikeAlong(axis: number, dimensions: readonly number[], elements: Float64Array): boolean {
  const stride = countElements(dimensions.slice(axis + 1));
  const length = dimensions[axis] ?? 1;
  return elements.every((element, index) => {
    const place = Math.floor(index / stride) % length;
    return element === elements[index - place * stride];
  });
}

/** Of integers that were recorded to be expanded along their first axis, as positions to gather are: whether they show it. */
export function repeatedIntegers(
  { dimensions }: TensorLiteral,
  source: ByteSource,
  range: PayloadRange | undefined,
): RepeatedVectors | undefined {
  const [times = 1] = dimensions;
  const size = range === undefined ? 0 : range.end - range.start;
  const block = size / times;
  if (range === undefined || times < 2 || size === 0 || size > mostBytes || !Number.isInteger(block))
    return undefined;
  const bytes = source.read(range.start, size);
  return bytes.every((byte, index) => byte === bytes[index % block]) ? { broadcastAxis: 0 } : undefined;
}

function lookupIn(dimensions: readonly number[], elements: Float64Array): RepeatedVectors['lookup'] {
  const axis = shortestAxis(dimensions);
  const length = dimensions[axis] ?? 1;
  if (axis < 0) return undefined;
  const count = countElements(dimensions);
  const stride = dimensions.slice(axis + 1).reduce((product, each) => product * each, 1);
  const vectors = new Set<string>();
  for (let outer = 0; outer < count; outer += length * stride) {
    for (let inner = outer; inner < outer + stride; inner += 1) {
      let vector = '';
      for (let index = 0; index < length; index += 1) vector += `${elements[inner + index * stride]} `;
      vectors.add(vector);
    }
  }
  return vectors.size > 1 && vectors.size < count / length ? { axis, distinct: vectors.size } : undefined;
}

/** A number for each element, the same for those that are alike; `undefined` where the file does not hold them. */
function elementsOf(
  { dimensions, elements }: TensorLiteral,
  source: ByteSource,
  range: PayloadRange | undefined,
): Float64Array | undefined {
  if (elements !== undefined) return Float64Array.from(elements);
  const size = range === undefined ? 0 : range.end - range.start;
  const width = size / dimensions.reduce((product, each) => product * each, 1);
  if (range === undefined || size > mostBytes || !(width === 1 || width === 2 || width === 4))
    return undefined;
  const bytes = source.read(range.start, size);
  return Float64Array.from({ length: size / width }, (_, index) => {
    let word = 0;
    for (let byte = 0; byte < width; byte += 1) word = 256 * word + byteAt(bytes, index * width + byte);
    return word;
  });
}

const mostBytes = 2 ** 22;

/** The shortest of the axes longer than 1; -1 where there are not two of them. */
function shortestAxis(dimensions: readonly number[]): number {
  const wide = dimensions.flatMap((size, axis) => (size > 1 ? [{ size, axis }] : []));
  if (wide.length < 2) return -1;
  return wide.reduce((shortest, each) => (each.size < shortest.size ? each : shortest)).axis;
}
