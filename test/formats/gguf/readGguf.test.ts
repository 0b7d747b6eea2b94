/** GGUF files that the package of llama.cpp wrote (`writeModels.py`), and what is wrong with broken ones. */

import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openModelFile } from '../../../server/src/cli/costFile.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { readGguf } from '../../../server/src/formats/gguf/readGguf.ts';
import { configOfGguf, ggufArchitectures } from '../../../server/src/lowering/hugging-face/configOfGguf.ts';
import { specOfConfig } from '../../../server/src/lowering/hugging-face/specOfConfig.ts';
import type { Issue } from '../../../server/src/model/issue.ts';

const folder = 'test/formats/gguf/models';
/** By file: parameters that PyTorch counts of the model of transformers. */
const counts: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(`${folder}/parameters.json`, 'utf8'),
);

const bytesOf = (name: string): Uint8Array => readFileSync(`${folder}/${name}.gguf`);
const read = (bytes: Uint8Array) => readGguf(byteSourceOfBuffer(bytes));

async function open(path: string) {
  const told: Issue[] = [];
  const file = await openModelFile(
    path,
    { request: {}, clusterFile: undefined, frameworkFile: undefined, layerTrace: undefined },
    (_, issues) => told.push(...issues),
  );
  return { opened: file?.opened, issues: [...told, ...(file?.opened.issues ?? [])] };
}

test('every file of the folder is counted', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.gguf'));
  expect(files.sort()).toEqual(
    Object.keys(counts)
      .map((name) => `${name}.gguf`)
      .sort(),
  );
});

describe.each(Object.entries(counts))('%s', (name, parameters) => {
  test('the model that is costed has the parameters of PyTorch, and of the weights', async () => {
    const { opened, issues } = await open(`${folder}/${name}.gguf`);
    expect(opened?.analysis?.parameters.reduce((sum, { elements }) => sum + elements, 0)).toBe(parameters);
    const compared = issues.filter(({ code }) => code === 'config/weights');
    expect(compared.map(({ severity }) => severity)).toEqual(['information']);
    expect(compared[0]?.message).toContain('the config describes as many parameters');
  });
});

test('metadata and tensors are as they were written', () => {
  const header = read(bytesOf('llama'));
  if ('problem' in header) throw new Error(header.problem);
  const { metadata, tensors } = header;
  expect(metadata.get('general.architecture')).toBe('llama');
  expect(metadata.get('llama.embedding_length')).toBe(64);
  expect(metadata.get('llama.attention.layer_norm_rms_epsilon')).toBeCloseTo(1e-6, 9);
  expect(metadata.get('tokenizer.ggml.tokens')).toEqual({ length: 160 });
  expect(metadata.get('tokenizer.ggml.scores')).toEqual({ length: 160, numbers: Array(160).fill(0) });
  // Q8_0: 34 bytes for 32 elements.
  expect(tensors.find(({ name }) => name === 'blk.1.ffn_down.weight')).toEqual({
    name: 'blk.1.ffn_down.weight',
    elementType: 'Q8_0',
    shape: [64, 96],
    elements: 6144,
    bytes: 6528,
  });
});

test('every architecture is a type that is known', () => {
  for (const architecture of ggufArchitectures) {
    const model = { metadata: new Map([['general.architecture', architecture]]), tensors: [] };
    const described = configOfGguf(model, 'model.gguf');
    if ('problem' in described) throw new Error(described.problem);
    const codes = specOfConfig(JSON.stringify(described.config), 'config.json').issues.map(
      ({ code }) => code,
    );
    expect([architecture, codes]).not.toContain('config/unknown-type');
  }
});

/** A header that begins as one of version 3, with these 64-bit counts and what follows. */
function started(tensors: bigint, values: bigint, ...rest: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(24 + rest.length);
  const view = new DataView(bytes.buffer);
  bytes.set([0x47, 0x47, 0x55, 0x46, 3]);
  view.setBigUint64(8, tensors, true);
  view.setBigUint64(16, values, true);
  bytes.set(rest, 24);
  return bytes;
}

const long = (value: number): readonly number[] => [
  ...new Uint8Array(new BigUint64Array([BigInt(value)]).buffer),
];

test.each([
  ['nothing', new Uint8Array(), 'it ends within its header'],
  ['another file', new TextEncoder().encode('GGML and more'), 'it does not begin with "GGUF"'],
  [
    'version 1',
    new Uint8Array([0x47, 0x47, 0x55, 0x46, 1, 0, 0, 0]),
    'it has version 1; versions 2 and 3 are read',
  ],
  ['endless tensors', started(2n ** 60n, 0n), 'tensors, more than 1048576'],
  ['endless values', started(0n, 2n ** 40n), 'values, more than 65536'],
  ['an endless name', started(0n, 1n, ...long(2 ** 40)), 'the name of value 1 is 1099511627776 bytes long'],
  [
    'an unknown type of value',
    started(0n, 1n, ...long(1), 97, 77, 0, 0, 0),
    'value `a` has a type that is not known',
  ],
  [
    'an endless list',
    started(0n, 1n, ...long(1), 97, 9, 0, 0, 0, 4, 0, 0, 0, ...long(2 ** 40)),
    'elements of `a`, more than 16777216',
  ],
  [
    'a list longer than the file',
    started(0n, 1n, ...long(1), 97, 9, 0, 0, 0, 4, 0, 0, 0, ...long(2 ** 23)),
    'it ends within its header',
  ],
  [
    'a tensor of many axes',
    started(1n, 0n, ...long(1), 97, 9, 0, 0, 0),
    'tensor `a` has 9 axes, more than 4',
  ],
  [
    'an unknown type of tensor',
    started(1n, 0n, ...long(1), 97, 1, 0, 0, 0, ...long(8), 99, 0, 0, 0, ...long(0)),
    'tensor `a` has type 99, which is not known',
  ],
  [
    'a tensor beyond the file',
    started(1n, 0n, ...long(1), 97, 1, 0, 0, 0, ...long(8), 0, 0, 0, 0, ...long(0)),
    'its tensors take 32 bytes, and 0 follow its header',
  ],
])('%s is refused', (_, bytes, problem) => {
  const header = read(bytes);
  expect('problem' in header ? header.problem : 'read').toContain(problem);
});

test('a file that ends anywhere is refused', () => {
  const whole = bytesOf('starcoder2');
  fc.assert(
    // Behind the last tensor there are up to 31 bytes of padding.
    fc.property(fc.integer({ min: 0, max: whole.length - 32 }), (length) => {
      expect(Object.keys(read(whole.subarray(0, length)))).toEqual(['problem']);
    }),
    { numRuns: 300 },
  );
});

test('whatever the bytes of a header are, there is a model or a reason', () => {
  const whole = bytesOf('llama');
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 9000 }),
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
      (at, bytes) => {
        const changed = whole.slice();
        changed.set(bytes, at);
        const header = read(changed);
        if ('problem' in header) return;
        const described = configOfGguf(header, 'model.gguf');
        if ('problem' in described) return;
        const { text, issues } = specOfConfig(JSON.stringify(described.config), 'config.json');
        expect(text === undefined).toBe(issues.length > 0);
      },
    ),
    { numRuns: 500 },
  );
});

test.each([
  [{}, 'it does not say its `general.architecture`'],
  [{ 'general.architecture': 'lama' }, 'no architecture is known by the name "lama", only by "llama"'],
  [
    { 'general.architecture': 'llama', 'llama.attention.head_count_kv': { length: 2, numbers: [4, 8] } },
    '`llama.attention.head_count_kv` is not the same for every layer',
  ],
  [{ 'general.architecture': 'llama', 'llama.block_count': 'two' }, '`llama.block_count` is no number'],
])('metadata %j describe no model', (metadata, problem) => {
  const described = configOfGguf({ metadata: new Map(Object.entries(metadata)), tensors: [] }, 'model.gguf');
  expect('problem' in described ? described.problem : 'config').toContain(problem);
});
