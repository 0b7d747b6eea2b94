/** `explain`: what a finding or an issue means. */

import { join } from 'node:path';
import { z } from 'zod';
import { type IssueCode, issueCodes } from '../../model/issueCodes.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { readTextFile } from '../../node/readTextFile.ts';
import { toolOf, wrong } from './tool.ts';

export const explainTool = toolOf({
  name: 'explain',
  title: 'Explain a finding',
  description:
    'Explains a code that estimate shows, such as findings/exposed-communication: what it means, an example, and what to change.',
  input: z.strictObject({ code: z.string().describe('With or without findings/ in front') }),
  run: async ({ code }) => {
    const known = Object.keys(issueCodes);
    const whole = known.includes(`findings/${code}`) ? `findings/${code}` : code;
    if (!isCode(whole)) return wrong(`${code} is no code of Layercost${didYouMean(code, known)}`);
    const { title, explanation } = issueCodes[whole];
    return { text: `${whole}: ${title}\n\n${explanation}\n${pageOf(whole)}` };
  },
});

const isCode = (code: string): code is IssueCode => Object.hasOwn(issueCodes, code);

/** The page about a finding, which lies beside `dist/`; nothing where there is none. */
function pageOf(code: IssueCode): string {
  if (!code.startsWith('findings/')) return '';
  const read = readTextFile(join(import.meta.dirname, '../docs', `${code}.md`));
  // Comments mark the examples that tests run.
  return 'text' in read ? `\n${read.text.replace(/<!--.*?-->\n?/gs, '')}` : '';
}
