/** A file of weights is costed by the config beside it; the numbers are those that transformers 5.18 writes. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openModelFile } from '../../server/src/cli/costFile.ts';
import type { Issue } from '../../server/src/model/issue.ts';
import { safetensorsOf } from '../support/safetensorsOf.ts';

const folder = mkdtempSync(join(tmpdir(), 'layercost-weights-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Of `LlamaConfig` with these sizes: 139,584 parameters, counted by PyTorch. */
const config = {
  model_type: 'llama',
  architectures: ['LlamaForCausalLM'],
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 512,
  tie_word_embeddings: false,
};

const ofLayer = (layer: number): readonly (readonly [string, readonly number[]])[] => [
  [`model.layers.${layer}.self_attn.q_proj.weight`, [64, 64]],
  [`model.layers.${layer}.self_attn.k_proj.weight`, [32, 64]],
  [`model.layers.${layer}.self_attn.v_proj.weight`, [32, 64]],
  [`model.layers.${layer}.self_attn.o_proj.weight`, [64, 64]],
  [`model.layers.${layer}.mlp.gate_proj.weight`, [128, 64]],
  [`model.layers.${layer}.mlp.up_proj.weight`, [128, 64]],
  [`model.layers.${layer}.mlp.down_proj.weight`, [64, 128]],
  [`model.layers.${layer}.input_layernorm.weight`, [64]],
  [`model.layers.${layer}.post_attention_layernorm.weight`, [64]],
];
const besides: readonly (readonly [string, readonly number[]])[] = [
  ['model.embed_tokens.weight', [512, 64]],
  ['model.norm.weight', [64]],
  ['lm_head.weight', [512, 64]],
];

/** `name` is that of a folder and a file in it. */
function writeWeights(name: string, tensors: readonly (readonly [string, readonly number[]])[]): string {
  let end = 0;
  const header = Object.fromEntries(
    tensors.map(([tensor, shape]) => {
      const begin = end;
      end += 2 * shape.reduce((product, size) => product * size, 1);
      return [tensor, { dtype: 'BF16', shape, data_offsets: [begin, end] }];
    }),
  );
  const path = written(name, '');
  writeFileSync(path, safetensorsOf(header));
  return path;
}

async function open(path: string): Promise<{ parameters: number | undefined; issues: readonly Issue[] }> {
  const told: Issue[] = [];
  const file = await openModelFile(
    path,
    { request: {}, clusterFile: undefined, frameworkFile: undefined, layerTrace: undefined },
    (_, issues) => told.push(...issues),
  );
  const parameters = file?.opened.analysis?.parameters;
  return {
    parameters: parameters?.reduce((total, { elements }) => total + elements, 0),
    issues: [...told, ...(file?.opened.issues ?? [])].filter(
      ({ code }) => !code.startsWith('config/assumed'),
    ),
  };
}

const same =
  'The weights hold 139,584 numbers in 21 tensors (BF16, 273 KiB); the config describes as many parameters';

const all = [...besides, ...ofLayer(0), ...ofLayer(1)];
const described = (name: string, of: object = config): string =>
  written(`${name}/config.json`, JSON.stringify(of));

test('one file', async () => {
  described('one');
  expect(await open(writeWeights('one/model.safetensors', all))).toMatchObject({
    parameters: 139_584,
    issues: [{ code: 'config/weights', severity: 'information', message: same }],
  });
});

test('several files, of which one is named', async () => {
  described('several');
  const path = writeWeights('several/model-00001-of-00002.safetensors', all.slice(0, 5));
  writeWeights('several/model-00002-of-00002.safetensors', all.slice(5));
  const files = (position: number): string => `model-0000${position < 5 ? 1 : 2}-of-00002.safetensors`;
  const map = Object.fromEntries(all.map(([name], position) => [name, files(position)]));
  written('several/model.safetensors.index.json', JSON.stringify({ weight_map: map }));
  expect((await open(path)).issues).toMatchObject([{ severity: 'information', message: same }]);
});

test('one of several files is missing', async () => {
  described('missing');
  const path = writeWeights('missing/a.safetensors', all.slice(0, 5));
  const index = { weight_map: { x: 'a.safetensors', y: 'b.safetensors', z: '../../c.safetensors' } };
  written('missing/model.safetensors.index.json', JSON.stringify(index));
  const { parameters, issues } = await open(path);
  expect(parameters).toBeUndefined();
  expect(issues).toMatchObject([{ code: 'file/corrupt', message: expect.stringContaining('b.safetensors') }]);
});

test('another model', async () => {
  described('other', { ...config, num_hidden_layers: 3 });
  expect(await open(writeWeights('other/model.safetensors', all))).toMatchObject({
    parameters: 176_576,
    issues: [
      { severity: 'warning', message: expect.stringContaining('the config describes 176,576 parameters') },
    ],
  });
});

test('no config', async () => {
  const { parameters, issues } = await open(writeWeights('alone/model.safetensors', all));
  expect(parameters).toBeUndefined();
  expect(issues).toMatchObject([
    {
      code: 'file/not-a-model',
      message: expect.stringContaining(
        '139,584 numbers in 21 tensors (BF16, 273 KiB). Put the `config.json`',
      ),
    },
  ]);
});
