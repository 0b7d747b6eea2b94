/** Where a diagnostic's code leads. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toDiagnostic } from '../../server/src/lsp/toProto.ts';
import type { IssueCode } from '../../server/src/model/issueCodes.ts';

const start = { line: 0, character: 0 };
const linkOf = (code: IssueCode, page: string | undefined): string | undefined =>
  toDiagnostic(
    { range: { start, end: start }, severity: 'warning', code, message: '' },
    page === undefined ? {} : { issuesPage: page },
  ).codeDescription?.href;

it.each([
  ['shape/mismatch', 'file:///x/docs/issues.md', 'file:///x/docs/issues.md#shapemismatch'],
  ['findings/launch-bound', 'file:///x/docs/issues.md', 'file:///x/docs/findings/launch-bound.md'],
  ['findings/launch-bound', undefined, undefined],
  ['findings/launch-bound', 'command:x.explain', 'command:x.explain?%5B%22findings%2Flaunch-bound.md%22%5D'],
] as const)('%s leads from %s to %s', (code, page, link) => {
  expect(linkOf(code, page)).toBe(link);
});

it('leads to pages that are there', () => {
  const link = linkOf('findings/out-of-memory', 'docs/issues.md') ?? '';
  expect(existsSync(join(import.meta.dirname, '../..', link))).toBe(true);
});
