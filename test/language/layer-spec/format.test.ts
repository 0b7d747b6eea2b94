import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { formatLayerSpec } from '../../../server/src/language/layer-spec/formatLayerSpec.ts';
import { applyEdits } from '../../../server/src/language/textEdit.ts';
import { oneGpu } from '../fixture.ts';

const format = (text: string): string => applyEdits(text, formatLayerSpec(text));

/** A line of `layers`, before and after. */
function check(before: string, after: string): void {
  const around = (line: string): string =>
    `dims: { batch: 8, d: 64 }\ninputs:\n  x: float32[batch, d]\nlayers:\n  - x0: ReLU()\n${line}\n`;
  expect(format(around(before))).toBe(around(after));
}

it.each([
  ['  -   a:   Linear( d,d )', '  - a: Linear(d, d)'],
  ['  - a: Linear(d , 4 * d,bias = False)', '  - a: Linear(d, 4*d, bias=False)'],
  ['  - a: Linear(d, d+1) *2   from x0 ,x', '  - a: Linear(d, d + 1) * 2 from x0, x'],
  ['  - a: reshape(-1,d - 2)', '  - a: reshape(-1, d - 2)'],
  ['  - a: Linear(d, d)   # why', '  - a: Linear(d, d)   # why'],
  ['  - a: Linear(d, d) # a,b', '  - a: Linear(d, d) # a,b'],
  ['  - a: Conv2d(64, (3 ,3), padding= "same")   ', '  - a: Conv2d(64, (3, 3), padding="same")'],
  ['  - a: concat( (x0,x), dim = 1 )', '  - a: concat((x0, x), dim=1)'],
  ['  - a: permute(0,2 ,1)', '  - a: permute(0, 2, 1)'],
  ['  - a: Linear(d, 2**3 // 2)', '  - a: Linear(d, 2**3//2)'],
])('writes %s as %s', (before, after) => check(before, after));

it('spaces mappings, lists, types and signatures', () => {
  const text = `dims: {batch: 8,d:   64}
inputs:
  x:   float32[batch,d]
blocks:
  pair( width,ratio = 4 ):
    - a: Linear(width)
layers:
  - a: pair(8)
outputs: [ a,a ]
scenario: {cluster: dgx-h100,gpus: 8}
`;
  expect(format(text)).toBe(`dims: { batch: 8, d: 64 }
inputs:
  x: float32[batch, d]
blocks:
  pair(width, ratio=4):
    - a: Linear(width)
layers:
  - a: pair(8)
outputs: [a, a]
scenario: { cluster: dgx-h100, gpus: 8 }
`);
});

it('formats the asked lines only', () => {
  const text = 'inputs:\n  x: float32[1,8]\nlayers:\n  - a: Linear( 8,8 )\n  - b: Linear( 8,8 )\n';
  const edited = applyEdits(text, formatLayerSpec(text, 4, 4));
  expect(edited).toContain('a: Linear( 8,8 )');
  expect(edited).toContain('b: Linear(8, 8)');
});

it('leaves a line alone that is half written', () => {
  const text = 'inputs:\n  x: float32[1,8]\nlayers:\n  - a: Linear( 8,"x\n';
  expect(format(text)).toContain('  - a: Linear( 8,"x');
});

const samples = resolve(import.meta.dirname, '../../../samples');
const files = readdirSync(samples).filter((name) => name.endsWith('.layers.yaml'));

it.each(files)('finds %s well formatted', (name) => {
  const text = readFileSync(resolve(samples, name), 'utf8');
  expect(format(text)).toBe(text);
});

it('gives back the same spec and the same cost for any blanks, and is done after one time', () => {
  const sample = readFileSync(resolve(samples, 'gpt2.layers.yaml'), 'utf8');
  const cost = (text: string): unknown => {
    const { cost: found } = estimateModel(openLayerSpec(text, 'x'), [oneGpu]);
    return [found?.totals.time.step, found?.totals.memory.peak];
  };
  const expected = cost(sample);
  const gaps = [...sample.matchAll(/(?<=[(,=*])(?=[^\s,])|(?<=\w)(?=[,)*=])|(?<=, )(?=\w)/g)].map(
    ({ index }) => index,
  );
  fc.assert(
    fc.property(fc.subarray(gaps, { minLength: 1 }), (chosen) => {
      let text = sample;
      for (const gap of chosen.toReversed()) text = `${text.slice(0, gap)}  ${text.slice(gap)}`;
      const formatted = format(text);
      expect(format(formatted)).toBe(formatted);
      expect(cost(formatted)).toEqual(cost(text));
      if (cost(text) === expected) expect(formatted).toBe(sample);
    }),
    { numRuns: 30 },
  );
});

it('never throws, and formats what it formatted no further', () => {
  const piece = fc.constantFrom(
    'layers:',
    '\n',
    '  ',
    '- ',
    'a',
    ': ',
    'Linear',
    '(',
    ')',
    ',',
    '=',
    '*',
    '#',
    '"',
    '{',
    '}',
    '[',
    ']',
    '-',
    '3',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const once = format(pieces.join(''));
      expect(format(once)).toBe(once);
    }),
    { numRuns: 300 },
  );
});
