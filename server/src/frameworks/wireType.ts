/** The type gradients travel in, where a framework can narrow them. */

import { type FrameworkOption, oneOf } from './options.ts';

export const wireOption: FrameworkOption = {
  name: 'gradient-dtype',
  default: 'fp32',
  documentation: 'dtype of gradients on the wire: fp32, or fp16/bf16 with a compression hook',
  expects: oneOf('fp32', 'fp16', 'bf16'),
};

/** Bytes of an element on the wire; `undefined` where gradients travel as they are. */
export const wireBytes = (options: ReadonlyMap<string, string>): number | undefined =>
  options.get('gradient-dtype') === 'fp32' ? undefined : 2;
