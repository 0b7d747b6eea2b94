/** What a model is called with, as a person writes it in an input box. */

import { expect, it } from 'vitest';
import { readInputTexts } from '../../server/src/export/inputTexts.ts';

it.each([
  ['tokens=int64[batch, 128]', { inputs: { tokens: 'int64[batch, 128]' } }],
  [
    ' tokens = int64[batch, 128] ; mask=bool[batch, 128];',
    { inputs: { tokens: 'int64[batch, 128]', mask: 'bool[batch, 128]' } },
  ],
  ['', { inputs: {} }],
  ['tokens', { wrong: 'tokens' }],
  ['a=int64[2]; =float32[2]', { wrong: '=float32[2]' }],
])('%j', (text, read) => {
  expect(readInputTexts(text)).toEqual(read);
});
