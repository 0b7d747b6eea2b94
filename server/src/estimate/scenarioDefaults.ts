/** `scenario/defaults`: costs of a report are for a machine and a precision that may not be the reader's. */

import type { Issue } from '../model/issue.ts';
import type { ModelEstimate } from './estimateModel.ts';

const judged = ['cluster', 'precision'] as const;

/** One issue that names what nobody chose; none where everything was chosen, or nothing is costed. */
export function scenarioDefaults({ asked, scenario }: ModelEstimate): readonly Issue[] {
  if (scenario === undefined) return [];
  const assumed = judged.filter(
    (key) =>
      asked.requests.every((request) => request[key] === undefined) &&
      !(key === 'cluster' && asked.customCluster !== undefined),
  );
  if (assumed.length === 0) return [];
  const values = assumed.map((key) => `\`${scenario[key]}\``).join(' and ');
  const keys = assumed.map((key) => `\`${key}\``).join(' and ');
  return [
    {
      code: 'scenario/defaults',
      severity: 'information',
      message: `${values} ${assumed.length === 1 ? 'is a default' : 'are defaults'}; set ${keys} to choose`,
    },
  ];
}
