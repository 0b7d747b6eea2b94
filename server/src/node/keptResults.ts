/** The kept benchmark results of a model file, for an editor: which of them are of the model as it is now. */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { URI } from 'vscode-uri';
import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { planBenchmark } from '../benchmark/benchmarkPlan.ts';
import { type Computation, computationOf } from '../benchmark/computation.ts';
import { measurementsOf, type SavedResult } from '../benchmark/savedResult.ts';
import { staleReason } from '../benchmark/staleReason.ts';
import type { MeasuredOf, MeasuredState, Platform } from '../lsp/platform.ts';
import type { Scenario } from '../model/scenario.ts';
import { fileInWorkspace, readResults, resultFolder, thisMachine, workspaceOf } from './resultFiles.ts';

export const keptResults: NonNullable<Platform['keptResults']> = (uri, model) => {
  const parsed = URI.parse(uri);
  if (parsed.scheme !== 'file') return undefined;
  const workspace = workspaceOf(dirname(parsed.fsPath));
  const name = fileInWorkspace(workspace, parsed.fsPath);
  const file = model === undefined ? name : `${name}#${model}`;
  const own = resultsIn(workspace).filter((result) => result.file === file);
  return own.length === 0 ? undefined : measuredOf(own);
};

/** Of the results that are of a model as it is now the most complete, else why the newest is not. */
export function measuredOf(newestFirst: readonly SavedResult[]): MeasuredOf {
  const here = thisMachine();
  return ({ training, scenario }): MeasuredState => {
    if (training === undefined || scenario === undefined)
      return { kind: 'stale', reason: 'the model cannot be costed now' };
    const now = knownComputation(training, scenario);
    const names = training.analysis.layers.map((layer) => layer.name);
    const reasons = newestFirst.map((saved) => staleReason(saved, now, here));
    const current = newestFirst
      .filter((_, index) => reasons[index] === undefined)
      .toSorted((one, other) => completeness(other) - completeness(one));
    const [best] = current;
    return best === undefined
      ? { kind: 'stale', reason: reasons[0] ?? 'no result is of it' }
      : { kind: 'current', measurements: measurementsOf(best, names) };
  };
}

/** Sorting keeps the newest first among equals. */
const completeness = ({ step, layers }: SavedResult): number =>
  layers.length + (step === undefined ? 0 : 0.5);

/** A view is made again more often than its model and scenario are. */
function knownComputation(training: TrainingGraph, scenario: Scenario): Computation {
  const known = computations.get(training);
  if (known !== undefined && known.scenario === scenario) return known.computation;
  const computation = computationOf(planBenchmark(training, scenario), scenario);
  computations.set(training, { scenario, computation });
  return computation;
}
const computations = new WeakMap<
  TrainingGraph,
  { readonly scenario: Scenario; readonly computation: Computation }
>();

/** Read again when a file came or went: a view asks after every keystroke. */
function resultsIn(workspace: string): readonly SavedResult[] {
  const changed = changedAt(resultFolder(workspace));
  if (changed === undefined) return [];
  const known = workspaces.get(workspace);
  if (known?.changed === changed) return known.results;
  const results = readResults(workspace).results.map(({ result }) => result);
  workspaces.set(workspace, { changed, results });
  return results;
}
const workspaces = new Map<string, { readonly changed: number; readonly results: readonly SavedResult[] }>();

function changedAt(folder: string): number | undefined {
  return statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
}
