/** A check as JUnit XML, in the form that build servers read (Jenkins' xunit plugin, `junit-10.xsd`). */

import { escapeHtml } from '../../model/escapeHtml.ts';
import { brokenParts, type Judgement } from '../judgement.ts';

export function renderJunit(judgements: readonly Judgement[]): string {
  const suites = judgements.map(suiteOf);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`;
}

function suiteOf(judgement: Judgement): string {
  const { check, failure, budgets, findings } = judgement;
  const cases =
    failure !== undefined
      ? [caseOf(check.name, 'costed', `<error message="${escapeHtml(failure)}"/>`)]
      : [
          ...budgets.map(({ quantity, limit, verdict, message }) => {
            const inside = { kept: '', broken: 'failure', unknown: 'error', 'not compared': 'skipped' }[
              verdict
            ];
            return caseOf(
              check.name,
              `${quantity} ${limit}`,
              inside === '' ? '' : `<${inside} message="${escapeHtml(message)}"/>`,
            );
          }),
          ...findings.map(({ code, layer, message, fails }) =>
            caseOf(
              check.name,
              [code, layer].filter((part) => part !== '').join(' '),
              fails ? `<failure message="${escapeHtml(message)}"/>` : '',
            ),
          ),
        ];
  const errors = failure === undefined ? budgets.filter(({ verdict }) => verdict === 'unknown').length : 1;
  const skipped = budgets.filter(({ verdict }) => verdict === 'not compared').length;
  return `  <testsuite name="${escapeHtml(check.name)}" tests="${cases.length}" failures="${brokenParts(judgement)}" errors="${errors}" skipped="${skipped}">\n${cases.join('')}  </testsuite>\n`;
}

const caseOf = (suite: string, name: string, inside: string): string =>
  `    <testcase classname="${escapeHtml(suite)}" name="${escapeHtml(name)}">${inside}</testcase>\n`;
