"""Functions of PyTorch that keep something else on a GPU than on the CPU, where these scripts measure.

Dropout keeps a mask of one byte, RMS normalization its input and one number per row
(aten/src/ATen/native/cuda/layer_norm_kernel.cu, `_fused_rms_norm`), `logsigmoid` its input alone
(aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu has no buffer).
"""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F


class LogSigmoidOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(context, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return x.sigmoid().log()


class RmsNormOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(context, x, shape, weight, eps):
        axes = tuple(range(-len(shape), 0))
        deviation = torch.rsqrt(x.pow(2).mean(axes, keepdim=True) + (eps or 1e-6))
        context.save_for_backward(x, deviation, *([] if weight is None else [weight]))
        return x * deviation * (1 if weight is None else weight)


def on_gpu() -> Callable[[], None]:
    """Has three functions keep what they keep on a GPU, until what is given back is called."""
    before = F.dropout, F.logsigmoid, F.rms_norm
    F.dropout = lambda x, p=0.5, training=True, inplace=False: torch.native_dropout(x, p, True)[0] if training and p > 0 else x
    F.logsigmoid = LogSigmoidOnGpu.apply
    F.rms_norm = lambda x, shape, weight=None, eps=None: RmsNormOnGpu.apply(x, shape, weight, eps)

    def undo() -> None:
        F.dropout, F.logsigmoid, F.rms_norm = before

    return undo
