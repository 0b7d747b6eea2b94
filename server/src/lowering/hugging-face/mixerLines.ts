/** What stands in the place of attention in some layers, as transformers 5.18 computes it where it has no kernel of its own. */

export type Mixer = ShortConvolution;

/** A causal convolution of a few tokens between two gates (LFM2; modeling_lfm2.py, `Lfm2ShortConv`). */
export interface ShortConvolution {
  readonly mixer: 'short-convolution';
  readonly kernel: number;
  readonly bias: boolean;
}

/** Lines that begin at `source`; the last is the output projection. */
export function mixerLines(of: Mixer, source: string, hidden: number): readonly string[] {
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
