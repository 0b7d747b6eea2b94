/**
 * Kimi Delta Attention (arXiv 2510.26692; transformers 5.18, modeling_kimi_linear.py): the gated delta rule with a decay for each
 * element of a key.
 */

import { causalConvolutionLines } from './causalConvolution.ts';
import { unitLines } from './gatedDeltaLines.ts';
import { rmsNorm } from './normalizations.ts';

export interface KimiDelta {
  readonly mixer: 'kimi-delta';
  readonly heads: number;
  readonly headSize: number;
  readonly kernel: number;
  readonly activation: string;
  readonly eps: number;
}

/** Lines that begin at `source`; the last is the output projection. */
export function kimiDeltaLines(of: KimiDelta, source: string): readonly string[] {
  const { heads, headSize } = of;
  const width = heads * headSize;
  const split = (name: string, from = ''): string =>
    `${name}: reshape(${from}batch, seq, ${heads}, ${headSize})`;
  const low = (name: string): readonly string[] => [
    `${name}_a_proj: Linear(${headSize}, bias=False) from ${source}`,
    `${name}_b_proj: Linear(${width}, bias=False)`,
  ];
  return [
    ...['q', 'k', 'v'].map((part) => `${part}_proj: Linear(${width}, bias=False) from ${source}`),
    'mixed_qkv: cat((q_proj, k_proj, v_proj), dim=-1)',
    'channels: transpose(1, 2)',
    ...causalConvolutionLines({ ...of, channels: 3 * width, bias: false }, 'channels'),
    'convolved_tokens: transpose(1, 2)',
    `q_tokens, k_tokens, v_tokens: split([${width}, ${width}, ${width}], dim=-1)`,
    ...['q', 'k', 'v'].map((part) => split(`${part}_heads`, `${part}_tokens, `)),
    ...unitLines('q', 'q_heads'),
    ...unitLines('k', 'k_heads'),
    ...low('f'),
    `dt_bias: Parameter(${width})`,
    'f_shifted: add(f_b_proj, dt_bias)',
    split('f_heads'),
    `A_log: Parameter(1, 1, ${heads}, 1)`,
    'A: exp()',
    // Softplus, which is its argument where that is large.
    'is_large: Greater(f_heads, 20)',
    'grown: exp(f_heads)',
    'one_more: add(1)',
    'logarithm: log()',
    'soft: where(is_large, f_heads, logarithm)',
    'decays: neg(A)',
    'g: mul(decays, soft)',
    `b_proj: Linear(${heads}, bias=False) from ${source}`,
    'beta: sigmoid()',
    'core: gated_delta_rule(q_unit, k_unit, v_heads, g, beta)',
    ...low('g'),
    split('gate_heads'),
    'gate: sigmoid()',
    `o_norm: ${rmsNorm(of.eps)(String(headSize))} from core`,
    'weighed: mul(o_norm, gate)',
    `merged: reshape(batch, seq, ${width})`,
    'o_proj: Linear(hidden_size, bias=False)',
  ];
}
