/** Formats of frozen weights in few bits, of which blocks share a scale: what a program loads a model in to train adapters beside it. */

export const blockFormats = ['nf4'] as const;
export type BlockFormat = (typeof blockFormats)[number];

/** Weights that share a scale (Dettmers et al., QLoRA, arXiv:2305.14314, section 3). */
export const blockSizes: Readonly<Record<BlockFormat, number>> = { nf4: 64 };

/**
 * Bytes of a weight with its part of the scales. NF4: 4 bits; a block has a scale of 8 bits, and 256 such scales one of 32 bits
 * (as above, "Double Quantization": 0.127 bits for each parameter).
 */
export const bytesInBlocks: Readonly<Record<BlockFormat, number>> = {
  nf4: (4 + 8 / blockSizes.nf4 + 32 / (blockSizes.nf4 * 256)) / 8,
};
