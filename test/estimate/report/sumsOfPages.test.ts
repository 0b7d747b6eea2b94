/** Numbers of a page that a reader would take for a mistake are explained beside them. */

import { expect, test } from 'vitest';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { stepCharts } from '../../../server/src/estimate/figures/stepCharts.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { renderHtml } from '../../../server/src/estimate/report/renderHtml.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { openGraph } from '../../support/savedActivations.ts';

const opened = openGraph('samples/tinyllama.layers.yaml');

function pageOf(request: ScenarioRequest): string {
  const estimate = estimateModel(opened, [request, { cluster: 'dgx-h100', gpus: 16, batch: 1 }]);
  if (estimate.cost === undefined || estimate.training === undefined) throw new Error('no cost');
  const report = makeReport(opened, estimate.training.analysis, estimate.cost, estimate.issues);
  return renderHtml(report, stepCharts(estimate, report));
}

const overStep = /layers add up to more than the step/;
const over = / over (\d+) stages, the most is in/;

test('layers of a pipeline add up to more than its step', () => {
  const page = pageOf({ accumulate: 4, parallel: { pipeline: 4 } });
  expect(page).toMatch(overStep);
  expect(over.exec(page)?.[1]).toBe('4');
});

test('of one stage they do not', () => {
  const page = pageOf({ parallel: { tensor: 2 } });
  expect(page).not.toMatch(overStep);
  expect(page).not.toMatch(over);
});

/** A number and its unit do not break. */
const above = /<b>1\d\d %<\/b><span>[^<]*over 100\u00a0%: Totals say why/;

test('an efficiency above 100 % is not left alone', () => {
  const sharded = { name: 'pytorch-fsdp', options: {} };
  expect(pageOf({ framework: sharded })).toMatch(above);
  expect(pageOf({})).not.toMatch(/over 100\s%/);
});
