/** From a path and scenario arguments to a costed model; what is wrong is printed on the way. */

import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { hasUnknownOperators } from '../analysis/describeOperators.ts';
import type { OpenedModel } from '../analysis/openedModel.ts';
import { type OpenOptions, openModel } from '../analysis/openModel.ts';
import { estimateModel, type ModelEstimate } from '../estimate/estimateModel.ts';
import { optionsWithoutEffect } from '../estimate/optionEffects.ts';
import { readLayerTrace } from '../estimate/plan/readLayerTrace.ts';
import { type ResolvedScenario, resolveScenario } from '../estimate/resolveScenario.ts';
import { type ByteSource, decodeText } from '../formats/byteSource.ts';
import { locateIssues } from '../formats/locateIssues.ts';
import { longestProfile } from '../formats/longestProfile.ts';
import { sniffFormat } from '../formats/sniffFormat.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { findCluster } from '../hardware/clusters.ts';
import { customOperatorsFile } from '../model/declaredOperator.ts';
import type { Issue } from '../model/issue.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import {
  type FrameworkChoice,
  isFrameworkPath,
  type Market,
  type ScenarioRequest,
} from '../model/scenario.ts';
import { checkExternalData } from '../node/externalData.ts';
import { openFileSource } from '../node/fileSource.ts';
import { includeReader } from '../node/includeReader.ts';
import { readTextFile } from '../node/readTextFile.ts';
import { withOptions } from './optionAdvice.ts';
import type { ScenarioArguments } from './scenarioArguments.ts';
import { printMessage } from './streams.ts';

/** Where what is wrong with a file goes. */
type Tell = (file: string, issues: readonly Issue[]) => void;

export interface ModelFile {
  readonly opened: OpenedModel;
  /** A person's own profile, where `--cluster` named a file. */
  readonly customCluster: ClusterProfile | undefined;
  /** A person's own behaviour, where `--framework` named a file. */
  readonly customFramework: FrameworkChoice | undefined;
  /** Measured layer times, where `--layer-trace` named a file. */
  readonly trace: LayerMeasurements | undefined;
  /** A person's own prices, and the day, where a run is asked for. */
  readonly market: Market | undefined;
  /** What a layer spec says, for the places of what is wrong with its scenario. */
  readonly text: string | undefined;
}

/** Of a scenario that names no files. */
export const withoutFiles = {
  clusterFile: undefined,
  frameworkFile: undefined,
  layerTrace: undefined,
} as const;

/**
 * Reads the model and the files its scenario names; `FILE#NAME` is one model of several in a layer spec. `undefined` after
 * telling why, where one cannot be read.
 */
export async function openModelFile(
  named: string,
  scenario: ScenarioArguments,
  tell: Tell = printIssues,
): Promise<ModelFile | undefined> {
  const customCluster =
    scenario.clusterFile === undefined ? undefined : await readCluster(scenario.clusterFile, tell);
  if (scenario.clusterFile !== undefined && customCluster === undefined) return undefined;
  const customFramework =
    scenario.frameworkFile === undefined ? undefined : await readFramework(scenario.frameworkFile, tell);
  if (scenario.frameworkFile !== undefined && customFramework === undefined) return undefined;
  const trace = scenario.layerTrace === undefined ? undefined : readTrace(scenario.layerTrace, tell);
  if (scenario.layerTrace !== undefined && trace === undefined) return undefined;
  const { path, model } = splitModelName(named);
  if (path.endsWith('.safetensors')) {
    const { openWeights } = await import('./openWeights.ts');
    return openWeights(path, (config) => openModelFile(config, scenario, tell), tell);
  }
  const file = openFileSource(path);
  if (file.kind === 'failed') {
    tell(path, [file.issue]);
    return undefined;
  }
  try {
    const gguf = path.endsWith('.gguf')
      ? (await import('./openGguf.ts')).openGguf(file.file.source, path)
      : undefined;
    if (gguf !== undefined && 'issue' in gguf) {
      tell(path, [file.file.spoiled() ?? gguf.issue]);
      return undefined;
    }
    const source = gguf?.config ?? file.file.source;
    const readInclude = includeReader(dirname(path));
    const config = sniffFormat(source, basename(path)).format === 'hugging-face-config';
    const specOfConfig = config
      ? (await import('../lowering/hugging-face/specOfConfig.ts')).specOfConfig
      : undefined;
    const open = (more: Pick<OpenOptions, 'readFramework' | 'operators'> = {}): OpenedModel =>
      openModel(source, basename(path), {
        specOfConfig,
        dimensions: scenario.request.dimensions,
        model,
        readInclude,
        ...more,
      });
    let read = open();
    if (isFrameworkPath(read.scenario.framework?.name ?? '')) {
      const { readFrameworkDescription } = await import('../formats/framework/readFrameworkDescription.ts');
      read = open({ readFramework: readFrameworkDescription });
    }
    const described = hasUnknownOperators(read) ? readInclude(customOperatorsFile) : undefined;
    if (described !== undefined) {
      const { readCustomOperatorsBeside } = await import(
        '../formats/custom-operators/readCustomOperators.ts'
      );
      read = open({ operators: readCustomOperatorsBeside(described) });
    }
    const spoiled = file.file.spoiled();
    if (spoiled !== undefined) {
      tell(path, [spoiled]);
      return undefined;
    }
    const external = read.onnx === undefined ? [] : checkExternalData(read.onnx, path);
    const located = config ? (gguf?.compare(read) ?? read) : withPlaces(read, source);
    const complete = { ...located, issues: [...located.issues, ...external] };
    if (complete.analysis === undefined) {
      tell(path, complete.issues);
      return undefined;
    }
    const text = complete.writtenSpec ?? (complete.layerSpec === undefined ? undefined : decodeText(source));
    const asksForMoney = (scenario.request.run ?? complete.scenario.run) !== undefined;
    const market = asksForMoney ? (await import('../node/ownPrices.ts')).readMarket() : undefined;
    return { opened: complete, customCluster, customFramework, trace, market, text };
  } finally {
    file.file.close();
  }
}

/** `gpt2.layers.yaml#small` is the model `small` of that file, unless there is a file of the whole name. */
export function splitModelName(named: string): { readonly path: string; readonly model: string | undefined } {
  const at = named.lastIndexOf('#');
  if (at <= 0 || at === named.length - 1 || existsSync(named)) return { path: named, model: undefined };
  return { path: named.slice(0, at), model: named.slice(at + 1) };
}

/** The model with the places of its issues in words; they are looked up when the file is still open. */
function withPlaces(opened: OpenedModel, source: ByteSource): OpenedModel {
  const isText = opened.inference !== undefined || opened.issues.some((issue) => issue.span !== undefined);
  if (!isText) return opened;
  const text = decodeText(source);
  const located = (model: OpenedModel): OpenedModel => ({
    ...model,
    issues: locateIssues(model.issues, text),
  });
  const { inference } = opened;
  return {
    ...located(opened),
    ...(inference === undefined ? {} : { inference: () => located(inference()) }),
  };
}

/**
 * Costs an opened model; the command line's request wins over what a layer spec asks for. Measured layer times
 * take the place of predicted ones together with a measured step, so that the step is filled once.
 */
export function costModelFile(file: ModelFile, request: ScenarioRequest): ModelEstimate {
  const { opened, customCluster, trace, text } = file;
  const requests = [requestOf(file, request), opened.scenario];
  const costed = estimateModel(opened, requests, customCluster, trace);
  const estimate = text === undefined ? costed : { ...costed, issues: locateIssues(costed.issues, text) };
  if (estimate.cost === undefined || trace === undefined) return estimate;
  const names = new Set(estimate.cost.layers.map((layer) => layer.name));
  const strangers = [...trace.layers.keys()].filter((name) => !names.has(name));
  return {
    ...estimate,
    issues: [...estimate.issues, ...strangersIssue(trace.origin, strangers)],
  };
}

/** The estimate with an issue for each option that changes nothing of it: costing the step again takes its time. */
export function withOptionEffects(estimate: ModelEstimate, { text }: ModelFile): ModelEstimate {
  const found = optionsWithoutEffect(estimate);
  const issues = text === undefined ? found : locateIssues(found, text);
  return { ...estimate, issues: [...estimate.issues, ...issues] };
}

/**
 * 1 where errors keep part of the model from being costed: what is printed are lower bounds. An error that leaves every
 * cost known, such as a wrong declaration in an exported file, is reported but does not affect the exit status.
 */
export const statusOf = ({ exact }: { readonly exact: boolean }, issues: readonly Issue[]): 0 | 1 =>
  !exact && issues.some(({ severity }) => severity === 'error') ? 1 : 0;

/**
 * Exit status of a model that was read but not costed: 2 where the command line's own scenario is at fault, 1 where
 * the model is, or what a layer spec asks for.
 */
export function failureStatus(file: ModelFile, request: ScenarioRequest): 1 | 2 {
  const resolved = resolvedOf(file, [requestOf(file, request)]);
  return resolved?.issues.some(({ severity }) => severity === 'error') ? 2 : 1;
}

/** The cluster that a model would be costed on, without costing it; `undefined` where the file could not be analysed. */
export const clusterOf = (file: ModelFile, request: ScenarioRequest): ClusterProfile | undefined =>
  file.customCluster ?? resolvedOf(file, [requestOf(file, request), file.opened.scenario])?.cluster;

const resolvedOf = (
  { opened: { analysis }, customCluster }: ModelFile,
  requests: readonly ScenarioRequest[],
): ResolvedScenario | undefined =>
  analysis &&
  resolveScenario(requests, analysis, (name) =>
    name === customCluster?.name ? customCluster : findCluster(name),
  );

/** With what the request leaves to files: a person's own framework, and their prices where money is asked for. */
const requestOf = ({ customFramework, market }: ModelFile, request: ScenarioRequest): ScenarioRequest => ({
  ...request,
  ...(customFramework === undefined ? {} : { framework: customFramework }),
  ...(market === undefined ? {} : { market }),
});

function strangersIssue(origin: string, strangers: readonly string[]): readonly Issue[] {
  if (strangers.length === 0) return [];
  const message = `${origin} measures ${strangers.length} layer${strangers.length === 1 ? '' : 's'} missing from the model, first ${strangers[0]}; use the layer names of the report`;
  return [{ code: 'measurement/trace', severity: 'warning', message }];
}

function readTrace(path: string, tell: Tell): LayerMeasurements | undefined {
  const text = readText('layer trace', path, tell);
  if (text === undefined) return undefined;
  const { measurements, issues } = readLayerTrace(text, basename(path));
  tell(path, issues);
  return measurements;
}

/**
 * One line per error and warning on standard error: file, severity, code, message. Which of several models was taken is
 * no warning, but nobody would know it otherwise.
 */
export function printIssues(file: string, issues: readonly Issue[]): void {
  for (const issue of issues) {
    if (issue.severity !== 'information' || issue.code === 'spec/model')
      printMessage(`${file}: ${issue.severity} ${issue.code}: ${withOptions(issue).message}`);
  }
}

async function readCluster(path: string, tell: Tell): Promise<ClusterProfile | undefined> {
  const text = readText('cluster profile', path, tell, longestProfile);
  if (text === undefined) return undefined;
  const { readClusterProfile } = await import('../hardware/readClusterProfile.ts');
  const { cluster, issues } = readClusterProfile(text);
  tell(path, locateIssues(issues, text));
  return cluster;
}

async function readFramework(choice: FrameworkChoice, tell: Tell): Promise<FrameworkChoice | undefined> {
  const text = readText('framework', choice.name, tell, longestProfile);
  if (text === undefined) return undefined;
  const { readFrameworkDescription } = await import('../formats/framework/readFrameworkDescription.ts');
  const { description, issues } = readFrameworkDescription(text);
  tell(choice.name, locateIssues(issues, text));
  return description && { name: description.name, options: choice.options, description };
}

function readText(what: string, path: string, tell: Tell, longest?: number): string | undefined {
  const read = readTextFile(path, longest);
  if ('text' in read) return read.text;
  tell(path, [{ ...read.issue, message: `${what}: ${read.issue.message}` }]);
  return undefined;
}
