/** The report of a view; says why where there is none. */

import { makeReport } from '../estimate/report/makeReport.ts';
import { renderMarkdown } from '../estimate/report/renderMarkdown.ts';
import { renderTable } from '../estimate/report/renderTable.ts';
import type { ModelView } from '../language/modelView.ts';
import type { ReportParams, ReportResult } from '../protocol.ts';

export function reportOf(view: ModelView, format: ReportParams['format']): ReportResult {
  const { opened, cost, issues } = view.estimate;
  const { name, analysis } = opened;
  if (cost === undefined || analysis === undefined) {
    const reasons = issues.filter((issue) => issue.severity === 'error').map((issue) => `- ${issue.message}`);
    return { name, text: [`# ${name}`, '', 'The model cannot be costed.', '', ...reasons, ''].join('\n') };
  }
  const report = makeReport(opened, analysis, cost, issues);
  return { name, text: format === 'markdown' ? renderMarkdown(report) : renderTable(report) };
}
