/** The folds of an exported transformer: what costs stays in sight, what exporters write between is folded. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { foldingRanges } from '../../server/src/language/foldingRanges.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { viewOnnxText } from '../../server/src/language/viewOnnxText.ts';

const sample = readFileSync(resolve(import.meta.dirname, '../../samples/bert-base.onnx'));
const opened = openModel(byteSourceOfBuffer(sample), 'bert-base.onnx');
if (opened.onnx === undefined) throw new Error('the sample cannot be read');
const printed = printOnnxText(opened.onnx);
const view = viewOnnxText({ ...printed, valueLines: new Map() }, estimateModel(opened, []));
const folded = foldingRanges(view).filter(({ kind }) => kind === 'imports');

it('folds runs of nodes without cost, and none with a hint', () => {
  const lines = view.text.lines;
  const hidden = new Set(
    folded.flatMap(({ firstLine, lastLine }) =>
      Array.from({ length: lastLine - firstLine }, (_, index) => firstLine + 1 + index),
    ),
  );
  const hints = inlayHints(view, 0, lines.length);
  expect(hints.length).toBeGreaterThan(100);
  expect(hints.filter(({ position }) => hidden.has(position.line))).toEqual([]);
  expect(folded.length).toBeGreaterThan(2);
  // A fold begins with the name of a node and ends with the last line of one.
  for (const { firstLine, lastLine } of folded.slice(1)) {
    expect(lines[firstLine]).toMatch(/^ {3}\[/);
    expect(lines[lastLine + 1]).toMatch(/^ {3}\[/);
  }
});
