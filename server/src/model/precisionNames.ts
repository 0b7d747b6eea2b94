/** The names that frameworks and people give to precisions, and ours. */

import { nearestName } from './nearestName.ts';
import { type Precision, precisions } from './scenario.ts';

/** The precision that a word stands for elsewhere, or that it is nearest to. */
export const meantPrecision = (word: string): string | undefined =>
  otherNames.get(word.toLowerCase()) ?? nearestName(word, precisions);

const otherNames: ReadonlyMap<string, Precision> = new Map([
  ['float32', 'fp32'],
  ['float', 'fp32'],
  ['float16', 'fp16'],
  ['half', 'fp16'],
  ['amp', 'fp16'],
  ['mixed', 'fp16'],
  ['16-mixed', 'fp16'],
  ['bfloat16', 'bf16'],
  ['bf16-mixed', 'bf16'],
  ['float8', 'fp8'],
  ['mxfp8', 'fp8'],
  ['fp4', 'nvfp4'],
  ['float4', 'nvfp4'],
]);
