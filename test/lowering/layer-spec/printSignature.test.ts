import { expect, it } from 'vitest';
import { printSignature } from '../../../server/src/lowering/layer-spec/layerDefinition.ts';
import { findLayer } from '../../../server/src/lowering/layer-spec/layerDefinitions.ts';

it.each([
  ['Linear', 'Linear(in_features, out_features, bias=True, weight=None)'],
  ['add', 'add(input, other, …)'],
  ['reshape', 'reshape(input, *shape)'],
  ['Dropout', 'Dropout(p=0.5, inplace=False)'],
  ['GELU', "GELU(approximate='none')"],
])('signatures read as Python writes them: %s', (name, signature) => {
  const definition = findLayer(name);
  expect(definition && printSignature(definition)).toBe(signature);
});
