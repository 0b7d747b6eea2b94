/** What holds for every layer there is. */

import { expect, it } from 'vitest';
import { readLayerSpec } from '../../../server/src/formats/layer-spec/readLayerSpec.ts';
import { layerDefinitions } from '../../../server/src/lowering/layer-spec/layerDefinitions.ts';
import { unsupportedLayers } from '../../../server/src/lowering/layer-spec/unsupportedLayers.ts';
import { lowerLayerSpec } from '../../../server/src/lowering/lowerLayerSpec.ts';
import { costOfSpec, specOf } from './costOfSpec.ts';

const names = layerDefinitions.map((definition) => definition.name);

it('defines each name once', () => {
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(names.filter((name) => unsupportedLayers.has(name))).toEqual([]);
});

it.each(layerDefinitions.map((definition) => [definition.name, definition] as const))(
  'costs its example: %s',
  (_, { example }) => {
    const cost = costOfSpec(specOf(example.inputs, example.call));
    expect(cost.problems).toEqual([]);
    expect(cost.shape).not.toMatch(/\?/);
  },
);

it.each(layerDefinitions.map((definition) => [definition.name, definition] as const))(
  'documents %s and its parameters in sentences',
  (_, definition) => {
    const texts = [
      definition.documentation,
      ...definition.parameters.map(({ documentation }) => documentation),
    ];
    for (const text of [...texts, ...(definition.work === undefined ? [] : [definition.work])]) {
      expect(text).toMatch(/^\S.*\.$/);
    }
    const parameters = definition.parameters.map(({ name }) => name);
    expect(new Set(parameters).size).toBe(parameters.length);
  },
);

it.each(layerDefinitions.map((definition) => [definition.name, definition] as const))(
  'says of %s nothing more where a line above it cannot be read',
  (_, { example }) => {
    const unknown = Object.keys(example.inputs).map((name) => `  - ${name}: Unknown()`);
    const { spec } = readLayerSpec(['layers:', ...unknown, `  - y: ${example.call}`, ''].join('\n'));
    if (spec === undefined) throw new Error('the spec was not read');
    const messages = lowerLayerSpec(spec).issues.map(({ message }) => message);
    expect(messages.filter((message) => !message.includes('`Unknown`'))).toEqual([]);
  },
);
