import { expect, test } from 'vitest';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { findingsToRead } from '../../../server/src/estimate/report/findingsToRead.ts';
import { makeReport } from '../../../server/src/estimate/report/makeReport.ts';
import { renderHtml } from '../../../server/src/estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../../server/src/estimate/report/renderMarkdown.ts';
import { renderTable } from '../../../server/src/estimate/report/renderTable.ts';
import { openGraph } from '../../support/savedActivations.ts';

test('the same advice of several findings is read once, and each has it in the data', () => {
  const opened = openGraph('samples/more/dlrm.layers.yaml');
  const { cost, training, issues } = estimateModel(opened, [opened.scenario]);
  if (cost === undefined || training === undefined) throw new Error('no cost');
  const report = makeReport(opened, training.analysis, cost, issues);
  const advised = report.findings.filter(({ fix }) => fix.startsWith('26 embedding tables make'));
  expect(advised.length).toBeGreaterThan(1);
  for (const text of [renderTable(report), renderMarkdown(report), renderHtml(report)]) {
    expect(text.match(/26 embedding tables make/g)).toHaveLength(1);
    // One finding for all messages that are exposed.
    expect(text.match(/exposed-communication/g)).toHaveLength(1);
  }
});

test('the worst is read first', () => {
  const opened = openGraph('samples/bert-base.onnx');
  const { cost, training, issues } = estimateModel(opened, [{ cluster: 'dgx-h100', gpus: 8 }]);
  if (cost === undefined || training === undefined) throw new Error('no cost');
  const report = makeReport(opened, training.analysis, cost, issues);
  const severities = (findings: typeof report.findings) => findings.map(({ severity }) => severity);
  // As they are found, information about the host comes before the warning.
  expect(severities(report.findings).indexOf('warning')).toBeGreaterThan(0);
  expect(severities(findingsToRead(report))[0]).toBe('warning');
  expect(findingsToRead(report)).toHaveLength(report.findings.length);
});
