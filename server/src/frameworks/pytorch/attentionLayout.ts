/** How what attention gives lies in memory. */

import { type Dimension, equalDimensions } from '../../model/dimension.ts';
import { type Graph, isKnownShape, type Operator } from '../../model/graph.ts';

/** Names of the values that one attention reads; no mask is undefined or empty. */
export interface AttentionInputs {
  readonly query: string;
  readonly value: string;
  readonly mask: string | undefined;
}

/**
 * Whether the heads of a result stand before its tokens in memory. Fused attention lays its result out as the query lies:
 * FlashAttention by `empty_like(q)` (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, `mha_fwd`), and so does the kernel
 * of the CPU. A query lies so where its parts were joined behind the transposition, as a rotation of some of its elements
 * does; arithmetic keeps the order of a transposed tensor. The memory-efficient kernel, which takes masks and heads of values
 * narrower than those of queries (sdp_utils.cpp, `check_head_dim_size_flash`), always writes tokens first.
 */
export function writesHeadsFirst(graph: Graph, { query, value, mask }: AttentionInputs): boolean {
  if (mask !== undefined && mask !== '') return false;
  const [width, other] = [headSize(graph, query), headSize(graph, value)];
  if (width !== undefined && other !== undefined && !equalDimensions(width, other)) return false;
  let maker = makerOf(graph, query);
  for (let hops = 0; hops < mostHops && maker !== undefined; hops += 1) {
    if (maker.type === 'Concat') return true;
    if (!keepsOrder.has(maker.type)) return false;
    maker = makerOf(graph, maker.inputs[0] ?? '');
  }
  return false;
}

const makerOf = (graph: Graph, name: string): Operator | undefined =>
  graph.operators[graph.values.get(name)?.producer ?? -1];

/** Of a tensor whose heads have an axis of their own. */
function headSize(graph: Graph, name: string): Dimension | undefined {
  const type = graph.values.get(name)?.type;
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return undefined;
  return type.shape.length === 4 ? type.shape[3] : undefined;
}

const keepsOrder: ReadonlySet<string> = new Set(['Add', 'Cast', 'Identity', 'Mul', 'Sub']);
const mostHops = 8;
