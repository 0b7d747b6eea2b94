/** What stands in the place of attention in some layers, as transformers 5.18 computes it. */

import type { Attention } from './attentionLines.ts';
import { attentionLines } from './attentionLines.ts';
import { type GatedDelta, gatedDeltaLines } from './gatedDeltaLines.ts';
import { type KimiDelta, kimiDeltaLines } from './kimiDeltaLines.ts';
import { type SelectiveScan, selectiveScanLines } from './selectiveScanLines.ts';
import { type StateSpace, stateSpaceLines } from './stateSpaceLines.ts';

export type Mixer =
  | NoMixer
  | ShortConvolution
  | GatedDelta
  | SelectiveScan
  | StateSpace
  | KimiDelta
  | BesideAttention;

/** Of a block that has the part behind it alone. */
export interface NoMixer {
  readonly mixer: 'none';
}

/** What a block with each is called. */
export const mixerNames: Readonly<Record<Mixer['mixer'], string>> = {
  none: 'single',
  'short-convolution': 'convolution',
  'gated-delta': 'linear',
  'kimi-delta': 'linear',
  'selective-scan': 'mamba',
  'state-space': 'mamba',
  'beside-attention': 'hybrid',
};

/** A causal convolution of a few tokens between two gates (LFM2; modeling_lfm2.py, `Lfm2ShortConv`). */
export interface ShortConvolution {
  readonly mixer: 'short-convolution';
  readonly kernel: number;
  readonly bias: boolean;
}

/** A state and attention that read the same tokens and are added (Falcon-H1; modeling_falcon_h1.py, `FalconH1DecoderLayer`). */
export interface BesideAttention {
  readonly mixer: 'beside-attention';
  readonly stateSpace: StateSpace;
  readonly attention: Attention;
  /** What attention reads, what it gives and what the state gives is multiplied. */
  readonly scales: readonly [input: number, attention: number, state: number];
}

/** Lines that begin at `source`; the last is what is added to the input of the block. */
export function mixerLines(of: Mixer, source: string, hidden: number): readonly string[] {
  switch (of.mixer) {
    case 'none':
      return [];
    case 'short-convolution':
      return shortConvolutionLines(of, source, hidden);
    case 'gated-delta':
      return gatedDeltaLines(of, source);
    case 'kimi-delta':
      return kimiDeltaLines(of, source);
    case 'selective-scan':
      return selectiveScanLines(of, source);
    case 'state-space':
      return stateSpaceLines(of, source);
    case 'beside-attention':
      return [
        ...stateSpaceLines(of.stateSpace, source),
        `state_scaled: mul(${of.scales[2]})`,
        `attention_input: mul(${source}, ${of.scales[0]})`,
        ...attentionLines(of.attention, { source: 'attention_input', length: 'seq' }),
        `attention_scaled: mul(${of.scales[1]})`,
        'both: add(state_scaled, attention_scaled)',
      ];
  }
}

function shortConvolutionLines(of: ShortConvolution, source: string, hidden: number): readonly string[] {
  const bias = of.bias ? '' : ', bias=False';
  return [
    `in_proj: Linear(${3 * hidden}${bias}) from ${source}`,
    'channels: transpose(1, 2)',
    'gate_before, gate_behind, mixed: chunk(3, dim=1)',
    'opened: mul(gate_before, mixed)',
    `conv: Conv1d(hidden_size, kernel_size=${of.kernel}, padding=${of.kernel - 1}, groups=${hidden}${bias})`,
    'causal: narrow(2, 0, seq)',
    'closed: mul(gate_behind, causal)',
    'tokens_first: transpose(1, 2)',
    `out_proj: Linear(hidden_size${bias})`,
  ];
}
