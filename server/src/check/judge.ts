/** Holds the report of a model against its budgets, and against its report at a base revision. */

import type { Report } from '../estimate/report/report.ts';
import { atLeast, atMost } from '../model/format.ts';
import type { Severity } from '../model/issue.ts';
import type { AcceptedFinding } from './acceptedFindings.ts';
import type { Budget, Check, FailOn } from './checkFile.ts';
import type { Change, CheckedFinding, JudgedBudget, Judgement, Verdict } from './judgement.ts';
import { type Quantity, type QuantityName, quantities, quantityNames } from './quantities.ts';

export interface Judged {
  readonly check: Check;
  readonly report: Report;
  /** Of the base revision; absent where there is none, or the model is new. */
  readonly base?: Report | undefined;
  /** Whether a base revision was given. */
  readonly hasBase: boolean;
  /** Line of a place of the file of checks, from 1. */
  readonly lineOf: (offset: number) => number;
  readonly accepted: readonly AcceptedFinding[];
}

export function judge(judged: Judged): Judgement {
  const { check, report, base, hasBase, lineOf } = judged;
  return {
    check,
    line: lineOf(check.span.start),
    budgets: check.budgets.map((budget) => judgeBudget(judged, budget)),
    findings: findingsOf(judged),
    changes: base === undefined ? [] : changesBetween(base, report),
    isNew: hasBase && base === undefined,
  };
}

/** A model that could not be costed keeps no budget. */
export const failed = (check: Check, line: number, failure: string): Judgement => ({
  check,
  line,
  budgets: [],
  findings: [],
  changes: [],
  failure,
  isNew: false,
});

/** Far below what anybody budgets, far above the rounding of sums. */
const tolerance = 1e-9;

function judgeBudget({ report, base, lineOf }: Judged, budget: Budget): JudgedBudget {
  const { quantity: name, limit, text, span } = budget;
  const quantity: Quantity = quantities[name];
  const value = quantity.of(report);
  const judged = { quantity: name, limit: text, line: lineOf(span.start) };
  if (value === null)
    return { ...judged, verdict: 'unknown', message: `${name}: unknown; the limit is ${text}` };
  const before = base === undefined ? null : quantity.of(base);
  const shown = boundOf(quantity, quantity.isExact(report))(quantity.format(value));
  if (limit.kind === 'relative' && before === null)
    return {
      ...judged,
      verdict: 'not compared',
      message: `${name}: ${shown}; there is no value before to hold ${text} against`,
    };
  const most = limit.kind === 'absolute' ? limit.value : (before ?? Number.NaN) * (1 + limit.share);
  const side = quantity.limit;
  const verdict = verdictOf(side, value, most, quantity.isExact(report));
  const allowed =
    limit.kind === 'absolute'
      ? quantity.format(limit.value)
      : `${quantity.format(most)} (${text} on ${quantity.format(before ?? Number.NaN)})`;
  const words: Readonly<Record<typeof verdict, string>> = {
    kept: `, within the limit of ${allowed}`,
    broken: `, ${side === 'at most' ? 'over' : 'under'} the limit of ${allowed}`,
    unknown: `, which does not show whether it is within the limit of ${allowed}${quantity.advice ?? ''}`,
  };
  return { ...judged, verdict, message: `${name}: ${shown}${words[verdict]}` };
}

/** A lower bound above the limit breaks it all the same, and one below it shows nothing. */
function verdictOf(
  side: Quantity['limit'],
  value: number,
  limit: number,
  isExact: boolean,
): Exclude<Verdict, 'not compared'> {
  const over = side === 'at most' ? value > limit * (1 + tolerance) : value < limit * (1 - tolerance);
  if (over) return 'broken';
  return isExact ? 'kept' : 'unknown';
}

const boundOf =
  ({ limit }: Quantity, exact: boolean) =>
  (text: string): string =>
    limit === 'at most' ? atLeast(text, exact) : atMost(text, exact);

function findingsOf({ check, report, accepted }: Judged): readonly CheckedFinding[] {
  return report.findings.flatMap(({ code, severity, layer, message }) => {
    if (!code.startsWith(prefix)) return [];
    const name = code.slice(prefix.length);
    const isAccepted =
      check.accept.includes(name) ||
      accepted.some((each) => each.check === check.name && each.code === name && each.layer === layer);
    const fails = !isAccepted && ranks[severity] >= ranks[check.failOn];
    return isAccepted ? [] : [{ code: name, severity, layer, message, fails }];
  });
}

const prefix = 'findings/';

const ranks: Readonly<Record<Severity | FailOn, number>> = {
  information: 1,
  warning: 2,
  error: 3,
  never: 4,
};

/** Every quantity whose value is written in another way than before. */
function changesBetween(base: Report, report: Report): readonly Change[] {
  return quantityNames.flatMap((name: QuantityName): readonly Change[] => {
    const quantity: Quantity = quantities[name];
    const [before, after] = [quantity.of(base), quantity.of(report)];
    if (before === null || after === null || quantity.format(before) === quantity.format(after)) return [];
    return [{ quantity: name, before, after, better: after < before === (quantity.limit === 'at most') }];
  });
}
