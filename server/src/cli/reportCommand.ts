/** `layercost report`: the cost of one step of one model in one scenario. */

import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import { renderCsv } from '../estimate/report/renderCsv.ts';
import { renderHtml } from '../estimate/report/renderHtml.ts';
import { renderMarkdown } from '../estimate/report/renderMarkdown.ts';
import { renderTable } from '../estimate/report/renderTable.ts';
import { renderTrace } from '../estimate/report/renderTrace.ts';
import type { Report } from '../estimate/report/report.ts';
import type { Arguments, ReportFormat } from './arguments.ts';
import { costModelFile, failureStatus, openModelFile, printIssues } from './costFile.ts';
import { printData, printMessage } from './streams.ts';

export async function runReportCommand(given: Extract<Arguments, { command: 'report' }>): Promise<number> {
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const estimate = costModelFile(file, given.scenario.request);
  const text = estimate.costed ? render(estimate, given.format) : undefined;
  if (text === undefined) {
    printIssues(basename(given.file), estimate.issues);
    return failureStatus(file, given.scenario.request);
  }
  if (given.output === undefined) {
    printData(text);
    return 0;
  }
  try {
    writeFileSync(given.output, text);
    printMessage(`wrote ${given.output}`);
    return 0;
  } catch (error) {
    printMessage(
      `layercost: cannot write ${given.output}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return 1;
  }
}

/** `undefined` where the scenario cannot be costed. */
function render(estimate: ModelEstimate, format: ReportFormat): string | undefined {
  const { opened, training, scenario, cluster, cost, issues } = estimate;
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    return undefined;
  }
  return format === 'trace'
    ? renderTrace(training, scenario, cluster)
    : renderings[format](makeReport(opened, training.analysis, cost, issues));
}

const renderings: Readonly<Record<Exclude<ReportFormat, 'trace'>, (report: Report) => string>> = {
  table: renderTable,
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  markdown: renderMarkdown,
  csv: renderCsv,
  html: renderHtml,
};
