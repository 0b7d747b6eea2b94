/** Issues of one analysis: what concerns the same thing is said once, however often it is met. */

import type { Issue } from '../model/issue.ts';

export interface IssueCollector {
  /** Keeps the issue that `make` gives, unless one with this key was kept before. */
  add(key: string, make: () => Issue): void;
}

/** A collector over the list it fills. */
export function collectIssues(issues: Issue[]): IssueCollector {
  const keys = new Set<string>();
  return {
    add: (key, make) => {
      if (keys.has(key)) return;
      keys.add(key);
      issues.push(make());
    },
  };
}
