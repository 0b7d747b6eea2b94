/** What is said of a scenario while it is filled, and the request that says something first. */

import type { Severity } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';
import type { ScenarioKey } from '../../model/scenarioKey.ts';

/** The key is the one that asked for it. */
export type Report = (
  severity: Severity,
  code: IssueCode,
  message: string,
  key: ScenarioKey,
  unset?: readonly string[],
) => void;

/** What the first request says that says it at all; those before win. */
export function first<Key extends keyof ScenarioRequest>(
  requests: readonly ScenarioRequest[],
  key: Key,
): ScenarioRequest[Key] | undefined {
  return requests.find((request) => request[key] !== undefined)?.[key];
}
