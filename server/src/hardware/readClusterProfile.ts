/** Reads a person's own cluster profile: JSON (or YAML, its superset), checked by schema, errors at the place. */

import { isMap, parseDocument } from 'yaml';
import type { ZodType } from 'zod';
import { schemaProblems } from '../formats/schemaProblems.ts';
import { spanOfKey, spanOfPath } from '../formats/spanOfPath.ts';
import { firstLine, plainValue } from '../formats/yamlDocument.ts';
import type { Issue } from '../model/issue.ts';
import { readableIssues } from '../model/readableIssues.ts';
import type { ClusterProfile } from './clusterProfile.ts';
import { builtInGpus, findGpu } from './gpus.ts';
import { clusterProfileOfFile, gpuProfileOfFile } from './profileOfFile.ts';
import { clusterFile, greatestNumber, isSourced, leastNumber } from './profileSchema.ts';

export function readClusterProfile(text: string): {
  readonly cluster: ClusterProfile | undefined;
  readonly issues: readonly Issue[];
} {
  const harm = whyNotRead(text);
  if (harm !== undefined) return failure([{ ...structureIssue, ...harm }]);
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0) {
    return failure(
      document.errors.map((error) => ({
        ...syntaxIssue,
        message: `The cluster profile is not valid JSON: ${firstLine(error.message)}`,
        span: {
          start: Math.min(error.pos[0], text.length),
          end: Math.min(Math.max(error.pos[0], error.pos[1]), text.length),
        },
      })),
    );
  }
  const contents = document.contents;
  const value = plainValue(document);
  if (contents === null || !isMap(contents)) {
    return failure([
      {
        ...structureIssue,
        message: 'The cluster profile is not an object: give at least "name", "gpu" and "gpusPerNode"',
        span: { start: 0, end: text.length },
      },
    ]);
  }
  const checked = clusterFile.safeParse(value);
  if (!checked.success) {
    return failure(
      schemaProblems(checked.error, clusterFile, value, numberText).map(({ path, message, isKey }) => ({
        ...structureIssue,
        message: `${pathText(path)} ${message}`,
        span: (isKey ? spanOfKey : spanOfPath)(contents, path, text.length),
      })),
    );
  }
  const file = checked.data;
  const gpu = typeof file.gpu === 'string' ? findGpu(file.gpu) : gpuProfileOfFile(file.gpu);
  if (gpu === undefined) {
    return failure([
      {
        code: 'scenario/unknown-cluster',
        severity: 'error',
        message: `"gpu": no built-in GPU is called "${String(file.gpu)}"; describe it here, or use one of ${builtInGpus.map(({ name }) => name).join(', ')}`,
        span: spanOfPath(contents, ['gpu'], text.length),
      },
    ]);
  }
  const cluster = clusterProfileOfFile(file, gpu);
  for (const { path, value } of wholeNumbers(cluster)) {
    if (value === undefined || Number.isInteger(value)) continue;
    return failure([
      {
        ...structureIssue,
        message: `${pathText(path)} must be a whole number, not ${value}`,
        span: spanOfPath(contents, path, text.length),
      },
    ]);
  }
  const ratio = cluster.network?.oversubscription?.ratio.value;
  if (ratio !== undefined && ratio < 1) {
    const path = ['network', 'oversubscription', 'ratio'];
    return failure([
      {
        ...structureIssue,
        message: `${pathText(path)} must be at least 1 (node bandwidth ÷ uplink bandwidth of a switch), not ${ratio}`,
        span: spanOfPath(contents, path, text.length),
      },
    ]);
  }
  if (cluster.gpusPerNode.value > 1 && cluster.link === undefined) {
    return failure([
      {
        ...structureIssue,
        message: `"link" is missing: describe the link between the ${cluster.gpusPerNode.value} GPUs of a node ("kind", "busBandwidthGBs")`,
        span: spanOfPath(contents, ['gpusPerNode'], text.length),
      },
    ]);
  }
  return { cluster, issues: [] };
}

/** The longest of the built-in profiles has a twentieth of this. */
const longestText = 64 * 1024;

const deepestNesting = 64;

/** Collections in collections, each opened by a bracket, or by an indicator on one line. The library reads them by recursion. */
const nestedIndicators = new RegExp(`(?:[-?:][ \\t]+){${deepestNesting + 1}}`);

/** What no profile is: the library for YAML would take seconds over it, or more stack than there is. */
function whyNotRead(text: string): Pick<Issue, 'message' | 'span'> | undefined {
  if (text.length > longestText) {
    const message = `The cluster profile is ${text.length.toLocaleString('en-US')} characters long, more than ${longestText.toLocaleString('en-US')}: check that it is the right file`;
    return { message, span: { start: 0, end: text.length } };
  }
  let depth = 0;
  for (let place = 0; place < text.length; place += 1) {
    const letter = text.charAt(place);
    if (letter === '[' || letter === '{') depth += 1;
    else if (letter === ']' || letter === '}') depth = Math.max(0, depth - 1);
    if (depth > deepestNesting) return { message: tooDeep, span: { start: place, end: place + 1 } };
  }
  const nested = nestedIndicators.exec(text);
  return nested === null
    ? undefined
    : { message: tooDeep, span: { start: nested.index, end: nested.index + 1 } };
}

const tooDeep = `The cluster profile is nested more than ${deepestNesting} levels deep: profiles have three levels`;

const wholeNumbers = ({ gpusPerNode, link, network, host }: ClusterProfile) => [
  { path: ['gpusPerNode'], value: gpusPerNode.value },
  { path: ['link', 'groups', 'gpus'], value: link?.groups?.size.value },
  { path: ['network', 'nics'], value: network?.nics.value },
  {
    path: ['network', 'oversubscription', 'nodesPerSwitch'],
    value: network?.oversubscription?.nodesPerSwitch.value,
  },
  { path: ['host', 'cores'], value: host?.cores?.value },
];

const syntaxIssue = { code: 'cluster/syntax', severity: 'error' } as const;
const structureIssue = { code: 'cluster/structure', severity: 'error' } as const;

const failure = (issues: readonly Issue[]) => ({ cluster: undefined, issues: readableIssues(issues) });

const pathText = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? 'The cluster profile' : `"${path.map(String).join('.')}"`;

const numberText = (type: ZodType): string | undefined =>
  isSourced(type)
    ? `a number from ${leastNumber} to ${greatestNumber}, or { "value": number, "source": "where it comes from" }`
    : undefined;
