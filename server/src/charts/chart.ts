/** A drawing that says in words what it shows, and its numbers as a table where they are few. */

import { escapeHtml } from '../model/escapeHtml.ts';
import { chartStyle } from './chartStyle.ts';

export interface Chart {
  /** A word that names it in addresses and files: `timeline`. */
  readonly name: string;
  readonly title: string;
  /** One sentence that says what a reader sees. */
  readonly summary: string;
  readonly svg: string;
  /** The same for a page so narrow that `svg` could not be read on it. */
  readonly narrow?: string;
  readonly table?: ChartTable;
}

export interface ChartTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Width of a chart for a page beside a text: its letters can still be read on half of a small screen. */
export const narrowWidth = 440;

export interface Sheet {
  readonly width: number;
  readonly height: number;
  /** Elements of SVG. */
  readonly body: readonly string[];
}

export interface Drawing extends Omit<Chart, 'svg' | 'narrow'>, Sheet {
  readonly narrow?: Sheet;
}

export function chartOf({ name, title, summary, table, width, height, body, narrow }: Drawing): Chart {
  const svg = [
    `<svg class="chart ${name}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${name}-title ${name}-summary">`,
    `<title id="${name}-title">${escapeHtml(title)}</title>`,
    `<desc id="${name}-summary">${escapeHtml(summary)}</desc>`,
    ...body,
    '</svg>',
  ].join('\n');
  return {
    name,
    title,
    summary,
    svg,
    ...(narrow === undefined ? {} : { narrow: narrowSheet(title, narrow) }),
    ...(table === undefined ? {} : { table }),
  };
}

const narrowSheet = (title: string, { width, height, body }: Sheet): string =>
  [
    `<svg class="chart narrow" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">`,
    ...body,
    '</svg>',
  ].join('\n');

/** The drawing as a file of its own. */
export const chartFile = ({ svg }: Chart): string =>
  `${svg
    .replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
    .replace('</desc>', `</desc>\n<style>${chartStyle}</style>`)}\n`;
