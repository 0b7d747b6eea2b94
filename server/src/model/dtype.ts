/** The number types a GPU multiplies in, narrowest last. */
export const dtypes = ['fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'nvfp4'] as const;
export type Dtype = (typeof dtypes)[number];

/** Types that only products of linear layers have, with scales; all else stays in half precision. */
export const isNarrow = (dtype: Dtype): dtype is 'fp8' | 'nvfp4' => dtype === 'fp8' || dtype === 'nvfp4';
