/** Open documents as texts: parsed once for each state of a text and of what it includes. */

import { expect, test } from 'vitest';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { IncludedText } from '../../server/src/language/layer-spec/specText.ts';
import { openTexts, rangeIn } from '../../server/src/lsp/openTexts.ts';

const uri = 'file:///m/net.layers.yaml';
const spec = 'inputs:\n  x: float32[batch, 8]\nlayers:\n  - a: Linear(8, 8)\n';

function opened(languageId = 'layer-spec') {
  const document = TextDocument.create(uri, languageId, 1, spec);
  const state: { document: TextDocument | undefined; included: readonly IncludedText[] } = {
    document,
    included: [],
  };
  const texts = openTexts(
    (asked) => (asked === uri ? state.document : undefined),
    () => state.included,
  );
  return { texts, state, document };
}

test.each(['layer-spec', 'onnx-text', 'caffe-prototxt'])('%s is a text', (languageId) => {
  expect(opened(languageId).texts.of(uri)?.document.uri).toBe(uri);
});

test.each(['plaintext', 'yaml'])('%s is none', (languageId) => {
  const { texts, state } = opened(languageId);
  state.document = TextDocument.create('file:///m/net.txt', languageId, 1, spec);
  expect(texts.of('file:///m/net.txt')).toBeUndefined();
  expect(
    texts.at({ textDocument: { uri: 'file:///m/other' }, position: { line: 0, character: 0 } }),
  ).toBeUndefined();
});

const one: IncludedText = { path: 'a.layers.yaml', text: 'one' };
/** What is included before and after, and whether the text is parsed again. */
test.each<[string, readonly IncludedText[], readonly IncludedText[], boolean]>([
  ['nothing', [], [], false],
  ['the same', [one], [{ ...one }], false],
  ['another text', [one], [{ ...one, text: 'two' }], true],
  ['another path', [one], [{ ...one, path: 'b.layers.yaml' }], true],
  ['one more', [one], [one, one], true],
  ['one less', [one, one], [one], true],
  ['the first', [], [one], true],
  ['none any more', [one], [], true],
  ['another order', [one, { ...one, text: 'two' }], [{ ...one, text: 'two' }, one], true],
])('including %s', (_, before, after, again) => {
  const { texts, state } = opened();
  state.included = before;
  const first = texts.of(uri);
  state.included = after;
  const second = texts.of(uri);
  expect(second !== first).toBe(again);
  expect(second?.included).toEqual(after);
});

test('a newer version is parsed again, and the same is not', () => {
  const { texts, state, document } = opened();
  const first = texts.of(uri);
  expect(texts.of(uri)).toBe(first);
  state.document = TextDocument.update(document, [{ text: `${spec}  - b: ReLU()\n` }], 2);
  const second = texts.of(uri);
  expect([second?.version, second?.document.lineCount]).toEqual([2, 6]);
  expect(first?.version).toBe(1);
});

test('a place is an offset, and a span a range', () => {
  const { texts } = opened();
  // `Linear` of the fourth line.
  const start = spec.indexOf('Linear');
  const text = texts.at({ textDocument: { uri }, position: { line: 3, character: 7 } });
  if (text === undefined) throw new Error('no text');
  expect(text.offset).toBe(start);
  expect(rangeIn(text, { start, end: start + 6 })).toEqual({
    start: { line: 3, character: 7 },
    end: { line: 3, character: 13 },
  });
});
