/** A check as annotations of a GitHub workflow. Source: GitHub's "Workflow commands", `toolkit/packages/core/src/command.ts`. */

import type { Judgement } from '../judgement.ts';
import { problemsOf } from './problems.ts';
import { summaryOf } from './renderTable.ts';

export function renderGithub(judgements: readonly Judgement[], path: string): string {
  const lines = problemsOf(judgements).map(({ level, rule, check, message, line }) => {
    const command = level === 'note' ? 'notice' : level;
    const title = property(`${check}: ${rule}`);
    return `::${command} file=${property(path)},line=${line},title=${title}::${data(message)}`;
  });
  return `${[...lines, summaryOf(judgements)].join('\n')}\n`;
}

const data = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
