"""
PyTorch without a GPU that takes tensors of CUDA without contents: autocast casts and autograd keeps as on a GPU.

Import before torch. Needs g++. Attention runs the kernel that PyTorch picks on a GPU of half precision: FlashAttention, and beside a
mask or in fp32 the memory-efficient kernel (aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
"""

import contextlib
import ctypes
import importlib.util
import subprocess
import tempfile
from pathlib import Path

_torch = Path(importlib.util.find_spec('torch').origin).parent


def _load():
    """Hooks are found once: the device has to be there before PyTorch looks for it."""
    built = Path(tempfile.mkdtemp()) / 'fakeCuda.so'
    source = Path(__file__).with_name('fakeCuda.cpp')
    options = ['-O0', '-std=c++20', '-shared', '-fPIC', f'-I{_torch}/include', f'-L{_torch}/lib', '-lc10', '-ltorch_cpu']
    subprocess.run(['g++', str(source), '-o', str(built), *options], check=True)
    for name in ['libgomp*.so*', 'libc10.so', 'libtorch_cpu.so']:
        for library in (_torch / 'lib').glob(name):
            ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(built))


_load()

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402


@contextlib.contextmanager
def autocast(dtype):
    """As `torch.autocast('cuda', dtype)`, which asks for a driver; none for fp32."""
    torch.set_autocast_enabled('cuda', dtype is not None)
    if dtype is not None:
        torch.set_autocast_dtype('cuda', dtype)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled('cuda', False)


_on_cpu = torch.nn.functional.scaled_dot_product_attention


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if query.device.type != 'cuda':
        return _on_cpu(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    if torch.is_autocast_enabled('cuda'):
        half = torch.get_autocast_dtype('cuda')
        cast = lambda tensor: tensor.to(half) if tensor is not None and tensor.is_floating_point() else tensor
        query, key, value, attn_mask = map(cast, (query, key, value, attn_mask))
    with torch.amp.autocast_mode.autocast('cpu', enabled=False), no_autocast():
        if attn_mask is None and query.dtype in (torch.float16, torch.bfloat16):
            # The head size is padded to a multiple of eight.
            return torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        if attn_mask is not None and attn_mask.stride(-1) != 1:
            # No kernel takes such a mask: step by step, in fp32 (sdp_utils.cpp, `check_last_dim_stride_equals_1_dense`; attention.cpp).
            return torch.ops.aten._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)[0]
        if enable_gqa:
            key, value = (each.repeat_interleave(query.shape[1] // each.shape[1], 1) for each in (key, value))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), -torch.inf)
        if attn_mask is not None:
            attn_mask = attn_mask.expand(*query.shape[:3], key.shape[2])
        return torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale)[0]


@contextlib.contextmanager
def no_autocast():
    was = torch.is_autocast_enabled('cuda')
    torch.set_autocast_enabled('cuda', False)
    try:
        yield
    finally:
        torch.set_autocast_enabled('cuda', was)


torch.nn.functional.scaled_dot_product_attention = _attention
# What is asked of random numbers, such as whether a layer is skipped.
torch._subclasses.fake_tensor.FakeTensor.__bool__ = lambda tensor: False

# One kernel on a GPU; without one it is computed in its parts.
_library = torch.library.Library('aten', 'IMPL')
_library.impl('silu_backward', lambda gradient, given: torch.empty_like(given), 'CUDA')
# A GPU takes more types than its shape rule does (aten/src/ATen/native/GroupedMMUtils.h, `_grouped_mm_validate_inputs`).
_library.impl('_grouped_mm', lambda left, right, offs=None, bias=None, out_dtype=None: _grouped(left, right, offs), 'Meta', allow_override=True)


def _grouped(left, right, offs):
    if left.dim() == 2 and right.dim() == 2:
        return left.new_empty(offs.shape[0], left.shape[0], right.shape[1])
    return left.new_empty(*left.shape[:-1], right.shape[-1])


torch.cuda.get_device_capability = lambda device=None: (9, 0)
