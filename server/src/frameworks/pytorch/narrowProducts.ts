/**
 * Products that are computed in fp8 or NVFP4.
 *
 * Linear layers are, but the one that gives the scores: torchtitan and Accelerate leave it to bf16 (torchao 0.10, torchao/float8/README.md;
 * torchtitan, `float8.filter_fqns = ["output"]`), and Transformer Engine has none for it (megatron/core/models/gpt/gpt_model.py,
 * `output_layer`). Attention that is written out stays in half precision.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { producerOf } from '../../composites/flow.ts';
import { isWeight, type Operator } from '../../model/graph.ts';
import { hasTrait, inPyTorch } from '../../operators/operatorFacts.ts';
import { biasedMatmul } from './foldedBias.ts';

/** How operands are cast: by torchao, eager or compiled, or by Transformer Engine. */
export type NarrowScaling = 'eager' | 'compiled' | 'transformer-engine';

/** Whether an operator is a linear layer whose products are in 8 or 4 bits. */
export function isNarrowProduct(training: TrainingGraph, operator: Operator): boolean {
  const cost = training.costs[operator.index];
  if (cost?.kind !== 'known' || cost.class !== 'matmul') return false;
  const { graph } = training.analysis;
  const readsWeight = operator.inputs.some((name) =>
    isWeight(graph.values.get(storedAs(training, name))?.role),
  );
  return readsWeight && !operator.outputs.some((name) => givesScores(training, name));
}

/** What a view of a stored tensor is of: exporters transpose weights. */
function storedAs({ analysis: { graph } }: TrainingGraph, name: string): string {
  let own = name;
  for (;;) {
    const producer = producerOf(graph, own);
    const source = producer?.inputs[0];
    if (producer === undefined || source === undefined || !passesOn(producer)) return own;
    own = source;
  }
}

const passesOn = (operator: Operator): boolean =>
  inPyTorch(operator)?.view !== undefined || hasTrait(operator, 'casts');

/** Whether a value is what the model gives, or what a loss reads: as it is, in another shape or type, or with its bias. */
function givesScores(training: TrainingGraph, name: string): boolean {
  const { graph } = training.analysis;
  if (graph.outputs.includes(name)) return true;
  return (graph.values.get(name)?.consumers ?? []).some((index) => {
    const reader = graph.operators[index];
    if (reader === undefined) return false;
    if (hasTrait(reader, 'loss-of-scores')) return true;
    const isSame = passesOn(reader) || biasedMatmul(training, reader) === name;
    return isSame && reader.outputs.some((output) => givesScores(training, output));
  });
}
