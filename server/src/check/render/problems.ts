/** What of a check is wrong, each with its place: what annotations, SARIF and JUnit tell. */

import type { Judgement } from '../judgement.ts';

export interface Problem {
  /** `budget/step`, `findings/out-of-memory`, `check/failed`. */
  readonly rule: string;
  readonly level: 'error' | 'warning' | 'note';
  readonly check: string;
  readonly message: string;
  readonly line: number;
}

export const problemsOf = (judgements: readonly Judgement[]): readonly Problem[] =>
  judgements.flatMap(({ check: { name: check }, line, failure, budgets, findings }) => [
    ...(failure === undefined
      ? []
      : [{ rule: 'check/failed', level: 'error' as const, check, message: failure, line }]),
    ...budgets.flatMap(({ verdict, quantity, message, line: at }): readonly Problem[] =>
      verdict === 'broken' || verdict === 'unknown'
        ? [
            {
              rule: `budget/${quantity}`,
              level: verdict === 'broken' ? 'error' : 'warning',
              check,
              message,
              line: at,
            },
          ]
        : [],
    ),
    ...findings.map(
      ({ code, severity, fails, message }): Problem => ({
        rule: `findings/${code}`,
        level: fails ? 'error' : severity === 'information' ? 'note' : 'warning',
        check,
        message,
        line,
      }),
    ),
  ]);
