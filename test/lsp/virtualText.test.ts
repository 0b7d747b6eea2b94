import { expect, test } from 'vitest';
import { resolveInWorkspace, resolvePath } from '../../server/src/lsp/virtualText.ts';

const model = 'file:///models/a.layers.yaml';

test.each([
  ['b.yaml', 'file:///models/b.yaml'],
  ['sub/b.yaml', 'file:///models/sub/b.yaml'],
  ['grün 1.yaml', 'file:///models/gr%C3%BCn%201.yaml'],
  ['', undefined],
  ['/b.yaml', undefined],
  ['https://host/b.yaml', undefined],
  // Half of a character, as an edit in the middle of one leaves it.
  ['b\ud800.yaml', undefined],
])('%j beside a model', (path, address) => {
  expect(resolvePath(model, path)).toBe(address);
});

test.each([
  ['own.cluster.json', true, 'file:///models/own.cluster.json'],
  ['/own.cluster.json', true, 'file:///own.cluster.json'],
  ['\\\\host\\own.cluster.json', false, undefined],
  ['own\udc00.cluster.json', true, undefined],
  ['/own\udc00.cluster.json', true, undefined],
])('%j in the settings of a folder (trusted: %s)', (path, trusted, address) => {
  expect(resolveInWorkspace(path, model, ['file:///models'], trusted)).toBe(address);
});
