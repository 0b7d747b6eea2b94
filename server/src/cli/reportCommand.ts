/** `layercost report`: the cost of one step of one model in one scenario. */

import { type Chart, chartFile, chartOf } from '../charts/chart.ts';
import { label } from '../charts/shapes.ts';
import type { ModelEstimate } from '../estimate/estimateModel.ts';
import { stepCharts } from '../estimate/figures/stepCharts.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import { renderCsv } from '../estimate/report/renderCsv.ts';
import { renderHtml } from '../estimate/report/renderHtml.ts';
import { renderMarkdown } from '../estimate/report/renderMarkdown.ts';
import { renderTable } from '../estimate/report/renderTable.ts';
import { renderTrace } from '../estimate/report/renderTrace.ts';
import type { Report } from '../estimate/report/report.ts';
import { shortReport } from '../estimate/report/shortReport.ts';
import { scenarioDefaults } from '../estimate/scenarioDefaults.ts';
import { triedCurves } from '../estimate/what-if/triedCurves.ts';
import { finish } from '../model/steps.ts';
import {
  costModelFile,
  failureStatus,
  openModelFile,
  printIssues,
  statusOf,
  withOptionEffects,
} from './costFile.ts';
import { withOptions } from './optionAdvice.ts';
import { terminalWidth } from './printsToTerminal.ts';
import type { ReportArguments, ReportFormat } from './reportArguments.ts';
import { printOrWrite } from './writeOutput.ts';

/** `write` takes the text to where `--output` says. */
export async function runReportCommand(given: ReportArguments, write = printOrWrite): Promise<number> {
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const estimate = withDefaults(withOptionEffects(costModelFile(file, given.scenario.request), file));
  const text = estimate.costed ? render(estimate, given) : undefined;
  if (text === undefined) {
    printIssues(given.file, estimate.issues);
    return failureStatus(file, given.scenario.request);
  }
  // The other renderings say it themselves.
  if (given.format === 'csv' || given.format === 'trace') printIssues(given.file, estimate.issues);
  const status = estimate.cost === undefined ? 1 : statusOf(estimate.cost.totals, estimate.issues);
  return write(given.output, text) ? status : 1;
}

/** The estimate with what of its scenario nobody chose. */
const withDefaults = (estimate: ModelEstimate): ModelEstimate => ({
  ...estimate,
  issues: [...estimate.issues, ...scenarioDefaults(estimate)],
});

/** `--width`, or the width of the terminal; a table for a file or a pipe is as wide as it needs to be. */
function widthOf({ width, output }: ReportArguments): number | undefined {
  if (width !== undefined || output !== undefined) return width;
  return terminalWidth();
}

/** `undefined` where the scenario cannot be costed. */
function render(estimate: ModelEstimate, given: ReportArguments): string | undefined {
  const { opened, training, scenario, cluster, cost, issues } = estimate;
  if (training === undefined || scenario === undefined || cluster === undefined || cost === undefined) {
    return undefined;
  }
  const { format } = given;
  if (format === 'trace') return renderTrace(training, scenario, cluster, estimate.measurements);
  const report = makeReport(opened, training.analysis, cost, issues.map(withOptions));
  if (format === 'html' || format === 'svg') {
    const charts = stepCharts(estimate, report, finish(triedCurves(estimate, [])));
    return format === 'html' ? renderHtml(report, charts) : oneChart(charts, given.chart);
  }
  return renderings[format](report, widthOf(given), given.summary, given.top);
}

/** A chart that has nothing to show is a drawing of its name. */
function oneChart(charts: readonly Chart[], name: string | undefined): string {
  const chart =
    charts.find((each) => each.name === name) ??
    chartOf({
      name: name ?? 'chart',
      title: name ?? 'chart',
      summary: 'There is nothing to show.',
      width: 320,
      height: 40,
      body: [label(8, 24, `${name}: nothing to show`)],
    });
  return chartFile(chart);
}

const renderings: Readonly<
  Record<
    Exclude<ReportFormat, 'trace' | 'html' | 'svg'>,
    (report: Report, width?: number, isSummary?: boolean, top?: number) => string
  >
> = {
  table: renderTable,
  json: (report, _, isSummary, top) => {
    const listed = isSummary ? 0 : top;
    const shown = listed === undefined ? report : shortReport(report, listed);
    return `${JSON.stringify(shown, null, 2)}\n`;
  },
  markdown: renderMarkdown,
  csv: renderCsv,
};
