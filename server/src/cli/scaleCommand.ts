/** `layercost scale`: step time, throughput, efficiency, memory and what limits them, by number of GPUs. */

import { gpuCounts } from '../estimate/scaling/gpuCounts.ts';
import {
  renderScalingCsv,
  renderScalingMarkdown,
  renderScalingTable,
} from '../estimate/scaling/renderScaling.ts';
import { type Scaling, scaleInSteps } from '../estimate/scaling/scaleJob.ts';
import {
  renderOverlayCsv,
  renderOverlayJson,
  renderOverlayMarkdown,
  renderOverlayTable,
  type ScalingCurve,
} from '../estimate/scaling/scalingOverlay.ts';
import { renderOverlayHtml, renderScalingHtml } from '../estimate/scaling/scalingPage.ts';
import type { ScenarioRequest } from '../model/scenario.ts';
import { finish } from '../model/steps.ts';
import {
  clusterOf,
  costModelFile,
  failureStatus,
  type ModelFile,
  printIssues,
  statusOf,
  withOptionEffects,
} from './costFile.ts';
import { openedCases } from './openedCases.ts';
import type { ScaleArguments, ScaleFormat } from './scaleArguments.ts';
import type { ScenarioArguments } from './scenarioArguments.ts';
import { printOrWrite } from './writeOutput.ts';

/** Points that cannot be costed are left out after saying why; the others are printed all the same. */
export async function runScaleCommand(given: ScaleArguments): Promise<number> {
  const curves: ScalingCurve[] = [];
  let status = 0;
  const open = openedCases(given.file);
  for (const { values, scenario } of given.cases) {
    const file = await open(scenario);
    if (file === undefined) return 1;
    const curve = scaleIn(given, scenario, file);
    if (curve.status !== 0) status = curve.status;
    if (curve.scaling.points.length > 0) curves.push({ values, scaling: curve.scaling });
  }
  const [first] = curves;
  if (first === undefined) return status;
  const text =
    given.cases.length === 1 ? render[given.format](first.scaling) : renderOverlay[given.format](curves);
  return printOrWrite(given.output, text) ? status : 1;
}

function scaleIn(
  given: ScaleArguments,
  { request }: ScenarioArguments,
  file: ModelFile,
): { readonly scaling: Scaling; readonly status: number } {
  const counts = given.gpus ?? usualCounts(file, request);
  const { nodes: _, ...onAnyNodes } = request;
  const scaling = finish(
    scaleInSteps(
      file.opened.name,
      counts,
      (gpus) => costModelFile(file, { ...request, gpus }),
      () => costModelFile(file, { ...onAnyNodes, gpus: 1 }),
    ),
  );
  printIssues(given.file, scaling.issues);
  const others = Object.keys(request).filter((key) => key !== 'gpus' && key !== 'batch' && key !== 'cluster');
  if (others.length > 0) {
    // On the most GPUs: what has no effect there has none on fewer.
    const most = Math.max(...scaling.points.map(({ gpus }) => gpus), 1);
    const { issues } = withOptionEffects(costModelFile(file, { ...request, gpus: most }), file);
    printIssues(
      given.file,
      issues.filter(({ code }) => code === 'scenario/no-effect'),
    );
  }
  const [firstMissing] = scaling.missing;
  const exact = scaling.points.every(({ memoryExact }) => memoryExact);
  const status =
    firstMissing === undefined
      ? statusOf({ exact }, scaling.issues)
      : failureStatus(file, { ...request, gpus: firstMissing });
  return { scaling, status };
}

const usualCounts = (file: ModelFile, request: ScenarioRequest): readonly number[] => {
  const cluster = clusterOf(file, request);
  return cluster === undefined ? [1] : gpuCounts(cluster);
};

const render: Readonly<Record<ScaleFormat, (scaling: Scaling) => string>> = {
  table: renderScalingTable,
  json: ({ points }) => `${JSON.stringify(points, null, 2)}\n`,
  markdown: renderScalingMarkdown,
  csv: renderScalingCsv,
  html: renderScalingHtml,
};

const renderOverlay: Readonly<Record<ScaleFormat, (curves: readonly ScalingCurve[]) => string>> = {
  table: renderOverlayTable,
  json: renderOverlayJson,
  markdown: renderOverlayMarkdown,
  csv: renderOverlayCsv,
  html: renderOverlayHtml,
};
