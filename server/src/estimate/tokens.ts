/** Tokens of a sample, where the model reads tokens: what people count the speed of a language model in. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { type Graph, isWeight } from '../model/graph.ts';

/**
 * The length of the first input [batch, sequence] of whole numbers that picks rows of a weight; `undefined` where there is
 * none. A model with an encoder and a decoder is counted by the encoder's. A decode step gives one token.
 */
export function tokensPerSample(training: TrainingGraph): number | undefined {
  const { analysis, tensors } = training.folded ?? training;
  if (analysis.caches !== undefined) return 1;
  const { graph } = analysis;
  for (const name of graph.inputs) {
    const dimensions = tensors.get(name)?.dimensions;
    const length = dimensions?.length === 2 ? dimensions[1] : undefined;
    if (length !== undefined && length > 1 && picksRows(graph, name)) return length;
  }
  return undefined;
}

/**
 * Directly, or after it was given another shape or type, as `input_ids.view(-1, length)` does. A file may chain as many of
 * these as it has operators, so the walk keeps a list of its own.
 */
function picksRows(graph: Graph, input: string): boolean {
  const waiting = [input];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const reader of graph.values.get(name)?.consumers ?? []) {
      const operator = graph.operators[reader];
      if (operator === undefined) continue;
      const { type, inputs, outputs } = operator;
      if (type === 'Gather' && inputs[1] === name && isWeight(graph.values.get(inputs[0] ?? '')?.role))
        return true;
      const [only] = outputs;
      if (reshaping.has(type) && inputs[0] === name && only !== undefined) waiting.push(only);
    }
  }
  return false;
}

const reshaping: ReadonlySet<string> = new Set(['Cast', 'Identity', 'Reshape']);
