/** A convolution of each channel over the tokens before it, as layers with a state have one in front (`causal_conv1d_fn`). */

import { activationCall } from './activations.ts';

export interface CausalConvolution {
  readonly channels: number;
  readonly kernel: number;
  readonly bias: boolean;
  readonly activation: string;
}

/** Lines from [batch, channels, seq] at `source` to `convolved`, of the same axes. */
export const causalConvolutionLines = (
  { channels, kernel, bias, activation }: CausalConvolution,
  source: string,
): readonly string[] => [
  `conv1d: Conv1d(${channels}, kernel_size=${kernel}, padding=${kernel - 1}, groups=${channels}${bias ? '' : ', bias=False'}) from ${source}`,
  'causal: narrow(2, 0, seq)',
  `convolved: ${activationCall(activation)}`,
];
