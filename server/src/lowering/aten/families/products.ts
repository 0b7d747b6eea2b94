/** Products of matrices, with weights or of results; lookups in tables. */

import type { ElementType } from '../../../model/elementType.ts';
import { broadcastShapes } from '../../../operators/vocabulary/broadcast.ts';
import { ownDomain } from '../../../operators/vocabulary/define.ts';
import { float, int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, each, type LowerAten } from '../atenCall.ts';

/** x·Wᵀ + b, as layer specs write it: one Gemm for two axes, a product and an addition for more. */
const linear: LowerAten = (call) => {
  const [input, weight, bias] = [call.tensor('input'), call.tensor('weight'), call.tensor('bias')];
  if (input === undefined || weight?.shape?.length !== 2) return undefined;
  if (input.shape?.length === 2) return call.emit('Gemm', [input, weight, bias], { transB: int(1) });
  const [transposed] = call.emit('Transpose', [weight], { perm: ints([1, 0]) });
  const product = call.emit('MatMul', [input, transposed]);
  return bias === undefined ? product : call.emit('Add', [...product, bias]);
};

const product =
  (left: string, right: string): LowerAten =>
  (call) => {
    const [one, other] = [call.tensor(left), call.tensor(right)];
    return one && other && call.emit('MatMul', [one, other]);
  };

/** β·self + α·mat1·mat2, in one kernel. */
const addmm: LowerAten = (call) => {
  const [self, left, right] = [call.tensor('self'), call.tensor('mat1'), call.tensor('mat2')];
  if (self === undefined || left === undefined || right === undefined) return undefined;
  const factors = { alpha: float(call.numberOr('alpha', 1)), beta: float(call.numberOr('beta', 1)) };
  return call.emit('Gemm', [left, right, self], factors);
};

const baddbmm: LowerAten = (call) => {
  const [self, left, right] = [call.tensor('self'), call.tensor('batch1'), call.tensor('batch2')];
  if (self === undefined || left === undefined || right === undefined) return undefined;
  const scaled = (tensors: readonly [Tensor], factor: number) =>
    factor === 1
      ? tensors
      : call.emit('Mul', [...tensors, call.scalar(factor, self.elementType ?? 'float32')]);
  const products = scaled(call.emit('MatMul', [left, right]), call.numberOr('alpha', 1));
  const beta = call.numberOr('beta', 1);
  return beta === 0 ? products : call.emit('Add', [...products, ...scaled([self], beta)]);
};

/**
 * Both, in their common shape, by their norms, which are at least `eps`, and the sum of their products
 * (aten/src/ATen/native/Distance.cpp).
 */
const cosineSimilarity: LowerAten = (call) => {
  const given = [call.tensor('x1'), call.tensor('x2')];
  const shapes = given.map((operand) => operand?.shape);
  const common = broadcastShapes(shapes.map((shape) => shape ?? []));
  const sizes = common && call.sizes(common);
  if (sizes === undefined || shapes.includes(undefined)) return undefined;
  const isCommon = (shape: Tensor['shape']): boolean => JSON.stringify(shape) === JSON.stringify(common);
  const operands = given.flatMap((operand) =>
    operand === undefined || isCommon(operand.shape) ? [operand] : call.emit('Expand', [operand, sizes]),
  );
  const axes = call.integers([call.numberOr('dim', 1)]);
  const parts = operands.flatMap((operand) => {
    if (operand === undefined) return [];
    const least = call.scalar(call.numberOr('eps', 1e-8), operand.elementType ?? 'float32');
    const norm = call.emit('ReduceL2', [operand, axes], { keepdims: int(1) });
    return call.emit('Div', [operand, ...call.emit('Clip', [...norm, least])]);
  });
  return parts.length < 2
    ? undefined
    : call.emit('ReduceSum', [...call.emit('Mul', parts), axes], { keepdims: int(0) });
};

const einsum: LowerAten = (call) => {
  const tensors = call.list('tensors');
  const equation = call.text('equation');
  return tensors && equation === undefined
    ? undefined
    : tensors && call.emit('Einsum', tensors, { equation: text((equation ?? '').replaceAll(' ', '')) });
};

const outer: LowerAten = (call) => {
  const [self, other] = [call.tensor('self'), call.tensor('vec2')];
  return self && other && call.emit('Mul', [...call.emit('Unsqueeze', [self, call.integers([1])]), other]);
};

/** A table whose gradient is sparse has none of the size that is costed here. */
const embedding: LowerAten = (call) => {
  const [weight, indices] = [call.tensor('weight'), call.tensor('indices')];
  if (weight === undefined || indices === undefined || call.flag('sparse', false)) return undefined;
  return call.emit('Gather', [weight, indices]);
};

/**
 * Rows of a table, added up by bag. Bags begin at offsets: the bag of every index is the count of those that begin at it or
 * before it, as PyTorch finds it (aten/src/ATen/native/EmbeddingBag.cpp, make_offset2bag, 2.13).
 */
const embeddingBag: LowerAten = (call) => {
  const [weight, indices, given] = ['weight', 'indices', 'offsets'].map((name) => call.tensor(name));
  const mode = bagModes[call.numberOr('mode', 0)];
  const width = weight?.shape?.[1];
  const type = weight?.elementType ?? 'float32';
  if (weight === undefined || indices?.shape?.length !== 1 || given === undefined) return undefined;
  if (mode === undefined || width === undefined || call.flag('sparse', false)) return undefined;
  const [offsets] = call.flag('include_last_offset', false)
    ? call.emit('Slice', [given, call.integers([0]), call.integers([-1])])
    : [given];
  const [count, bags] = [call.emit('Shape', [indices])[0], call.emit('Shape', [offsets])[0]];
  const filled = (value: number, elementType: ElementType, shape: Tensor) =>
    call.emit('Expand', [call.scalar(value, elementType), shape])[0];
  const like = indices.elementType ?? 'int64';
  const add = { reduction: text('add') };
  const starts = [filled(0, like, count), offsets, filled(1, like, bags)];
  const counted = call.emit('CumSum', [
    ...call.emit('ScatterElements', starts, add),
    call.scalar(0, 'int64'),
  ]);
  const [bag] = call.emit('Sub', [...counted, call.scalar(1, like)]);
  const places = call.emit('Unsqueeze', [bag, call.integers([1])]);
  const rows = weighted(call, call.emit('Gather', [weight, indices])[0]);
  const size = call.emit('Concat', [bags, call.integers([Number(width)])], { axis: int(0) });
  const [joined] = call.emit('ScatterND', [filled(0, type, ...size), ...places, rows], {
    reduction: text(mode === 'max' ? 'max' : 'add'),
  });
  if (mode !== 'mean') return [joined];
  const lengths = call.emit('ScatterElements', [filled(0, type, bags), bag, filled(1, type, count)], add);
  // The mean of no rows is 0.
  const divisor = call.emit('Max', [...lengths, call.scalar(1, type)]);
  return call.emit('Div', [joined, ...call.emit('Unsqueeze', [...divisor, call.integers([1])])]);
};

const bagModes = ['add', 'mean', 'max'] as const;

/** Rows times a factor for each, where the call has some. */
function weighted(call: AtenCall, rows: Tensor): Tensor {
  const factors = call.tensor('per_sample_weights');
  if (factors === undefined) return rows;
  return call.emit('Mul', [rows, ...call.emit('Unsqueeze', [factors, call.integers([1])])])[0];
}

/** Of rows in groups with a matrix each, or of stacks. */
const groupedProduct: LowerAten = (call) => {
  const [rows, matrices] = [call.tensor('self', 'input'), call.tensor('mat2', 'weight')];
  const offsets = call.tensor('offs');
  if (rows === undefined || matrices?.shape?.length !== 3) return undefined;
  const product =
    rows.shape?.length === 2
      ? call.emitMany('GroupedMatMul', [rows, matrices, offsets], 1, {}, ownDomain)
      : call.emit('MatMul', [rows, matrices]);
  const bias = call.tensor('bias');
  const type = call.results[0]?.elementType;
  if (bias !== undefined) return undefined;
  return product.map((tensor) => call.cast(tensor, type));
};

const bilinear: LowerAten = (call) => {
  const given = ['input1', 'input2', 'weight', 'bias'].map((name) => call.tensor(name));
  return given.slice(0, 3).includes(undefined)
    ? undefined
    : call.emitMany('Bilinear', given, 1, {}, ownDomain);
};

/** A bilinear form after decomposition: rows, matrices and rows again; other sums are unknown. */
const trilinear: LowerAten = (call) => {
  const [one, matrices, other] = ['i1', 'i2', 'i3'].map((name) => call.tensor(name));
  const isBilinear =
    call.numbers('expand2', []).join() === '0' && call.numbers('sumdim', []).join() === '2,3';
  if (one === undefined || matrices === undefined || other === undefined || !isBilinear) return undefined;
  return call.emitMany('Bilinear', [one, other, matrices], 1, {}, ownDomain);
};

/** `compute_mode` is 1 where a product is always taken, 2 where never (torch.functional.cdist). */
const distances: LowerAten = (call) => {
  const [one, other] = [call.tensor('x1', 'self'), call.tensor('x2')];
  if (one === undefined || (call.has('x2') && other === undefined)) return undefined;
  const most = [one, other]
    .map((tensor) => tensor?.shape?.at(-2))
    .some((size) => typeof size !== 'number' || size > 25);
  const mode = call.numberOr('compute_mode', 0);
  const isProduct =
    other !== undefined && call.numberOr('p', 2) === 2 && (mode === 1 || (mode === 0 && most));
  const inputs = other === undefined ? [one] : [one, other];
  return call.emitMany('PairwiseDistance', inputs, 1, { matmul: int(isProduct ? 1 : 0) }, ownDomain);
};

export const productOperators: Readonly<Record<string, LowerAten>> = {
  'linear.default': linear,
  'matmul.default': product('self', 'other'),
  ...each(['mm.default', 'bmm.default'], product('self', 'mat2')),
  'cosine_similarity.default': cosineSimilarity,
  'mv.default': product('self', 'vec'),
  'dot.default': product('self', 'tensor'),
  'vdot.default': product('self', 'other'),
  'addmm.default': addmm,
  'baddbmm.default': baddbmm,
  'einsum.default': einsum,
  ...each(['outer.default', 'ger.default'], outer),
  // transformers calls its own operator where PyTorch has no kernel (integrations/moe.py, 5.18).
  ...each(['_grouped_mm.default', 'torch.ops.transformers.grouped_mm_fallback.default'], groupedProduct),
  'bilinear.default': bilinear,
  '_trilinear.default': trilinear,
  ...each(['cdist.default', '_cdist_forward.default', 'pdist.default', '_pdist_forward.default'], distances),
  '_euclidean_dist.default': distances,
  'embedding.default': embedding,
  ...each(['embedding_bag.default', 'embedding_bag.padding_idx', '_embedding_bag.default'], embeddingBag),
};
