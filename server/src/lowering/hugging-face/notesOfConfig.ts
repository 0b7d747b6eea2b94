/** What a published config says beside the sizes of its network, and what that means for the costs. */

import type { HuggingFaceConfig } from '../../formats/hugging-face/readConfig.ts';
import { isObject } from '../../formats/parseJson.ts';
import type { Issue } from '../../model/issue.ts';

export const notesOfConfig = (config: HuggingFaceConfig): readonly Issue[] => [
  ...quantized(config.fields),
  ...ownCode(config.fields),
  ...unreadFields(config),
  ...sparseAttention(config),
];

/** Fields that change what a class computes, and that no line here reads: of which types, and what they do. */
const notRead: readonly {
  readonly types: readonly string[];
  readonly field: string;
  readonly inside?: string;
  readonly does: string;
}[] = [
  { types: ['olmo'], field: 'clip_qkv', does: 'bounds queries, keys and values' },
  { types: ['mpt'], inside: 'attn_config', field: 'clip_qkv', does: 'bounds queries, keys and values' },
  { types: ['phimoe'], field: 'input_jitter_noise', does: 'multiplies what experts read by noise' },
  ...['encoder_layerdrop', 'decoder_layerdrop', 'layerdrop'].map((field) => ({
    types: [
      'whisper',
      'bart',
      'mbart',
      'plbart',
      'pegasus',
      'marian',
      'm2m_100',
      'blenderbot',
      'blenderbot-small',
      'opt',
      'biogpt',
      'wav2vec2',
      'hubert',
      'unispeech',
      'unispeech-sat',
      'detr',
    ],
    field,
    does: 'skips layers at random in training',
  })),
];

function unreadFields({ type, fields }: HuggingFaceConfig): readonly Issue[] {
  return notRead.flatMap(({ types, field, inside, does }) => {
    const holder = inside === undefined ? fields : fields[inside];
    const value = isObject(holder) && types.includes(type) ? holder[field] : undefined;
    if (typeof value !== 'number' || value === 0) return [];
    return [
      {
        code: 'config/not-read',
        severity: 'warning',
        message: `\`${field}\` is not read: it ${does}. Costs are those without it`,
      } satisfies Issue,
    ];
  });
}

/** transformers hides what an indexer does not choose by a mask; kernels of serving and training systems skip it. */
const sparseAttention = ({ type }: HuggingFaceConfig): readonly Issue[] =>
  type === 'deepseek_v32' || type === 'glm_moe_dsa'
    ? [
        {
          code: 'config/not-read',
          severity: 'information',
          message:
            'Attention sees `index_topk` tokens by a mask over all, as transformers runs it. Kernels that skip the others are not costed: beyond that many tokens they are faster',
        },
      ]
    : [];

/**
 * Weights that the repository stores in fewer bits (transformers 5.18, `utils/quantization_config.py`). Bits are those of the
 * weights of linear layers; scales and what is left in full are not counted.
 */
function quantized(fields: HuggingFaceConfig['fields']): readonly Issue[] {
  const given = [fields.quantization_config, fields.compression_config].find(isObject);
  if (given === undefined) return [];
  const method = typeof given.quant_method === 'string' ? given.quant_method : 'quantization_config';
  const bits = bitsOf(method, given);
  const size =
    bits === undefined
      ? 'Its weights are stored in fewer bits'
      : `Its linear layers are stored in ${bits} bits, ${share(bits)} of the bytes in bf16`;
  return [
    {
      code: 'config/quantized',
      severity: 'warning',
      message: `The model is quantized (\`${method.slice(0, 40)}\`). ${size}. Memory and times here are those of the precision of the scenario`,
    },
  ];
}

const share = (bits: number): string =>
  bits >= 8 ? 'a half' : bits >= 4 ? 'a quarter' : 'less than a quarter';

function bitsOf(method: string, of: Readonly<Record<string, unknown>>): number | undefined {
  for (const name of ['bits', 'w_bit', 'nbits', 'weight_bits', 'num_bits']) {
    const bits = of[name];
    if (typeof bits === 'number' && bits > 0 && bits <= 16) return bits;
  }
  if (of.load_in_4bit === true || of._load_in_4bit === true) return 4;
  if (of.load_in_8bit === true || of._load_in_8bit === true) return 8;
  return Object.hasOwn(bitsOfMethods, method) ? bitsOfMethods[method] : undefined;
}

const bitsOfMethods: Readonly<Record<string, number>> = {
  fp8: 8,
  fbgemm_fp8: 8,
  mxfp4: 4,
  eetq: 8,
  bitnet: 2,
};

/** Code of the repository itself, which transformers runs with `trust_remote_code`. */
function ownCode(fields: HuggingFaceConfig['fields']): readonly Issue[] {
  if (!isObject(fields.auto_map)) return [];
  return [
    {
      code: 'config/own-code',
      severity: 'warning',
      message:
        'The repository has code of its own (`auto_map`), which is not read. Costs are those of the class of transformers for this `model_type`',
    },
  ];
}
