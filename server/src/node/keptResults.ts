/** The kept benchmark results of a model file, for an editor: which of them are of the model as it is now. */

import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { URI } from 'vscode-uri';
import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { type Computation, computationOf } from '../benchmark/computation.ts';
import { planBenchmark } from '../benchmark/planBenchmark.ts';
import { measuredWith, resultTable } from '../benchmark/resultTable.ts';
import { measurementsOf, type SavedResult } from '../benchmark/savedResult.ts';
import { staleReason } from '../benchmark/staleReason.ts';
import type { KeptResults, MeasuredOf, MeasuredState } from '../lsp/platform.ts';
import { formatCount, formatTime } from '../model/format.ts';
import type { Scenario } from '../model/scenario.ts';
import {
  fileInWorkspace,
  type ResultFile,
  readResults,
  removeResult,
  resultFolder,
  thisMachine,
  workspaceOf,
} from './resultFiles.ts';

export const keptResults: KeptResults = {
  measuredOf: (uri, model) => {
    const place = placeOf(uri);
    if (place === undefined) return undefined;
    const file = model === undefined ? place.file : `${place.file}#${model}`;
    const own = resultsIn(place.workspace).filter(({ result }) => result.file === file);
    return own.length === 0 ? undefined : measuredOf(own.map(({ result }) => result));
  },
  list: (uri, estimate) =>
    resultsIn(placeOf(uri)?.workspace).map(({ id, path, result }) => {
      const state = measuredOf([result])(estimate);
      const step = result.step === undefined ? 'step not measured' : `step ${formatTime(result.step.whole)}`;
      return {
        id,
        file: URI.file(path).toString(),
        title: `${result.file}: ${step}, ${formatCount(result.layers.length)} layers`,
        measuredWith: measuredWith(result),
        ...(state.kind === 'stale' ? { stale: state.reason } : {}),
        ...(result.endedEarly === null ? {} : { endedEarly: result.endedEarly }),
      };
    }),
  compare: (uri, first, second) => {
    const [one, other] = [first, second].map((name) =>
      resultsIn(placeOf(uri)?.workspace).find(({ id }) => id === name),
    );
    return one && other && resultTable(one, other);
  },
  remove: (uri, name) => {
    const result = resultsIn(placeOf(uri)?.workspace).find(({ id }) => id === name);
    if (result !== undefined) removeResult(result);
  },
};

interface Place {
  readonly workspace: string;
  /** Of the model, as results name it. */
  readonly file: string;
}

function placeOf(uri: string): Place | undefined {
  const { scheme, fsPath } = URI.parse(uri);
  if (scheme !== 'file') return undefined;
  const workspace = workspaceOf(dirname(fsPath));
  return { workspace, file: fileInWorkspace(workspace, fsPath) };
}

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
      : { kind: 'current', measurements: measurementsOf(best, names), device: best.device };
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
function resultsIn(workspace: string | undefined): readonly ResultFile[] {
  const changed = workspace === undefined ? undefined : changedAt(resultFolder(workspace));
  if (workspace === undefined || changed === undefined) return [];
  const known = workspaces.get(workspace);
  if (known?.changed === changed) return known.results;
  const { results } = readResults(workspace);
  workspaces.set(workspace, { changed, results });
  return results;
}
const workspaces = new Map<string, { readonly changed: number; readonly results: readonly ResultFile[] }>();

const changedAt = (folder: string): number | undefined =>
  statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
