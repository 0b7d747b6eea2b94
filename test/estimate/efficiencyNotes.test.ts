/** An efficiency above 100 %, and a single GPU without memory for the step, are explained where they are shown. */

import { expect, it, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../../server/src/estimate/estimateModel.ts';
import { makeReport } from '../../server/src/estimate/report/makeReport.ts';
import { renderHtml } from '../../server/src/estimate/report/renderHtml.ts';
import { renderMarkdown } from '../../server/src/estimate/report/renderMarkdown.ts';
import { renderTable } from '../../server/src/estimate/report/renderTable.ts';
import {
  renderScalingMarkdown,
  renderScalingTable,
} from '../../server/src/estimate/scaling/renderScaling.ts';
import { scaleInSteps } from '../../server/src/estimate/scaling/scaleJob.ts';
import { renderScalingHtml } from '../../server/src/estimate/scaling/scalingPage.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { finish } from '../../server/src/model/steps.ts';

const model = openLayerSpec(
  'inputs: { x: "float32[batch, 4096]" }\nlayers:\n  - fc: Linear(4096) * 24\n',
  'm.layers.yaml',
);

/** So large that a single GPU of 80 GB cannot keep parameters, gradients and state. */
const large = openLayerSpec(
  'inputs: { x: "float32[batch, 8192]" }\nlayers:\n  - fc: Linear(8192) * 100\n',
  'm.layers.yaml',
);

const costOf = (opened: typeof model, request: ScenarioRequest): ModelEstimate =>
  estimateModel(opened, [
    { cluster: 'dgx-a100', gpus: 8, optimizer: 'adamw', precision: 'bf16', ...request },
  ]);

const notesOf = (opened: typeof model, request: ScenarioRequest): readonly string[] =>
  costOf(opened, request).cost?.totals.efficiencyNotes ?? [];

const fsdp = { framework: { name: 'pytorch-fsdp', options: {} }, batch: 8192 };

it('names the part of the update that each GPU takes', () => {
  const { cost } = costOf(model, fsdp);
  expect(cost?.totals.scalingEfficiency).toBeGreaterThan(1.005);
  expect(cost?.totals.efficiencyNotes).toEqual([
    expect.stringMatching(
      /^over 100 %, because each GPU updates 1\/8 of the parameters in .* ms, and a single GPU all in .* ms$/,
    ),
  ]);
});

it('says where a single GPU has no memory for the step', () => {
  expect(notesOf(large, { ...fsdp, batch: 64 }).at(-1)).toMatch(
    /^against a single GPU that would need \d+ GiB of its 79\.1 GiB$/,
  );
});

it('says nothing of an efficiency below 100 % against a step that fits', () => {
  expect(notesOf(model, { batch: 64 })).toEqual([]);
});

test('every rendering says it beside the number', () => {
  const estimate = costOf(model, fsdp);
  const { cost, training } = estimate;
  if (cost === undefined || training === undefined) throw new Error('no cost');
  const report = makeReport(estimate.opened, training.analysis, cost, estimate.issues);
  const curve = (opened: typeof model, request: ScenarioRequest) =>
    finish(scaleInSteps('m', [1, 8], (gpus) => costOf(opened, { ...request, gpus })));
  const scaling = curve(model, fsdp);
  const shown = [
    renderTable(report),
    renderMarkdown(report),
    renderHtml(report),
    renderScalingTable(scaling),
    renderScalingMarkdown(scaling),
    renderScalingHtml(scaling),
  ];
  for (const text of shown)
    expect(text.replaceAll(/\s+/g, ' ')).toMatch(/over 100 %, because each GPU updates/);
  expect(curve(large, { globalBatch: 512 }).notes).toEqual([
    expect.stringMatching(/^A single GPU would need .* GiB of its 79\.1 GiB for the whole batch$/),
  ]);
});
