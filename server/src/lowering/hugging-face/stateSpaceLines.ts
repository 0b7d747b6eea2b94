/**
 * Mamba-2 (arXiv 2405.21060): a convolution and a state for each head, all of which decays alike (transformers 5.18,
 * modeling_mamba2.py, modeling_bamba.py, modeling_granitemoehybrid.py, modeling_nemotron_h.py and modeling_falcon_h1.py).
 */

import { causalConvolutionLines } from './causalConvolution.ts';

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

/** A gate that is multiplied in fp32 (`gate.to(torch.float32)`). */
const wideGateLines = (source: string): readonly string[] => [
  'wide_gate: Cast(z, to=1)',
  'gate: SiLU()',
  `opened: mul(${source}, gate)`,
];

/** In fp32, the root mean square over the last axis of what the line above gives. */
const squareLines = (eps: number): readonly string[] => [
  'unit_squares: pow(2)',
  'mean_square: mean(dim=-1, keepdim=True)',
  `bounded: add(${eps})`,
  'inverse: rsqrt()',
];

/** The root mean square of each group of what the line above gives in fp32, and a weight for each channel. */
const groupNormLines = ({ channels, groups, eps }: StateSpace): readonly string[] => [
  `in_groups: reshape(batch, seq, ${groups}, ${channels / groups})`,
  ...squareLines(eps),
  'normalized: mul(in_groups, inverse)',
  `norm_weight: Parameter(${groups}, ${channels / groups})`,
  'weighed: mul(norm_weight, normalized)',
  `norm: reshape(batch, seq, ${channels})`,
];

/** From `scanned_tokens` to what the output projection reads, whose type is that of `scanned_tokens`. */
const outputNormLines: Readonly<Record<StateSpace['norm'], (of: StateSpace) => readonly string[]>> = {
  none: () => ['gate: SiLU() from z', 'opened: mul(scanned_tokens, gate)'],
  all: (of) => [
    'wide: Cast(scanned_tokens, to=1)',
    ...wideGateLines('wide'),
    ...squareLines(of.eps),
    'normalized: mul(opened, inverse)',
    'narrowed: Cast(normalized, to=1)',
    `norm_weight: Parameter(${of.channels})`,
    'norm: mul(norm_weight, narrowed)',
  ],
  group: (of) => [...wideGateLines('scanned_tokens'), ...groupNormLines(of), 'narrowed: Cast(norm, to=1)'],
  'group-before-gate': (of) => [
    'wide: Cast(scanned_tokens, to=1)',
    ...groupNormLines(of),
    ...wideGateLines('norm'),
    'narrowed: Cast(opened, to=1)',
  ],
};
