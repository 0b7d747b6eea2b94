/**
 * What `layercost convert` writes, judged by ONNX itself: `onnx.checker.check_model` with full checks takes every
 * sample and specs made at random, and ONNX's parser the text of the samples. Needs a Python with onnx.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { ConversionRequest } from '../../server/src/analysis/conversionRequest.ts';
import { convertModel } from '../../server/src/analysis/convertModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { layerDefinitions } from '../../server/src/lowering/layer-spec/layerDefinitions.ts';
import { specOf } from '../lowering/layer-spec/costOfSpec.ts';
import { costFacts } from '../support/costFacts.ts';
import { pythonWith } from '../support/pythonWith.ts';
import { arbitrarySpec } from './arbitrarySpec.ts';

const python = pythonWith('onnx');
const folder = mkdtempSync(join(tmpdir(), 'layercost-convert-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function convert(spec: string | Uint8Array, to: ConversionRequest['to']): string | Uint8Array {
  const conversion = convertModel(byteSourceOfBuffer(Buffer.from(spec)), 's.layers.yaml', {
    to,
    weights: 'zeros',
    externalPath: '',
    dimensions: {},
  });
  if (conversion.kind !== 'converted') throw new Error(`${JSON.stringify(conversion)}\n${spec}`);
  return conversion.content.to === 'onnx' ? conversion.content.bytes : conversion.content.text;
}

const specs = fc.sample(arbitrarySpec, { numRuns: 60, seed: 4 });

/** Scans that keep a state along a sequence, which ONNX could only write as a loop of another cost. */
const withoutOperator: ReadonlySet<string> = new Set([
  'gated_delta_rule',
  'selective_scan',
  'state_space_scan',
]);

/** One spec for every layer that ONNX can say: its own example. */
const examplesOf = (isRefused: boolean): readonly (readonly [string, string])[] =>
  layerDefinitions
    .filter(({ name }) => withoutOperator.has(name) === isRefused)
    .map(({ name, example }) => [name, specOf(example.inputs, example.call)]);
const examples = examplesOf(false);

test.each(examplesOf(true))('%s is refused: ONNX has no operator for it', (_, spec) => {
  expect(() => convert(spec, 'onnx')).toThrow(/"code":"onnx\/not-writable".*ONNX has no operator for/);
});

test.each(examples)('%s costs the same after conversion', (_, spec) => {
  expect(costFacts(convert(spec, 'onnx'), 'm.onnx')).toEqual(costFacts(spec, 's.layers.yaml'));
});

test('specs made at random cost the same after conversion', () => {
  for (const spec of specs) {
    expect(costFacts(convert(spec, 'onnx'), 'm.onnx'), spec).toEqual(costFacts(spec, 's.layers.yaml'));
  }
});

/** Reads every file of a folder, and prints the names of those that ONNX refuses, with its reason. */
const judge = `
import sys, os, onnx, onnx.parser
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    if os.path.isdir(path): continue
    try:
        if name.endswith('.onnxtxt'):
            onnx.checker.check_model(onnx.parser.parse_model(open(path).read()), full_check=True)
        else:
            onnx.checker.check_model(path, full_check=True)
    except Exception as error:
        print(name, str(error)[:300])
`;

describe.skipIf(python === undefined)(
  python === undefined ? 'ONNX takes what is written (not checked: no Python here has onnx)' : 'ONNX takes',
  () => {
    test('the example of every layer', () => {
      const own = mkdtempSync(join(folder, 'layers-'));
      for (const [name, spec] of examples) writeFileSync(join(own, `${name}.onnx`), convert(spec, 'onnx'));
      expect(execFileSync(python ?? '', ['-c', judge, own], { encoding: 'utf8' })).toBe('');
    }, 60_000);

    test('every sample as binary ONNX and as ONNX text, and specs made at random', () => {
      const samples = readdirSync('samples').filter((name) => name.endsWith('.layers.yaml'));
      for (const name of samples) {
        const spec = readFileSync(join('samples', name));
        writeFileSync(join(folder, `${name}.onnx`), convert(spec, 'onnx'));
        writeFileSync(join(folder, `${name}.onnxtxt`), convert(spec, 'onnx-text'));
      }
      specs.forEach((spec, index) => {
        writeFileSync(join(folder, `random-${index}.onnx`), convert(spec, 'onnx'));
      });
      expect(execFileSync(python ?? '', ['-c', judge, folder], { encoding: 'utf8' })).toBe('');
    }, 60_000);
  },
);
