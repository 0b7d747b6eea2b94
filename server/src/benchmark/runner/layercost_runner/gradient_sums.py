"""Sums of gradients that arrive from several layers, such as around a residual: autograd's own, and part of no layer."""

from __future__ import annotations

from typing import Any, Hashable, Optional

import torch
from torch import Tensor

from .caches import Caches
from .device import Device
from .host_lead import HostLead
from .measure import intervals, summarise, warm_ups
from .network import Network


def measure_gradient_sums(network: Network, device: Device, caches: Caches) -> dict[str, Any]:
    """How many tensors are summed in one pass, and the seconds of all of it."""
    times: dict[Hashable, float] = {}
    count, total = 0, 0.0
    for name, others in _arriving(network).items():
        like = _like(network, name)
        if like is None:
            continue
        key = (tuple(like.shape), tuple(like.stride()), like.dtype)
        if key not in times:
            times[key] = _sum_seconds(like, device, caches)
        count += others
        total += others * times[key]
    return {"count": count, "seconds": total}


def _arriving(network: Network) -> dict[str, int]:
    """For each tensor that takes a gradient, the layers beyond the first that give it one."""
    plan = network.plan
    layer_of = {index: number for number, layer in enumerate(plan.layers) for index in layer.operators}
    readers: dict[str, set[int]] = {}
    for operator in plan.operators:
        for name in operator.inputs:
            if name:
                readers.setdefault(name, set()).add(layer_of.get(operator.index, -1 - operator.index))
    return {name: len(layers) - 1 for name, layers in readers.items() if len(layers) > 1}


def _like(network: Network, name: str) -> Optional[Tensor]:
    """A tensor of its shape, layout and type where it takes a gradient."""
    seen = network.seen.get(name)
    if seen is not None:
        if not seen.requires_grad or 0 in seen.stride:
            return None
        return torch.empty_strided(seen.shape, seen.stride, dtype=seen.dtype, device=network.device).zero_()
    stored = network.tensors().get(name)
    return None if stored is None or not stored.requires_grad else torch.zeros_like(stored.detach())


def _sum_seconds(like: Tensor, device: Device, caches: Caches) -> float:
    clock, lead, other = device.clock(), HostLead(device), torch.zeros_like(like)

    def once() -> list[Any]:
        caches.settle([other])
        with lead.ahead("sum"):
            begin = clock.mark()
            like.add_(other)
            return [begin, clock.mark()]

    [samples] = intervals(clock, once, 0, fewest=3, most=3, warm_ups=warm_ups(device))
    return summarise(samples)["median"]
