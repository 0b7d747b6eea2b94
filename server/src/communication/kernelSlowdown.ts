/**
 * Kernels beside collectives that are kernels themselves: the share by which they take longer.
 *
 * Lee et al., "Characterizing Compute-Communication Overlap in GPU-Accelerated Distributed Deep Learning", arXiv
 * 2507.03114: training of GPT and LLaMA models on 4 A100, H100, MI210 and MI250, 18.9 % on average and 40 % at most,
 * against the same computation while nothing is sent. Steps of llm-foundry by FSDP (`measured/steps-language.csv`) say 31 %
 * on H100, 36 and 75 % on two machines of A100; the middle is their median, the low bound is the average of the paper.
 */

import type { Estimate } from '../model/estimate.ts';
export const kernelSlowdown: Estimate = { middle: 0.35, low: 0.189, high: 0.75 };
