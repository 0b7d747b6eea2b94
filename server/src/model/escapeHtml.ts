/** Text of a file as text of a page or a drawing: what it holds is never markup. */

import { printable } from './readableIssues.ts';

export const escapeHtml = (text: string): string =>
  printable(text).replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`);
