/** The row in which a reader tries another scenario: a control for each choice, and what is written of it. */

import { expect, test } from 'vitest';
import { whatIfHtml } from '../../../server/src/estimate/report/whatIfHtml.ts';
import type { WhatIfChoice } from '../../../server/src/estimate/what-if/whatIfChoices.ts';

const options = (values: readonly string[]) => values.map((value) => ({ value, label: value }));
const batch: WhatIfChoice = {
  key: 'batch',
  title: 'Batch per GPU',
  kind: 'number',
  value: '8',
  options: options(['1', '2', '4', '8', '16']),
};

/** The row without line ends, and what of it says whether something is tried. */
const rowOf = (choice: WhatIfChoice, written: Readonly<Record<string, string>> = {}) => {
  const html = whatIfHtml({ choices: [choice], written });
  const [, control] = /<div class="controls">\n([\s\S]*)\n<\/div>/.exec(html) ?? [];
  const state = /role="status">([^<]*)</.exec(html)?.[1];
  const disabled = [...html.matchAll(/<button [^>]*id="(\w+)" disabled>/g)].map(([, id]) => id);
  return { control, state, disabled };
};

const asIs = { state: 'The scenario as it is.', disabled: ['keep', 'back'] };
const tried = { state: 'Tried, not written anywhere.', disabled: [] };

test.each<[string, Readonly<Record<string, string>>, string, object]>([
  ['as it is written', { batch: '8' }, '8', asIs],
  ['tried, where another is written', { batch: '2' }, '2', tried],
  // What is not written cannot differ from it.
  ['that nothing is written of', {}, '8', asIs],
  ['beside another that is written', { precision: 'fp32' }, '8', asIs],
])('a number is a place among those that can be chosen: %s', (_, written, of, state) => {
  expect(rowOf(batch, written)).toEqual({
    control: `<label><span>Batch per GPU</span><span class="slide"><input type="range" name="batch" data-written="${of}" min="0" max="4" value="3" data-values="1 2 4 8 16" aria-valuetext="8"><output>8</output></span></label>`,
    ...state,
  });
});

test('a name is one of a list, and its label is no markup', () => {
  const choice: WhatIfChoice = {
    key: 'precision',
    title: 'Precision',
    kind: 'name',
    value: 'bf16',
    options: [
      { value: 'fp32', label: '<fp32>' },
      { value: 'bf16', label: 'bf16' },
    ],
  };
  expect(rowOf(choice).control).toBe(
    '<label><span>Precision</span><select name="precision" data-written="bf16"><option value="fp32">&#60;fp32&#62;</option><option value="bf16" selected>bf16</option></select></label>',
  );
});

test('an empty text says what it means', () => {
  const choice: WhatIfChoice = {
    key: 'lora',
    title: 'LoRA',
    kind: 'text',
    value: '',
    options: options(['16']),
    empty: '"none"',
  };
  expect(rowOf(choice, { lora: '' })).toEqual({
    control:
      '<label class="long"><span>LoRA</span><input type="text" name="lora" data-written="" value="" placeholder="&#34;none&#34;" list="lora-names" spellcheck="false"><datalist id="lora-names"><option value="16"></datalist></label>',
    ...asIs,
  });
});

test('a text proposes names, and no name ends an attribute', () => {
  const choice: WhatIfChoice = {
    key: 'cluster',
    title: 'Cluster',
    kind: 'text',
    value: 'a"b',
    options: options(['dgx-h100', 'a"b']),
  };
  expect(rowOf(choice, { cluster: 'a"b' })).toEqual({
    control:
      '<label class="long"><span>Cluster</span><input type="text" name="cluster" data-written="a&#34;b" value="a&#34;b" list="cluster-names" spellcheck="false"><datalist id="cluster-names"><option value="dgx-h100"><option value="a&#34;b"></datalist></label>',
    ...asIs,
  });
});
