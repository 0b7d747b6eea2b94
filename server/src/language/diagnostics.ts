/** Issues of the file and findings of the estimate, each on the narrowest range it concerns. */

import type { Severity } from '../model/issue.ts';
import type { IssueCode } from '../model/issueCodes.ts';
import type { Finding, FindingChange } from '../model/stepCost.ts';
import { firstLineWithText, type ModelView, rangeOfIssue, rowOfLayer } from './modelView.ts';
import { type Range, rangeOfLine } from './textLines.ts';

export interface Diagnostic {
  readonly range: Range;
  readonly severity: Severity;
  readonly code: IssueCode;
  readonly message: string;
  /** What the estimate advises, for a program that can do it. */
  readonly change?: FindingChange;
}

export function diagnostics(view: ModelView): readonly Diagnostic[] {
  const issues = view.estimate.issues.map((issue) => ({ issue, range: rangeOfIssue(view, issue) }));
  // What follows from a line that is itself wrong would only repeat it in other words.
  const wrongLines = new Set(
    issues.flatMap(({ issue, range }) =>
      issue.span !== undefined && issue.severity === 'error' ? [range.start.line] : [],
    ),
  );
  const shown = issues
    .filter(({ issue, range }) => issue.operator === undefined || !wrongLines.has(range.start.line))
    .map(({ issue: { code, severity, message }, range }) => ({ range, severity, code, message }));
  return withoutRepetition([...shown, ...diagnosticsOfFindings(view)]);
}

/** Repetitions of a block share a line: the first finding speaks for the others and says how many they are. */
function diagnosticsOfFindings(view: ModelView): readonly Diagnostic[] {
  const groups = new Map<string, { readonly range: Range; readonly findings: Finding[] }>();
  for (const finding of view.estimate.cost?.findings ?? []) {
    const row = finding.layer === '' ? undefined : rowOfLayer(view, finding.layer);
    const range = row?.range ?? rangeOfLine(view.text, firstLineWithText(view.text));
    const key = `${finding.code} ${range.start.line} ${row === undefined ? finding.message : ''}`;
    const group = groups.get(key) ?? { range, findings: [] };
    group.findings.push(finding);
    groups.set(key, group);
  }
  return [...groups.values()].flatMap(({ range, findings }) => {
    const [first] = findings;
    return first === undefined
      ? []
      : [
          {
            range,
            severity: first.severity,
            code: first.code,
            message: [
              first.message,
              ...(first.fix === '' ? [] : [first.fix]),
              ...(findings.length > 1
                ? [`the same holds for ${findings.length - 1} repetitions of this line`]
                : []),
            ].join('. '),
            ...(first.change === undefined ? {} : { change: first.change }),
          },
        ];
  });
}

/** The file's issues may reach the view twice: by reading, and by the report of the estimate. */
function withoutRepetition(all: readonly Diagnostic[]): readonly Diagnostic[] {
  const seen = new Set<string>();
  return all.filter(({ code, message, range }) => {
    const key = `${code} ${range.start.line}:${range.start.character} ${message}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
