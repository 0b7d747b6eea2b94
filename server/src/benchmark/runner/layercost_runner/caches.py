"""
The caches before a layer is timed as a step leaves them: weights and saved activations long gone, what the layer before
has just written still there where it fits.

Flushing as `triton.testing.do_bench` does, by writing 256 MB; on a processor, four times its last cache.
"""

from __future__ import annotations

import glob
from typing import Optional, Sequence

import torch
from torch import Tensor

from .device import Device

GPU_BYTES = 256 * 2**20


class Caches:
    def __init__(self, device: Device, wanted: str) -> None:
        """`wanted`: cold, or hot for whatever the run before left."""
        size = 4 * (last_cache_bytes() or 16 * 2**20) if device.kind == "cpu" else GPU_BYTES
        self._filled: Optional[Tensor] = None
        if wanted == "cold":
            self._filled = torch.empty(size // 4, dtype=torch.int32, device=device.torch_device)

    def settle(self, just_written: Sequence[Tensor]) -> None:
        if self._filled is None:
            return
        self._filled.zero_()
        with torch.no_grad():
            for tensor in just_written:
                tensor.amax() if tensor.numel() > 0 and tensor.dtype != torch.bool else tensor.clone()


def last_cache_bytes() -> Optional[int]:
    """Of the processor, as Linux tells."""
    sizes = []
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
            sizes.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}[text[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return max(sizes, default=None)
