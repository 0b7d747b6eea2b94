/**
 * Functions and modules of PyTorch 2.13, each exported alone, against the number type in which autocast gives their result.
 *
 * `autocast.csv` has bytes per element by PyTorch's own table for CUDA (`scripts/measured/autocastTypes.py`). Each function is followed by
 * a product with 2, which has the type of what it reads. What an export does not show is listed with its cause.
 */

import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

const [, ...lines] = readFileSync('test/composites/autocast.csv', 'utf8').trim().split('\n');
const bytesOf: ReadonlyMap<string, number> = new Map(
  lines.map((line) => [line.slice(0, line.lastIndexOf(',')), Number(line.slice(line.lastIndexOf(',') + 1))]),
);
const models = gunzipSync(readFileSync('test/composites/functions.models.gz'))
  .toString('utf8')
  .split('\n')
  .map((line) => {
    const { name, exporter, model }: Record<'name' | 'exporter' | 'model', string> = JSON.parse(line);
    return { key: `${name},${exporter}`, name, model: Buffer.from(model, 'base64') };
  });

/** Bytes per element of the last product with a number; undefined where the export has none. */
function widthOf(model: Buffer): number | undefined {
  const { training, scenario, cluster } = estimateModel(openModel(byteSourceOfBuffer(model), 'model.onnx'), [
    { cluster: 'a100-sxm-80gb', precision: 'bf16', optimizer: 'none', loss: 'none' },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('no plan');
  const { graph } = training.analysis;
  const isNumber = (name: string) => training.tensors.get(name)?.elements === 1;
  const index = graph.operators.findLastIndex(({ type, inputs }) => type === 'Mul' && inputs.some(isNumber));
  return planStep(training, scenario, cluster).lowered.operators[index]?.bytesPerElement;
}

/** What the export alone does not show. */
const notShown: Readonly<Record<string, string>> = {
  'F boolean,legacy': 'truth values that become numbers for a product, and `x.float()`, are one operator',
  'F logit,legacy': 'written as a logarithm of a quotient, which programs write too',
  'F norm max,legacy': 'written as a maximum of sizes, which programs write too',
  'F square,legacy': 'written as a product with itself, which programs write too',
  'F var_mean,default': 'the mean is written as a sum, which autocast lists',
  'RNN,default': 'the first step of zeros is folded, and leaves a bias in fp32',
};

test('each function is in the type in which autocast gives it', () => {
  const wrong = models.flatMap(({ key, name, model }) => {
    const expected = bytesOf.get(name);
    const own = expected === undefined ? undefined : widthOf(model);
    return own === undefined || own === expected ? [] : [key];
  });
  expect(wrong.toSorted()).toEqual(Object.keys(notShown));
});
