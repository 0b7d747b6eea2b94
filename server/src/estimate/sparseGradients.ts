/** What is assumed of embedding tables whose gradients are sparse, or that are sharded, and where a framework takes neither. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { isSharded } from '../frameworks/embeddingTables.ts';
import { optimizerDefinitions } from '../frameworks/optimizers/optimizers.ts';
import { resolveFramework } from '../frameworks/registry.ts';
import { counted } from '../model/counted.ts';
import type { Issue } from '../model/issue.ts';
import type { Scenario } from '../model/scenario.ts';
import { heldTables } from './plan/heldTables.ts';

export function sparseGradientIssues(training: TrainingGraph, scenario: Scenario): readonly Issue[] {
  const { framework, gpus, mode, optimizer } = scenario;
  if (mode !== 'training') return [];
  const { behaviour } = resolveFramework(framework);
  const tables = heldTables(training, behaviour, gpus);
  const option = { scenarioKey: 'framework', scenarioPart: 'embeddings' } as const;
  const issues: Issue[] = [];
  const marked = training.analysis.layers.filter(({ marks }) => marks?.sparseGradient).length;
  if (marked > 0 && tables.size === 0 && behaviour.embeddings === undefined) {
    issues.push({
      code: 'scenario/dense-gradient',
      severity: 'warning',
      message: `\`sparse=True\` of ${counted(marked, 'layer')} is costed as gradients of whole tables with ${behaviour.name}; pytorch-ddp, horovod, mxnet and tensorflow are costed with sparse gradients`,
      scenarioKey: 'framework',
    });
  }
  const [first] = tables.values();
  if (first === undefined) return issues;
  const name = training.analysis.parameters[first.index]?.name ?? '';
  if (gpus > 1 && behaviour.name === 'pytorch-ddp' && !isSharded(behaviour.embeddings)) {
    issues.push({
      code: 'scenario/gloo',
      severity: 'warning',
      message: `NCCL refuses the sparse gradient of \`${name}\` in DistributedDataParallel. The step is costed with gloo, which sends all gradients through host memory; set \`embeddings=table-wise\` or \`embeddings=dense\`, or use horovod`,
      ...option,
    });
  }
  if (optimizer === 'none') return issues;
  const { ofRows, title } = optimizerDefinitions[optimizer];
  const refused =
    ofRows === 'adam' && !isSharded(behaviour.embeddings) && behaviour.sparseGradients === undefined;
  issues.push({
    code: 'scenario/assumed-lookups',
    severity: 'information',
    message: `Lookups are taken as drawn evenly: the update of \`${name}\` meets ${Math.round(first.distinct)} different rows for ${Math.round(first.arriving)} lookups, and fewer where data is skewed${refused ? `. ${title} refuses sparse gradients, so SparseAdam is costed for tables` : ''}`,
    ...option,
  });
  return issues;
}
