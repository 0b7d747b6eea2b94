/** A language model that is trained without its loss: what cross-entropy would add is said, because it is not costed. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { formatBytes } from '../model/format.ts';
import { type Graph, isWeight, type Operator } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import type { Scenario } from '../model/scenario.ts';
import { bytes } from '../model/units.ts';
import { hasTrait } from '../operators/operatorFacts.ts';

/**
 * Only where it is certain that an output is the logits of tokens: a matmul gives as many classes as a table has rows
 * that the same model looks tokens up in. Classifiers of images end in logits too, of few classes; regression looks alike.
 *
 * `log_softmax` computes in fp32 under autocast and saves its output; its backward makes a gradient of the same size.
 * Sources: "CUDA Ops that can autocast to float32" of the documentation of torch.amp; `log_softmax` and
 * `nll_loss_forward` in derivatives.yaml of PyTorch.
 */
export function missingLoss(training: TrainingGraph, { mode }: Scenario): readonly Issue[] {
  if (mode !== 'training') return [];
  const { analysis, tensors } = training.folded ?? training;
  const { graph } = analysis;
  const head = graph.outputs.flatMap((name) => {
    const matmul = matmulOf(graph, name);
    const logits = tensors.get(name);
    return matmul === undefined || logits === undefined ? [] : [{ name, matmul, logits }];
  });
  const [last] = head;
  if (last === undefined || graph.operators.some((operator) => hasTrait(operator, 'loss-of-scores')))
    return [];
  const { dimensions, elements } = last.logits;
  const classes = dimensions.at(-1);
  if (dimensions.length < 2 || !looksUpTokens(training, classes)) return [];
  const size = formatBytes(bytes(4 * elements));
  return [
    {
      code: 'scenario/no-loss',
      severity: 'information',
      message: `No loss is costed: the model ends in logits [${dimensions.join(', ')}] at \`${last.matmul.name || last.name}\`. Cross-entropy would keep ${size} of log-probabilities in fp32 and need as much for their gradient. End a layer spec with CrossEntropyLoss, or export the model with its loss`,
    },
  ];
}

/** The matmul whose products a value holds, behind a bias, a cast or another shape. */
function matmulOf(graph: Graph, name: string): Operator | undefined {
  let value = graph.values.get(name);
  // A graph that was not sorted may go round; operators come before what reads them.
  for (let before = graph.operators.length; value?.producer !== undefined && value.producer < before; ) {
    const operator: Operator | undefined = graph.operators[value.producer];
    if (operator === undefined) return undefined;
    if (operator.type === 'MatMul' || operator.type === 'Gemm') return operator;
    if (!['Add', 'Cast', 'Reshape', 'Identity'].includes(operator.type)) return undefined;
    before = value.producer;
    const computed = operator.inputs.filter((input) => graph.values.get(input)?.role === 'activation');
    value = graph.values.get(computed[0] ?? '');
  }
  return undefined;
}

/** Whether rows of a table with a row per class are looked up. */
function looksUpTokens(training: TrainingGraph, classes: number | undefined): boolean {
  const { analysis, tensors } = training.folded ?? training;
  const { operators, values } = analysis.graph;
  return operators.some(({ type, inputs: [table = ''] }) => {
    const rows = type === 'Gather' ? tensors.get(table)?.dimensions : undefined;
    return rows?.length === 2 && rows[0] === classes && isWeight(values.get(table)?.role);
  });
}
