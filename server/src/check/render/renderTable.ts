/** A check as a table for a terminal: what is broken, what changed, and one line that sums up. */

import { type Column, layoutColumns } from '../../estimate/report/columns.ts';
import { counted } from '../../model/counted.ts';
import { brokenParts, type Change, type Judgement } from '../judgement.ts';
import { type Quantity, quantities } from '../quantities.ts';

const columns: readonly Column[] = [
  { title: 'check', align: 'left' },
  { title: 'result', align: 'left' },
  { title: 'what', align: 'left' },
];

export function renderCheckTable(judgements: readonly Judgement[]): string {
  const lines = layoutColumns(columns, judgements.flatMap(rowsOf));
  return `${[...lines, '', summaryOf(judgements)].join('\n')}\n`;
}

function rowsOf({
  check,
  failure,
  budgets,
  findings,
  changes,
  isNew,
}: Judgement): readonly (readonly string[])[] {
  if (failure !== undefined) return [[check.name, 'failed', failure]];
  const rows = [
    ...budgets.map(({ verdict, message }) => [verdict, message]),
    ...findings.map(({ fails, severity, code, message }) => [
      fails ? 'broken' : severity,
      `${code}: ${message}`,
    ]),
    ...changes.map((change) => ['changed', describeChange(change)]),
    ...(isNew ? [['new', 'the base revision has no such model that can be costed']] : []),
  ];
  return (rows.length === 0 ? [['costed', 'no budget is set']] : rows).map((row) => [check.name, ...row]);
}

/** `step: 52.1 ms → 55.0 ms (+5.6 %)`. */
function describeChange({ quantity: name, before, after }: Change): string {
  const { format }: Quantity = quantities[name];
  return `${name}: ${format(before)} → ${format(after)}${shareOf(before, after)}`;
}

function shareOf(before: number, after: number): string {
  if (before === 0) return '';
  const percent = (100 * (after - before)) / before;
  return ` (${percent > 0 ? '+' : ''}${percent.toFixed(Math.abs(percent) < 10 ? 1 : 0)} %)`;
}

/** `3 checks: 1 budget or finding broken, 2 kept`. */
export function summaryOf(judgements: readonly Judgement[]): string {
  const failures = judgements.filter(({ failure }) => failure !== undefined).length;
  const broken = judgements.filter((judgement) => brokenParts(judgement) > 0).length;
  const parts = [
    ...(failures > 0 ? [`${failures} could not be costed`] : []),
    ...(broken > 0 ? [`${broken} broken`] : []),
    `${judgements.length - failures - broken} kept`,
  ];
  return `${counted(judgements.length, 'check')}: ${parts.join(', ')}. The same files always give the same numbers.`;
}
