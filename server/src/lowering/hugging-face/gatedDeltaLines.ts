/**
 * Gated DeltaNet (arXiv 2412.06464): linear attention by a state per head that decays and is corrected by each token, behind a
 * convolution (modeling_qwen3_next.py, modeling_qwen3_5.py and modeling_olmo_hybrid.py of transformers 5.18).
 */

import { causalConvolutionLines } from './causalConvolution.ts';
import type { ConfigFields } from './configFields.ts';
import { rmsNorm } from './normalizations.ts';

export interface GatedDelta {
  readonly mixer: 'gated-delta';
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
  readonly kernel: number;
  readonly activation: string;
  readonly eps: number;
  /** One projection for queries, keys, values and gates by heads of keys (Qwen3-Next), one without gates, or one for each. */
  readonly projections: 'by-head' | 'joined' | 'apart';
  /** Whether corrections go beyond what they correct (`linear_allow_neg_eigval`). */
  readonly doubled?: boolean;
}

export const gatedDeltaOf = (
  fields: ConfigFields,
  activation: string,
  changes: Pick<GatedDelta, 'projections'> & Partial<GatedDelta>,
): GatedDelta => ({
  mixer: 'gated-delta',
  keyHeads: changes.keyHeads ?? fields.size('linear_num_key_heads'),
  valueHeads: changes.valueHeads ?? fields.size('linear_num_value_heads'),
  keySize: changes.keySize ?? fields.size('linear_key_head_dim'),
  valueSize: changes.valueSize ?? fields.size('linear_value_head_dim'),
  kernel: fields.size('linear_conv_kernel_dim'),
  activation,
  eps: fields.number('rms_norm_eps', 1e-6),
  ...changes,
});

/** Lines that begin at `source`; the last is the output projection. */
export function gatedDeltaLines(of: GatedDelta, source: string): readonly string[] {
  const { keyHeads, valueHeads, keySize, valueSize } = of;
  const [keys, values] = [keyHeads * keySize, valueHeads * valueSize];
  const sharing = Math.floor(valueHeads / keyHeads);
  const heads = (part: 'q' | 'k'): readonly string[] => [
    `${part}_heads: reshape(${part}_tokens, batch, seq, ${keyHeads}, ${keySize})`,
    ...(sharing > 1 ? [`${part}_repeated: repeat_interleave(${sharing}, dim=2)`] : []),
    ...unitLines(part, `${part}_${sharing > 1 ? 'repeated' : 'heads'}`),
  ];
  return [
    ...projectionLines[of.projections](of, source),
    'channels: transpose(mixed_qkv, 1, 2)',
    ...causalConvolutionLines({ ...of, channels: 2 * keys + values, bias: false }, 'channels'),
    'convolved_tokens: transpose(1, 2)',
    `q_tokens, k_tokens, v_tokens: split([${keys}, ${keys}, ${values}], dim=-1)`,
    ...heads('q'),
    ...heads('k'),
    `v_heads: reshape(v_tokens, batch, seq, ${valueHeads}, ${valueSize})`,
    ...(of.doubled === true ? ['shares: sigmoid(b)', 'beta: mul(2)'] : ['beta: sigmoid(b)']),
    `A_log: Parameter(${valueHeads})`,
    'A: exp(A_log)',
    'decays: neg()',
    `dt_bias: Parameter(${valueHeads})`,
    'a_shifted: add(a, dt_bias)',
    'dt: softplus()',
    'g: mul(decays, dt)',
    'core: gated_delta_rule(q_unit, k_unit, v_heads, g, beta)',
    `norm: ${rmsNorm(of.eps)(String(valueSize))}`,
    'wide_gate: Cast(z, to=1)',
    'gate: SiLU()',
    'wide_weighed: mul(norm, gate)',
    'weighed: Cast(wide_weighed, to=1)',
    `merged: reshape(batch, seq, ${values})`,
    'out_proj: Linear(hidden_size, bias=False)',
  ];
}

/** Heads of length one (`l2norm`). */
export const unitLines = (part: string, source: string): readonly string[] => [
  `${part}_squares: mul(${source}, ${source})`,
  `${part}_sum: sum(dim=-1, keepdim=True)`,
  `${part}_bounded: add(1e-06)`,
  `${part}_inverse: rsqrt()`,
  `${part}_unit: mul(${source}, ${part}_inverse)`,
];

/** From `source` to `mixed_qkv`, `z`, `b` and `a`. */
const projectionLines: Readonly<
  Record<GatedDelta['projections'], (of: GatedDelta, source: string) => readonly string[]>
> = {
  'by-head': (of, source) => {
    const { keyHeads, valueHeads, keySize, valueSize } = of;
    const sharing = Math.floor(valueHeads / keyHeads);
    const [keys, values] = [keyHeads * keySize, valueHeads * valueSize];
    const wide = sharing * valueSize;
    return [
      `in_proj_qkvz: Linear(${2 * keys + 2 * values}, bias=False) from ${source}`,
      `in_proj_ba: Linear(${2 * valueHeads}, bias=False) from ${source}`,
      `qkvz: reshape(in_proj_qkvz, batch, seq, ${keyHeads}, ${2 * keySize + 2 * wide})`,
      `q_part, k_part, v_part, z_part: split([${keySize}, ${keySize}, ${wide}, ${wide}], dim=-1)`,
      `ba: reshape(in_proj_ba, batch, seq, ${keyHeads}, ${2 * sharing})`,
      `b_part, a_part: split([${sharing}, ${sharing}], dim=-1)`,
      `z: reshape(z_part, batch, seq, ${valueHeads}, ${valueSize})`,
      ...['b', 'a'].map((part) => `${part}: reshape(${part}_part, batch, seq, ${valueHeads})`),
      ...['q', 'k', 'v'].map(
        (part) => `${part}_flat: reshape(${part}_part, batch, seq, ${part === 'v' ? values : keys})`,
      ),
      'mixed_qkv: cat((q_flat, k_flat, v_flat), dim=-1)',
    ];
  },
  joined: (of, source) => {
    const { keyHeads, valueHeads, keySize, valueSize } = of;
    return [
      `mixed_qkv: Linear(${2 * keyHeads * keySize + valueHeads * valueSize}, bias=False) from ${source}`,
      ...gateLines(of, source, 'in_proj_z'),
      `b: Linear(${valueHeads}, bias=False) from ${source}`,
      `a: Linear(${valueHeads}, bias=False) from ${source}`,
    ];
  },
  apart: (of, source) => {
    const { keyHeads, valueHeads, keySize, valueSize } = of;
    const size = { q: keyHeads * keySize, k: keyHeads * keySize, v: valueHeads * valueSize };
    return [
      ...(['q', 'k', 'v'] as const).map(
        (part) => `${part}_proj: Linear(${size[part]}, bias=False) from ${source}`,
      ),
      'mixed_qkv: cat((q_proj, k_proj, v_proj), dim=-1)',
      ...gateLines(of, source, 'g_proj'),
      `b: Linear(${valueHeads}, bias=False) from ${source}`,
      `a: Linear(${valueHeads}, bias=False) from ${source}`,
    ];
  },
};

const gateLines = (
  { valueHeads, valueSize }: GatedDelta,
  source: string,
  name: string,
): readonly string[] => [
  `${name}: Linear(${valueHeads * valueSize}, bias=False) from ${source}`,
  `z: reshape(batch, seq, ${valueHeads}, ${valueSize})`,
];
