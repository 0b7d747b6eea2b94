/**
 * The reader of ONNX text against the reference: what its parser (1.23.1) accepts and refuses, and what its printer
 * made of binary models.
 */

import { expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../../server/src/formats/onnx/readOnnx.ts';
import type { OnnxModel } from '../../../server/src/formats/onnx/syntax.ts';
import { printOnnxText } from '../../../server/src/formats/onnx-text/printOnnxText.ts';
import { readOnnxText } from '../../../server/src/formats/onnx-text/readOnnxText.ts';
import { hasSharedModels, readShared, sharedModels, sharedTestName } from '../../support/sharedModels.ts';
import { comparable } from './comparable.ts';

interface Snippet {
  readonly test: string;
  readonly kind: string;
  readonly text: string;
  readonly ok: boolean;
}

/** A node or a function is read as part of the smallest model around it. */
const wholeText: Readonly<Record<string, (text: string) => string>> = {
  parse_model: (text) => text,
  parse_graph: (text) => text,
  parse_node: (text) => `g () => () {${text}}`,
  parse_function: (text) => `g () => () {}${text}`,
};

test(sharedTestName('every snippet is accepted or refused as the reference parser does'), () => {
  if (!hasSharedModels) return;
  const { snippets } = readJson<{ readonly snippets: readonly Snippet[] }>('onnx-text/snippets.json');
  const wrong = snippets.flatMap(({ test: name, kind, text, ok }) => {
    const { model, issues } = readOnnxText(wholeText[kind]?.(text) ?? '');
    const accepted = model !== undefined && !issues.some((issue) => issue.severity === 'error');
    return accepted === ok ? [] : [`${name}: ${issues[0]?.message ?? 'accepted'}`];
  });
  expect(wrong).toEqual([]);
  expect(snippets).toHaveLength(215);
});

test(sharedTestName('the text of every node model is the graph of its binary'), () => {
  if (!hasSharedModels) return;
  const texts = Object.entries(readJson<Readonly<Record<string, string>>>('onnx-text/printed_node.json'));
  for (const [name, text] of texts) {
    expect(comparable(readText(text)), name).toEqual(comparable(readShared(`onnx-node/${name}/model.onnx`)));
  }
  expect(texts).toHaveLength(1802);
}, 60_000);

test(sharedTestName('so is the text of whole networks'), () => {
  for (const path of sharedModels('onnx-light')) {
    const text = readShared(`onnx-text/printed/${path.replace('/', '__').replace('.onnx', '.onnxtxt')}`);
    expect(comparable(readText(new TextDecoder().decode(text))), path).toEqual(comparable(readShared(path)));
  }
}, 60_000);

test(sharedTestName('what our printer writes reads back and prints the same, weights elided or not'), () => {
  const paths = sharedModels('onnx-node', 'onnx-light', 'onnx-pytorch-operator', 'torch-export');
  for (const path of paths) {
    const { model } = readOnnx(byteSourceOfBuffer(readShared(path)));
    if (model === undefined) continue;
    const printed = printOnnxText(model);
    const read = readText(printed.text);
    const again = printOnnxText(read);
    if (again.text !== printed.text) expect(again.text, path).toBe(printed.text);
    if (printed.elided === 0) expect(comparable(read), path).toEqual(comparable(readShared(path)));
  }
}, 120_000);

function readText(text: string): OnnxModel {
  const { model, issues } = readOnnxText(text);
  if (model === undefined) throw new Error(issues[0]?.message);
  return model;
}

function readJson<Content>(path: string): Content {
  return JSON.parse(new TextDecoder().decode(readShared(path)));
}
