/** The dimensions of a model that reads tokens. */

import type { ConfigFields } from './configFields.ts';
import type { SpecParts } from './specText.ts';

/** `seq`: tokens of a sequence. */
export const textDims = (fields: ConfigFields, seq: number): SpecParts['dims'] => ({
  batch: 8,
  seq,
  hidden_size: fields.size('hidden_size'),
  vocab_size: fields.size('vocab_size'),
});
