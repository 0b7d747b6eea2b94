/** Runs the kernels of calibration on a device of this machine, and keeps their times as benchmark results. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type CalibrationRun,
  calibrationFile,
  calibrationModel,
  calibrationRuns,
} from '../benchmark/calibration/calibrationModel.ts';
import { type DeviceChoice, kindOfChoice } from '../benchmark/deviceChoice.ts';
import { type PlannedRun, plannedRun, plannedWithBatch } from '../benchmark/plannedRun.ts';
import { runBenchmark } from '../benchmark/runBenchmark.ts';
import { runSmaller } from '../benchmark/runSmaller.ts';
import type { Precision } from '../model/scenario.ts';
import { keepResult } from '../node/keepResult.ts';
import { costModelFile, openModelFile, withoutFiles } from './costFile.ts';
import { runWithProgress } from './runWithProgress.ts';
import { printMessage } from './streams.ts';

export interface KernelRun {
  readonly device: Exclude<DeviceChoice, 'auto'>;
  /** Seconds to aim at for all kernels, without the starts of Python. */
  readonly seconds: number;
  readonly precision: Precision | undefined;
  readonly python: string | undefined;
  readonly launcher: readonly string[];
}

/** Whether any were kept; what went wrong is printed. */
export async function measureKernels(workspace: string, given: KernelRun): Promise<boolean> {
  const path = join(workspace, '.layercost', 'calibration', calibrationFile);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, calibrationModel);
  } catch (error) {
    printMessage(`layercost: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
  let anyKept = false;
  for (const run of calibrationRuns(kindOfChoice(given.device), given.seconds, given.precision)) {
    const kept = await measure(path, run, given);
    if (kept === undefined) return anyKept;
    printMessage('path' in kept ? `kept ${kept.path}` : `layercost: ${kept.problem}`);
    if ('path' in kept) anyKept = true;
  }
  return anyKept;
}

/** `undefined` where nothing was measured. */
async function measure(
  path: string,
  { request, budgetSeconds }: CalibrationRun,
  given: KernelRun,
): Promise<ReturnType<typeof keepResult>> {
  const file = await openModelFile(path, { request, ...withoutFiles });
  if (file === undefined) return undefined;
  const estimate = costModelFile(file, request);
  const options = { model: file.opened.name, budgetSeconds };
  const first = plannedRun(estimate, options);
  if (first === undefined || 'refusal' in first) return undefined;
  const smaller = (batch: number): PlannedRun | undefined => plannedWithBatch(estimate, batch, options);
  const outcome = await runWithProgress({ ...given, nodes: undefined }, (running) =>
    runSmaller(first, smaller, ({ plan }) => runBenchmark(plan, running)),
  );
  const { plan, scenario } = outcome.made;
  const dimensions = { ...request.dimensions, ...scenario.dimensions };
  return keepResult({ path, plan, scenario: { ...scenario, dimensions }, outcome });
}
