/** `layercost report`: the cost of one step of one model in one scenario. */

import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { makeReport } from '../estimate/report/makeReport.ts';
import { renderCsv } from '../estimate/report/renderCsv.ts';
import { renderMarkdown } from '../estimate/report/renderMarkdown.ts';
import { renderTable } from '../estimate/report/renderTable.ts';
import type { Report } from '../estimate/report/report.ts';
import type { Arguments, ReportFormat } from './arguments.ts';
import { costModelFile, openModelFile, printIssues } from './costFile.ts';
import { printData, printMessage } from './streams.ts';

export function runReportCommand(given: Extract<Arguments, { command: 'report' }>): number {
  const file = openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const { cost, costed, issues } = costModelFile(file, given.scenario.request);
  const { analysis } = file.opened;
  if (cost === undefined || analysis === undefined || !costed) {
    printIssues(basename(given.file), issues);
    return 1;
  }
  const text = renderings[given.format](makeReport(file.opened, analysis, cost, issues));
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

const renderings: Readonly<Record<ReportFormat, (report: Report) => string>> = {
  table: renderTable,
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  markdown: renderMarkdown,
  csv: renderCsv,
};
