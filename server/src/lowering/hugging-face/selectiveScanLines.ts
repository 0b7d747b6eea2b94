/**
 * Mamba (arXiv 2312.00752): a convolution and a state for each channel, whose steps depend on the token (modeling_mamba.py,
 * modeling_falcon_mamba.py and modeling_jamba.py of transformers 5.18).
 */

import { causalConvolutionLines } from './causalConvolution.ts';
import type { Normalization } from './normalizations.ts';

export interface SelectiveScan {
  readonly mixer: 'selective-scan';
  readonly channels: number;
  readonly state: number;
  /** Width from which steps are projected. */
  readonly rank: number;
  readonly kernel: number;
  readonly bias: boolean;
  readonly convolutionBias: boolean;
  readonly activation: string;
  /** The call that normalizes steps, B and C (Falcon Mamba, Jamba). */
  readonly norm?: Normalization;
}

/** Lines that begin at `source`; the last is the output projection. */
export function selectiveScanLines(of: SelectiveScan, source: string): readonly string[] {
  const { channels, state, rank, norm } = of;
  const bias = of.bias ? '' : ', bias=False';
  const parts = { dt: rank, B: state, C: state };
  const behind = norm === undefined ? 'part' : 'norm';
  return [
    `in_proj: Linear(${2 * channels}${bias}) from ${source}`,
    'projected: transpose(1, 2)',
    'unmixed, z: chunk(2, dim=1)',
    ...causalConvolutionLines({ ...of, bias: of.convolutionBias }, 'unmixed'),
    'convolved_tokens: transpose(1, 2)',
    `x_proj: Linear(${rank + 2 * state}, bias=False)`,
    `dt_part, B_part, C_part: split([${rank}, ${state}, ${state}], dim=-1)`,
    ...(norm === undefined
      ? []
      : Object.entries(parts).map(([part, size]) => `${part}_norm: ${norm(String(size))} from ${part}_part`)),
    `dt_turned: transpose(dt_${behind}, 1, 2)`,
    `dt_proj: Parameter(${channels}, ${rank})`,
    'delta: matmul(dt_proj, dt_turned)',
    `dt_bias: Parameter(${channels})`,
    `A_log: Parameter(${channels}, ${state})`,
    'A_exp: exp()',
    'A: neg()',
    `B: transpose(B_${behind}, 1, 2)`,
    `C: transpose(C_${behind}, 1, 2)`,
    `D: Parameter(${channels})`,
    'scanned: selective_scan(convolved, delta, A, B, C, D, z, dt_bias)',
    'scanned_tokens: transpose(1, 2)',
    `out_proj: Linear(hidden_size${bias})`,
  ];
}
