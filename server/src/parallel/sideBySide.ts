/**
 * Matrices of several sizes side by side in one weight: queries, and the keys and values that several heads share. Each worker has
 * a block of each, as frameworks lay such weights out (NVIDIA/Megatron-LM, megatron/core/transformer/attention.py, `linear_qkv`; vLLM,
 * model_executor/layers/linear.py, `QKVParallelLinear`).
 */

import type { Operator } from '../model/graph.ts';
import { isSameContent } from '../model/sameContent.ts';
import { attributeReaders } from '../operators/attributeReaders.ts';
import type { StatedSize } from '../operators/dimensionMap.ts';
import { normalizeAxis } from '../operators/vocabulary/axes.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { Split } from './division.ts';

/** A part that an operator takes of a value: `end` is the first position behind it. */
interface Part {
  readonly begin: number;
  readonly end: number;
}

/**
 * The sizes of the parts that a value is taken apart into by this operator, and by others that take parts of the same value;
 * `undefined` where they leave something out or overlap.
 */
export function partsTakenBy(divided: DividedGraph, operator: Operator): readonly number[] | undefined {
  const [name = ''] = operator.inputs;
  const own = takenParts(divided, operator);
  if (own === undefined) return undefined;
  const { graph } = divided.training.analysis;
  const all = (graph.values.get(name)?.consumers ?? []).flatMap((index) => {
    const reader = graph.operators[index];
    const taken = reader === undefined ? undefined : takenParts(divided, reader);
    return taken?.axis === own.axis ? taken.parts : [];
  });
  const sorted = [...new Map(all.map((part) => [part.begin, part])).values()].sort(
    (one, other) => one.begin - other.begin,
  );
  const size = divided.training.tensors.get(name)?.dimensions[own.axis];
  const sizes = sorted.map(sizeOf);
  return isSameContent(sorted, oneBehindOther(sizes)) && sorted.at(-1)?.end === size ? sizes : undefined;
}

const sizeOf = ({ begin, end }: Part): number => end - begin;

function oneBehindOther(sizes: readonly number[]): readonly Part[] {
  let end = 0;
  return sizes.map((size) => {
    end += size;
    return { begin: end - size, end };
  });
}

/** What of an operator's work is divided where it takes whole parts of a value that is split in each of them. */
export function factorOfParts(
  divided: DividedGraph,
  operator: Operator,
  { axis, parts = [] }: Split,
): BoundFactor | undefined {
  const taken = takenParts(divided, operator);
  if (taken?.axis !== axis) return undefined;
  // A result of several parts would be split in each of them again.
  const whole = oneBehindOther(parts);
  if (!taken.parts.every((own) => whole.some((part) => isSameContent(part, own)))) return undefined;
  return {
    size: taken.parts.reduce((sum, part) => sum + sizeOf(part), 0),
    inputs: [{ tensor: 0, axis, outer: 1 }],
    outputs: taken.parts.map((_, tensor) => ({ tensor, axis, outer: 1 })),
    ...(operator.type === 'Split' ? { sizes: statedSizes(operator, taken.parts.length) } : {}),
  };
}

/** Whether an operator gives parts of a value along this axis. */
export const isTakenApart = (divided: DividedGraph, operator: Operator, axis: number): boolean =>
  takenParts(divided, operator)?.axis === axis;

const statedSizes = ({ inputs }: Operator, count: number): readonly StatedSize[] =>
  Array.from({ length: count }, (_, element) =>
    inputs.length > 1
      ? { kind: 'content', input: 1, element }
      : { kind: 'attribute', name: 'split', element },
  );

interface Taken {
  readonly axis: number;
  /** One for each output. */
  readonly parts: readonly Part[];
}

/** Of a `Split`, or of a `Slice` along one axis without steps. */
function takenParts({ training, contents }: DividedGraph, operator: Operator): Taken | undefined {
  const { inputs, outputs, attributes } = operator;
  const dimensions = training.tensors.get(inputs[0] ?? '')?.dimensions;
  if (dimensions === undefined) return undefined;
  if (operator.type === 'Split') {
    const axis = normalizeAxis(attributeReaders(attributes).int('axis', 0), dimensions.length);
    if (axis === undefined) return undefined;
    const sizes = outputs.flatMap((name) => training.tensors.get(name)?.dimensions[axis] ?? []);
    return sizes.length === outputs.length ? { axis, parts: oneBehindOther(sizes) } : undefined;
  }
  if (operator.type !== 'Slice') return undefined;
  const [starts, ends, axes, steps] = [1, 2, 3, 4].map((input) => contents(inputs[input] ?? ''));
  const [start, stop, given = 0] = [starts?.[0], ends?.[0], axes?.[0]];
  if (starts?.length !== 1 || start === undefined || stop === undefined) return undefined;
  if (steps?.some((step) => step !== 1)) return undefined;
  const axis = normalizeAxis(given, dimensions.length);
  const size = axis === undefined ? undefined : dimensions[axis];
  if (axis === undefined || size === undefined) return undefined;
  const place = (at: number): number => Math.min(size, at < 0 ? Math.max(0, size + at) : at);
  return { axis, parts: [{ begin: place(start), end: place(stop) }] };
}
