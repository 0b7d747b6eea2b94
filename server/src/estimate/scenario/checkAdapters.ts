/** What frozen layers in few bits do not go with. */

import { runsOnPytorch, takesOtherLinearLayers } from '../../frameworks/registry.ts';
import { isNarrow } from '../../model/dtype.ts';
import type { Scenario } from '../../model/scenario.ts';
import type { Report } from './scenarioReport.ts';

/** What of a scenario decides that. */
export interface AdaptedScenario extends Pick<Scenario, 'lora' | 'precision' | 'framework'> {
  readonly parallel?: { readonly tensor: number };
}

export function checkAdapters(scenario: AdaptedScenario, report: Report): void {
  for (const problem of problemsOfBase(scenario)) report('error', 'scenario/invalid', problem, 'lora');
}

/** Why layers of the scenario cannot be in few bits, one sentence each; none where they are not, or can. */
export function problemsOfBase({ lora, precision, framework, parallel }: AdaptedScenario): readonly string[] {
  if (lora?.base === undefined) return [];
  const base = `\`base=${lora.base}\``;
  const problems: string[] = [];
  // bitsandbytes and torchao are libraries of PyTorch.
  if (!runsOnPytorch(framework))
    problems.push(`${base} is of PyTorch, which ${framework.name} does not run on; leave it out`);
  else if (!takesOtherLinearLayers(framework))
    problems.push(
      `${base} replaces linear layers of PyTorch, and ${framework.name} has its own; choose pytorch-fsdp`,
    );
  if (parallel !== undefined && parallel.tensor > 1)
    problems.push(
      `${base} keeps each linear layer whole, which \`tp=${parallel.tensor}\` would split; leave out \`tp\``,
    );
  if (isNarrow(precision))
    problems.push(
      `${base} is made whole in half precision and multiplied in it, not in ${precision}; choose bf16`,
    );
  return problems;
}
