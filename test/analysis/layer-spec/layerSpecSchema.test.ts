import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { printSignature } from '../../../server/src/analysis/layer-spec/layerDefinition.ts';
import { findLayer } from '../../../server/src/analysis/layer-spec/layerDefinitions.ts';
import { layerSpecSchema } from '../../../server/src/analysis/layer-spec/layerSpecSchema.ts';

const path = 'syntaxes/layer-spec.schema.json';

it('is up to date; UPDATE_GENERATED=1 writes it, then format the file', () => {
  const schema = layerSpecSchema();
  if (process.env.UPDATE_GENERATED) writeFileSync(path, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(schema);
});

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
