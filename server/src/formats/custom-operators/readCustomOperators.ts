/** Reads a file that describes custom operators: YAML or JSON, checked by schema, errors at the place. */

import { isMap, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { DeclaredOperator, DeclaredOperators } from '../../model/declaredOperator.ts';
import { customOperatorsFile, operatorOfKey } from '../../model/declaredOperator.ts';
import type { Issue } from '../../model/issue.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { parseExpression } from '../layer-spec/parseExpression.ts';
import type { Expression } from '../layer-spec/syntax.ts';
import { locateIssues } from '../locateIssues.ts';
import { schemaProblems } from '../schemaProblems.ts';
import { spanOfKey, spanOfPath } from '../spanOfPath.ts';
import { firstLine, plainValue } from '../yamlDocument.ts';
import { type customOperator, customOperators } from './customOperatorsSchema.ts';

export interface ReadCustomOperators {
  /** Those that could be read: an operator with a mistake is left out, the others hold. */
  readonly operators: DeclaredOperators;
  readonly issues: readonly Issue[];
}

/** The same, with the places of mistakes in words: they are those of another text than the model's. */
export function readCustomOperatorsBeside(text: string): ReadCustomOperators {
  const { operators, issues } = readCustomOperators(text);
  return {
    operators,
    issues: locateIssues(issues, text).map(({ span: _, ...issue }) => ({
      ...issue,
      message: `${customOperatorsFile}: ${issue.message}`,
    })),
  };
}

export function readCustomOperators(text: string): ReadCustomOperators {
  const failed = (message: string, start = 0, end = text.length): ReadCustomOperators => ({
    operators: new Map(),
    issues: [{ code: 'operators/file', severity: 'error', message, span: { start, end } }],
  });
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const start = Math.min(error.pos[0], text.length);
    return failed(
      `The file is not valid YAML: ${firstLine(error.message)}`,
      start,
      Math.min(text.length, start + 1),
    );
  }
  const { contents } = document;
  const value = plainValue(document);
  if (contents === null || !isMap(contents)) return failed('The file is a map: give `operators`');
  if (value === undefined) return failed('The file repeats anchors too often; write their values');
  const checked = customOperators.safeParse(value);
  if (!checked.success) {
    const issues = schemaProblems(checked.error, customOperators, value).map(
      ({ path, message, isKey }): Issue => ({
        code: 'operators/file',
        severity: 'error',
        message: `\`${path.map(String).join('.') || 'operators'}\` ${message}`,
        span: (isKey ? spanOfKey : spanOfPath)(contents, path, text.length),
      }),
    );
    return { operators: new Map(), issues };
  }
  const operators = new Map<string, DeclaredOperator>();
  const issues: Issue[] = [];
  for (const [key, entry] of Object.entries(checked.data.operators)) {
    const before = issues.length;
    const report = (path: readonly string[], message: string): void => {
      const span = spanOfPath(contents, ['operators', key, ...path], text.length);
      issues.push({ code: 'operators/file', severity: 'error', message: `\`${key}\`: ${message}`, span });
    };
    const operator = declaredOperator(entry, report);
    if (issues.length === before) operators.set(key, operator);
  }
  return { operators, issues };
}

type Entry = z.infer<typeof customOperator>;
type Report = (path: readonly string[], message: string) => void;

function declaredOperator(entry: Entry, report: Report): DeclaredOperator {
  const { like, inputs = {}, attributes = {}, outputs = {}, backward = {} } = entry;
  if (like !== undefined) {
    const others = Object.keys(entry).filter((name) => name !== 'like');
    if (others.length > 0) {
      report(
        [others[0] ?? ''],
        '`like` takes all rules of the other operator: remove it, or everything else',
      );
    }
    return { kind: 'alias', like: operatorOfKey(like) };
  }
  if (Object.keys(outputs).length === 0)
    report([], 'give `outputs` with their shapes, or `like` with an operator');
  const names = new Set(Object.keys(attributes));
  for (const [input, sizes] of Object.entries(inputs)) {
    if (sizes.filter((size) => size === rest).length > 1) {
      report(['inputs', input], `\`${rest}\` stands at most once`);
    }
    for (const size of sizes) {
      if (typeof size !== 'string' || size === rest) continue;
      if (/^[A-Za-z_]\w*$/.test(size)) names.add(size);
      else report(['inputs', input], `\`${size}\` is no name of a dimension; expressions belong in outputs`);
    }
  }
  const check = (path: readonly string[], value: string | number | undefined): string | undefined => {
    if (value !== undefined) checkExpression(String(value), names, (message) => report(path, message));
    return value === undefined ? undefined : String(value);
  };
  const tensors = [...Object.keys(inputs), ...Object.keys(outputs)];
  for (const name of entry.saved ?? []) {
    if (!tensors.includes(name)) {
      report(['saved'], `\`${name}\` is neither an input nor an output${didYouMean(name, tensors)}`);
    }
  }
  const saved = entry.saved ?? Object.keys(inputs);
  const positionsOf = (all: Readonly<Record<string, unknown>>): readonly number[] =>
    Object.keys(all).flatMap((name, index) => (saved.includes(name) ? [index] : []));
  return {
    kind: 'described',
    inputs: Object.values(inputs).map((sizes) => sizes.map(String)),
    inputNames: Object.keys(inputs),
    attributes,
    outputs: Object.entries(outputs).map(([name, output]) => {
      const shape = Array.isArray(output) ? output : output.shape;
      return {
        elementType: Array.isArray(output) ? undefined : output.type,
        dimensions: shape.map((size) =>
          size === rest ? rest : (check(['outputs', name], size) ?? String(size)),
        ),
      };
    }),
    flops: check(['flops'], entry.flops) ?? '0',
    bytes: check(['bytes'], entry.bytes),
    kernels: entry.kernels ?? 1,
    savedInputs: positionsOf(inputs),
    savedOutputs: positionsOf(outputs),
    backwardFlops: check(['backward', 'flops'], backward.flops),
    backwardBytes: check(['backward', 'bytes'], backward.bytes),
  };
}

/** Any number of dimensions. */
const rest = '...';

function checkExpression(text: string, names: ReadonlySet<string>, report: (message: string) => void): void {
  const { result, issues } = parseExpression(text, 0, text.length);
  const [problem] = issues;
  if (result === undefined || problem !== undefined) {
    report(
      `\`${text}\` is no expression: ${problem?.message ?? 'write a number or arithmetic over dimensions'}`,
    );
    return;
  }
  for (const name of namesIn(result)) {
    if (!names.has(name)) {
      report(`\`${name}\` is neither a dimension of an input nor an attribute${didYouMean(name, names)}`);
    }
  }
}

function namesIn(expression: Expression): readonly string[] {
  switch (expression.kind) {
    case 'name':
      return [expression.name];
    case 'negation':
      return namesIn(expression.operand);
    case 'binary':
      return [...namesIn(expression.left), ...namesIn(expression.right)];
    case 'tuple':
      return expression.items.flatMap(namesIn);
    default:
      return [];
  }
}
