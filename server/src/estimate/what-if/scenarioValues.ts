/** The values of a scenario that can be tried, by key of `ScenarioChange`, and their words. */

import { counted } from '../../model/counted.ts';
import type { WhatIfChoice } from './whatIfChoices.ts';

export const valuesOf = (choices: readonly WhatIfChoice[]): Readonly<Record<string, string>> =>
  Object.fromEntries(choices.map(({ key, value }) => [key, value]));

/** `dgx-h100, 64 GPUs, batch 16, bf16, pytorch-ddp`. */
export function labelOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .filter(([key, value]) => (key !== 'checkpoint' || value !== 'none') && (key !== 'lora' || value !== ''))
    .map(([key, value]) => valueTexts[key]?.(value) ?? value)
    .join(', ');
}

/** Of values that do not explain themselves. */
export const valueTexts: Readonly<Record<string, (value: string) => string>> = {
  gpus: (value) => counted(Number(value), 'GPU'),
  batch: (value) => `batch ${value}`,
  checkpoint: (value) => `checkpoint ${value}`,
  lora: (value) => (value === '' ? 'no LoRA' : `LoRA ${value}`),
};
