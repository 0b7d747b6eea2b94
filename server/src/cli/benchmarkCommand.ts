/** `layercost benchmark`: runs the model's step for real and puts measured beside predicted. */

import { dirname } from 'node:path';
import type { BenchmarkMeasurements } from '../benchmark/benchmarkMeasurements.ts';
import { compareMeasured, type MeasuredComparison } from '../benchmark/compareMeasured.ts';
import { layerSum, layerSumLines } from '../benchmark/layerSum.ts';
import { stateText } from '../benchmark/machineState.ts';
import { measuredLines } from '../benchmark/measuredLines.ts';
import { type PlannedRun, plannedRun, plannedWithBatch } from '../benchmark/plannedRun.ts';
import type { BenchmarkPlan } from '../benchmark/planSchema.ts';
import { runBenchmark } from '../benchmark/runBenchmark.ts';
import { runSmaller } from '../benchmark/runSmaller.ts';
import { runTrace } from '../benchmark/runTrace.ts';
import { planSharedStep } from '../benchmark/sharedStep.ts';
import { predictedOn, predictedSharedStep, sharedStepLines } from '../benchmark/sharedStepLines.ts';
import { traceLines } from '../benchmark/traceLines.ts';
import { formatBytes, formatTime } from '../model/format.ts';
import { bytes } from '../model/units.ts';
import { keepResult } from '../node/keepResult.ts';
import { machineOfDevice } from '../node/machineFile.ts';
import { workspaceOf } from '../node/resultFiles.ts';
import type { BenchmarkArguments } from './benchmarkArguments.ts';
import { costModelFile, failureStatus, openModelFile, printIssues, splitModelName } from './costFile.ts';
import { costOfDevice } from './costOfDevice.ts';
import { runWithProgress } from './runWithProgress.ts';
import { printData, printMessage } from './streams.ts';
import { writeOutput } from './writeOutput.ts';

export async function runBenchmarkCommand(given: BenchmarkArguments): Promise<number> {
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const estimate = costModelFile(file, given.scenario.request);
  printIssues(given.file, estimate.issues);
  const options = { model: file.opened.name, caches: given.caches };
  const first = plannedRun(estimate, options);
  if (first === undefined) return failureStatus(file, given.scenario.request);
  if ('refusal' in first) {
    printMessage(`${given.file}: error: ${first.refusal}`);
    return 1;
  }
  const smaller = (batch: number): PlannedRun | undefined => plannedWithBatch(estimate, batch, options);
  if (given.trace !== undefined) return traceStep(given, given.trace, first, smaller);
  const { ranks } = given;
  const shared = ranks === undefined ? undefined : planSharedStep(first.plan, first.scenario);
  if (shared !== undefined && 'refusal' in shared) {
    printMessage(`${given.file}: error: ${shared.refusal}`);
    return 1;
  }
  // A smaller batch changes neither parameters nor the blocks that own them.
  const sharing = ranks === undefined || shared === undefined ? {} : { shared: { ranks, how: shared.how } };
  const outcome = await runWithProgress(given, (running) =>
    runSmaller(first, smaller, ({ plan }) => runBenchmark(plan, { ...running, ...sharing })),
  );
  if (outcome.measurements === undefined) return 1;
  const { plan, scenario, cost } = outcome.made;
  if (outcome.measurements.sharedStep !== undefined) {
    const { sharedStep, wholeStep, device, machineState = null, notes } = outcome.measurements;
    const { globalBatch: _, nodes: __, ...asked } = given.scenario.request;
    const predicted = costModelFile(file, { ...asked, gpus: sharedStep.ranks, batch: plan.batch }).cost;
    const beside =
      predicted === undefined ? null : { for: predictedOn(predicted), ...predictedSharedStep(predicted) };
    const json = { device, machineState, sharedStep, alone: wholeStep, predicted: beside, notes };
    printData(
      given.format === 'json'
        ? `${JSON.stringify(json, null, 2)}\n`
        : sharedStepLines(outcome.measurements, sharedStep, predicted),
    );
    return outcome.failure === undefined ? 0 : 1;
  }
  // Sizes of a layer spec are bound when it is opened; a result can be opened again with them.
  const dimensions = { ...given.scenario.request.dimensions, ...scenario.dimensions };
  const kept = keepResult({
    ...splitModelName(given.file),
    plan,
    scenario: { ...scenario, dimensions },
    outcome,
  });
  if (kept !== undefined) printMessage('path' in kept ? `kept ${kept.path}` : `layercost: ${kept.problem}`);
  const { program } = outcome.measurements;
  if (given.keep !== undefined && program === undefined)
    printMessage('layercost: the step ran operator by operator: nothing to keep');
  if (given.keep !== undefined && program !== undefined) {
    if (!writeOutput(given.keep, program, 'w')) return 1;
    printMessage(`wrote ${given.keep}`);
  }
  const { device } = outcome.measurements;
  const machine = machineOfDevice(workspaceOf(dirname(splitModelName(given.file).path)), device);
  const ofDevice = costOfDevice(file, given.scenario.request, scenario, device, machine);
  const predicted = ofDevice ?? cost;
  const comparison = compareMeasured(predicted, outcome.measurements);
  printData(
    given.format === 'json'
      ? json(comparison, outcome.measurements, predicted.gpu, plan)
      : table(
          comparison,
          outcome.measurements,
          plan,
          ofDevice !== undefined,
          ofDevice === undefined
            ? `${cost.gpu}, not for the device that ran`
            : machine === undefined
              ? `${ofDevice.gpu}, as ran`
              : machine.title,
        ),
  );
  return outcome.failure === undefined ? 0 : 1;
}

async function traceStep(
  given: BenchmarkArguments,
  path: string,
  first: PlannedRun,
  smaller: (batch: number) => PlannedRun | undefined,
): Promise<number> {
  const { made, measurements, failure } = await runWithProgress(given, (options) =>
    runSmaller(first, smaller, ({ plan }) => runTrace(plan, options)),
  );
  if (measurements === undefined) return 1;
  const { file, layers, ...traced } = measurements;
  if (!writeOutput(path, file, 'w')) return 1;
  printMessage(`wrote ${path}: open it at https://ui.perfetto.dev`);
  const order = made.plan.layers.map(({ name }) => name);
  printData(
    given.format === 'json'
      ? `${JSON.stringify({ ...traced, layers: Object.fromEntries(layers) }, null, 2)}\n`
      : traceLines(measurements, order),
  );
  return failure === undefined ? 0 : 1;
}

function table(
  comparison: MeasuredComparison,
  measured: BenchmarkMeasurements,
  plan: BenchmarkPlan,
  isOfDevice: boolean,
  predictedOn: string,
): string {
  const { device, wholeStep } = measured;
  const onGpu = device.kind !== 'cpu';
  const state = measured.machineState === undefined ? '' : stateText(measured.machineState);
  const label = onGpu ? `GPU: ${device.name}` : `CPU, not a GPU: ${device.name}`;
  return [
    `measured on ${label}, ${device.precision}, torch ${device.torch}${device.cuda === undefined ? '' : `, CUDA ${device.cuda}`}`,
    ...(state === '' ? [] : [state]),
    `predicted for ${predictedOn}`,
    '',
    ...measuredLines(comparison, onGpu || isOfDevice),
    ...layerSumLines(measured, plan),
    ...(wholeStep?.peakMemoryBytes === undefined
      ? []
      : [
          `peak memory measured        ${formatBytes(bytes(wholeStep.peakMemoryBytes))}${wholeStep.peakReservedBytes === undefined ? '' : `, ${formatBytes(bytes(wholeStep.peakReservedBytes))} with what PyTorch keeps for later`}`,
        ]),
    ...(wholeStep?.host === undefined ? [] : [`host launches a step in     ${formatTime(wholeStep.host)}`]),
    ...notMeasuredLines(measured),
    ...measured.notes.map((note) => `note: ${note}`),
    '',
  ].join('\n');
}

function notMeasuredLines({ notMeasured }: BenchmarkMeasurements): string[] {
  if (notMeasured.size === 0) return [];
  return [
    '',
    `Not measured (${notMeasured.size}):`,
    ...[...notMeasured].map(([name, reason]) => `  ${name === '' ? 'the whole step' : name}: ${reason}`),
  ];
}

function json(
  comparison: MeasuredComparison,
  measured: BenchmarkMeasurements,
  predictedOn: string,
  plan: BenchmarkPlan,
): string {
  const document = {
    device: measured.device,
    machineState: measured.machineState ?? null,
    predictedFor: predictedOn,
    step: {
      ...comparison.step,
      ...(measured.wholeStep === undefined ? {} : { details: measured.wholeStep }),
    },
    layerSum: layerSum(measured, plan),
    layers: comparison.rows.map((row) => {
      const { forwardInStep = null } = measured.layers.get(row.name) ?? {};
      return { ...row, forwardInStep };
    }),
    notMeasured: [...measured.notMeasured].map(([layer, reason]) => ({ layer, reason })),
    notes: measured.notes,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
