/** Calls of normalizations over the last axis, as transformers computes them. */

import type { Attention } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';

/** The call of a normalization over an axis of that size. */
export type Normalization = (size: string) => string;

/** `fields`: of the type whose class it is; that of Llama where they are left out. */
export const rmsNorm =
  (eps: number, fields?: Pick<ConfigFields, 'type'>): Normalization =>
  (size) =>
    `RMSNorm(${size}, eps=${eps}, fused=False${castOf(fields)})`;

/** Without a scale. */
export const bareRmsNorm =
  (eps: number): Normalization =>
  (size) =>
    `RMSNorm(${size}, eps=${eps}, elementwise_affine=False, fused=False)`;

const castOf = (fields: Pick<ConfigFields, 'type'> | undefined): string => {
  const cast = castBack.get(fields?.type ?? '');
  return cast === undefined ? '' : `, cast='${cast}'`;
};

/** Where classes cast back what they computed in fp32, where it is not before the scale. */
const castBack: ReadonlyMap<string, 'behind' | 'never'> = new Map([
  // T5LayerNorm casts where weights are narrow, which they are not under autocast.
  ...['t5', 'mt5', 'umt5'].map((type) => [type, 'never'] as const),
  ...[
    'afmoe',
    'flex_olmo',
    'gemma',
    'gemma2',
    'gemma3',
    'gemma3_text',
    'gemma4_text',
    'gpt_oss',
    'helium',
    'nemotron_h',
    'olmo2',
    'olmo3',
    'olmo_hybrid',
    'qwen3_5',
    'qwen3_5_moe',
    'qwen3_5_moe_text',
    'qwen3_5_text',
    'qwen3_next',
    'vaultgemma',
  ].map((type) => [type, 'behind'] as const),
]);

export const layerNorm =
  (eps: number, options = '') =>
  (size: string): string =>
    `LayerNorm(${size}, eps=${eps}${options})`;

export const headNorm = (fields: ConfigFields): NonNullable<Attention['queryNorm']> => ({
  over: 'head',
  call: rmsNorm(fields.number('rms_norm_eps', 1e-6), fields),
});

export const wholeNorm = (fields: ConfigFields): NonNullable<Attention['queryNorm']> => ({
  over: 'all',
  call: rmsNorm(fields.number('rms_norm_eps', 1e-6), fields),
});
