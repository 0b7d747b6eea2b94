/** The JSON schema of layer specs, for tools that are not Layercost; made from the tables that Layercost itself reads. */

import { scenarioKeys } from '../../formats/layer-spec/scenarioKeys.ts';
import type { modelKeys, specKeys } from '../../formats/layer-spec/specKeys.ts';
import { elementTypes } from '../../model/elementType.ts';
import { printSignature } from './layerDefinition.ts';
import { layerDefinitions } from './layerDefinitions.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** As a text, or as a mapping of its name and options. */
const framework = {
  type: ['string', 'object'],
  required: ['name'],
  properties: {
    name: { type: 'string', description: 'Name of a framework, or path of a file that describes one.' },
  },
  additionalProperties: { type: ['string', 'number', 'boolean'] },
};

const typesOf: Readonly<
  Record<'count' | 'group' | 'group or count' | 'text' | 'thresholds', Readonly<Record<string, Json>>>
> = {
  count: { type: 'integer', minimum: 1 },
  group: { type: 'string' },
  'group or count': { type: ['string', 'integer'], minimum: 1 },
  text: { type: 'string' },
  thresholds: { type: 'string' },
};

/** A schema of draft 7, which editors' YAML support reads. */
export function layerSpecSchema(): Json {
  const identifier = '^[A-Za-z_][A-Za-z0-9_]*$';
  const types = elementTypes.filter((type) => type !== 'undefined' && type !== 'string');
  const ofModel: Record<(typeof modelKeys)[number], Json> = {
    dims: {
      type: 'object',
      description:
        'Named sizes: a number, an expression over other names, or nothing where the value is set elsewhere.',
      propertyNames: { pattern: identifier },
      additionalProperties: { type: ['integer', 'string', 'null'] },
    },
    inputs: {
      type: 'object',
      description: 'Inputs of the model: names with an element type and a shape, such as int64[batch, seq].',
      propertyNames: { pattern: identifier },
      additionalProperties: {
        type: 'string',
        pattern: `^\\s*(${[...types, 'float', 'double', 'half', 'long', 'int'].join('|')})\\s*\\[.*\\]\\s*$`,
      },
    },
    blocks: {
      type: 'object',
      description:
        'Lists of layers used more than once: NAME(parameter, parameter=default) from INPUT, INPUT to OUTPUT, OUTPUT.',
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*\\s*(\\(.*\\))?(\\s+from\\s+.+)?(\\s+to\\s+.+)?$' },
      additionalProperties: { $ref: '#/definitions/layers' },
    },
    layers: { $ref: '#/definitions/layers' },
    outputs: {
      type: 'array',
      description: 'Layers whose outputs the model returns; default: the last one.',
      items: { type: 'string' },
    },
    scenario: {
      type: 'object',
      description: 'Scenario of the training; the options of the command line.',
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(scenarioKeys).map(([key, { kind, documentation }]): [string, Json] => {
          if (typeof kind !== 'string') return [key, { enum: [...kind], description: documentation }];
          if (kind === 'framework') return [key, { ...framework, description: documentation }];
          return [key, { ...typesOf[kind], description: documentation }];
        }),
      ),
    },
  };
  const properties: Record<(typeof specKeys)[number], Json> = {
    name: { type: 'string', description: 'Name of the model.' },
    include: {
      type: ['string', 'array'],
      description: 'Layer specs whose blocks can be called here: paths below the folder of this file.',
      items: { type: 'string' },
    },
    ...ofModel,
    models: {
      type: 'object',
      description:
        'Several models in one file: names with the keys in which each differs from the top level.',
      propertyNames: { pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]*$' },
      additionalProperties: { type: ['object', 'null'], additionalProperties: false, properties: ofModel },
    },
  };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Layer spec',
    description: 'A neural network, one layer per line, as Layercost reads it.',
    type: 'object',
    additionalProperties: false,
    properties,
    definitions: {
      layers: {
        type: 'array',
        description: 'Layers in order; each reads the output of the one above unless `from` names others.',
        items: { $ref: '#/definitions/layer' },
      },
      layer: {
        type: 'object',
        description: 'NAME: CALL. The call is one of the layers of torch.nn, a block, or an ONNX operator.',
        minProperties: 1,
        maxProperties: 1,
        propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*(\\s*,\\s*[A-Za-z_][A-Za-z0-9_]*)*$' },
        additionalProperties: {
          type: 'string',
          pattern: '^\\s*[A-Za-z_][A-Za-z0-9_.]*\\s*\\([\\s\\S]*\\)(\\s*\\*\\s*[^\\s].*)?(\\s+[a-z].*)?\\s*$',
          examples: layerDefinitions.map(printSignature),
        },
      },
    },
  };
}
