/** Weights of the program, from files that store them otherwise; `exportWeights.py` makes the files and PyTorch's counts. */

import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ModelAnalysis } from '../../server/src/analysis/modelAnalysis.ts';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { encodeModel } from '../support/onnxBytes.ts';

const folder = 'test/analysis/weights';
const counts: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(`${folder}/parameters.json`, 'utf8'),
);
const exporters = ['default', 'inline', 'plain', 'legacy', 'unfolded', 'trained'];

function analysisOf(file: string): ModelAnalysis {
  const { analysis } = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${file}.onnx`)), `${file}.onnx`);
  if (analysis === undefined) throw new Error(file);
  return analysis;
}

test('every file of the folder is counted', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.onnx'));
  const expected = Object.keys(counts).flatMap((name) => exporters.map((each) => `${name}.${each}.onnx`));
  expect(files.sort()).toEqual(expected.sort());
});

/** Rows of a table that was looked up are counted in its bytes, which `default` leaves in another file. */
const unknown = 'windows.default';
/** Of what weight normalization trains, the optimizer leaves the kernel that it gives. */
const uncounted: readonly string[] = [unknown, 'normed.default', 'normed.inline'];

describe.each(Object.entries(counts))('%s', (name, parameters) => {
  const known = exporters.filter((exporter) => !uncounted.includes(`${name}.${exporter}`));
  test.each(known)('%s: as many parameters as PyTorch has', (exporter) => {
    const analysis = analysisOf(`${name}.${exporter}`);
    expect(analysis.parameters.reduce((total, { elements }) => total + elements, 0)).toBe(parameters);
  });
});

test.each([...uncounted, 'computed.default', 'computed.inline'])(
  '%s: what was computed from a parameter is named',
  (file) => {
    expect(analysisOf(file).issues.map(({ code }) => code)).toContain('graph/computed-weights');
  },
);

test('what was looked up in a file is counted, and what is computed in each step is not named', () => {
  // Whether TorchScript's `decay` is trained, and in which type a norm is computed, are other questions.
  const others = new Set(['graph/assumed-weights', 'graph/lost-casts']);
  for (const file of ['normed.plain', 'computed.plain', 'computed.unfolded', 'windows.inline'])
    expect(analysisOf(file).issues.filter(({ code }) => !others.has(code))).toEqual([]);
});

test('tables are looked up again in the step', () => {
  const stepOf = (file: string) => {
    const opened = openModel(byteSourceOfBuffer(readFileSync(`${folder}/${file}.onnx`)), `${file}.onnx`);
    const step = estimateModel(opened, [{ cluster: 'dgx-a100', gpus: 1 }]).cost?.totals.time.step;
    if (step === undefined || step === null) throw new Error(file);
    return step;
  };
  expect(stepOf('windows.inline') / stepOf('windows.plain')).toBeCloseTo(1, 2);
});

/** By parameter that several operators use: how many. */
const shared = (file: string): readonly number[] =>
  analysisOf(file)
    .parameters.map(({ operators }) => operators.length)
    .filter((uses) => uses > 1);

test.each([
  { model: 'tied', uses: [2] },
  { model: 'untied', uses: [] },
  { model: 'pair', uses: [3] },
  { model: 'copies', uses: [] },
  { model: 'heads', uses: [2, 2] },
])('$model: weights that are used several times', ({ model, uses }) => {
  for (const exporter of exporters)
    expect([exporter, shared(`${model}.${exporter}`)]).toEqual([exporter, uses]);
});

test.each(exporters)('alike: the layer and the normalization that are called three times, %s', (exporter) => {
  const uses = shared(`alike.${exporter}`);
  expect(uses).toEqual([3, 3, 3, 3]);
});

test.each(exporters)(
  'repeated: blocks that stand twice are one, and those that begin alike are two, %s',
  (exporter) => {
    // A scale, a shift, two matrices and a bias of each of the two blocks in the list.
    expect(shared(`repeated.${exporter}`)).toEqual(Array.from({ length: 10 }, () => 2));
  },
);

test('scale and shift that begin alike are two parameters of one normalization', () => {
  const vector = (name: string) => ({ name, type: 'float[8]' });
  const bytes = encodeModel({
    graph: {
      inputs: { x: 'float[N,8,4,4]' },
      outputs: { y: 'float[N,8,4,4]' },
      initializers: [
        vector('block.bn.weight'),
        vector('block.bn.running_mean'),
        vector('block.bn.running_var'),
      ],
      nodes: [
        {
          type: 'BatchNormalization',
          name: '/block/bn/BatchNormalization',
          // Both begin with zeros, so that the exporter stores them once.
          inputs: [
            'x',
            'block.bn.weight',
            'block.bn.weight',
            'block.bn.running_mean',
            'block.bn.running_var',
          ],
          outputs: ['y'],
        },
      ],
    },
  });
  const { analysis } = openModel(byteSourceOfBuffer(bytes), 'bn.onnx');
  expect(analysis?.parameters.map(({ name, elements }) => [name, elements])).toEqual([
    ['block.bn.weight', 8],
    ['block.bn.B', 8],
  ]);
});
