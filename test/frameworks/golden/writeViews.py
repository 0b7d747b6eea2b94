"""Asks PyTorch how views lie in memory, and whose: `python writeViews.py > views.json`. torch 2.13, on the CPU.

Each program is lines of a layer spec, one of which names each value; the last is asked about. `x` and `y` are [2, 6, 4, 8].
`strides` are those of axes of more than one entry, `shares` says whether the memory is that of `x`.
"""

from __future__ import annotations

import json

import torch
from torch import Tensor

Values = dict[str, Tensor]

PROGRAMS = {
    # Views, one after another.
    "reshape(x, (12, 32))": lambda x, y: x.reshape(12, 32),
    "reshape(x, (2, 3, 2, 4, 2, 4))": lambda x, y: x.reshape(2, 3, 2, 4, 2, 4),
    "reshape(x, (48, 1, 8))": lambda x, y: x.reshape(48, 1, 8),
    "transpose(x, 1, 2)": lambda x, y: x.transpose(1, 2),
    "permute(x, 0, 2, 3, 1)": lambda x, y: x.permute(0, 2, 3, 1),
    "permute(x, 3, 0, 1, 2)": lambda x, y: x.permute(3, 0, 1, 2),
    "transpose(x, 1, 2); reshape((2, 24, 8))": lambda x, y: x.transpose(1, 2).reshape(2, 24, 8),
    "transpose(x, 1, 2); reshape((2, 4, 6, 2, 4))": lambda x, y: x.transpose(1, 2).reshape(2, 4, 6, 2, 4),
    "transpose(x, 1, 2); reshape((2, 4, 2, 3, 8))": lambda x, y: x.transpose(1, 2).reshape(2, 4, 2, 3, 8),
    "permute(x, 0, 2, 3, 1); reshape((2, 32, 6))": lambda x, y: x.permute(0, 2, 3, 1).reshape(2, 32, 6),
    "permute(x, 0, 2, 3, 1); reshape((64, 6))": lambda x, y: x.permute(0, 2, 3, 1).reshape(64, 6),
    "transpose(x, 2, 3); transpose(2, 3)": lambda x, y: x.transpose(2, 3).transpose(2, 3),
    "unsqueeze(x, 1)": lambda x, y: x.unsqueeze(1),
    "transpose(x, 1, 2); unsqueeze(-1)": lambda x, y: x.transpose(1, 2).unsqueeze(-1),
    "transpose(x, 1, 3); unsqueeze(2); squeeze(2)": lambda x, y: x.transpose(1, 3).unsqueeze(2).squeeze(2),
    # One entry of an axis, from either end.
    "select(x, 1, 0)": lambda x, y: x.select(1, 0),
    "select(x, -1, 3)": lambda x, y: x.select(-1, 3),
    "select(x, 0, 1)": lambda x, y: x.select(0, 1),
    "select(x, -2, 1)": lambda x, y: x.select(-2, 1),
    "transpose(x, 1, 2); select(1, 2)": lambda x, y: x.transpose(1, 2).select(1, 2),
    "select(x, 1, 0); reshape((2, 32))": lambda x, y: x.select(1, 0).reshape(2, 32),
    "select(x, 1, 0); reshape((64))": lambda x, y: x.select(1, 0).reshape(64),
    # Ranges.
    "narrow(x, 1, 2, 3)": lambda x, y: x.narrow(1, 2, 3),
    "narrow(x, 1, 2, 3); reshape((2, 96))": lambda x, y: x.narrow(1, 2, 3).reshape(2, 96),
    "narrow(x, 1, 2, 3); reshape((192))": lambda x, y: x.narrow(1, 2, 3).reshape(192),
    "narrow(x, 3, 0, 4); reshape((2, 6, 16))": lambda x, y: x.narrow(3, 0, 4).reshape(2, 6, 16),
    "narrow(x, 3, 0, 4); reshape((48, 4))": lambda x, y: x.narrow(3, 0, 4).reshape(48, 4),
    "slice(x, 1, 0, 6, 2)": lambda x, y: x[:, 0:6:2],
    "slice(x, -1, 1, 8, 3)": lambda x, y: x[..., 1:8:3],
    "slice(x, 1, 0, 6, 2); slice(3, 0, 8, 4)": lambda x, y: x[:, ::2][..., ::4],
    "slice(x, 1, 0, 6, 2); slice(1, 0, 3, 2)": lambda x, y: x[:, ::2][:, ::2],
    "slice(x, 1, 0, 6, 2); reshape((2, 3, 32))": lambda x, y: x[:, ::2].reshape(2, 3, 32),
    "slice(x, 2, 0, 4, 2); reshape((2, 6, 16))": lambda x, y: x[:, :, ::2].reshape(2, 6, 16),
    "slice(x, 2, 0, 4, 2); reshape((24, 8))": lambda x, y: x[:, :, ::2].reshape(24, 8),
    "transpose(x, 1, 2); slice(2, 0, 6, 3)": lambda x, y: x.transpose(1, 2)[:, :, ::3],
    # Parts.
    "a, b: chunk(x, 2, dim=-1)": lambda x, y: x.chunk(2, -1)[1],
    "a, b, c: split(x, 2, dim=1)": lambda x, y: x.split(2, 1)[2],
    "a, b: chunk(x, 2, dim=-1); reshape((2, 24, 4))": lambda x, y: x.chunk(2, -1)[1].reshape(2, 24, 4),
    "a, b: chunk(x, 2, dim=1); reshape((2, 96))": lambda x, y: x.chunk(2, 1)[1].reshape(2, 96),
    "a, b: chunk(x, 2, dim=1); reshape((192))": lambda x, y: x.chunk(2, 1)[1].reshape(192),
    "transpose(x, 1, 3); a, b: chunk(2, dim=1)": lambda x, y: x.transpose(1, 3).chunk(2, 1)[1],
    # What is repeated.
    "narrow(x, 1, 0, 1); expand(2, 5, 4, 8)": lambda x, y: x.narrow(1, 0, 1).expand(2, 5, 4, 8),
    "narrow(x, 1, 0, 1); expand(3, 2, 1, 4, 8)": lambda x, y: x.narrow(1, 0, 1).expand(3, 2, 1, 4, 8),
    "narrow(x, 1, 0, 1); expand(2, 5, 4, 8); reshape((2, 20, 8))": lambda x, y: x.narrow(1, 0, 1)
    .expand(2, 5, 4, 8)
    .reshape(2, 20, 8),
    "narrow(x, 1, 0, 1); expand(2, 5, 4, 8); reshape((2, 5, 32))": lambda x, y: x.narrow(1, 0, 1)
    .expand(2, 5, 4, 8)
    .reshape(2, 5, 32),
    "unsqueeze(x, 2); expand(2, 6, 3, 4, 8); reshape((2, 18, 4, 8))": lambda x, y: x.unsqueeze(2)
    .expand(2, 6, 3, 4, 8)
    .reshape(2, 18, 4, 8),
    "narrow(x, 1, 0, 1); expand(2, 6, 4, 8); transpose(1, 2)": lambda x, y: x.narrow(1, 0, 1)
    .expand(2, 6, 4, 8)
    .transpose(1, 2),
    # What is computed element by element lies as its operands, the first before the others.
    "relu(x)": lambda x, y: x.relu(),
    "transpose(x, 1, 2); relu()": lambda x, y: x.transpose(1, 2).relu(),
    "permute(x, 0, 2, 3, 1); relu(); reshape((2, 32, 6))": lambda x, y: x.permute(0, 2, 3, 1).relu().reshape(2, 32, 6),
    "t: transpose(x, 1, 2); add(t, t)": lambda x, y: x.transpose(1, 2) + x.transpose(1, 2),
    "t: transpose(x, 2, 3); z: reshape(y, (2, 6, 8, 4)); add(t, z)": lambda x, y: x.transpose(2, 3) + y.reshape(2, 6, 8, 4),
    "t: transpose(x, 2, 3); z: reshape(y, (2, 6, 8, 4)); add(z, t)": lambda x, y: y.reshape(2, 6, 8, 4) + x.transpose(2, 3),
    "t: transpose(x, 2, 3); row: select(y, 1, 0); z: reshape(row, (2, 1, 8, 4)); mul(z, t)": lambda x, y: y.select(1, 0).reshape(2, 1, 8, 4)
    * x.transpose(2, 3),
    "t: transpose(x, 1, 2); one: narrow(t, 3, 0, 1); mul(one, t)": lambda x, y: x.transpose(1, 2).narrow(3, 0, 1) * x.transpose(1, 2),
    "narrow(x, 1, 0, 1); expand(2, 5, 4, 8); relu()": lambda x, y: x.narrow(1, 0, 1).expand(2, 5, 4, 8).relu(),
    "slice(x, 3, 0, 8, 2); relu()": lambda x, y: x[..., ::2].relu(),
    "t: transpose(x, 1, 2); sum(t, dim=-1)": lambda x, y: x.transpose(1, 2).sum(-1),
    # Kernels that go from end to end, and what is joined.
    "flip(x, 1)": lambda x, y: x.flip(1),
    "transpose(x, 1, 2); flip(1)": lambda x, y: x.transpose(1, 2).flip(1),
    "permute(x, 0, 3, 1, 2); flip(2)": lambda x, y: x.permute(0, 3, 1, 2).flip(2),
    "t: permute(x, 0, 3, 1, 2); cat((t, t), dim=1)": lambda x, y: torch.cat((x.permute(0, 3, 1, 2),) * 2, 1),
    "t: permute(x, 0, 3, 1, 2); z: reshape(y, (2, 8, 6, 4)); cat((t, z), dim=1)": lambda x, y: torch.cat(
        (x.permute(0, 3, 1, 2), y.reshape(2, 8, 6, 4)), 1
    ),
    "t: transpose(x, 1, 2); cat((t, t), dim=1)": lambda x, y: torch.cat((x.transpose(1, 2),) * 2, 1),
    "t: permute(x, 0, 3, 1, 2); half: narrow(t, 1, 0, 4); cat((half, half), dim=1)": lambda x, y: torch.cat(
        (x.permute(0, 3, 1, 2).narrow(1, 0, 4),) * 2, 1
    ),
    # One tensor that is joined with no other is copied, as `contiguous()` does.
    "cat((x), dim=1)": lambda x, y: torch.cat((x,), 1),
    "t: transpose(x, 1, 2); cat((t), dim=1)": lambda x, y: torch.cat((x.transpose(1, 2),), 1),
    "t: transpose(x, 1, 2); cat((t), dim=1); reshape((2, 24, 8))": lambda x, y: torch.cat((x.transpose(1, 2),), 1).reshape(2, 24, 8),
    "cat((x, y), dim=1)": lambda x, y: torch.cat((x, y), 1),
    # One of more than element by element lies in order.
    "t: transpose(x, 1, 2); softmax(t, dim=-1); relu()": lambda x, y: x.transpose(1, 2).softmax(-1).relu(),
}


def asked(program) -> dict[str, object]:
    x, y = torch.randn(2, 6, 4, 8), torch.randn(2, 6, 4, 8)
    last = program(x, y)
    strides = [None if size == 1 else stride for size, stride in zip(last.shape, last.stride())]
    shares = last.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return {"sizes": list(last.shape), "strides": strides, "shares": shares}


lines = [f"  {json.dumps(name)}: {json.dumps(asked(program))}" for name, program in PROGRAMS.items()]
print("{\n" + ",\n".join(lines) + "\n}")
