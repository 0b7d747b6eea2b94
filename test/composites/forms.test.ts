/** Composites in every form that PyTorch exports, against what autograd keeps; `exportForms.py` makes the files. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

const folder = 'test/composites/forms';

interface Export {
  /** Bytes that autograd keeps. */
  readonly saved: number;
  /** Opsets by file. */
  readonly files: Readonly<Record<string, readonly number[]>>;
}

const table: Readonly<Record<string, Export>> = JSON.parse(readFileSync(`${folder}/exports.json`, 'utf8'));
const files = Object.values(table).flatMap(({ saved, files }) =>
  Object.keys(files).map((file) => ({ file, saved })),
);

test('every file of the folder is in the table', () => {
  const models = readdirSync(folder).filter((name) => name.endsWith('.onnx'));
  expect(models).toEqual(files.map(({ file }) => `${file}.onnx`).sort());
});

/** What is kept in fp32 without measures against memory, as the table has it. */
function keptBytes(file: string): number {
  const opened = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${file}.onnx`)), `${file}.onnx`);
  const framework = { name: 'pytorch-ddp', options: {} };
  const { cost } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', precision: 'fp32', optimizer: 'none', framework },
  ]);
  if (cost === undefined || !cost.totals.exact) throw new Error(`${file} cannot be costed`);
  return cost.totals.memory.activations;
}

describe.each(files)('$file', ({ file, saved }) => {
  test('keeps what autograd keeps, within 3 %', () => {
    expect(keptBytes(file) / saved).toBeCloseToWithin(1, 0.03);
  });
});
