/** `layercost results`: lists, compares and removes the benchmark results that are kept in the workspace. */

import { dirname } from 'node:path';
import { compareResults } from '../benchmark/compareResults.ts';
import { computationOf } from '../benchmark/computation.ts';
import { planBenchmark } from '../benchmark/planBenchmark.ts';
import { resultTable } from '../benchmark/resultTable.ts';
import type { SavedResult } from '../benchmark/savedResult.ts';
import { staleReason } from '../benchmark/staleReason.ts';
import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { formatCount, formatTime } from '../model/format.ts';
import { didYouMean } from '../model/nearestName.ts';
import {
  fileInWorkspace,
  type ResultFile,
  readResults,
  removeResult,
  thisMachine,
  workspaceOf,
} from '../node/resultFiles.ts';
import { costModelFile, failureStatus, openModelFile, printIssues, splitModelName } from './costFile.ts';
import type { ResultsArguments } from './resultsArguments.ts';
import { printData, printMessage } from './streams.ts';

export async function runResultsCommand(given: ResultsArguments): Promise<number> {
  const workspace = workspaceOf(given.file === undefined ? '.' : dirname(splitModelName(given.file).path));
  const { results, unreadable } = readResults(workspace);
  for (const { path, reason } of unreadable) printMessage(`layercost: ${path} is left out: ${reason}`);

  const asked = given.compare ?? given.remove;
  const unknown = asked.find((id) => !results.some((each) => each.id === id));
  if (unknown !== undefined) {
    const names = results.map(({ id }) => id);
    printMessage(
      `layercost: there is no result ${unknown} in ${workspace}${didYouMean(unknown, names) || '; layercost results lists them'}`,
    );
    return 2;
  }
  if (given.compare !== undefined) {
    const [first, second] = given.compare.map((name) => results.find(({ id }) => id === name));
    if (first === undefined || second === undefined) return 2;
    printData(given.format === 'json' ? comparisonJson(first, second) : resultTable(first, second));
    return 0;
  }
  if (given.remove.length > 0) {
    for (const result of results) {
      if (!given.remove.includes(result.id)) continue;
      removeResult(result);
      printMessage(`removed ${result.path}`);
    }
    return 0;
  }
  return list(given, workspace, results);
}

async function list(
  given: ResultsArguments,
  workspace: string,
  results: readonly ResultFile[],
): Promise<number> {
  if (given.file === undefined) {
    printData(given.format === 'json' ? listJson(results) : listing(workspace, results));
    return 0;
  }
  const file = await openModelFile(given.file, given.scenario);
  if (file === undefined) return 1;
  const { training, scenario, issues } = costModelFile(file, given.scenario.request);
  printIssues(given.file, issues);
  if (training === undefined || scenario === undefined) return failureStatus(file, given.scenario.request);
  const now = computationOf(planBenchmark(training, scenario), scenario);
  const here = thisMachine();
  const { path, model } = splitModelName(given.file);
  const name = fileInWorkspace(workspace, path);
  const ofFile = model === undefined ? name : `${name}#${model}`;
  const states = new Map(results.map(({ id, result }) => [id, staleReason(result, now, here) ?? current]));
  const own = results.filter(
    ({ id, result }) =>
      result.file.split('#')[0] === ofFile || result.file === ofFile || states.get(id) === current,
  );
  printData(given.format === 'json' ? listJson(own, states) : listing(workspace, own, states));
  return 0;
}

const current = 'current';

function listing(
  workspace: string,
  results: readonly ResultFile[],
  states?: ReadonlyMap<string, string>,
): string {
  if (results.length === 0)
    return `No benchmark results are kept in ${workspace}; layercost benchmark FILE measures a model.\n`;
  const rows = results.map(({ id, result }) => [
    id,
    result.file,
    result.device.name,
    result.device.precision,
    String(result.computation.conditions.batch),
    result.step === undefined ? '' : formatTime(result.step.whole),
    formatCount(result.layers.length),
    ...(states === undefined ? [] : [stateText(result, states.get(id) ?? '')]),
  ]);
  return `${layoutColumns(states === undefined ? columns : [...columns, { title: 'state', align: 'left' }], rows).join('\n')}\n`;
}

const stateText = ({ endedEarly }: SavedResult, state: string): string =>
  `${state === current ? current : `stale: ${state}`}${endedEarly === null ? '' : ', ended early'}`;

const columns: readonly Column[] = [
  { title: 'result', align: 'left' },
  { title: 'model', align: 'left' },
  { title: 'device', align: 'left' },
  { title: 'precision', align: 'left' },
  { title: 'batch', align: 'right' },
  { title: 'step', align: 'right' },
  { title: 'layers', align: 'right' },
];

const listJson = (results: readonly ResultFile[], states?: ReadonlyMap<string, string>): string =>
  json(
    results.map(({ id, path, result: { layers, ...result } }) => {
      const state = states?.get(id);
      const stale = state === undefined ? {} : { stale: state === current ? null : state };
      return { id, path, ...result, layersMeasured: layers.length, ...stale };
    }),
  );

const comparisonJson = (first: ResultFile, second: ResultFile): string => {
  const described = ({ id, result: { layers: _, ...result } }: ResultFile) => ({ id, ...result });
  const { step, rows } = compareResults(first.result, second.result);
  return json({ first: described(first), second: described(second), step, layers: rows });
};

const json = (document: unknown): string => `${JSON.stringify(document, null, 2)}\n`;
