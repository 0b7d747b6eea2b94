/**
 * Configs of transformers against what transformers builds from them: `configs.jsonl`, written by
 * `scripts/huggingFace/counts.py` with torch 2.13 and transformers 5.18. Rows with an owner are public models, whose
 * sizes are those of their `config.json`; the others draw sizes and flags at random.
 */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openLayerSpec, openModel } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { formatLayerSpec } from '../../../server/src/language/layer-spec/formatLayerSpec.ts';
import configDefaults from '../../../server/src/lowering/hugging-face/configDefaults.json' with {
  type: 'json',
};
import { knownTypes, specOfConfig } from '../../../server/src/lowering/hugging-face/specOfConfig.ts';

interface Row {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>> & { readonly model_type: string };
  readonly parameters: number;
  readonly trained: number;
  readonly flops?: number;
  /** Tokens, where the model takes less than 128. */
  readonly seq?: number;
}

const rows: readonly Row[] = readFileSync(new URL('configs.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

const written = (config: object) => specOfConfig(JSON.stringify(config), 'config.json');

function costed(text: string, dimensions: Readonly<Record<string, number>> = { batch: 2, seq: 128 }) {
  const opened = openLayerSpec(text, 'config.json', { dimensions });
  const { cost } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus: 1, mode: 'inference', precision: 'fp32' },
  ]);
  if (cost === undefined) throw new Error(`not costed: ${opened.issues[0]?.message}`);
  return { opened, cost };
}

test('every known type has rows and defaults', () => {
  const rowTypes = new Set(rows.map(({ config }) => config.model_type));
  expect(knownTypes.filter((type) => !rowTypes.has(type))).toEqual([]);
  expect(Object.keys(configDefaults.types).sort()).toEqual([...knownTypes].sort());
});

test('the page lists every known type', () => {
  const page = readFileSync(new URL('../../../docs/config.md', import.meta.url), 'utf8');
  const listed = [...(page.split('## Types')[1] ?? '').matchAll(/`([\w-]+)`/g)].map(([, type]) => type);
  expect(listed.filter((type) => type !== 'model_type')).toEqual([...knownTypes].sort());
});

describe('parameters and FLOPs are those of transformers', () => {
  test.each(rows)('$name', ({ config, trained, flops, seq = 128 }) => {
    const { text, issues } = written(config);
    expect(issues.filter(({ code }) => code !== 'config/not-read')).toEqual([]);
    const { opened, cost } = costed(text ?? '', { batch: 2, seq });
    expect(opened.issues).toEqual([]);
    expect(cost.layers.reduce((sum, layer) => sum + layer.parameters, 0)).toBe(trained);
    expect(cost.totals.exact).toBe(true);
    if (flops !== undefined) expect(cost.totals.flops.forward / flops).toBeCloseTo(1, 3);
  });
});

/** One row of each type. */
const firsts = (): readonly Row[] =>
  rows.filter(
    ({ config }, index) => rows.findIndex((row) => row.config.model_type === config.model_type) === index,
  );

test('what is written is written as the formatter writes it', () => {
  for (const { config } of firsts()) expect(formatLayerSpec(written(config).text ?? '')).toEqual([]);
});

const llama = { model_type: 'llama', architectures: ['LlamaForCausalLM'] };

test.each([
  ['{', 'The text is not valid JSON'],
  ['[]', 'The JSON is not an object: download the file again'],
  ['{"architectures": ["X"]}', 'has no `model_type`'],
  ['{"model_type": "llamma"}', 'No architecture is known for the `model_type` "llamma", only for "llama"'],
  [JSON.stringify({ ...llama, hidden_size: '4096' }), '`hidden_size` must be a whole number of at least 1'],
  [JSON.stringify({ ...llama, hidden_size: null }), '`hidden_size` is missing: correct it in the file'],
  [JSON.stringify({ ...llama, num_hidden_layers: 1e300 }), '`num_hidden_layers` must be a whole number'],
  [JSON.stringify({ ...llama, hidden_act: 'laplace' }), 'the activation "laplace" is not known'],
  [
    JSON.stringify({ ...llama, architectures: ['LlamaForSomething'] }),
    'The head of the class "LlamaForSomething"',
  ],
  [JSON.stringify({ model_type: 'bert', add_cross_attention: true }), '`add_cross_attention` is true'],
  [
    JSON.stringify({ model_type: 'vision-encoder-decoder', decoder: { model_type: 'gpt2' } }),
    'the decoder "gpt2" is not known here',
  ],
  [JSON.stringify({ model_type: 'convnext', drop_path_rate: 0.1 }), '`drop_path_rate` is above 0'],
  [
    JSON.stringify({ model_type: 'marian', share_encoder_decoder_embeddings: false }),
    '`share_encoder_decoder_embeddings` is false',
  ],
  [
    JSON.stringify({ model_type: 'mixtral', hidden_act: 'quick_gelu' }),
    'the activation "quick_gelu" of experts',
  ],
  [JSON.stringify({ model_type: 'resnet', depths: [2, 0] }), '`depths` must be a list of whole numbers'],
  [
    JSON.stringify({ model_type: 'olmo3', layer_types: ['full_attention', 'linear_attention'] }),
    '`layer_types` has "linear_attention"',
  ],
  [JSON.stringify({ model_type: 'whisper', architectures: ['WhisperForCausalLM'] }), 'is not known'],
  [JSON.stringify({ model_type: '__proto__' }), 'No architecture is known'],
])('%s is refused', (config, message) => {
  const { text, issues } = specOfConfig(config, 'config.json');
  expect(text).toBeUndefined();
  expect(issues.map((issue) => issue.message).join()).toContain(message);
});

test('sizes that do not fit together are said of the spec, without an exception', () => {
  const { text } = written({
    ...llama,
    num_attention_heads: 7,
    num_key_value_heads: 3,
    num_hidden_layers: 2 ** 30,
  });
  const opened = openLayerSpec(text ?? '', 'config.json');
  expect(opened.issues.length).toBeGreaterThan(0);
});

test('of several networks the one of text is costed, and said to be a part', () => {
  const text_config = {
    model_type: 'cohere2',
    hidden_size: 2560,
    num_hidden_layers: 4,
    num_attention_heads: 20,
  };
  const { text, issues } = written({
    model_type: 'deepseek_vl',
    architectures: ['DeepseekVLForConditionalGeneration'],
    text_config,
    vision_config: { hidden_size: 1152 },
  });
  expect(issues.map(({ code }) => code)).toEqual(['config/part']);
  const alone = written({ architectures: ['Cohere2ForCausalLM'], ...text_config, tie_word_embeddings: true });
  expect(costed(text ?? '').cost.totals.flops).toEqual(costed(alone.text ?? '').cost.totals.flops);
});

test.each([
  // Qwen2-VL-7B as it was published: fields of the text beside those of images.
  [{ model_type: 'qwen2_vl', hidden_size: 96, vision_config: {}, tie_word_embeddings: false }, false],
  [{ model_type: 'qwen2_5_vl', text_config: { hidden_size: 96 } }, false],
  [{ model_type: 'qwen2_5_vl', text_config: { hidden_size: 96, tie_word_embeddings: true } }, true],
  [{ model_type: 'llava_next', text_config: { hidden_size: 96, tie_word_embeddings: true } }, false],
  [{ model_type: 'mistral3', text_config: { hidden_size: 96 } }, true],
  [{ model_type: 'aya_vision', text_config: { hidden_size: 96 } }, true],
  [{ model_type: 'glm4v', text_config: { hidden_size: 128 } }, false],
  [{ model_type: 'glm_ocr', tie_word_embeddings: true, text_config: { hidden_size: 96 } }, true],
  [{ model_type: 'kimi_k25', text_config: { hidden_size: 96 } }, true],
  [{ model_type: 'paddleocr_vl', text_config: { hidden_size: 96 } }, true],
  [{ model_type: 'video_llama_3', text_config: { hidden_size: 112 } }, false],
  [{ model_type: 'internvl', tie_word_embeddings: false, text_config: { hidden_size: 96 } }, false],
])('%j: whether logits share the weights of embeddings is as transformers 5.18 has it', (config, tied) => {
  const { text, issues } = written(config);
  expect(issues.map(({ code }) => code)).toEqual(
    knownTypes.includes(config.model_type) ? [] : ['config/part'],
  );
  expect(text?.includes('weight=embed_tokens')).toBe(tied);
});

test.each([
  [{ quant_method: 'bitsandbytes', load_in_4bit: true }, '4 bits, a quarter'],
  [{ quant_method: 'gptq', bits: 8 }, '8 bits, a half'],
  [{ quant_method: 'fp8', weight_block_size: [128, 128] }, '8 bits, a half'],
  [{ quant_method: 'awq', bits: 3 }, '3 bits, less than a quarter'],
  [{ quant_method: 'hqq' }, 'in fewer bits'],
])('%j is said', (quantization_config, message) => {
  const { text, issues } = written({ ...llama, quantization_config });
  expect(text).toBe(written(llama).text);
  expect(issues).toEqual([
    expect.objectContaining({ code: 'config/quantized', message: expect.stringContaining(message) }),
  ]);
});

test.each([
  [{ model_type: 'olmo', clip_qkv: 8 }, '`clip_qkv` is not read: it bounds queries, keys and values'],
  [{ model_type: 'mpt', attn_config: { clip_qkv: 8 } }, '`clip_qkv` is not read'],
  [{ model_type: 'phimoe', input_jitter_noise: 0.01 }, '`input_jitter_noise` is not read'],
  [{ model_type: 'whisper', encoder_layerdrop: 0.1 }, '`encoder_layerdrop` is not read: it skips layers'],
  [{ model_type: 'wav2vec2', layerdrop: 0.1 }, '`layerdrop` is not read'],
])('%j: what changes the network and is not read is said', (config, message) => {
  const { text, issues } = written(config);
  expect(text).toBeDefined();
  expect(issues).toEqual([
    expect.objectContaining({ code: 'config/not-read', message: expect.stringContaining(message) }),
  ]);
});

test.each([
  { model_type: 'olmo' },
  { model_type: 'whisper', encoder_layerdrop: 0 },
  { model_type: 'llama', clip_qkv: 8 },
])('%j has nothing that is not read', (config) => {
  expect(written(config).issues).toEqual([]);
});

test('code of the repository is said', () => {
  const { issues } = written({ ...llama, auto_map: { AutoModelForCausalLM: 'modeling.Own' } });
  expect(issues.map(({ code }) => code)).toEqual(['config/own-code']);
});

test('the head follows the class that was saved', () => {
  const parameters = (architecture: string) => {
    const { text } = written({ ...llama, architectures: [architecture], num_hidden_layers: 1 });
    return costed(text ?? '').cost.layers.reduce((sum, layer) => sum + layer.parameters, 0);
  };
  expect(parameters('LlamaForCausalLM') - parameters('LlamaModel')).toBe(32_000 * 4096);
  expect(parameters('LlamaForSequenceClassification') - parameters('LlamaModel')).toBe(2 * 4096);
});

test('whatever stands in a field, there is a spec or a reason', () => {
  const fields = [...new Set(rows.flatMap(({ config }) => Object.keys(config)))];
  const changes = fc.dictionary(
    fc.constantFrom(...fields.filter((name) => name !== 'model_type')),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(fc.constantFrom(...rows), changes, ({ config }, changed) => {
      const { text, issues } = written({ ...config, ...changed });
      expect(text === undefined).toBe(issues.some(({ severity }) => severity === 'error'));
    }),
    { numRuns: 300 },
  );
});

test('images of a sequence, of which a config says nothing, are one until somebody says how many', () => {
  const config = rows.find(({ name }) => name === 'llava, random')?.config;
  const openWith = (dimensions?: Readonly<Record<string, number>>) =>
    openModel(byteSourceOfBuffer(Buffer.from(JSON.stringify(config))), 'config.json', {
      specOfConfig,
      dimensions: { seq: 128, ...dimensions },
    });
  expect(openWith().issues).toEqual([
    expect.objectContaining({
      code: 'config/assumed-images',
      severity: 'information',
      message: expect.stringContaining('one of 25 tokens'),
      unset: ['images'],
    }),
  ]);
  expect(openWith({ images: 3 }).issues).toEqual([]);
});

test('the batch of models that read images beside text stays open', () => {
  const read = firsts().filter(({ config }) => written(config).imageTokens !== undefined);
  expect(read.length).toBeGreaterThan(10);
  for (const { config, seq = 128 } of read) {
    const opened = openLayerSpec(written(config).text ?? '', 'config.json', { dimensions: { seq } });
    const isOpen = opened.analysis?.symbols.some(({ name }) => name === 'batch');
    expect([config.model_type, isOpen]).toEqual([config.model_type, true]);
  }
});

test('a tower that is not known is left out, and said to be', () => {
  const { issues } = written({
    model_type: 'llava',
    text_config: { model_type: 'llama' },
    vision_config: { model_type: 'sam' },
  });
  expect(issues.map(({ code }) => code)).toEqual(['config/part']);
});

test('more images than a sequence has room for are an error of the spec', () => {
  const config = rows.find(({ name }) => name === 'llava, random')?.config ?? llama;
  const { text } = written(config);
  const opened = openLayerSpec(text ?? '', 'config.json', { dimensions: { seq: 128, images: 9 } });
  expect(opened.issues.length).toBeGreaterThan(0);
});

test('the length of a sequence, which a config does not say, is named until somebody gives it', () => {
  const config = { model_type: 'llama', hidden_size: 64, num_attention_heads: 4, num_hidden_layers: 1 };
  const issuesOf = (dimensions?: Readonly<Record<string, number>>) =>
    openModel(byteSourceOfBuffer(Buffer.from(JSON.stringify(config))), 'config.json', {
      specOfConfig,
      ...(dimensions === undefined ? {} : { dimensions }),
    }).issues;
  expect(issuesOf()).toEqual([
    expect.objectContaining({
      code: 'config/assumed-length',
      severity: 'information',
      message: expect.stringContaining('2048 tokens'),
      unset: ['seq'],
    }),
  ]);
  expect(issuesOf({ seq: 512 })).toEqual([]);
});
