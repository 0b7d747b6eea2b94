/** Formats of frozen weights in few bits, of which blocks share a scale: what a program loads a model in to train adapters beside it. */

export const blockFormats = ['nf4'] as const;
export type BlockFormat = (typeof blockFormats)[number];

/**
 * Bytes of a weight with its part of the scales. NF4: 4 bits; 64 weights share a scale of 8 bits, and 256 such scales one of 32 bits
 * (Dettmers et al., QLoRA, arXiv:2305.14314, section 3, "Double Quantization": 0.127 bits for each parameter).
 */
export const bytesInBlocks: Readonly<Record<BlockFormat, number>> = {
  nf4: (4 + 8 / 64 + 32 / (64 * 256)) / 8,
};
