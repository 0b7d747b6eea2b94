/** The number types a GPU multiplies in, narrowest last. */
export const dtypes = ['fp32', 'tf32', 'fp16', 'bf16', 'fp8'] as const;
export type Dtype = (typeof dtypes)[number];
