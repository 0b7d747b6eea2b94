/**
 * Kernels beside collectives that are kernels themselves: [middle, low, high] share by which they take longer.
 *
 * Source: Lee et al., "Characterizing Compute-Communication Overlap in GPU-Accelerated Distributed Deep Learning", arXiv
 * 2507.03114: training of GPT and LLaMA models on 4 A100, H100, MI210 and MI250, 18.9 % on average and 40 % at most,
 * against the same computation while nothing is sent.
 */
export const kernelSlowdown: readonly [number, number, number] = [0.189, 0, 0.4];
