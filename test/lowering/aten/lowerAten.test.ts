import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openModel } from '../../../server/src/analysis/openModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';

const small = new Uint8Array(readFileSync(new URL('../../formats/pt2/small.pt2', import.meta.url)));
const opened = openModel(byteSourceOfBuffer(small), 'small.pt2');

test('a program becomes the operators that its modules are', () => {
  expect(opened.issues).toEqual([]);
  expect(opened.analysis?.graph.operators.map(({ type }) => type)).toEqual([
    ...['Conv', 'BatchNormalization', 'Relu', 'ReduceMean', 'Dropout', 'Gemm', 'Reshape'],
  ]);
  expect(opened.analysis?.layers.slice(0, 2).map(({ name, type }) => `${name} ${type}`)).toEqual([
    'conv Conv2d',
    'norm BatchNorm2d',
  ]);
});

/** Elements by hand: Conv2d(3, 8, 3), BatchNorm2d(8), Linear(8, 10) whose bias has `requires_grad=False`. */
test('parameters have their names, and frozen ones are known', () => {
  const written = (parameters: readonly { readonly name: string; readonly elements: number }[] = []) =>
    parameters.map(({ name, elements }) => `${name} ${elements}`);
  expect(written(opened.analysis?.parameters)).toEqual([
    ...['conv.weight 216', 'conv.bias 8', 'norm.weight 8', 'norm.bias 8', 'fc.weight 80'],
  ]);
  expect(written(opened.analysis?.frozen)).toEqual(['fc.bias 10']);
});

test('shapes that are inferred are those of the archive, with the batch open', () => {
  expect(opened.analysis?.batchSymbol).toBeDefined();
  expect(opened.analysis?.fixedBatch).toBeUndefined();
  const outputs = opened.analysis?.graph.outputs.map((name) => opened.analysis?.graph.values.get(name)?.type);
  expect(outputs).toMatchObject([{ kind: 'tensor', elementType: 'float32', shape: [{}, 10] }]);
});

/** Attention written out, line by line: `Words` of test/formats/pt2/writeArchives.py. */
test('products, masks and choices become their operators', () => {
  const bytes = new Uint8Array(readFileSync(new URL('../../formats/pt2/words.pt2', import.meta.url)));
  const words = openModel(byteSourceOfBuffer(bytes), 'words.pt2');
  expect(words.issues).toEqual([]);
  expect(words.analysis?.graph.operators.map(({ type }) => type)).toEqual([
    ...['Gather', 'Transpose', 'MatMul', 'Split'],
    ...['Transpose', 'MatMul', 'Div'],
    ...['Equal', 'Not', 'Cast', 'CumSum'],
    ...['Reshape', 'Reshape', 'GreaterOrEqual', 'Equal', 'Not', 'Reshape', 'And'],
    ...['Not', 'Where', 'Softmax', 'MatMul'],
    'Dropout',
  ]);
  const [product, dropout] = words.analysis?.graph.operators.slice(-2) ?? [];
  expect(dropout?.inputs[0]).toBe(product?.outputs[0]);
});

test('the largest batch that the archive was exported for is kept', () => {
  expect(opened.analysis?.symbols).toEqual([{ name: 's77', default: undefined, limit: 64 }]);
});
