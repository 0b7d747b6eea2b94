"""Operators that reduce along axes."""

from __future__ import annotations

from typing import Callable, Sequence

import torch
from torch import Tensor

from .call import Call, Outputs, Unsupported, operator

_reductions: dict[str, Callable[[Tensor, Sequence[int], bool], Tensor]] = {
    "ReduceL1": lambda x, axes, keep: x.abs().sum(dim=axes, keepdim=keep),
    "ReduceL2": lambda x, axes, keep: torch.linalg.vector_norm(x, dim=axes, keepdim=keep),
    "ReduceLogSum": lambda x, axes, keep: x.sum(dim=axes, keepdim=keep).log(),
    "ReduceLogSumExp": lambda x, axes, keep: torch.logsumexp(x, dim=axes, keepdim=keep),
    "ReduceMax": lambda x, axes, keep: torch.amax(x, dim=axes, keepdim=keep),
    "ReduceMean": lambda x, axes, keep: x.mean(dim=axes, keepdim=keep),
    "ReduceMin": lambda x, axes, keep: torch.amin(x, dim=axes, keepdim=keep),
    "ReduceSum": lambda x, axes, keep: x.sum(dim=axes, keepdim=keep),
    "ReduceSumSquare": lambda x, axes, keep: x.square().sum(dim=axes, keepdim=keep),
}


def _register(name: str, function: Callable[[Tensor, Sequence[int], bool], Tensor]) -> None:
    def rule(call: Call) -> Tensor:
        x = call[0]
        axes = call.host_ints(1, "axes")
        if not axes and call.attribute("noop_with_empty_axes", 0):
            return x
        return function(x, tuple(axes or range(x.dim())), bool(call.attribute("keepdims", 1)))

    operator(name)(rule)


for _name, _function in _reductions.items():
    _register(_name, _function)


@operator("ReduceProd")
def product(call: Call) -> Tensor:
    x = call[0]
    axes = call.host_ints(1, "axes") or list(range(x.dim()))
    keep = bool(call.attribute("keepdims", 1))
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = x.prod(dim=axis, keepdim=keep)
    return x


@operator("ArgMax")
def argmax(call: Call) -> Tensor:
    return torch.argmax(call[0], dim=call.attribute("axis", 0), keepdim=bool(call.attribute("keepdims", 1)))


@operator("ArgMin")
def argmin(call: Call) -> Tensor:
    return torch.argmin(call[0], dim=call.attribute("axis", 0), keepdim=bool(call.attribute("keepdims", 1)))


@operator("CumSum")
def cumulative_sum(call: Call) -> Tensor:
    if call.attribute("exclusive", 0) or call.attribute("reverse", 0):
        raise Unsupported("CumSum that is exclusive or reversed")
    x = call[0]
    return torch.cumsum(x, dim=int((call.host(1) or [0])[0]), dtype=x.dtype)


@operator("TopK")
def top_k(call: Call) -> Outputs:
    count = call.host_ints(1, "k") or [1]
    largest, ordered = bool(call.attribute("largest", 1)), bool(call.attribute("sorted", 1))
    return torch.topk(call[0], count[0], dim=call.attribute("axis", -1), largest=largest, sorted=ordered)
