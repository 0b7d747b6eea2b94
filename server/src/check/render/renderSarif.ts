/** A check as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), which code hosts show. */

import type { Judgement } from '../judgement.ts';
import { problemsOf } from './problems.ts';

export interface CheckedPlace {
  /** Path of the file of checks from the root of the repository, with `/`. */
  readonly path: string;
  readonly version: string;
}

export function renderSarif(judgements: readonly Judgement[], { path, version }: CheckedPlace): string {
  const problems = problemsOf(judgements);
  const rules = [...new Set(problems.map(({ rule }) => rule))].sort();
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'layercost', version, rules: rules.map((id) => ({ id })) } },
        results: problems.map(({ rule, level, check, message, line }) => ({
          ruleId: rule,
          ruleIndex: rules.indexOf(rule),
          level,
          message: { text: `${check}: ${message}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: encodeURI(path) },
                region: { startLine: line },
              },
            },
          ],
          // The same problem of the next commit is no new one.
          partialFingerprints: { 'checkAndRule/v1': `${check}/${rule}` },
        })),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}
