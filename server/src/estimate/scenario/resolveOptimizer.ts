/** The optimizer of a scenario, and what does not go with it. */

import { refusedOptimizer } from '../../frameworks/optimizers/optimizerRules.ts';
import { optimizerDefinitions } from '../../frameworks/optimizers/optimizers.ts';
import { optimizerRules, optionValues } from '../../frameworks/registry.ts';
import type { FrameworkChoice, Optimizer } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

export function resolveOptimizer(
  asked: Optimizer | undefined,
  framework: FrameworkChoice,
  tensorParallel: number,
  accumulate: number,
  report: Report,
): Optimizer {
  const optimizer = asked ?? 'adamw';
  const refusal = refusedOptimizer(optimizer, framework.name, optimizerRules(framework), tensorParallel);
  if (accumulate > 1 && optionValues(framework).get('optimizer-in-backward') === 'true')
    report(
      'error',
      'scenario/invalid',
      '`optimizer-in-backward` frees the gradients of each pass, so that passes cannot add them up; leave one of both out',
      'accumulate',
    );
  if (refusal !== undefined) report('error', 'scenario/invalid', refusal, 'optimizer');
  if (optimizer === 'none' || framework.options['optimizer-kernels'] !== 'fused') return optimizer;
  const { hasFused, title } = optimizerDefinitions[optimizer];
  if (!hasFused)
    report(
      'warning',
      'scenario/invalid',
      `PyTorch has no fused ${title}, so its update is costed as several kernels; leave \`optimizer-kernels=fused\` out`,
      'framework',
    );
  return optimizer;
}
