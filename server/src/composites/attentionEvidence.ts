/**
 * Whether a graph shows that attention was one call of `scaled_dot_product_attention`, or written out.
 *
 * Exporters write that call with both operands of the first product multiplied by the square root of the scale
 * (torch.onnx symbolic_opset14.py and onnxscript's torch_lib/ops/nn.py, `scaled_dot_product_attention`), and with a
 * guard against rows without a key; the default one transposes keys by reshapes that no model has. Models that write attention out scale the scores, or queries alone, and what they
 * do beside a kernel cannot: a cap, two masks, weights that are returned, a temperature per head. A sink some kernels take, but not that
 * call: Transformer Engine's (2.8, `softmax_type`) and FlashAttention's for Hopper. A scale of 1 leaves no trace.
 */

import type { Graph } from '../model/graph.ts';
import { type KeyChain, type OperandChain, scaleBefore } from './attentionOperands.ts';
import { isOne, type Scores } from './attentionScores.ts';
import type { Weights } from './attentionWeights.ts';
import { sameShape, shapeOf } from './axis.ts';
import type { CompositeMatch } from './composite.ts';
import { producerOf } from './flow.ts';

export function evidenceOf(
  graph: Graph,
  found: {
    readonly scores: Scores;
    readonly weights: Weights;
    readonly query: OperandChain;
    readonly key: KeyChain;
  },
): Pick<CompositeMatch, 'launchedAs' | 'isFusible'> {
  const { scores, weights, query, key } = found;
  const { withoutSink } = scores;
  // A sink is joined to the scores, and its weight cut off.
  const isWhole =
    withoutSink === undefined
      ? weights.cutTo === undefined
      : sameShape(shapeOf(graph, weights.cutTo), shapeOf(graph, withoutSink));
  const isFusible =
    !(scores.isChanged || scores.isShared || weights.isChanged || weights.isShared) &&
    isWhole &&
    [scores.product, weights.product].every(({ type }) => type !== 'Einsum');
  const several = { launchedAs: 'several', isFusible } as const;
  // The call takes one mask, and no sink.
  if (!isFusible || withoutSink !== undefined || scores.isScaled || scores.masks.length > 1) return several;
  if (query.scale !== undefined && key.scale !== undefined)
    return sameNumber(graph, query.scale, key.scale) ? { launchedAs: 'one' } : several;
  if (weights.isGuarded || key.isExported) return { launchedAs: 'one' };
  const single =
    query.scale ?? key.scale ?? scaleBefore(graph, scores.query) ?? scaleBefore(graph, scores.key);
  return single === undefined || isOne(graph, single) ? { launchedAs: 'assumed-one' } : several;
}

/** The same value, the same contents, or the same computed twice, as the TorchScript exporter does. */
function sameNumber(graph: Graph, left: string, right: string): boolean {
  if (left === right) return true;
  const [first, second] = [left, right].map((name) => graph.values.get(name)?.content?.elements[0]);
  if (first !== undefined && second !== undefined) return first === second;
  const [one, other] = [left, right].map((name) => producerOf(graph, name));
  return one !== undefined && one.type === other?.type && one.inputs.join() === other.inputs.join();
}
