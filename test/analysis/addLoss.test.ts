/** The plan of a graph with a loss, made from that of the graph without, is the plan that the whole graph gives. */

import { expect, test } from 'vitest';
import { addCrossEntropy, anyLogits } from '../../server/src/analysis/addLoss.ts';
import { type CostingPlan, planCosting } from '../../server/src/analysis/planCosting.ts';
import type { Graph } from '../../server/src/model/graph.ts';
import { openGraph } from '../support/savedActivations.ts';

/** All that a plan says, as plain values. */
function saidBy(graph: Graph, { gradients, auxiliary, groups }: CostingPlan) {
  return {
    auxiliary,
    groups,
    requires: [...gradients.requires].sort(),
    reached: [...graph.values.keys()].filter(gradients.isReached),
    stored: [...graph.values.keys()].filter(gradients.isStored),
    gradients: graph.operators.map((operator) =>
      operator.inputs.map((_, index) => gradients.gradientOf(operator, index)),
    ),
  };
}

test.each([
  'samples/gpt2.onnx',
  'samples/resnet50.onnx',
  'samples/more/llama-3-8b.layers.yaml',
  'samples/vgg16.layers.yaml',
])('%s', (path) => {
  const { analysis } = openGraph(path);
  const logits = analysis && anyLogits(analysis);
  if (analysis === undefined || logits === undefined) throw new Error(`${path} has no output of classes`);
  const { graph, costing } = addCrossEntropy(analysis, logits);
  expect(saidBy(graph, costing)).toEqual(saidBy(graph, planCosting(graph)));
  expect(saidBy(graph, costing).gradients.at(-1)).toEqual(['data', 'none']);
});
