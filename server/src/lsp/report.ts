/** The report of a view as Markdown; says why where there is none. */

import { makeReport } from '../estimate/report/makeReport.ts';
import { renderMarkdown } from '../estimate/report/renderMarkdown.ts';
import type { ModelView } from '../language/modelView.ts';
import type { ReportResult } from '../protocol.ts';

export function reportOf(view: ModelView): ReportResult {
  const { opened, cost, issues } = view.estimate;
  const { name, analysis } = opened;
  if (cost === undefined || analysis === undefined) {
    const reasons = issues.filter((issue) => issue.severity === 'error').map((issue) => `- ${issue.message}`);
    return {
      name,
      markdown: [`# ${name}`, '', 'The model cannot be costed.', '', ...reasons, ''].join('\n'),
    };
  }
  return { name, markdown: renderMarkdown(makeReport(opened, analysis, cost, issues)) };
}
