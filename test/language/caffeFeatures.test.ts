import { expect, it } from 'vitest';
import { caffeFeatures } from '../../server/src/language/caffe/caffeFeatures.ts';
import { applyEdits } from '../../server/src/language/textEdit.ts';

const text = `name: "net"
layer {
  name: "data"
  type: "Input"
  top: "data"
  input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } }
}
layer {
  name: "conv1"
  type: "Convolution"
  bottom: "data"
  top: "conv1"
  convolution_param { num_output: 8 kernel_size: 3 }
}
layer {
  name: "relu1"
  type: "ReLU"
  bottom: "conv1"
  top: "conv1"
}
layer {
  name: "pool1"
  type: "Pooling"
  bottom: "conv1"
  top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 }
}
`;

it('finds the layer that writes a blob, and renames it everywhere', () => {
  const features = caffeFeatures(text);
  const at = text.lastIndexOf('bottom: "conv1"') + 'bottom: "'.length;
  expect(features.definition?.(at)?.target.start).toBe(text.indexOf('top: "conv1"') + 'top: "'.length);
  expect(features.references?.(at, true)).toHaveLength(4);
  const outcome = features.rename?.(at, 'first');
  const renamed = outcome?.kind === 'done' ? applyEdits(text, outcome.result) : '';
  expect(renamed).toBe(
    text.replaceAll('top: "conv1"', 'top: "first"').replaceAll('bottom: "conv1"', 'bottom: "first"'),
  );
  expect(features.rename?.(at, 'pool1')).toMatchObject({ kind: 'refused' });
});

/** The first proposals at `|`, in a layer at the end of the net. */
function check(line: string, expected: readonly string[]): void {
  const marked = `${text}layer {\n  name: "new"\n  ${line}\n}\n`;
  const offset = marked.indexOf('|');
  const found = caffeFeatures(marked.replace('|', '')).complete?.(offset, undefined) ?? [];
  const labels = found.map(({ label }) => label);
  for (const label of expected) expect(labels).toContain(label);
  if (expected.length === 0) expect(labels).toEqual([]);
}

it.each([
  ['fields of a layer', '|', ['bottom', 'top', 'convolution_param']],
  ['fields of a layer, half typed', 'conv|', ['convolution_param']],
  ['types of layers', 'type: "|"', ['Convolution', 'InnerProduct', 'SoftmaxWithLoss']],
  ['types of layers without quotes yet', 'type: |', ['Convolution']],
  ['blobs above', 'bottom: "|"', ['pool1', 'conv1', 'data']],
  ['fields of a message', 'pooling_param { | }', ['pool', 'kernel_size', 'stride']],
  ['values of an enumeration', 'pooling_param { pool: | }', ['MAX', 'AVE', 'STOCHASTIC']],
  ['true and false', 'convolution_param { bias_term: | }', ['true', 'false']],
  ['nothing in a comment', '# |', []],
  ['nothing in a name', 'name: "|"', []],
])('proposes %s', (_, line, expected) => check(line, expected));

it('proposes the nearest blob first', () => {
  const marked = `${text}layer { bottom: "|" }`;
  const offset = marked.indexOf('|');
  const [first] = caffeFeatures(marked.replace('|', '')).complete?.(offset, undefined) ?? [];
  expect(first?.label).toBe('pool1');
});
