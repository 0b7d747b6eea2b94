/** `layercost/report`: the report of a model, or its scaling curve. A page says why where there is nothing to show. */

import { compareMeasured } from '../../benchmark/compareMeasured.ts';
import { measuredLines } from '../../benchmark/measuredLines.ts';
import type { ModelEstimate } from '../../estimate/estimateModel.ts';
import { stepCharts } from '../../estimate/figures/stepCharts.ts';
import { optionsWithoutEffect } from '../../estimate/optionEffects.ts';
import { glanceAt } from '../../estimate/report/glance.ts';
import { makeReport as reportOfStep } from '../../estimate/report/makeReport.ts';
import { type MeasuredPart, renderHtml } from '../../estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../estimate/report/renderMarkdown.ts';
import { renderTable } from '../../estimate/report/renderTable.ts';
import type { Report } from '../../estimate/report/report.ts';
import { throughputText } from '../../estimate/report/reportText.ts';
import { renderScalingMarkdown, renderScalingText } from '../../estimate/scaling/renderScaling.ts';
import { scaleEstimate } from '../../estimate/scaling/scaleEstimate.ts';
import { renderOverlayHtml, renderScalingHtml } from '../../estimate/scaling/scalingPage.ts';
import { labelOf, valuesOf } from '../../estimate/what-if/scenarioValues.ts';
import { triedCurves } from '../../estimate/what-if/triedCurves.ts';
import { tryScenario } from '../../estimate/what-if/tryScenario.ts';
import { whatIfChoices } from '../../estimate/what-if/whatIfChoices.ts';
import { type ModelView, viewOfModel } from '../../language/modelView.ts';
import { layerNames } from '../../language/wholeLayers.ts';
import { atMost, formatRate } from '../../model/format.ts';
import type { StepCost } from '../../model/stepCost.ts';
import type { Steps } from '../../model/steps.ts';
import { makeReport, type ReportParams, type ReportResult, type TriedScenario } from '../../protocol.ts';
import { runSteps } from '../runSteps.ts';
import type { Request } from './request.ts';

export const report: Request = {
  serve: ({ connection, handler, documents, nextTurn }) => {
    connection.onRequest(
      makeReport,
      handler('report', null, async ({ uri, model, ...asked }: ReportParams, token) => {
        const view = await documents.view(uri);
        if (view === undefined) return null;
        const steps = reportOf(viewOfModel(view, model), asked);
        return (await runSteps(steps, nextTurn, () => token.isCancellationRequested)) ?? null;
      }),
    );
  },
};

/** A report is one step; a scaling curve takes one for each number of GPUs. */
function* reportOf(
  view: ModelView,
  {
    page,
    format,
    nonce,
    change = {},
    compared = [],
  }: Pick<ReportParams, 'page' | 'format' | 'nonce' | 'change' | 'compared'>,
): Steps<ReportResult> {
  const now = view.whole ?? view.estimate;
  const estimate = tryScenario(now, change) ?? now;
  const { opened, cost, costed, issues } = estimate;
  const { name, analysis } = opened;
  if (cost === undefined || analysis === undefined || !costed) {
    const errors = issues.filter((issue) => issue.severity === 'error').map(({ message }) => message);
    const reasons = errors.map((message) => `- ${message}`);
    return {
      name,
      text: [`# ${name}`, '', 'The model cannot be costed.', '', ...reasons, ''].join('\n'),
      refusal: `${name} has no ${page === 'report' ? 'report' : 'scaling curve'}, because no part of it could be costed: ${errors[0] ?? 'the log has the details'}`,
    };
  }
  if (page === 'scaling' && format === 'html' && compared.length > 0)
    return { name, text: renderOverlayHtml(yield* triedCurves(now, compared), nonce) };
  if (page === 'scaling') return yield* scalingOf(estimate, format, nonce);
  const report = reportOfStep(opened, analysis, cost, [...issues, ...optionsWithoutEffect(estimate)]);
  const measured = estimate === now ? measuredPart(view, cost) : undefined;
  if (format !== 'html') {
    const text = format === 'markdown' ? renderMarkdown(report) : renderTable(report);
    return { name, text: [text, ...measuredSection(measured, format)].join('\n') };
  }
  yield;
  const curves = yield* triedCurves(now, [...compared, change]);
  const choices = whatIfChoices(estimate);
  const written = valuesOf(whatIfChoices(now));
  return {
    name,
    text: renderHtml(report, stepCharts(estimate, report, curves), nonce, {
      ...(measured === undefined ? {} : { measured }),
      whatIf: { choices, written },
    }),
    tried: triedOf(report, estimate, valuesOf(choices)),
    layerLines: view.rows.map((row) => ({
      layers: [...layerNames(row)],
      lines: [row.line, ...row.lines.filter((each) => each !== row.line)],
    })),
  };
}

function triedOf(
  report: Report,
  { cost }: ModelEstimate,
  values: Readonly<Record<string, string>>,
): TriedScenario {
  const { throughput, tokenThroughput, time } = report.totals;
  const [step] = glanceAt(report);
  const rate =
    tokenThroughput == null || report.decoding !== undefined
      ? throughputText(report)
      : atMost(formatRate(tokenThroughput, 'tokens'), time.exact);
  return {
    label: labelOf(values),
    result: throughput === null ? `${step?.value}` : `${step?.value}, ${rate}`,
    values,
    throughput,
    fits: cost?.fits !== 'no',
  };
}

/** Layer by layer what was measured, beside what is predicted for the device that ran where it has a profile. */
function measuredPart({ measurements, costOfDevice }: ModelView, cost: StepCost): MeasuredPart | undefined {
  if (measurements === undefined) return undefined;
  const predicted = costOfDevice ?? cost;
  const isOf = costOfDevice === undefined ? ', not the device that ran' : ', as ran';
  return {
    intro: `Measured on ${measurements.origin}. Predicted for ${predicted.gpu}${isOf}.`,
    lines: [
      ...measuredLines(compareMeasured(predicted, measurements), costOfDevice !== undefined),
      ...(measurements.notes ?? []),
    ],
  };
}

function measuredSection(
  measured: MeasuredPart | undefined,
  format: ReportParams['format'],
): readonly string[] {
  if (measured === undefined) return [];
  const { intro, lines } = measured;
  return format === 'markdown'
    ? ['## Measured', '', intro, '', '```text', ...lines, '```', '']
    : ['', intro, '', ...lines, ''];
}

/** Of the scenario that is shown, on the numbers of GPUs that its cluster suggests. */
function* scalingOf(
  estimate: ModelEstimate,
  format: ReportParams['format'],
  nonce: string | undefined,
): Steps<ReportResult> {
  const { name } = estimate.opened;
  const scaling = yield* scaleEstimate(estimate);
  if (scaling === undefined) return { name, text: '' };
  switch (format) {
    case 'html':
      return { name, text: renderScalingHtml(scaling, nonce) };
    case 'markdown':
      return { name, text: renderScalingMarkdown(scaling) };
    case 'text':
      return { name, text: renderScalingText(scaling) };
  }
}
