/** Calls of normalizations over the last axis, as transformers computes them. */

import type { Attention } from './attentionLines.ts';
import type { ConfigFields } from './configFields.ts';

/** The call of a normalization over an axis of that size. */
export type Normalization = (size: string) => string;

export const rmsNorm =
  (eps: number) =>
  (size: string): string =>
    `RMSNorm(${size}, eps=${eps}, fused=False)`;

export const bareRmsNorm =
  (eps: number) =>
  (size: string): string =>
    `RMSNorm(${size}, eps=${eps}, elementwise_affine=False, fused=False)`;

export const layerNorm =
  (eps: number, options = '') =>
  (size: string): string =>
    `LayerNorm(${size}, eps=${eps}${options})`;

export const headNorm = (fields: ConfigFields): NonNullable<Attention['queryNorm']> => ({
  over: 'head',
  call: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
});

export const wholeNorm = (fields: ConfigFields): NonNullable<Attention['queryNorm']> => ({
  over: 'all',
  call: rmsNorm(fields.number('rms_norm_eps', 1e-6)),
});
