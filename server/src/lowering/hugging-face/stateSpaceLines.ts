/**
 * Mamba-2 (arXiv 2405.21060): a convolution and a state for each head, all of which decays alike (transformers 5.18,
 * modeling_mamba2.py, modeling_bamba.py, modeling_granitemoehybrid.py, modeling_nemotron_h.py and modeling_falcon_h1.py).
 */

import { causalConvolutionLines } from './causalConvolution.ts';
import { rmsNorm } from './normalizations.ts';

export interface StateSpace {
  readonly mixer: 'state-space';
  readonly channels: number;
  readonly heads: number;
  readonly headSize: number;
  /** Groups of heads that share B and C. */
  readonly groups: number;
  readonly state: number;
  readonly kernel: number;
  /** Tokens that are computed together. */
  readonly chunk: number;
  readonly bias: boolean;
  readonly outputBias: boolean;
  readonly convolutionBias: boolean;
  readonly activation: string;
  readonly eps: number;
  /** Over what the result is normalized, behind the gate where it is not said otherwise. */
  readonly norm: 'all' | 'group' | 'group-before-gate' | 'none';
  /** What the input is multiplied, and each part of what is projected (Falcon-H1). */
  readonly scaled?: { readonly input: number; readonly parts: true };
}

/** Lines that begin at `source`; the last is the output projection. */
export function stateSpaceLines(of: StateSpace, source: string): readonly string[] {
  const { channels, heads, headSize, groups, state } = of;
  const shared = groups * state;
  const bias = (isAdded: boolean): string => (isAdded ? '' : ', bias=False');
  const projected = 2 * channels + 2 * shared + heads;
  return [
    ...(of.scaled === undefined ? [] : [`scaled_input: mul(${source}, ${of.scaled.input})`]),
    `in_proj: Linear(${projected}${bias(of.bias)}) from ${of.scaled === undefined ? source : 'scaled_input'}`,
    ...(of.scaled === undefined
      ? []
      : [`mup_vector: Buffer(1, 1, ${projected})`, 'projected: mul(in_proj, mup_vector)']),
    `z, unmixed, dt: split([${channels}, ${channels + 2 * shared}, ${heads}], dim=-1)`,
    'channels: transpose(unmixed, 1, 2)',
    ...causalConvolutionLines(
      { ...of, channels: channels + 2 * shared, bias: of.convolutionBias },
      'channels',
    ),
    'convolved_tokens: transpose(1, 2)',
    `x_part, B_part, C_part: split([${channels}, ${shared}, ${shared}], dim=-1)`,
    `x: reshape(x_part, batch, seq, ${heads}, ${headSize})`,
    ...['B', 'C'].map((part) => `${part}: reshape(${part}_part, batch, seq, ${groups}, ${state})`),
    `A_log: Parameter(${heads})`,
    'A_exp: exp()',
    'A: neg()',
    `D: Parameter(${heads})`,
    `dt_bias: Parameter(${heads})`,
    `scanned: state_space_scan(x, dt, A, B, C, D, dt_bias, chunk_size=${of.chunk})`,
    `scanned_tokens: reshape(batch, seq, ${channels})`,
    ...outputNormLines[of.norm](of),
    `out_proj: Linear(hidden_size${bias(of.outputBias)})`,
  ];
}

const gateLines = (source: string): readonly string[] => [
  'gate: SiLU() from z',
  `opened: mul(${source}, gate)`,
];

/** The root mean square of each group, and a weight for each channel; from what the line above gives. */
const groupNormLines = ({ channels, groups, eps }: StateSpace): readonly string[] => [
  `in_groups: reshape(batch, seq, ${groups}, ${channels / groups})`,
  `groups_norm: RMSNorm(${channels / groups}, eps=${eps}, elementwise_affine=False, fused=False)`,
  `joined_groups: reshape(batch, seq, ${channels})`,
  `norm_weight: Parameter(${channels})`,
  'norm: mul(norm_weight, joined_groups)',
];

/** From `scanned_tokens` to what the output projection reads. */
const outputNormLines: Readonly<Record<StateSpace['norm'], (of: StateSpace) => readonly string[]>> = {
  none: () => gateLines('scanned_tokens'),
  all: (of) => [...gateLines('scanned_tokens'), `norm: ${rmsNorm(of.eps)(String(of.channels))}`],
  group: (of) => [...gateLines('scanned_tokens'), ...groupNormLines(of)],
  'group-before-gate': (of) => [...groupNormLines(of), ...gateLines('norm')],
};
