/** Opens one model for several scenarios: once for each choice of its dimensions and of the files beside it. */

import { type ModelFile, openModelFile } from './costFile.ts';
import type { ScenarioArguments } from './scenarioArguments.ts';

/** What it gives is `undefined` after telling why, where the model cannot be opened. */
export function openedCases(named: string): (scenario: ScenarioArguments) => Promise<ModelFile | undefined> {
  const files = new Map<string, ModelFile>();
  return async (scenario) => {
    const { clusterFile, frameworkFile, layerTrace, request } = scenario;
    const key = JSON.stringify([clusterFile, frameworkFile, layerTrace, request.dimensions]);
    const file = files.get(key) ?? (await openModelFile(named, scenario));
    if (file !== undefined) files.set(key, file);
    return file;
  };
}
