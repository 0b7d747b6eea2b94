/** Products of matrices, with weights or of results; lookups in tables. */

import { float, int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { each, type LowerAten } from '../atenCall.ts';

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
  const factors = { alpha: float(call.number('alpha') ?? 1), beta: float(call.number('beta') ?? 1) };
  return call.emit('Gemm', [left, right, self], factors);
};

const baddbmm: LowerAten = (call) => {
  const [self, left, right] = [call.tensor('self'), call.tensor('batch1'), call.tensor('batch2')];
  if (self === undefined || left === undefined || right === undefined) return undefined;
  const scaled = (tensors: readonly [Tensor], factor: number) =>
    factor === 1
      ? tensors
      : call.emit('Mul', [...tensors, call.scalar(factor, self.elementType ?? 'float32')]);
  const products = scaled(call.emit('MatMul', [left, right]), call.number('alpha') ?? 1);
  const beta = call.number('beta') ?? 1;
  return beta === 0 ? products : call.emit('Add', [...products, ...scaled([self], beta)]);
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

const bagReductions = ['ReduceSum', 'ReduceMean', 'ReduceMax'];

/**
 * Rows of a table, reduced by bag. The bags of a list begin at offsets; they are costed as if of one length, because their work
 * is that of all rows together.
 */
const embeddingBag: LowerAten = (call) => {
  const [weight, indices] = [call.tensor('weight'), call.tensor('indices')];
  const reduction = bagReductions[call.number('mode') ?? 0];
  const [count, bags] = [indices?.shape?.[0], call.shape?.[0]];
  if (weight === undefined || indices?.shape?.length !== 1 || reduction === undefined) return undefined;
  const length = typeof count === 'number' && typeof bags === 'number' ? count / bags : Number.NaN;
  if (!Number.isInteger(length) || call.flag('sparse', false)) return undefined;
  const rows = call.emit('Reshape', [indices, call.integers([-1, length])]);
  return call.emit(reduction, [...call.emit('Gather', [weight, ...rows]), call.integers([1])], {
    keepdims: int(0),
  });
};

export const productOperators: Readonly<Record<string, LowerAten>> = {
  'linear.default': linear,
  'matmul.default': product('self', 'other'),
  ...each(['mm.default', 'bmm.default'], product('self', 'mat2')),
  'mv.default': product('self', 'vec'),
  'dot.default': product('self', 'tensor'),
  'vdot.default': product('self', 'other'),
  'addmm.default': addmm,
  'baddbmm.default': baddbmm,
  'einsum.default': einsum,
  ...each(['outer.default', 'ger.default'], outer),
  'embedding.default': embedding,
  ...each(['embedding_bag.default', 'embedding_bag.padding_idx', '_embedding_bag.default'], embeddingBag),
};
