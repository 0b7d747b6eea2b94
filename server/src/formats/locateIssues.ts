/** Issues of a text that no editor shows: where they are is said in words. */

import type { Issue } from '../model/issue.ts';

/** The issues with line and column in front of their messages, in the place of their spans. */
export function locateIssues(issues: readonly Issue[], text: string): readonly Issue[] {
  return issues.map(({ span, ...issue }) => {
    if (span === undefined) return issue;
    const lineStart = text.lastIndexOf('\n', span.start - 1) + 1;
    let line = 1;
    for (let at = text.indexOf('\n'); at >= 0 && at < lineStart; at = text.indexOf('\n', at + 1)) line += 1;
    return { ...issue, message: `line ${line}, column ${span.start - lineStart + 1}: ${issue.message}` };
  });
}
