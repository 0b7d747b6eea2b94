/** Issues of one lowering: repetitions of a block meet the same mistake again, and it is reported once. */

import type { Issue } from '../../model/issue.ts';

export interface IssueLog {
  readonly issues: readonly Issue[];
  /** How often `report` was called, whether with something new or not. */
  readonly reportCount: number;
  readonly report: (issue: Issue) => void;
}

export function reportOnce(): IssueLog {
  const issues: Issue[] = [];
  const reported = new Set<string>();
  let reportCount = 0;
  return {
    issues,
    get reportCount() {
      return reportCount;
    },
    report: (issue) => {
      reportCount += 1;
      const key = `${issue.code} ${issue.span?.start ?? ''} ${issue.span?.end ?? ''} ${issue.message}`;
      if (reported.has(key)) return;
      reported.add(key);
      issues.push(issue);
    },
  };
}
