import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { fileLimits } from '../../server/src/formats/onnx-text/printLimits.ts';
import { printOnnxText } from '../../server/src/formats/onnx-text/printOnnxText.ts';
import { caffeFeatures } from '../../server/src/language/caffe/caffeFeatures.ts';
import { onnxTextFeatures } from '../../server/src/language/onnx-text/onnxTextFeatures.ts';
import { applyEdits } from '../../server/src/language/textEdit.ts';

type Language = 'onnx' | 'caffe';

/** The whole text formatted, or some of its lines. */
function format(language: Language, text: string, first = 0, last = Number.MAX_SAFE_INTEGER): string {
  const features = language === 'onnx' ? onnxTextFeatures(text) : caffeFeatures(text);
  return applyEdits(text, features.format?.(first, last) ?? []);
}

it('indents ONNX text by its brackets, and a node below its name', () => {
  const text = `<
ir_version: 10,  # kept
  opset_import: ["" : 21]
>
g (float[4] x) => (
float[4] y
)
{
[first]
h = Relu (x)
  # a comment with { and "
       y = Sum (h,
h)   
}
`;
  expect(format('onnx', text)).toBe(`<
   ir_version: 10,  # kept
   opset_import: ["" : 21]
>
g (float[4] x) => (
   float[4] y
)
{
   [first]
      h = Relu (x)
   # a comment with { and "
   y = Sum (h,
      h)
}
`);
});

it('indents a Caffe net by its braces', () => {
  expect(
    format(
      'caffe',
      'layer {\nname: "a{" # }\n   param { lr_mult: 1 }\nconvolution_param <\nkernel_size: 3\n>\n\n}\n',
    ),
  ).toBe(
    'layer {\n  name: "a{" # }\n  param { lr_mult: 1 }\n  convolution_param <\n    kernel_size: 3\n  >\n\n}\n',
  );
});

it('changes the lines that are asked for only', () => {
  expect(format('caffe', 'layer {\nname: "a"\ntype: "b"\n}\n', 2, 2)).toBe(
    'layer {\nname: "a"\n  type: "b"\n}\n',
  );
});

it('leaves what the printer wrote as it is', () => {
  const samples = readdirSync(new URL('../../samples/', import.meta.url)).filter((name) =>
    name.endsWith('.layers.yaml'),
  );
  expect(samples.length).toBeGreaterThan(5);
  for (const name of samples.slice(0, 4)) {
    const spec = readFileSync(new URL(`../../samples/${name}`, import.meta.url), 'utf8');
    const { onnx } = openLayerSpec(spec, name);
    const text = onnx === undefined ? '' : printOnnxText(onnx, fileLimits).text;
    expect(text).not.toBe('');
    expect(format('onnx', text)).toBe(text);
  }
});

it('changes blanks at the ends of lines only, and nothing twice', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '(',
    ')',
    '<',
    '>',
    '=> ',
    '"a b',
    '"',
    "'",
    '#',
    '\n',
    '  ',
    'x: 1',
    '\\',
  );
  fc.assert(
    fc.property(fc.constantFrom<Language>('onnx', 'caffe'), fc.array(piece), (language, pieces) => {
      const text = pieces.join('');
      const once = format(language, text);
      expect(once.split('\n').map((line) => line.trim())).toEqual(
        text.split('\n').map((line) => line.trim()),
      );
      expect(format(language, once)).toBe(once);
    }),
  );
});
