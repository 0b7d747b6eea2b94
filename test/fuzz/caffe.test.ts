/** A Caffe net may be any text: reading and lowering never throw, never hang, and say where each thing is wrong. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openCaffe } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { inlayHints } from '../../server/src/language/inlayHints.ts';
import { viewCaffe } from '../../server/src/language/viewCaffe.ts';

const dimensions = { channels: 1, height: 28, width: 28 };

/** Reads and lowers; with `costs` also estimates both phases and shows them. */
function check(text: string, costs = true): void {
  const opened = openCaffe(text, 'net.prototxt', dimensions);
  for (const { message, span } of opened.issues) {
    expect(message).toMatch(/[^.\n]$/);
    if (span === undefined) continue;
    expect(span.start).toBeGreaterThanOrEqual(0);
    expect(span.end).toBeGreaterThanOrEqual(span.start);
    expect(span.end).toBeLessThanOrEqual(text.length);
  }
  if (!costs) return;
  for (const mode of ['training', 'inference'] as const) {
    const estimate = estimateModel(opened, [{ mode, dimensions }]);
    const flops = estimate.cost?.totals.flops.forward ?? 0;
    expect(Number.isFinite(flops)).toBe(true);
    inlayHints(viewCaffe(text, estimate), 0, 1e6);
  }
}

const lenet = readFileSync('samples/lenet.prototxt', 'utf8');
const mixed = `name: "m" input: "x" input_shape { dim: 2 dim: 4 dim: 9 dim: 9 }
layers { name: "c" type: CONVOLUTION bottom: "x" top: "c" param: "w" blobs_lr: 0 convolution_param { num_output: 4 kernel_size: 3 group: 2 } }
layer { name: "p" type: "Pooling" bottom: "c" top: "p" top: "m" pooling_param { kernel_size: 3 stride: 2 pad: 1 } }
layer { name: "s" type: "Slice" bottom: "p" top: "a" top: "b" slice_param { slice_point: 2 axis: 1 } }
layer { name: "k" type: "Concat" bottom: "a" bottom: "b" top: "k" }
layer { name: "r" type: "Reshape" bottom: "k" top: "r" reshape_param { shape { dim: 0 dim: -1 dim: 2 } axis: 0 } }
layer { name: "t" type: "Tile" bottom: "r" top: "t" tile_param { axis: 1 tiles: 2 } }
layer { name: "e" type: "Eltwise" bottom: "t" bottom: "t" top: "e" eltwise_param { coeff: 1 coeff: -1 } }
layer { name: "f" type: "InnerProduct" bottom: "e" top: "f" inner_product_param { num_output: 3 axis: -1 } }
layer { name: "v" type: "Python" bottom: "f" top: "v" python_param { module: 'a' "b" layer: "L" } loss_weight: 1 }
`;

test('every prefix', () => {
  for (let end = 0; end <= mixed.length; end += 1) check(mixed.slice(0, end), end % 10 === 0);
  for (let end = 0; end <= lenet.length; end += 3) check(lenet.slice(0, end), end % 60 === 0);
});

const words = [
  '{',
  '}',
  ':',
  '"',
  '<',
  '[',
  '#',
  '\n',
  '-1',
  '0',
  '1e30',
  '9007199254740991',
  'layer {',
  'name',
  'dim: ',
];
const numbers = [...mixed.matchAll(/\b\d+\b/g)].map(({ index }) => index);

test('pieces taken out and put in', () => {
  const edit = fc.tuple(fc.nat(), fc.nat({ max: 12 }), fc.constantFrom(...words));
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      let text = mixed;
      for (const [place, removed, added] of edits) {
        const at = place % (text.length + 1);
        text = text.slice(0, at) + added + text.slice(at + removed);
      }
      check(text);
    }),
    { numRuns: 150 },
  );
});

test('any number anywhere', () => {
  const number = fc.constantFrom(
    '0',
    '-1',
    '1',
    '2',
    '3',
    '5',
    '17',
    '1000000',
    '4294967296',
    '9007199254740991',
    '0.5',
    'x',
  );
  fc.assert(
    fc.property(fc.constantFrom(...numbers), number, (at, value) => {
      check(mixed.slice(0, at) + mixed.slice(at).replace(/^\d+/, value));
    }),
    { numRuns: 150 },
  );
});

test.each([
  ['layers that are never closed', 'layer {\n'.repeat(3_000)],
  ['layers in layers', `${'layer { '.repeat(90)}${'} '.repeat(90)}`],
  ['braces without end', `layer ${'{ a '.repeat(20_000)}`],
  ['closing braces', '}\n'.repeat(5_000)],
  ['quotes that are never closed', 'layer { name: "\n'.repeat(3_000)],
  ['many layers of one name', 'layer { name: "a" type: "ReLU" bottom: "a" top: "a" }\n'.repeat(2_000)],
  ['many tops', `layer { name: "s" type: "Slice" bottom: "x" ${'top: "t" '.repeat(5_000)} }`],
  [
    'a pyramid without end',
    'layer { name: "d" type: "Input" top: "x" input_param { shape { dim: 1 dim: 1 dim: 99999 dim: 99999 } } } layer { type: "SPP" bottom: "x" top: "y" spp_param { pyramid_height: 4000000000 } }',
  ],
])('%s', (_, text) => check(text));
