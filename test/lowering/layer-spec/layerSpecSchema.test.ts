/** The JSON schema that other tools read takes what Layercost takes, and refuses what is no layer spec. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { layerDefinitions } from '../../../server/src/lowering/layer-spec/layerDefinitions.ts';
import { fencesOf } from '../../spec-pages/specPage.ts';
import { specOf } from './costOfSpec.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const schema: object = JSON.parse(read('syntaxes/layer-spec.schema.json'));
const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);

/** What is wrong, one line each. */
function faults(text: string): readonly string[] {
  return validate(parse(text))
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
}

const listed = (folder: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path));

it.each(listed('samples').filter((path) => path.endsWith('.layers.yaml')))('takes %s', (path) => {
  expect(faults(read(path))).toEqual([]);
});

it.each(layerDefinitions.map(({ name, example }) => [name, example] as const))(
  'takes the example of %s',
  (_, { inputs, call }) => expect(faults(specOf(inputs, call))).toEqual([]),
);

const pages = listed('docs').filter((path) => /layer-spec\.md$|[\\/]spec[\\/].*\.md$/.test(path));
const examples = pages.flatMap((path) =>
  fencesOf(read(path)).map(({ line, text }) => [`${path}:${line}`, text] as const),
);

it.each(examples)('takes the example at %s', (_, text) => {
  // Names and values are Layercost's to judge; the schema knows the form, and a line said to be no call has another.
  const noCalls = [...text.matchAll(/^\s*- ([\w, ]+):.*# error: \[spec\/call\]/gm)].map(
    ([, name]) => `/${name} `,
  );
  expect(faults(text).filter((fault) => !noCalls.some((name) => fault.includes(name)))).toEqual([]);
});

it.each([
  ['a list', '- a: Linear(3)', ' must be object'],
  ['a key that is none', 'inputs: {}\nlayer: []', ' must NOT have additional properties'],
  ['layers as a mapping', 'layers: { a: Linear(3) }', '/layers must be array'],
  [
    'two layers in one item',
    'layers: [{ a: ReLU(), b: ReLU() }]',
    '/layers/0 must NOT have more than 1 properties',
  ],
  ['a layer without a name', 'layers: [ReLU()]', '/layers/0 must be object'],
  ['a layer without a call', 'layers: [{ a: }]', '/layers/0/a must be string'],
  ['a call without parentheses', 'layers: [{ a: ReLU }]', /^\/layers\/0\/a must match pattern/],
  ['a name with a blank', 'layers: [{ my layer: ReLU() }]', /property name must be valid/],
  ['an input without a type', 'inputs: { x: "[3, 4]" }', /^\/inputs\/x must match pattern/],
  ['an input of an unknown type', 'inputs: { x: "float23[3]" }', /^\/inputs\/x must match pattern/],
  ['a dim that is a list', 'dims: { d: [3] }', '/dims/d must be integer,string,null'],
  ['a dim that is no whole number', 'dims: { d: 2.5 }', '/dims/d must be integer,string,null'],
  [
    'a precision that is none',
    'scenario: { precision: fp17 }',
    '/scenario/precision must be equal to one of the allowed values',
  ],
  ['a scenario key that is none', 'scenario: { gpu: 3 }', '/scenario must NOT have additional properties'],
  ['no GPUs', 'scenario: { gpus: 0 }', '/scenario/gpus must be >= 1'],
  ['a block that is no list', 'blocks: { b: ReLU() }', '/blocks/b must be array'],
  [
    'a model with a key that is none',
    'models: { m: { layer: [] } }',
    '/models/m must NOT have additional properties',
  ],
])('refuses %s', (_, text, fault) => {
  const found = faults(text);
  expect(
    found.some((line) => (typeof fault === 'string' ? line === fault : fault.test(line))),
    found.join('\n'),
  ).toBe(true);
});
