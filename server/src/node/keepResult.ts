/** Keeps what a benchmark measured in the workspace of its model, whether it came to its end or not. */

import { basename, dirname } from 'node:path';
import { computationOf } from '../benchmark/computation.ts';
import type { BenchmarkPlan } from '../benchmark/planSchema.ts';
import type { BenchmarkOutcome } from '../benchmark/runBenchmark.ts';
import { type SavedResult, savedResult } from '../benchmark/savedResult.ts';
import type { Scenario } from '../model/scenario.ts';
import { fileInWorkspace, thisMachine, workspaceOf, writeResult } from './resultFiles.ts';

export interface RunOfFile {
  /** Of the model file. */
  readonly path: string;
  /** Of several models in the file. */
  readonly model?: string | undefined;
  readonly plan: BenchmarkPlan;
  readonly scenario: Scenario;
  readonly outcome: BenchmarkOutcome;
}

/** The path of the file that was written, or why none was; `undefined` where nothing was measured. */
export function keepResult(
  run: RunOfFile,
): { readonly path: string } | { readonly problem: string } | undefined {
  const result = resultOfRun(run);
  if (result === undefined) return undefined;
  const workspace = workspaceOf(dirname(run.path));
  try {
    return { path: writeResult(workspace, result) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { problem: `the result could not be kept in ${workspace}: ${reason}` };
  }
}

/** `undefined` where nothing was measured. */
export function resultOfRun({ path, model, plan, scenario, outcome }: RunOfFile): SavedResult | undefined {
  const { measurements, failure } = outcome;
  if (measurements === undefined) return undefined;
  const name = fileInWorkspace(workspaceOf(dirname(path)), path);
  return savedResult(
    {
      model: plan.model || basename(path),
      file: model === undefined ? name : `${name}#${model}`,
      layers: plan.layers,
      computation: computationOf(plan, scenario),
      machine: measurements.reached ?? thisMachine(),
      measuredAt: new Date(),
      endedEarly: failure?.message,
    },
    measurements,
  );
}
