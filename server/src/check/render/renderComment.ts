/** A check as a comment on a pull request: only what changed or is broken, and nothing at all where nothing is. */

import { codeInMarkdown, escapeMarkdown, unbroken } from '../../estimate/report/markdown.ts';
import { brokenParts, type Judgement } from '../judgement.ts';
import { type Quantity, quantities } from '../quantities.ts';
import { summaryOf } from './renderTable.ts';

/** By it a workflow finds its comment again, to write over it. */
const mark = '<!-- layercost check -->';

export function renderComment(judgements: readonly Judgement[]): string {
  const told = judgements.filter(
    (judgement) =>
      judgement.failure !== undefined || judgement.changes.length > 0 || brokenParts(judgement) > 0,
  );
  if (told.length === 0) return '';
  return `${[mark, '### Layercost', '', ...told.flatMap(sectionOf), summaryOf(judgements)].join('\n')}\n`;
}

function sectionOf({ check, failure, budgets, findings, changes }: Judgement): readonly string[] {
  const head = [`**${escapeMarkdown(check.name)}** ${codeInMarkdown(check.model)}`, ''];
  if (failure !== undefined) return [...head, `Could not be costed: ${escapeMarkdown(failure)}`, ''];
  const broken = [
    ...budgets.filter(({ verdict }) => verdict === 'broken').map(({ message }) => message),
    ...findings.filter(({ fails }) => fails).map(({ code, message }) => `${code}: ${message}`),
  ];
  const rows = changes.map(({ quantity: name, before, after, better }) => {
    const { format }: Quantity = quantities[name];
    const share =
      before === 0 ? '' : `${after > before ? '+' : ''}${((100 * (after - before)) / before).toFixed(1)} %`;
    return `| ${name} | ${unbroken(format(before))} | ${unbroken(format(after))} | ${unbroken(share)} | ${better ? 'better' : 'worse'} |`;
  });
  return [
    ...head,
    ...broken.map((message) => `- ❌ ${escapeMarkdown(message)}`),
    ...(broken.length > 0 ? [''] : []),
    ...(rows.length === 0 ? [] : ['| | before | after | change | |', '|---|--:|--:|--:|---|', ...rows, '']),
  ];
}
