/** What came of a check: each budget with its verdict, the findings that fail it, and what changed. */

import type { Severity } from '../model/issue.ts';
import type { Check } from './checkFile.ts';
import type { QuantityName } from './quantities.ts';

/** 'unknown': a bound on this side of the limit shows nothing; 'not compared': a change, without a base. */
export type Verdict = 'kept' | 'broken' | 'unknown' | 'not compared';

export interface JudgedBudget {
  readonly quantity: QuantityName;
  /** As it was written: `60 ms`, `+5 %`. */
  readonly limit: string;
  readonly line: number;
  readonly verdict: Verdict;
  /** One sentence: the value, its limit, and where it came from. */
  readonly message: string;
}

export interface CheckedFinding {
  readonly code: string;
  readonly severity: Severity;
  readonly layer: string;
  readonly message: string;
  readonly fails: boolean;
}

/** A quantity that is another than at the base revision. */
export interface Change {
  readonly quantity: QuantityName;
  readonly before: number;
  readonly after: number;
  readonly better: boolean;
}

export interface Judgement {
  readonly check: Check;
  /** Of the file of checks, from 1. */
  readonly line: number;
  readonly budgets: readonly JudgedBudget[];
  readonly findings: readonly CheckedFinding[];
  readonly changes: readonly Change[];
  /** Why the model could not be costed; absent where it was. */
  readonly failure?: string;
  /** At the base revision there is no such model, or it cannot be costed. */
  readonly isNew: boolean;
}

/** Budgets that are broken, and findings that fail. */
export const brokenParts = ({ budgets, findings }: Judgement): number =>
  budgets.filter(({ verdict }) => verdict === 'broken').length + findings.filter(({ fails }) => fails).length;

/**
 * Exit status: 1 where a model could not be costed, or a bound does not show whether a budget is kept; 3 where one is
 * broken; 0 else.
 */
export function statusOfJudgements(judgements: readonly Judgement[]): 0 | 1 | 3 {
  if (judgements.some(({ failure }) => failure !== undefined)) return 1;
  if (judgements.some((judgement) => brokenParts(judgement) > 0)) return 3;
  return judgements.some(({ budgets }) => budgets.some(({ verdict }) => verdict === 'unknown')) ? 1 : 0;
}
