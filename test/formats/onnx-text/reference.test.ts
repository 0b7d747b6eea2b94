/**
 * Our text against that of ONNX's own printer (1.23.1), token by token: layout and comments differ on purpose.
 *
 * Set aside, because the tree does not keep it: header entries that are present but empty.
 */

import { expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import type { PrintedOnnx } from '../../../server/src/formats/onnx-text/printedOnnx.ts';
import { printOnnxText } from '../../../server/src/formats/onnx-text/printOnnxText.ts';
import { hasSharedModels, readShared, sharedModels, sharedTestName } from '../../support/sharedModels.ts';

/** Share of the pairs where nothing is elided; the rest hold more floats than are worth showing. */
const fewestUnelided = 0.99;

test(sharedTestName('the text of every node model is that of the reference printer'), () => {
  if (!hasSharedModels) return;
  const reference: unknown = JSON.parse(new TextDecoder().decode(readShared('onnx-text/printed_node.json')));
  if (typeof reference !== 'object' || reference === null) throw new Error('printed_node.json is no object');
  let unelided = 0;
  const texts = Object.entries(reference);
  for (const [name, text] of texts) {
    const printed = printShared(`onnx-node/${name}/model.onnx`);
    if (printed.elided > 0) continue;
    unelided += 1;
    expect(tokensOf(printed.text).join(' '), name).toBe(referenceTokens(String(text)).join(' '));
  }
  expect(texts.length).toBeGreaterThan(1800);
  expect(unelided / texts.length).toBeGreaterThan(fewestUnelided);
});

test(sharedTestName('so is the text of whole networks, values of tensors aside'), () => {
  for (const path of sharedModels('onnx-light')) {
    const text = readShared(`onnx-text/printed/${path.replace('/', '__').replace('.onnx', '.onnxtxt')}`);
    const printed = printShared(path);
    const ours = tokensOf(withoutValues(printed.text));
    const theirs = referenceTokens(withoutValues(new TextDecoder().decode(text)));
    expect(ours.join(' ') === theirs.join(' '), path).toBe(true);
  }
});

function printShared(path: string): PrintedOnnx {
  const { model } = readOnnx(byteSourceOfBuffer(readShared(path)));
  if (model === undefined) throw new Error(`${path} was not read`);
  return printOnnxText(model);
}

const withoutValues = (text: string): string => text.replace(/\{[-+\d.,einfa]+\}/g, '{}');

function tokensOf(text: string): string[] {
  return (text.match(/"(?:[^"\\]|\\.)*"|#[^\n]*|[\w.+-]+|[^\s]/gs) ?? []).filter(
    (token) => !token.startsWith('#'),
  );
}

function referenceTokens(text: string): string[] {
  return tokensOf(
    text
      .replace(/,\s*(producer_version|domain): ""/g, '')
      .replace(/,\s*model_version: 0/, '')
      .replace(/,\s*doc_string: ""/, '')
      .replace(/\[""\] /g, ''),
  );
}
