/** What of a report's scenario nobody chose: its numbers are of a machine and a precision that may not be the reader's. */

import type { Issue } from '../model/issue.ts';
import type { Scenario, ScenarioRequest } from '../model/scenario.ts';

/** One issue that names the defaults and the options that replace them; none where everything was chosen. */
export function defaultsIssue(requests: readonly ScenarioRequest[], scenario: Scenario): readonly Issue[] {
  const isChosen = (key: keyof ScenarioRequest): boolean =>
    requests.some((request) => request[key] !== undefined);
  const assumed = [
    ...(isChosen('cluster') ? [] : [{ value: scenario.cluster, option: '--cluster' }]),
    ...(isChosen('precision') ? [] : [{ value: scenario.precision, option: '--precision' }]),
  ];
  if (assumed.length === 0) return [];
  const join = (part: 'value' | 'option'): string => assumed.map((each) => each[part]).join(' and ');
  return [
    {
      code: 'scenario/defaults',
      severity: 'information',
      message: `Nobody chose ${join('value')}, ${assumed.length === 1 ? 'a default' : 'which are defaults'}: set ${join('option')}`,
    },
  ];
}
