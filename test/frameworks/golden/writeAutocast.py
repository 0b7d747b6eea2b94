"""Asks PyTorch which type calls give under autocast on a GPU: `python writeAutocast.py > autocast.json`. torch 2.13, no GPU needed.

Tensors are fake ones that say they lie on one, so that `torch.autocast("cuda")`'s lists hold; nothing is computed.
`h` is in half precision, `x` in fp32, both [2, 10, 64]; the calls are those of layer specs.
"""

from __future__ import annotations

import json

import torch
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

MODE = FakeTensorMode()
GPU = torch.device("cuda:0")


def fake(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return FakeTensor(MODE, torch.empty(sizes, dtype=dtype, device="meta"), GPU)


CALLS = {
    "relu(h)": lambda h, x: F.relu(h),
    "sigmoid(h)": lambda h, x: h.sigmoid(),
    "tanh(h)": lambda h, x: h.tanh(),
    "leaky_relu(h)": lambda h, x: F.leaky_relu(h),
    "elu(h)": lambda h, x: F.elu(h),
    "hardswish(h)": lambda h, x: F.hardswish(h),
    "gelu(h)": lambda h, x: F.gelu(h),
    "silu(h)": lambda h, x: F.silu(h),
    "softplus(h)": lambda h, x: F.softplus(h),
    "exp(h)": lambda h, x: h.exp(),
    "log(h)": lambda h, x: h.log(),
    "pow(h, 2)": lambda h, x: h.pow(2),
    "reciprocal(h)": lambda h, x: h.reciprocal(),
    "rsqrt(h)": lambda h, x: h.rsqrt(),
    "sqrt(h)": lambda h, x: h.sqrt(),
    "tan(h)": lambda h, x: h.tan(),
    "sin(h)": lambda h, x: h.sin(),
    "erf(h)": lambda h, x: h.erf(),
    "abs(h)": lambda h, x: h.abs(),
    "neg(h)": lambda h, x: -h,
    "clamp(h, min=0)": lambda h, x: h.clamp(min=0),
    "square(h)": lambda h, x: h.square(),
    "softmax(h, dim=-1)": lambda h, x: h.softmax(-1),
    "log_softmax(h, dim=-1)": lambda h, x: h.log_softmax(-1),
    "sum(h, dim=-1)": lambda h, x: h.sum(-1),
    "mean(h, dim=-1)": lambda h, x: h.mean(-1),
    "amax(h, dim=-1)": lambda h, x: h.amax(-1),
    "logsumexp(h, dim=-1)": lambda h, x: h.logsumexp(-1),
    "cumsum(h, dim=-1)": lambda h, x: h.cumsum(-1),
    "norm(h, dim=-1)": lambda h, x: h.norm(dim=-1),
    "add(h, 1)": lambda h, x: h + 1,
    "add(h, x)": lambda h, x: h + x,
    "sub(x, h)": lambda h, x: x - h,
    "mul(h, x)": lambda h, x: h * x,
    "div(h, x)": lambda h, x: h / x,
    "maximum(h, x)": lambda h, x: torch.maximum(h, x),
    "cat((h, x), dim=-1)": lambda h, x: torch.cat((h, x), -1),
    "cat((h, h), dim=-1)": lambda h, x: torch.cat((h, h), -1),
    "stack((h, x))": lambda h, x: torch.stack((h, x)),
    "transpose(h, 1, 2)": lambda h, x: h.transpose(1, 2),
    "roll(h, 1, 2)": lambda h, x: h.roll(1, 2),
    "matmul(h, x.transpose)": lambda h, x: h @ x.transpose(1, 2),
    "MSELoss(h, x)": lambda h, x: F.mse_loss(h, x),
    "L1Loss(h, x)": lambda h, x: F.l1_loss(h, x),
    "SmoothL1Loss(h, x)": lambda h, x: F.smooth_l1_loss(h, x),
}


def given(call, dtype: torch.dtype) -> int:
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", dtype)
    try:
        with torch.no_grad(), MODE:
            return call(fake(2, 10, 64, dtype=dtype), fake(2, 10, 64)).element_size()
    finally:
        torch.set_autocast_enabled("cuda", False)
        torch.clear_autocast_cache()


if __name__ == "__main__":
    made = {name: {str(kind)[6:]: given(call, kind) for kind in (torch.bfloat16, torch.float16)} for name, call in CALLS.items()}
    print(json.dumps(made, indent=2))
