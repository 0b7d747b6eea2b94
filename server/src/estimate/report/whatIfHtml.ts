/** The row of a report's page in which a reader tries another scenario. The editor costs it; a page without one has no row. */

import { escapeHtml } from '../../model/escapeHtml.ts';
import type { WhatIfChoice, WhatIfOption } from '../what-if/whatIfChoices.ts';

export interface WhatIfRow {
  /** Of the scenario that the page shows. */
  readonly choices: readonly WhatIfChoice[];
  /** The values of the scenario that is written, by key. */
  readonly written: Readonly<Record<string, string>>;
}

/** `data-written` is what the script compares with to know what was changed. */
export function whatIfHtml({ choices, written }: WhatIfRow): string {
  const isTried = choices.some(({ key, value }) => written[key] !== undefined && written[key] !== value);
  // A text takes a whole row: behind the others it leaves no gap between them.
  const inRows = [
    ...choices.filter(({ kind }) => kind !== 'text'),
    ...choices.filter(({ kind }) => kind === 'text'),
  ];
  const fields = inRows.map(
    (choice) =>
      `<label${hasLongNames(choice) ? ' class="long"' : ''}><span>${choice.title}</span>${control(choice, written[choice.key] ?? choice.value)}</label>`,
  );
  return `<form id="what-if" aria-label="What if">
<h2>What if</h2>
<div class="controls">
${fields.join('\n')}
</div>
<p><button type="button" id="keep"${isTried ? '' : ' disabled'}>Keep This Scenario</button> <button type="button" id="back"${isTried ? '' : ' disabled'}>Back</button> <span id="tried-state" role="status">${isTried ? 'Tried, not written anywhere.' : 'The scenario as it is.'}</span></p>
<ol id="tried" aria-label="Tried scenarios"></ol>
</form>`;
}

function control(choice: WhatIfChoice, written: string): string {
  const { key, value, options } = choice;
  const shared = `name="${key}" data-written="${escapeHtml(written)}"`;
  switch (choice.kind) {
    case 'number': {
      const values = options.map((option) => option.value);
      const at = values.indexOf(value);
      return `<span class="slide"><input type="range" ${shared} min="0" max="${values.length - 1}" value="${at}" data-values="${values.join(' ')}" aria-valuetext="${value}"><output>${value}</output></span>`;
    }
    case 'name':
      return `<select ${shared}>${options.map((option) => optionHtml(option, value)).join('')}</select>`;
    case 'text':
      return `<input type="text" ${shared} value="${escapeHtml(value)}"${choice.empty === undefined ? '' : ` placeholder="${escapeHtml(choice.empty)}"`} list="${key}-names" spellcheck="false"><datalist id="${key}-names">${options.map(({ value: name }) => `<option value="${escapeHtml(name)}">`).join('')}</datalist>`;
  }
}

/** Names that half a row would cut; a framework is written with its options. */
const hasLongNames = ({ kind, options }: WhatIfChoice): boolean =>
  kind === 'text' || options.some(({ label }) => label.length > 20);

const optionHtml = ({ value, label }: WhatIfOption, chosen: string): string =>
  `<option value="${escapeHtml(value)}"${value === chosen ? ' selected' : ''}>${escapeHtml(label)}</option>`;
