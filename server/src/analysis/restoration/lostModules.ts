/**
 * Tells modules and parameters of the exported program of which the file has no operator, and that nothing brings back. A training step
 * runs them.
 */

import { parametersOfProgram } from '../../formats/onnx/graphSignature.ts';
import { placeholdersOfProgram, readByCall } from '../../formats/onnx/recordedCalls.ts';
import type { OnnxGraph, OnnxModel, OnnxNode } from '../../formats/onnx/syntax.ts';
import { formatCount } from '../../model/format.ts';
import type { Issue } from '../../model/issue.ts';
import { lastOfName, moduleOfName } from '../../model/tensorNames.ts';
import { expandFunctions } from '../expandFunctions.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { splitCalls } from '../splitCalls.ts';
import { namesOfLostModules, namesOfLostParameters } from './namesOfLostModules.ts';

/** `undefined` where every module and parameter has an operator, or has it again (`splitCalls.ts`). */
export function lostModules(model: OnnxModel, analysis: ModelAnalysis): Issue | undefined {
  const { graph } = model;
  const all = namesOfLostModules(model);
  if (all.size + namesOfLostParameters(model, graph.nodes, all).length === 0) return undefined;
  const calls = splitCalls(expandFunctions(model).nodes, model).map(({ node }) => node);
  const again = modulesRead(calls, graph);
  const modules = [...all].filter((module) => !again.has(module));
  const parameters = withoutThoseFound(namesOfLostParameters(model, calls, all), model, analysis);
  if (modules.length + parameters.length === 0) return undefined;
  return {
    code: 'graph/lost-modules',
    severity: 'warning',
    message: `${subject(modules, parameters)} read by no operator of the file. The exporter merged equal ones or computed them beforehand, or the program does not call them. The step leaves them out; export with \`optimize=False\` to have them`,
  };
}

/**
 * Without those that the graph has once merged weights are apart: by name, or by last name where a weight has a name that is none of the
 * program's.
 */
function withoutThoseFound(
  names: readonly string[],
  { graph }: OnnxModel,
  { parameters, graph: { values } }: ModelAnalysis,
): readonly string[] {
  const ofProgram = parametersOfProgram(graph);
  const found = new Set(parameters.map(({ name }) => values.get(name)?.literal?.origin?.parameter ?? name));
  const strangers = new Set(
    [...found].flatMap((name) => (ofProgram?.has(name) === true ? [] : [lastOfName(name)])),
  );
  return names.filter((name) => !found.has(name) && !strangers.has(lastOfName(name)));
}

function subject(modules: readonly string[], parameters: readonly string[]): string {
  const [module] = modules;
  const [parameter] = parameters;
  if (module === undefined && parameters.length === 1) return `The parameter \`${parameter}\` is`;
  if (module === undefined)
    return `${formatCount(parameters.length)} parameters, first \`${parameter}\`, are`;
  const count = `${formatCount(modules.length)} module${modules.length === 1 ? '' : 's'}`;
  const others = parameters.length === 0 ? '' : `, and ${formatCount(parameters.length)} more`;
  return `Parameters of ${count}, first those of \`${module}\`${others}, are`;
}

/** Modules whose parameters calls read once those that the exporter merged are apart again. */
function modulesRead(calls: readonly OnnxNode[], graph: OnnxGraph): ReadonlySet<string> {
  const placeholders = placeholdersOfProgram(graph) ?? new Map<string, string>();
  return new Set(calls.flatMap((node) => readByCall(node, placeholders) ?? []).map(moduleOfName));
}
