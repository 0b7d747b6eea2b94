/** Reads `layercost.yaml`: checked by schema, errors at the place. */

import { isMap, type Node, parseDocument } from 'yaml';
import { schemaProblems } from '../formats/schemaProblems.ts';
import { spanOfKey, spanOfPath } from '../formats/spanOfPath.ts';
import { firstLine, plainValue } from '../formats/yamlDocument.ts';
import type { Issue } from '../model/issue.ts';
import { findingCodes } from '../model/issueCodes.ts';
import { didYouMean } from '../model/nearestName.ts';
import { readAmount } from './amount.ts';
import type { Budget, Check, CheckFile } from './checkFile.ts';
import { checkFileSchema } from './checkFileSchema.ts';
import { quantities, quantityNames } from './quantities.ts';
import { scenarioOptionsOf } from './scenarioOptionsOf.ts';

export interface ReadCheckFile {
  /** Absent where anything is wrong: a budget that is not read would look kept. */
  readonly file: CheckFile | undefined;
  readonly issues: readonly Issue[];
}

export function readCheckFile(text: string): ReadCheckFile {
  const document = parseDocument(text, { prettyErrors: false });
  const whole = { start: 0, end: text.length };
  if (document.errors.length > 0) {
    return failure(
      document.errors.map(({ message, pos: [start, end] }) => ({
        code: 'check/syntax',
        severity: 'error',
        message: `The file of checks is not valid YAML: ${firstLine(message)}`,
        span: { start: Math.min(start, text.length), end: Math.min(end, text.length) },
      })),
    );
  }
  const { contents } = document;
  if (contents === null || !isMap(contents))
    return failure([wrong('The file of checks is a map: give `checks`', whole)]);
  const value = plainValue(document);
  if (value === undefined)
    return failure([wrong('The file of checks repeats anchors too often; write their values', whole)]);
  const read = checkFileSchema.safeParse(value);
  if (!read.success) {
    return failure(
      schemaProblems(read.error, checkFileSchema, value).map(({ path, message, isKey }) =>
        wrong(
          `${path.length === 0 ? 'The file of checks' : `\`${path.map(String).join('.')}\``} ${message}`,
          (isKey ? spanOfKey : spanOfPath)(contents, path, text.length),
        ),
      ),
    );
  }
  const issues: Issue[] = [];
  const checks = Object.entries(read.data.checks).map(([name, given]): Check => {
    const place = (...path: readonly string[]) =>
      spanOfPath(contents, ['checks', name, ...path], text.length);
    for (const code of given.accept) {
      if (!findingCodes.includes(code))
        issues.push(
          wrong(
            `\`${code}\` is not a finding${didYouMean(code, findingCodes) || '; docs/issues.md lists them'}`,
            place('accept'),
          ),
        );
    }
    return {
      name,
      model: given.model,
      scenario: scenarioOptionsOf(given.scenario),
      budgets: readBudgets(name, given.budgets, contents, text.length, issues),
      accept: given.accept,
      failOn: given['fail-on'],
      span: spanOfKey(contents, ['checks', name], text.length),
    };
  });
  if (checks.length === 0) issues.push(wrong('`checks` is empty; give at least one', whole));
  return issues.length > 0 ? failure(issues) : { file: { checks }, issues };
}

/** Each limit of each quantity; what cannot be read is added to `issues`. */
function readBudgets(
  check: string,
  given: Readonly<Record<string, unknown>>,
  root: Node,
  length: number,
  issues: Issue[],
): readonly Budget[] {
  const budgets: Budget[] = [];
  for (const quantity of quantityNames) {
    const written = given[quantity];
    if (written === undefined) continue;
    const span = spanOfPath(root, ['checks', check, 'budgets', quantity], length);
    for (const text of limitsIn(String(written))) {
      const amount = readAmount(text, quantities[quantity].unit);
      if (amount.kind === 'wrong') issues.push(wrong(`\`${quantity}\`: ${amount.message}`, span));
      else budgets.push({ quantity, text: text.trim(), limit: amount, span });
    }
  }
  return budgets;
}

/** `60 ms, +5 %`; a comma between digits parts thousands. */
const limitsIn = (text: string): readonly string[] => text.split(/,(?!\d{3}\b)/);

const wrong = (message: string, span: NonNullable<Issue['span']>): Issue => ({
  code: 'check/structure',
  severity: 'error',
  message,
  span,
});

const failure = (issues: readonly Issue[]): ReadCheckFile => ({ file: undefined, issues });
