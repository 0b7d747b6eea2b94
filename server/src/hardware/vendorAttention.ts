/**
 * Whether a GPU has kernels of attention of its own: NVIDIA's for Hopper and for Blackwell of data centers, which PyTorch takes first there
 * (PyTorch 2.14 aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, `check_prefer_cudnn_attention`), and FlashAttention-3 and 4.
 */
export const hasVendorAttention = (architecture: string): boolean =>
  architecture === 'hopper' || architecture === 'blackwell';
