/**
 * Functions and modules of PyTorch 2.13, each exported alone, against what PyTorch keeps, trains and computes.
 *
 * `functions.csv` has PyTorch's figures and, as ratios, how far the engine is from them: 1 nearly everywhere. The others are open, and
 * stand there so that none gets worse unseen. `scripts/measured/functionsOfTorch.py` exports and measures. What recurrent
 * layers keep is left out: a CPU keeps other things than cuDNN.
 */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { costFunction } from './costFunction.ts';

const folder = 'test/composites';
const [, ...lines] = readFileSync(`${folder}/functions.csv`, 'utf8').trim().split('\n');
const models: ReadonlyMap<string, Buffer> = new Map(
  gunzipSync(readFileSync(`${folder}/functions.models.gz`))
    .toString('utf8')
    .split('\n')
    .map((line) => {
      const { name, exporter, model }: Record<'name' | 'exporter' | 'model', string> = JSON.parse(line);
      return [`${name},${exporter}`, Buffer.from(model, 'base64')];
    }),
);

const rows = lines.map((line) => {
  const [name = '', exporter = '', ...numbers] = line.split(',');
  const [saved, parameters, flops, ...ratios] = numbers.map((text) =>
    text === '' ? undefined : Number(text),
  );
  return { key: `${name},${exporter}`, measured: { saved, parameters, flops }, ratios };
});

test('every model is in the table', () => {
  expect([...models.keys()]).toEqual(rows.map(({ key }) => key));
});

test('most functions are right in all three', () => {
  const right = rows.filter(({ ratios }) =>
    ratios.every((ratio) => ratio === undefined || Math.abs(ratio - 1) <= 0.01),
  );
  expect(right.length / rows.length).toBeGreaterThan(0.85);
});

test('what is kept, trained and computed is as far from PyTorch as the table says', () => {
  const wrong = rows.flatMap(({ key, measured, ratios: [saved, parameters, flops] }) => {
    const model = models.get(key);
    if (model === undefined) return [key];
    const cost = costFunction(model);
    const isAsSaid = (engine: number, of: number | undefined, ratio: number | undefined): boolean =>
      of === undefined || ratio === undefined || of === 0 || Math.abs(engine / of - ratio) <= 0.01;
    const isRight =
      isAsSaid(cost.saved, measured.saved, saved) &&
      isAsSaid(cost.parameters, measured.parameters, parameters) &&
      isAsSaid(cost.flops, measured.flops, flops);
    return isRight ? [] : [`${key}: ${JSON.stringify(cost)}`];
  });
  expect(wrong).toEqual([]);
}, 60_000);
