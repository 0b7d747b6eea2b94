/** What holds for every layer there is. */

import { expect, it } from 'vitest';
import { layerDefinitions } from '../../../server/src/analysis/layer-spec/layerDefinitions.ts';
import { unsupportedLayers } from '../../../server/src/analysis/layer-spec/unsupportedLayers.ts';
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
