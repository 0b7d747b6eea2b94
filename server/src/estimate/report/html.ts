/** What pages share: their frame, and a style that is light or dark as the reader prefers. */

import { chartStyle } from '../../charts/chartStyle.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { pageScript } from './pageScript.ts';
import { reportStyle } from './reportStyle.ts';

export interface PageFrame {
  readonly title: string;
  /** That of the only script and style that run. */
  readonly nonce: string;
  /** Whether it follows the editor and shows details. */
  readonly hasScript: boolean;
}

/** One self-contained page around what it shows. */
export function wholePage({ title, nonce, hasScript }: PageFrame, main: string): string {
  const style = `style-src 'nonce-${nonce}'`;
  const allowed = hasScript ? `img-src data:; ${style}; script-src 'nonce-${nonce}'` : style;
  const script = `<div id="tip" role="status" hidden></div>\n<script nonce="${nonce}">${pageScript}</script>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ${allowed}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style nonce="${nonce}">${pageStyle}${chartStyle}${reportStyle}</style>
<main>
${main}
</main>
${hasScript ? script : ''}</html>
`;
}

/** Text of a page, in which no line ends between a number and its percent sign. */
export const textHtml = (text: string): string => escapeHtml(text).replaceAll(' %', '\u00a0%');

const pageStyle = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { margin: 2rem auto; padding: 0 1.5rem; max-width: 100rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; }
th, td { padding: .2rem .7rem .2rem 0; border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent); vertical-align: top; }
thead th { position: sticky; top: 0; background: Canvas; }
.number { text-align: right; white-space: nowrap; }
thead .number { white-space: normal; }`;
