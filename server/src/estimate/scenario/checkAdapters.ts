/** What frozen layers in few bits do not go with. */

import { runsOnPytorch, takesOtherLinearLayers } from '../../frameworks/registry.ts';
import { isNarrow } from '../../model/dtype.ts';
import type { Scenario } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

/** What of a scenario decides that. */
export interface AdaptedScenario extends Pick<Scenario, 'lora' | 'precision' | 'framework'> {
  readonly parallel?: { readonly tensor: number };
}

export function checkAdapters(
  { lora, precision, framework, parallel }: AdaptedScenario,
  report: Report,
): void {
  if (lora?.base === undefined) return;
  const base = `\`base=${lora.base}\``;
  const refuse = (message: string): void => report('error', 'scenario/invalid', message, 'lora');
  // bitsandbytes and torchao are libraries of PyTorch.
  if (!runsOnPytorch(framework))
    refuse(`${base} is of PyTorch, which ${framework.name} does not run on; leave it out`);
  else if (!takesOtherLinearLayers(framework))
    refuse(
      `${base} replaces linear layers of PyTorch, and ${framework.name} has its own; choose pytorch-fsdp`,
    );
  if (parallel !== undefined && parallel.tensor > 1)
    refuse(
      `${base} keeps each linear layer whole, which \`tp=${parallel.tensor}\` would split; leave out \`tp\``,
    );
  if (isNarrow(precision))
    refuse(`${base} is made whole in half precision and multiplied in it, not in ${precision}; choose bf16`);
}
