/**
 * Operators of the file that eager PyTorch runs as one kernel, because one call was exported as several.
 *
 * `scaled_dot_product_attention` calls FlashAttention or the memory-efficient kernel and never stores the scores
 * (PyTorch 2.x aten/src/ATen/native/transformers/cuda/sdp_utils.cpp). Where the graph shows whether a composite was one
 * call, that decides; else it is taken for one, as current libraries write it. The option `attention` says it of
 * attention for models that were exported otherwise than they are trained. The option `fused-calls=false` takes everything
 * for written out.
 *
 * A group normalization that is one operator has the kernels of one that was exported as several.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { operatorMarks } from '../../analysis/operatorMarks.ts';
import type { Composite, CompositeKind } from '../../composites/composite.ts';
import { safeSoftmaxes } from './safeSoftmax.ts';

export interface FusedGroup extends Pick<Composite, 'operators' | 'inputs' | 'outputs'> {
  readonly kind: 'attention' | 'elementwise' | 'normalization';
  /** What it was found as. */
  readonly composite?: Composite;
  /** It is one kernel because a person or a framework says so. */
  readonly isAsked?: true;
}

/**
 * Groups by the index of each of their operators. `fusedAttention`: what a person says of attention, if anything. `fusedByHand`: what
 * can be one kernel is one but for attention, as with the layers of Transformer Engine (NVIDIA/Megatron-LM,
 * megatron/core/extensions/transformer_engine.py, `TENorm`).
 */
export function fusedGroups(
  training: TrainingGraph,
  fusedAttention: boolean | undefined,
  fusedByHand = false,
): ReadonlyMap<number, FusedGroup> {
  const { analysis, costs } = training;
  const groups = new Map<number, FusedGroup>();
  const marks = operatorMarks(analysis);
  for (const composite of new Set(analysis.composites.values())) {
    const { operators, inputs, outputs } = composite;
    const kind = kernelsOfComposites[composite.kind];
    if (kind === undefined) continue;
    if (
      kind === 'attention' ? !isOneKernel(composite, fusedAttention) : !fusedByHand && !isOneKernel(composite)
    )
      continue;
    if (!operators.every((index) => costs[index]?.kind === 'known')) continue;
    // One call computes in one precision.
    if (new Set(operators.map((index) => marks?.[index]?.precision)).size > 1) continue;
    // What is computed of constants alone is no kernel of a step.
    if (operators.every((index) => analysis.costing.auxiliary.shapeArithmetic[index])) continue;
    const isAsked = kind === 'attention' ? fusedAttention === true : fusedByHand;
    if (kind === 'attention' && !isAsked && !isOfFusedKernels(training, composite)) continue;
    const known: Composite = isAsked ? { ...composite, launchedAs: 'one' } : composite;
    const group = {
      ...{ kind, composite: known, operators, inputs, outputs },
      ...(isAsked && composite.launchedAs === 'several' ? { isAsked: true as const } : {}),
    };
    for (const index of operators) groups.set(index, group);
  }
  for (const composite of safeSoftmaxes(analysis.graph)) {
    const { operators, inputs, outputs } = composite;
    if (operators.some((index) => groups.has(index) || costs[index]?.kind !== 'known')) continue;
    for (const index of operators)
      groups.set(index, { kind: 'elementwise', composite, operators, inputs, outputs });
  }
  for (const { index, type, inputs, outputs } of analysis.graph.operators) {
    if (type !== 'GroupNormalization' || groups.has(index) || costs[index]?.kind !== 'known') continue;
    groups.set(index, { kind: 'normalization', operators: [index], inputs, outputs });
  }
  return groups;
}

const isOneKernel = ({ launchedAs, isFusible }: Composite, asked?: boolean): boolean =>
  asked === undefined ? launchedAs !== 'several' : asked && (launchedAs !== 'several' || isFusible === true);

/**
 * The fused kernels take four axes and as many heads of keys as of queries; else `scaled_dot_product_attention` computes
 * step by step (PyTorch 2.x aten/src/ATen/native/transformers/sdp_utils_cpp.h, `check_tensor_shapes`,
 * `check_batch_size_and_num_heads_dense`). Of sizes that are not known it is taken to be so.
 */
function isOfFusedKernels({ analysis, tensors }: TrainingGraph, { operators }: Composite): boolean {
  const product = operators
    .flatMap((index) => analysis.graph.operators[index] ?? [])
    .find(({ type }) => type === 'MatMul');
  const [left, right] = (product?.inputs ?? []).map((name) => tensors.get(name)?.dimensions);
  if (left === undefined || right === undefined) return true;
  return left.length === 4 && right.length === 4 && left[0] === right[0] && left[1] === right[1];
}

/** Composites that can be one kernel, by what the kernel is. */
const kernelsOfComposites: Partial<Readonly<Record<CompositeKind, FusedGroup['kind']>>> = {
  attention: 'attention',
  gelu: 'elementwise',
  silu: 'elementwise',
  mish: 'elementwise',
  softplus: 'elementwise',
  'log-sigmoid': 'elementwise',
  hardswish: 'elementwise',
  threshold: 'elementwise',
  hardshrink: 'elementwise',
  softshrink: 'elementwise',
  rsqrt: 'elementwise',
  variance: 'elementwise',
  'recorded-call': 'elementwise',
  'taken-apart': 'elementwise',
  'assumed-maximum': 'elementwise',
  'weight-norm': 'elementwise',
  'cosine-similarity': 'elementwise',
  'recurrent-cell': 'elementwise',
  glu: 'elementwise',
  'layer-norm': 'normalization',
  'group-norm': 'normalization',
  'rms-norm': 'normalization',
};
