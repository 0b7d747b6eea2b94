/** How what attention gives lies in memory. */

import { type Dimension, equalDimensions } from '../../model/dimension.ts';
import { type Graph, isKnownShape } from '../../model/graph.ts';
import { contiguous, elementwiseStrides, permuted, type Strided } from './strides.ts';

/** Names of the values that one attention reads; no mask is undefined or empty. */
export interface AttentionInputs {
  readonly query: string;
  readonly value: string;
  readonly mask: string | undefined;
}

/**
 * Fused attention lays its result out as the query lies: FlashAttention by `empty_like(q)`
 * (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, `mha_fwd`), and so does the kernel of the CPU. The memory-efficient
 * kernel, which takes masks and heads of values narrower than those of queries (sdp_utils.cpp, `check_head_dim_size_flash`), always
 * writes tokens before heads; where queries lie so already, it is taken to keep their order, too, as the CPU does. Without an axis
 * for heads the result lies in order.
 */
export function attentionLayout(
  graph: Graph,
  { query, value, mask }: AttentionInputs,
  { layout, sizes }: { layout: (name: string) => Strided | undefined; sizes: readonly number[] },
): Strided {
  const lies = layout(query);
  if (sizes.length !== 4 || lies?.sizes.length !== 4) return contiguous(sizes);
  const [width, other] = [headSize(graph, query), headSize(graph, value)];
  const isNarrower = width !== undefined && other !== undefined && !equalDimensions(width, other);
  const [, head = 0, token = 0] = lies.strides;
  if (((mask !== undefined && mask !== '') || isNarrower) && head > token) {
    const tokensFirst = [0, 2, 1, 3];
    return permuted(contiguous(tokensFirst.map((axis) => sizes[axis] ?? 1)), tokensFirst);
  }
  return elementwiseStrides([lies], sizes);
}

/** Of a tensor whose heads have an axis of their own. */
function headSize(graph: Graph, name: string): Dimension | undefined {
  const type = graph.values.get(name)?.type;
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return undefined;
  return type.shape.length === 4 ? type.shape[3] : undefined;
}
