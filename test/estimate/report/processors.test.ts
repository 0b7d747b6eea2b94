/** A cluster without GPUs: no page of it counts GPUs. */

import { describe, expect, it } from 'vitest';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { stepCharts } from '../../../server/src/estimate/figures/stepCharts.ts';
import { glanceAt } from '../../../server/src/estimate/report/glance.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { renderHtml } from '../../../server/src/estimate/report/renderHtml.ts';
import { renderTable } from '../../../server/src/estimate/report/renderTable.ts';
import { openGraph } from '../../support/savedActivations.ts';

const estimateOn = (cluster: string) => {
  const opened = openGraph('samples/alexnet.layers.yaml');
  return { opened, estimate: estimateModel(opened, [{ cluster, gpus: 4, globalBatch: 6 }]) };
};

const reportOn = (cluster: string) => {
  const { opened, estimate } = estimateOn(cluster);
  if (estimate.cost === undefined || estimate.training === undefined) throw new Error('no cost');
  return makeReport(opened, estimate.training.analysis, estimate.cost, estimate.issues);
};

describe('four nodes of processors', () => {
  const report = reportOn('cpu-1gbe');

  it('are counted as such in the heading, the totals and the findings', () => {
    const text = renderTable(report);
    expect(text).toContain('4 × (2 × Xeon E5-2630 v4), batch 6, at most 2 per CPU node');
    expect(text).toContain('does not divide by 4 CPU nodes: the busiest CPU node takes 2 samples');
    expect(text).toMatch(/(4 CPU nodes do the work|slower than on fewer CPU nodes)/);
    expect(text).toContain('per CPU node\n');
  });

  it('are counted as such at a glance', () => {
    expect(glanceAt(report).map(({ name }) => name)).toContain('efficiency on 4 CPU nodes');
  });

  it('are what the charts, the tips and the sentence of the limit are of', () => {
    const page = renderHtml(report, stepCharts(estimateOn('cpu-1gbe').estimate, report));
    const seen = page.replaceAll(/<(style|script)[\s\S]*?<\/\1>/g, '').replaceAll(/<[^>]*>/g, ' ');
    expect(seen.match(/[\s\S]{0,30}GPU[\s\S]{0,30}/g) ?? []).toEqual([]);
  });

  it('are named in the data, where GPUs are not', () => {
    expect(report.scenario.device).toBe('CPU node');
    expect(reportOn('dgx-h100').scenario).not.toHaveProperty('device');
  });
});
