/** What frozen layers in few bits do not go with. */

import { runsOnPytorch } from '../../frameworks/registry.ts';
import { isNarrow } from '../../model/dtype.ts';
import type { Scenario } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

export function checkAdapters(
  { lora, precision, framework }: Pick<Scenario, 'lora' | 'precision' | 'framework'>,
  report: Report,
): void {
  if (lora?.base === undefined) return;
  const base = `\`base=${lora.base}\``;
  const refuse = (message: string): void => report('error', 'scenario/invalid', message, 'lora');
  // bitsandbytes and torchao are libraries of PyTorch.
  if (!runsOnPytorch(framework))
    refuse(`${base} is of PyTorch, which ${framework.name} does not run on; leave it out`);
  if (isNarrow(precision))
    refuse(`${base} is made whole in half precision and multiplied in it, not in ${precision}; choose bf16`);
}
