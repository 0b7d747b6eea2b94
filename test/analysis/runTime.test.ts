/** Lists, loops and counts that only the run decides, as PyTorch exports them; `exportRunTime.py` makes the files. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

const folder = 'test/analysis/run-time';

function costOf(file: string, batch: number) {
  const name = `${file}.onnx`;
  const opened = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${name}`)), name);
  const { cost, issues } = estimateModel(opened, [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'bf16', optimizer: 'sgd', batch },
  ]);
  if (cost === undefined) throw new Error(file);
  return { ...cost.totals, issues };
}

describe('lists of parts are followed: an export that is not optimized costs what the default one does', () => {
  test.each(['split-size', 'split-sizes', 'split-chunks', 'split-cross'])('%s', (model) => {
    const plain = costOf(`${model}.unoptimized`, 65536);
    const usual = costOf(`${model}.default`, 65536);
    expect(plain.exact).toBe(true);
    expect(plain.flops).toEqual(usual.flops);
    expect(plain.memory.activations / usual.memory.activations).toBeCloseTo(1, 2);
    // The default exporter joins two transpositions of the keys, which saves a copy in backward: 152 of 4,000 µs here.
    const tolerance = model === 'split-cross' ? 0.04 : 0.03;
    const [own, other] = [plain, usual].map(({ time }) => time.step ?? Number.NaN);
    expect(Math.abs((own ?? Number.NaN) / (other ?? Number.NaN) - 1)).toBeLessThan(tolerance);
  });
});
