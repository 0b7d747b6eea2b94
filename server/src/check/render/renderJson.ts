/** A check as data. Values are in base units: seconds, bytes, shares of 1, US dollars. */

import { brokenParts, type Judgement, statusOfJudgements } from '../judgement.ts';

export function renderCheckJson(judgements: readonly Judgement[]): string {
  const checks = judgements.map(({ check, failure, budgets, findings, changes, isNew, ...judgement }) => ({
    name: check.name,
    model: check.model,
    result:
      failure !== undefined
        ? 'failed'
        : brokenParts({ ...judgement, check, budgets, findings, changes, isNew }) > 0
          ? 'broken'
          : 'kept',
    ...(failure === undefined ? {} : { failure }),
    budgets: budgets.map(({ quantity, limit, verdict, message, line }) => ({
      quantity,
      limit,
      verdict,
      message,
      line,
    })),
    findings,
    changes,
    isNew,
  }));
  return `${JSON.stringify({ schemaVersion: 1, status: statusOfJudgements(judgements), checks }, null, 2)}\n`;
}
