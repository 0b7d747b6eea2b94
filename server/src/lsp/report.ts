/** The report of a view; says why where there is none. */

import { makeReport } from '../estimate/report/makeReport.ts';
import { renderMarkdown } from '../estimate/report/renderMarkdown.ts';
import { renderTable } from '../estimate/report/renderTable.ts';
import type { ModelView } from '../language/modelView.ts';
import type { ReportParams, ReportResult } from '../protocol.ts';

export function reportOf(view: ModelView, format: ReportParams['format']): ReportResult {
  const { opened, cost, costed, issues } = view.estimate;
  const { name, analysis } = opened;
  if (cost === undefined || analysis === undefined || !costed) {
    const errors = issues.filter((issue) => issue.severity === 'error').map(({ message }) => message);
    const reasons = errors.map((message) => `- ${message}`);
    return {
      name,
      text: [`# ${name}`, '', 'The model cannot be costed.', '', ...reasons, ''].join('\n'),
      refusal: `${name} has no report, because nothing of it could be costed: ${errors[0] ?? 'the log has the details'}`,
    };
  }
  const report = makeReport(opened, analysis, cost, issues);
  return { name, text: format === 'markdown' ? renderMarkdown(report) : renderTable(report) };
}
