/** What of a scenario the runner cannot do. It would measure another step than the one that is predicted. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { optimizerDefinitions } from '../frameworks/optimizers/optimizers.ts';
import { optionValues, runsOnPytorch } from '../frameworks/registry.ts';
import type { Scenario } from '../model/scenario.ts';

/** What to leave out of the scenario, and why; `undefined` where all of it is run. */
export function notRunnable(training: TrainingGraph, scenario: Scenario): string | undefined {
  const { framework } = scenario;
  if (!runsOnPytorch(framework))
    return `${framework.name} is not PyTorch, which the benchmark runs: choose pytorch-ddp to measure its step`;
  const named = [...optionValues(framework)].find(([option, value]) =>
    unknownToRunner[option]?.includes(value),
  );
  if (named !== undefined)
    return `the benchmark cannot run ${named[0]}=${named[1]} of ${framework.name}: choose another value`;
  const { optimizer, mode, parallel, lora } = scenario;
  if (lora?.base !== undefined)
    return `the benchmark has all weights whole, and none in ${lora.base}: leave out \`base\``;
  if (parallel !== undefined)
    return 'the benchmark runs the whole model on each GPU: leave out the parallel layout';
  const updating = mode === 'inference' || optimizer === 'none' ? undefined : optimizerDefinitions[optimizer];
  if (updating !== undefined && updating.torchClass === undefined)
    return `the benchmark cannot run ${updating.title}: choose another optimizer, such as adamw`;
  const marked = training.analysis.layers.find(({ marks }) => marks?.precision !== undefined);
  if (marked !== undefined && scenario.mode === 'training')
    return `the benchmark cannot run the \`precision\` of ${marked.name}: leave it out`;
  return undefined;
}

/** Values of options that change what one GPU computes. Those about messages change nothing that is measured. */
const unknownToRunner: Readonly<Record<string, readonly string[]>> = {
  'in-place': ['true'],
  // These are packages of their own: PyTorch chooses among the kernels that it has.
  'attention-kernel': ['flash-attention-3', 'triton'],
  'compile-loss': ['false'],
  'cross-entropy': ['in-place', 'chunked', 'fused-linear'],
  'grad-accum-dtype': ['fp32'],
  'launch-blocking': ['true'],
  gradients: ['fp32-sums'],
  embeddings: ['sparse', 'table-wise', 'row-wise'],
};
