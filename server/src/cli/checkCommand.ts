/** `layercost check`: models against their budgets, and against another revision. Exit status 3: a budget is broken. */

import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type AcceptedFinding, readBaseline, writeBaseline } from '../check/acceptedFindings.ts';
import type { Check } from '../check/checkFile.ts';
import { failed, judge } from '../check/judge.ts';
import { type Judgement, statusOfJudgements } from '../check/judgement.ts';
import { readCheckFile } from '../check/readCheckFile.ts';
import { renderComment } from '../check/render/renderComment.ts';
import { renderGithub } from '../check/render/renderGithub.ts';
import { renderCheckJson } from '../check/render/renderJson.ts';
import { renderJunit } from '../check/render/renderJunit.ts';
import { renderSarif } from '../check/render/renderSarif.ts';
import { renderCheckTable } from '../check/render/renderTable.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import type { Report } from '../estimate/report/report.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import { longestProfile } from '../formats/longestProfile.ts';
import { isFrameworkPath } from '../model/scenario.ts';
import { readTextFile } from '../node/readTextFile.ts';
import type { CheckArguments, CheckFormat } from './checkArguments.ts';
import { costModelFile, openModelFile, printIssues } from './costFile.ts';
import { openRevision, pathInRepository } from './gitRevision.ts';
import { WrongArgument, wholeNumber } from './optionValues.ts';
import { packageVersion } from './packageVersion.ts';
import { parseOptions } from './parseOptions.ts';
import { readScenario, type ScenarioArguments, scenarioOptions } from './scenarioArguments.ts';
import { printMessage } from './streams.ts';
import { printOrWrite, writeOutput } from './writeOutput.ts';

export async function runCheckCommand(given: CheckArguments): Promise<number> {
  if (!existsSync(given.file)) {
    printMessage(firstFile(given.file));
    return 2;
  }
  const text = textOf(given.file);
  if (text === undefined) return 2;
  const { file, issues } = readCheckFile(text);
  if (file === undefined) {
    printIssues(given.file, locateIssues(issues, text));
    return 2;
  }
  const accepted = acceptedIn(given.baseline);
  if (accepted === undefined) return 2;
  const folder = dirname(given.file);
  const base = given.base === undefined ? undefined : openRevision(folder, given.base);
  if (base?.kind === 'failed') {
    printMessage(`layercost: --base ${given.base}: ${base.message}`);
    return 2;
  }
  try {
    const judgements: Judgement[] = [];
    for (const check of file.checks) {
      judgements.push(await judgeIn(folder, base?.revision.folder, check, lineIn(text), accepted));
    }
    if (
      given.writeBaseline !== undefined &&
      !writeOutput(given.writeBaseline, writeBaseline(judgements), 'w')
    )
      return 1;
    const path = pathInRepository(folder, basename(given.file)) ?? given.file;
    const rendered = renderings[given.format](judgements, path);
    return printOrWrite(given.output, rendered) ? statusOfJudgements(judgements) : 1;
  } finally {
    base?.revision.close();
  }
}

const renderings: Readonly<Record<CheckFormat, (judgements: readonly Judgement[], path: string) => string>> =
  {
    table: renderCheckTable,
    json: renderCheckJson,
    sarif: (judgements, path) => renderSarif(judgements, { path, version: packageVersion() }),
    junit: renderJunit,
    github: renderGithub,
    markdown: renderComment,
  };

async function judgeIn(
  folder: string,
  baseFolder: string | undefined,
  check: Check,
  lineOf: (offset: number) => number,
  accepted: readonly AcceptedFinding[],
): Promise<Judgement> {
  const line = lineOf(check.span.start);
  const report = await reportOf(folder, check);
  if (typeof report === 'string') return failed(check, line, report);
  // At the base a model may not be there yet, or may be one that cannot be costed: then it is new.
  const base = baseFolder === undefined ? undefined : await reportOf(baseFolder, check);
  return judge({
    check,
    report,
    base: typeof base === 'string' ? undefined : base,
    hasBase: baseFolder !== undefined,
    lineOf,
    accepted,
  });
}

/** The report of a check's model below a folder, or why there is none. */
async function reportOf(folder: string, check: Check): Promise<Report | string> {
  let scenario: ScenarioArguments;
  try {
    scenario = scenarioOf(folder, check);
  } catch (error) {
    if (error instanceof WrongArgument) return `its scenario is wrong: ${error.message}`;
    throw error;
  }
  const problems: string[] = [];
  const file = await openModelFile(join(folder, check.model), scenario, (_, issues) => {
    for (const { severity, message } of issues) if (severity === 'error') problems.push(message);
  });
  if (file === undefined) return `${check.model}: ${problems[0] ?? 'it cannot be read'}`;
  const { cost, costed, training, issues } = costModelFile(file, scenario.request);
  if (cost === undefined || training === undefined || !costed) {
    const reason = issues.find(({ severity }) => severity === 'error')?.message;
    return `${check.model}: ${reason ?? 'no operator could be costed'}`;
  }
  return makeReport(file.opened, training.analysis, cost, issues);
}

/** The options as the command line reads them; paths are from the folder of the file of checks. */
function scenarioOf(folder: string, { scenario }: Check): ScenarioArguments {
  const words = scenario.flatMap(({ name, value }) => [
    `--${name}=${isPath(name, value) ? join(folder, value) : value}`,
  ]);
  const { values } = parseOptions(words, scenarioOptions);
  return readScenario(values, wholeNumber('--gpus', values.gpus, 1));
}

const isPath = (name: string, value: string): boolean =>
  name === 'layer-trace' ||
  (name === 'cluster' && /[\\/]|\.json$/i.test(value)) ||
  (name === 'framework' && isFrameworkPath(value.split(',')[0] ?? ''));

const lineIn =
  (text: string) =>
  (offset: number): number =>
    text.slice(0, offset).split('\n').length;

function acceptedIn(path: string | undefined): readonly AcceptedFinding[] | undefined {
  if (path === undefined) return [];
  const text = textOf(path);
  if (text === undefined) return undefined;
  const accepted = readBaseline(text);
  if (accepted === undefined)
    printMessage(`layercost: ${path} is not a baseline; --write-baseline ${path} makes one`);
  return accepted;
}

function textOf(path: string): string | undefined {
  const read = readTextFile(path, longestProfile);
  if ('text' in read) return read.text;
  printMessage(`layercost: ${read.issue.message}`);
  return undefined;
}

/** Who runs `check` for the first time has no file yet. */
const firstFile = (path: string): string => `layercost: there is no ${path}; write one, such as

checks:
  my model:
    model: model.onnx
    scenario: { cluster: dgx-h100, gpus: 8, batch: 32 }
    budgets: { step: 100 ms, memory: 70 GiB }

(docs/check.md)`;
