/**
 * Sequences read by a state of fixed size, as the kernels that transformers calls compute them, a chunk of tokens at a time: the
 * gated delta rule (arXiv 2412.06464; flash-linear-attention, `chunk_gated_delta_rule`, and with a decay for each element of a key
 * `chunk_kda`), the selective scan of Mamba (arXiv 2312.00752; mamba-ssm, `selective_scan_fn`) and that of Mamba-2
 * (arXiv 2405.21060; `mamba_chunk_scan_combined`).
 *
 * FLOPs are those that `FlopCounterMode` counts of the functions of the same names in transformers 5.18: a last chunk that is not
 * full counts as a full one. What a chunk solves and scans element by element is counted as operations.
 */

import type { Dimension } from '../../model/dimension.ts';
import type {
  BoundTensor,
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { noWork } from '../definition.ts';
import { mapOfLabels } from '../dimensions/labels.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { define, ownDomain } from '../vocabulary/define.ts';
import { data, noRule, weight } from '../vocabulary/facts.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import {
  addTraffic,
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  trafficOf,
  trafficOfElements,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const own = { domain: ownDomain, runner: noRule.unwritten } as const;

/** Queries and keys [batch, tokens, heads, key], values [batch, tokens, heads, value]; decays for a head or an element of its key. */
const gatedDeltaRule = define({
  ...own,
  type: 'GatedDeltaRule',
  documentation:
    'linear attention by a state that decays and is corrected (chunk_gated_delta_rule of fla, GatedDeltaRule-1)',
  inputs: [data('query'), data('key'), data('value'), data('decay'), data('beta')],
  pytorch: { layer: 'GatedDeltaRule', autocast: 'half', operands: 'contiguous' },
  infer: (context) =>
    inferred(
      context,
      [4, 4, 4, undefined, 3],
      '[batch, tokens, heads, size]',
      ([query, key, , decay, beta]) => {
        if (decay !== undefined && decay.length !== 3 && decay.length !== 4)
          return `decays are [batch, tokens, heads] or have an element of the key as a fourth axis, not ${printShape(decay)}`;
        if (differ(query, key)) return 'queries and keys must have the same shape';
        return differ(decay?.slice(0, 3), beta)
          ? 'decay and beta must be given for the same heads'
          : undefined;
      },
      2,
    ),
  dimensions: (context) =>
    mapOfLabels(context, {
      inputs: {
        ...Object.fromEntries([0, 1].map((index) => [index, ['b', undefined, 'h', undefined]])),
        2: ['b', undefined, 'h', 'v'],
        3: context.inputShape(3)?.length === 4 ? ['b', undefined, 'h', undefined] : ['b', undefined, 'h'],
        4: ['b', undefined, 'h'],
      },
      outputs: [['b', undefined, 'h', 'v']],
    }),
  cost: (context) => {
    const [query, key, value, decay, beta] = inputsOf(context, 5);
    const output = context.output(0);
    if (query === undefined || value === undefined || output === undefined) return unknownShapeCost;
    const [batch = 1, tokens = 1, heads = 1, keySize = 1] = query.dimensions;
    const valueSize = value.dimensions[3] ?? 1;
    const { chunk, padded } = chunksOf(context, tokens, 64);
    const rows = batch * heads * padded;
    // Scores of keys with keys and with queries, weights times values; the state read twice and written once.
    const flops = 2 * rows * (chunk * (2 * keySize + valueSize) + 3 * keySize * valueSize);
    const forward = work({
      flops,
      // The triangular system that a chunk solves for its values and keys.
      operations: rows * chunk * (keySize + valueSize),
      traffic: addTraffic(
        trafficOf(query, key, value, decay, beta, output),
        states(query, batch * heads * keySize * valueSize, padded / chunk),
      ),
      kernels: 6,
    });
    // With a decay for each element the scores of queries are kept, too (fla, `ChunkKDAFunction`).
    const matrices = decay?.dimensions.length === 4 ? 2 : 1;
    const solved: SavedTensor = {
      kind: 'extra',
      name: 'the solved system of each chunk',
      traffic: trafficOfElements(query, matrices * batch * tokens * heads * chunk),
    };
    return scanCost(context, 'attention', forward, [query, key, value, decay, beta], [solved], inOrder);
  },
});

/** Channels [batch, channels, tokens], each with a state of its own that all read and write by the same B and C [batch, state, tokens]. */
const selectiveScan = define({
  ...own,
  type: 'SelectiveScan',
  documentation:
    'a state per channel whose steps depend on the token (selective_scan_fn of mamba-ssm, SelectiveScan-1)',
  inputs: [
    ...['u', 'delta'].map(data),
    weight('A'),
    ...['B', 'C'].map(data),
    weight('D'),
    data('z'),
    weight('delta_bias'),
  ],
  pytorch: { layer: 'SelectiveScan', autocast: 'first' },
  infer: (context) =>
    inferred(
      context,
      [3, 3, 2, 3, 3, 1, 3, 1],
      '[batch, channels, tokens]',
      ([u, delta, a, b]) => {
        if (differ(u, delta)) return 'u and delta must have the same shape';
        if (differ(u?.slice(1, 2), a?.slice(0, 1))) return 'A must have a row for each channel';
        return differ(a?.slice(1), b?.slice(1, 2)) ? 'A and B must have states of the same size' : undefined;
      },
      0,
    ),
  dimensions: (context) =>
    mapOfLabels(context, {
      inputs: {
        ...Object.fromEntries([0, 1, 6].map((index) => [index, ['b', 'c', undefined]])),
        2: ['c', undefined],
        ...Object.fromEntries([3, 4].map((index) => [index, ['b', undefined, undefined]])),
        5: ['c'],
        7: ['c'],
      },
      outputs: [['b', 'c', undefined]],
    }),
  cost: (context) => {
    const [u, , matrix] = inputsOf(context, 3);
    const output = context.output(0);
    if (u === undefined || matrix === undefined || output === undefined) return unknownShapeCost;
    const [batch = 1, channels = 1, tokens = 1] = u.dimensions;
    const state = matrix.dimensions[1] ?? 1;
    const steps = batch * channels * tokens * state;
    const tensors = inputsOf(context, 8);
    // A state is kept for every 2,048 tokens, as what it is multiplied by and what is added (selective_scan.cpp, `n_chunks`).
    const kept = trafficOfElements(u, 2 * batch * channels * state * Math.ceil(tokens / 2048));
    const forward = work({
      flops: 2 * steps,
      // exp(Δ·A), Δ·B·u and the step itself.
      operations: 7 * steps,
      traffic: addTraffic(trafficOf(...tensors, output), kept),
    });
    const gated: readonly SavedTensor[] =
      tensors[6] === undefined
        ? []
        : [{ kind: 'extra', name: 'what the gate multiplies', traffic: trafficOf(output) }];
    const states: SavedTensor = { kind: 'extra', name: 'states between chunks', traffic: kept };
    return scanCost(context, 'reduction', forward, tensors, [states, ...gated], inOrder);
  },
});

/** Values [batch, tokens, heads, size] and steps [batch, tokens, heads]; B and C [batch, tokens, groups, state] are those of several heads. */
const stateSpaceScan = define({
  ...own,
  type: 'StateSpaceScan',
  documentation:
    'a state per head with one decay for all of it (mamba_chunk_scan_combined of mamba-ssm, StateSpaceScan-1)',
  inputs: [...['x', 'dt'].map(data), weight('A'), ...['B', 'C'].map(data), weight('D'), weight('dt_bias')],
  pytorch: { layer: 'StateSpaceScan', autocast: 'half' },
  infer: (context) =>
    inferred(
      context,
      [4, 3, 1, 4, 4, 1, 1],
      '[batch, tokens, heads, size]',
      ([x, dt, , b, c]) => {
        if (differ(x?.slice(0, 3), dt)) return 'dt must have a step for each token and head';
        if (differ(b, c)) return 'B and C must have the same shape';
        const [heads, groups] = [x?.[2], b?.[2]];
        return typeof heads === 'number' &&
          typeof groups === 'number' &&
          (groups === 0 || heads % groups !== 0)
          ? `${heads} heads cannot share ${groups} groups evenly`
          : undefined;
      },
      0,
    ),
  dimensions: (context) => {
    const [heads, groups] = [context.inputShape(0)?.[2], context.inputShape(3)?.[2]];
    const isAlone = heads !== undefined && groups !== undefined && !differ([heads], [groups]);
    // Heads can be divided where none shares its group with others, or all share one.
    const h = groups === 1 || isAlone ? 'h' : undefined;
    const shared = ['b', undefined, isAlone ? h : undefined, undefined];
    return mapOfLabels(context, {
      inputs: {
        0: ['b', undefined, h, 'p'],
        1: ['b', undefined, h],
        2: [h],
        3: shared,
        4: shared,
        5: [h],
        6: [h],
      },
      outputs: [['b', undefined, h, 'p']],
    });
  },
  cost: (context) => {
    const [x, dt, , b] = inputsOf(context, 4);
    const output = context.output(0);
    if (x === undefined || dt === undefined || b === undefined || output === undefined)
      return unknownShapeCost;
    const [batch = 1, tokens = 1, heads = 1, size = 1] = x.dimensions;
    const state = b.dimensions[3] ?? 1;
    const { chunk, padded } = chunksOf(context, tokens, 256);
    const chunks = padded / chunk;
    const tensors = inputsOf(context, 7);
    // In each chunk C·Bᵀ, the weights times x, its state and what the one before gives; states meet those of all chunks before.
    const flops =
      2 *
      batch *
      heads *
      (padded * (chunk * (state + size) + 2 * state * size) + (chunks + 1) ** 2 * state * size);
    const forward = work({
      flops,
      operations: batch * heads * padded * (chunk + size),
      traffic: addTraffic(trafficOf(...tensors, output), states(x, batch * heads * size * state, chunks)),
      kernels: 5,
    });
    const kept: readonly SavedTensor[] = [
      { kind: 'extra', name: 'sums of decays', traffic: trafficOfElements(x, batch * heads * padded) },
      { kind: 'output', index: 0 },
    ];
    return scanCost(context, 'attention', forward, tensors, kept);
  },
});

export const stateSpaceOperators: readonly OperatorDefinition[] = [
  gatedDeltaRule,
  selectiveScan,
  stateSpaceScan,
];

type Shape = readonly Dimension[] | undefined;

/** The output has the shape of input `like`. A rank in `ranks` that is left out is not asked for. */
function inferred(
  context: InferenceContext,
  ranks: readonly (number | undefined)[],
  form: string,
  wrong: (shapes: readonly Shape[]) => string | undefined,
  like: number,
): Inference {
  const shapes = ranks.map((_, index) => context.inputShape(index));
  for (const [index, rank] of ranks.entries()) {
    const shape = shapes[index];
    if (shape !== undefined && rank !== undefined && shape.length !== rank)
      return mismatch(`input ${index} has ${shape.length} axes, not ${rank}: the first is ${form}`);
  }
  const chunk = context.int('chunk_size', 1);
  if (chunk < 1) return mismatch(`chunk_size is ${chunk}, but a chunk has a token at least`);
  const problem = wrong(shapes);
  if (problem !== undefined) return mismatch(problem);
  const shape = shapes[like];
  return shape === undefined
    ? unknownBecause(context, like)
    : single(tensor(elementTypeOf(context, like), shape));
}

/** Whether two shapes contradict each other, as far as both are known. */
const differ = (left: Shape, right: Shape): boolean =>
  left !== undefined &&
  right !== undefined &&
  (left.length !== right.length || left.some((size, axis) => contradict(size, right[axis] ?? size)));

/** A sequence of one token is one step of a decoder, which has no chunks. */
function chunksOf(context: CostContext, tokens: number, otherwise: number) {
  const chunk = tokens <= 1 ? 1 : Math.max(1, context.int('chunk_size', otherwise));
  return { chunk, padded: Math.max(1, Math.ceil(tokens / chunk)) * chunk };
}

/** As its axes say: a copy, where a tensor lies otherwise (fla/utils.py, `input_guard`). */
const inOrder = (index: number, { dimensions }: BoundTensor): SavedTensor => ({
  kind: 'input',
  index,
  stack: [dimensions.map((_, axis) => axis)],
});

/** States between chunks, written by one kernel and read by the next. */
const states = (like: BoundTensor, elements: number, chunks: number) =>
  trafficOfElements(like, 2 * elements * chunks);

const inputsOf = (context: CostContext, count: number): readonly (BoundTensor | undefined)[] =>
  Array.from({ length: count }, (_, index) => context.input(index));

/** Backward computes forward again and walks it back, by kernels that give all gradients at once. */
function scanCost(
  context: CostContext,
  kernelClass: 'attention' | 'reduction',
  forward: ReturnType<typeof work>,
  tensors: readonly (BoundTensor | undefined)[],
  extra: readonly SavedTensor[],
  keep: (index: number, tensor: BoundTensor) => SavedTensor = savedInput,
): OperatorCost {
  if (!needsGradient(context)) return cost(kernelClass, forward);
  const first = tensors.findIndex((_, index) => context.gradient(index) !== 'none');
  const { data, weight } = backwardOf(context, (index) =>
    index === first
      ? work({
          flops: 2 * forward.flops,
          recomputedFlops: forward.flops,
          operations: 3 * forward.operations,
          traffic: addTraffic(forward.traffic, forward.traffic),
          kernels: 2 * forward.kernels,
        })
      : noWork,
  );
  const saved = tensors.flatMap((given, index) => (given === undefined ? [] : [keep(index, given)]));
  return cost(kernelClass, forward, { data, weight, saved: [...saved, ...extra] });
}
