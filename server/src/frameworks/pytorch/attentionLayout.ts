/** How what attention gives lies in memory. */

import type { Graph, Operator } from '../../model/graph.ts';

/**
 * Whether the heads of a result stand before its tokens in memory. Fused attention lays its result out as the query lies:
 * FlashAttention by `empty_like(q)` (aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, `mha_fwd`), and so does the kernel
 * of the CPU. A query lies so where its parts were joined behind the transposition, as a rotation of some of its elements
 * does; arithmetic keeps the order of a transposed tensor. The memory-efficient kernel, which takes masks, always writes
 * tokens first.
 */
export function writesHeadsFirst(graph: Graph, query: string, mask: string | undefined): boolean {
  if (mask !== undefined && mask !== '') return false;
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

const keepsOrder: ReadonlySet<string> = new Set(['Add', 'Cast', 'Identity', 'Mul', 'Sub']);
const mostHops = 8;
