/** The estimate of a file and a scenario that an agent names, or why there is none. */

import type { ModelEstimate } from '../../estimate/estimateModel.ts';
import { makeReport } from '../../estimate/report/makeReport.ts';
import type { Report } from '../../estimate/report/report.ts';
import { scenarioDefaults } from '../../estimate/scenarioDefaults.ts';
import type { Issue } from '../../model/issue.ts';
import { costModelFile, type ModelFile, openModelFile, withOptionEffects } from '../costFile.ts';
import { type GivenScenario, readGivenScenario } from './scenarioSchema.ts';

export interface CostedFile {
  readonly file: ModelFile;
  readonly estimate: ModelEstimate;
  readonly report: Report;
}

/** A text where the file cannot be read or costed: each problem on a line. */
export async function costGiven(path: string, scenario: GivenScenario): Promise<CostedFile | string> {
  const opened = await openGiven(path, scenario);
  if (typeof opened === 'string') return opened;
  return costOpened(path, opened, scenario);
}

/** The file, which can be costed in other scenarios without reading it again. */
export async function openGiven(path: string, scenario: GivenScenario): Promise<ModelFile | string> {
  const problems: string[] = [];
  const file = await openModelFile(path, readGivenScenario(scenario), (place, issues) => {
    problems.push(...linesOf(place, issues));
  });
  return file ?? (problems.join('\n') || `${path} cannot be read`);
}

function costOpened(path: string, file: ModelFile, scenario: GivenScenario): CostedFile | string {
  const { request } = readGivenScenario(scenario);
  const costed = withOptionEffects(costModelFile(file, request), file);
  const estimate = { ...costed, issues: [...costed.issues, ...scenarioDefaults(costed)] };
  const { cost, training, issues } = estimate;
  if (cost === undefined || training === undefined || !estimate.costed)
    return linesOf(path, issues).join('\n') || `${path}: no operator could be costed`;
  return { file, estimate, report: makeReport(file.opened, training.analysis, cost, issues) };
}

/** Errors, or what else there is where nothing is an error. */
function linesOf(path: string, issues: readonly Issue[]): readonly string[] {
  const errors = issues.filter(({ severity }) => severity === 'error');
  return (errors.length > 0 ? errors : issues).map(({ code, message }) => `${path}: ${code}: ${message}`);
}
