/** From a path and scenario arguments to a costed model; what is wrong is printed on the way. */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { openModel } from '../analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../estimate/estimateModel.ts';
import { decodeText } from '../formats/byteSource.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { readClusterProfile } from '../hardware/readClusterProfile.ts';
import type { Issue } from '../model/issue.ts';
import type { ScenarioRequest } from '../model/scenario.ts';
import { checkExternalData } from '../node/externalData.ts';
import { openFileSource } from '../node/fileSource.ts';
import type { ScenarioArguments } from './arguments.ts';
import { printMessage } from './streams.ts';

export interface ModelFile {
  readonly opened: OpenedModel;
  /** A person's own profile, where `--cluster` named a file. */
  readonly customCluster: ClusterProfile | undefined;
}

/** Reads the model and the files its scenario names. `undefined` after printing why, where one cannot be read. */
export function openModelFile(path: string, scenario: ScenarioArguments): ModelFile | undefined {
  const customCluster = scenario.clusterFile === undefined ? undefined : readCluster(scenario.clusterFile);
  if (scenario.clusterFile !== undefined && customCluster === undefined) return undefined;
  const file = openFileSource(path);
  if (file.kind === 'failed') {
    printIssues(basename(path), [file.issue]);
    return undefined;
  }
  try {
    const opened = openModel(file.file.source, basename(path), scenario.request.dimensions);
    const external = opened.onnx === undefined ? [] : checkExternalData(opened.onnx, path);
    const located =
      opened.format === 'layer-spec' ? locate(opened.issues, decodeText(file.file.source)) : opened.issues;
    const complete = { ...opened, issues: [...located, ...external] };
    if (complete.analysis === undefined) {
      printIssues(basename(path), complete.issues);
      return undefined;
    }
    return { opened: complete, customCluster };
  } finally {
    file.file.close();
  }
}

/** Costs an opened model; the command line's request wins over what a layer spec asks for. */
export function costModelFile(file: ModelFile, request: ScenarioRequest): ModelEstimate {
  return estimateModel(file.opened, [request, file.opened.scenario], file.customCluster);
}

/** One line per error and warning on standard error: file, severity, code, message. */
export function printIssues(file: string, issues: readonly Issue[]): void {
  for (const issue of issues) {
    if (issue.severity !== 'information')
      printMessage(`${file}: ${issue.severity} ${issue.code}: ${issue.message}`);
  }
}

/** Issues of a text, each with its line and column in front of its message. */
function locate(issues: readonly Issue[], text: string): readonly Issue[] {
  return issues.map((issue) => {
    if (issue.span === undefined) return issue;
    const before = text.slice(0, issue.span.start).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    return { ...issue, message: `line ${before.length}, column ${column}: ${issue.message}` };
  });
}

function readCluster(path: string): ClusterProfile | undefined {
  try {
    const { cluster, issues } = readClusterProfile(readFileSync(path, 'utf8'));
    printIssues(basename(path), issues);
    return cluster;
  } catch (error) {
    printMessage(
      `layercost: cannot read the cluster profile ${path}: ${error instanceof Error ? error.message : String(error)}`,
    );
    return undefined;
  }
}
