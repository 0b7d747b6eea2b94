import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { readOnnxText } from '../../server/src/formats/onnx-text/readOnnxText.ts';
import { namesOfOnnxText, onnxTextFeatures } from '../../server/src/language/onnx-text/onnxTextFeatures.ts';
import { applyEdits } from '../../server/src/language/textEdit.ts';

const text = `<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
main (float[N,8] x, int64 flag) => (float[N,8] "out put", float y)
<float[8,8] w = {...}, int64[1] axes = {0}>
{
  # x is not read here
  [first] h = MatMul (x, w)
  a, b = Split <axis = 1, num_outputs = 2> (h)
  "out put" = local.pair (a, b)
  y = If (flag) <
    then_branch = g () => (float t) { t = Relu (h) },
    else_branch = e () => (float u) { u = Neg (a) }>
}
<domain: "local", opset_import: ["" : 21]>
pair (a, b) => (c)
{
  c = Add (a, b)
}
`;

/** Places of every name, as `name: definitions; references`, each by line. */
it('finds where values are defined and read', () => {
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  const found = namesOfOnnxText(text).map(
    ({ text: name, definitions, references }) =>
      `${name}: ${definitions.map(({ start }) => lineOf(start)).join(' ')}; ${references.map(({ start }) => lineOf(start)).join(' ')}`,
  );
  expect(found).toEqual([
    'x: 2; 6',
    'flag: 2; 9',
    'out put: 8; 2',
    'y: 9; 2',
    'w: 3; 6',
    'axes: 3; ',
    'h: 6; 7 10',
    'a: 7; 8 11',
    'b: 7; 8',
    't: 10; 10',
    'u: 11; 11',
    'a: 14; 16',
    'b: 14; 16',
    'c: 16; 14',
  ]);
});

it('goes to the definition, and renames with quotes where a name needs them', () => {
  const features = onnxTextFeatures(text);
  const at =
    text.indexOf('Split <axis = 1, num_outputs = 2> (h)') + 'Split <axis = 1, num_outputs = 2> ('.length;
  expect(features.definition?.(at)?.target.start).toBe(text.indexOf('h = MatMul'));
  const outcome = features.rename?.(at, 'h/2');
  const renamed = outcome?.kind === 'done' ? applyEdits(text, outcome.result) : '';
  expect(renamed).toContain('"h/2" = MatMul');
  expect(renamed).toContain('Relu ("h/2")');
  expect(features.rename?.(at, 'w')).toMatchObject({ kind: 'refused' });
  expect(features.prepareRename?.(text.indexOf('MatMul'))).toMatchObject({ kind: 'refused' });
});

/** The first proposals at `|`. */
function check(line: string, expected: readonly string[]): void {
  const marked = text.replace('  y = If', `  ${line}\n  y = If`);
  const offset = marked.indexOf('|');
  const found = onnxTextFeatures(marked.replace('|', '')).complete?.(offset, undefined) ?? [];
  expect(found.slice(0, Math.max(1, expected.length)).map(({ label }) => label)).toEqual(expected);
}

it.each([
  ['operators after `=`', 'z = |', ['Abs', 'Acos']],
  ['operators for a half-typed one', 'z = Rel|', ['Abs']],
  ['values, the nearest first', 'z = Add (|', ['out put', 'b', 'a', 'h']],
  ['values after a comma', 'z = Add (h, |', ['out put', 'b']],
  ['none of what the node itself gives', 'p, q = Split (|', ['out put', 'b', 'a', 'h']],
  ['none of it, whatever came before', 'n = Neg (h)\n  p, q = Split (|', ['n', 'out put', 'b']],
  ['attributes', 'z = Split <|', ['axis', 'num_outputs']],
  ['attributes that are not given yet', 'z = Split <axis = 1, |', ['num_outputs']],
  ['attributes that are needed first', 'z = Gather <|', ['axis']],
  ['what an operator cannot do without first', 'z = Conv <|', ['auto_pad', 'dilations']],
  ['required attributes before others', 'z = EyeLike <|', ['dtype', 'k']],
  ['attributes of the version that is imported', 'z = Split <axis = 1, |', ['num_outputs']],
  ['attributes of another domain', 'z = ai.onnx.ml.Binarizer <|', ['threshold']],
  ['none for an operator of nobody knows whom', 'z = local.Gemm <|', []],
  ['nothing in a comment', '# z = |', []],
  ['nothing in a name', '|', []],
])('proposes %s', (_, line, expected) => check(line, expected));

it.each([
  ['axis = 1', 'axis: int = 0', 'onnx__Split.html), operator set 21. Optional.'],
  ['num_outputs', 'num_outputs: int', 'operator set 21. Optional.'],
  ['then_branch', 'then_branch: graph, required', 'onnx__If.html), operator set 21. Required.'],
  ['MatMul', undefined, ''],
  ['opset_import', undefined, ''],
])('explains %s', (word, signature, explanation) => {
  const found = onnxTextFeatures(text)
    .hover?.(text.indexOf(word) + 2, undefined)
    ?.markdown.split('\n');
  expect(found?.[1]).toBe(signature);
  expect(found?.at(-1)?.endsWith(explanation) ?? true).toBe(true);
});

const sample = readFileSync(resolve(import.meta.dirname, '../../samples/googlenet.onnx'));
const opened = openModel(byteSourceOfBuffer(sample), 'googlenet.onnx');

it('gives every value that a printed model reads a definition', () => {
  if (opened.onnx === undefined) throw new Error('the sample cannot be read');
  const printed = printOnnxText(opened.onnx).text;
  const names = namesOfOnnxText(printed);
  const { model } = readOnnxText(printed);
  const inputs = new Set(model?.graph.nodes.flatMap((node) => node.inputs.filter((name) => name !== '')));
  expect(inputs.size).toBeGreaterThan(100);
  const defined = new Set(names.map(({ text: name }) => name));
  expect([...inputs].filter((name) => !defined.has(name))).toEqual([]);
});

it('survives any text', () => {
  const piece = fc.constantFrom(
    'a',
    ' ',
    '\n',
    '(',
    ')',
    '<',
    '>',
    '{',
    '}',
    '[',
    ']',
    '=',
    '=>',
    ',',
    '"',
    '#',
    '.',
    ':',
    'Relu',
    'float',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 50 }), (pieces) => {
      const source = pieces.join('');
      const features = onnxTextFeatures(source);
      for (let offset = 0; offset <= source.length; offset += 3) features.complete?.(offset, undefined);
    }),
    { numRuns: 200 },
  );
});
