"""Repeating and summing up: how often to run, and what to report of the times."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, ContextManager, Optional, Sequence

import torch
from torch import Tensor

from .device import Clock, Device
from .plan import Plan

Marks = Sequence[Any]


def summarise(samples: Sequence[float]) -> dict[str, Any]:
    """Median and quartiles: a few slow runs (another program, a page fault) do not move them."""
    ordered = sorted(max(0.0, sample) for sample in samples)
    return {
        "median": _quantile(ordered, 0.5),
        "low": _quantile(ordered, 0.25),
        "high": _quantile(ordered, 0.75),
        "repeats": len(ordered),
    }


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def repeats_for(once: float, share: float, fewest: int, most: int) -> int:
    """How many runs of `once` seconds fit into `share` seconds, within limits."""
    if once <= 0:
        return most
    return max(fewest, min(most, int(share / once)))


def intervals(
    clock: Clock,
    once: Callable[[], Marks],
    share: float,
    fewest: int,
    most: int,
    warm_ups: int,
    between: Optional[Callable[[int, int], None]] = None,
    agree: Callable[[int], int] = int,
) -> list[list[float]]:
    """
    Runs `once` until it is warm, then as often as fits into `share` seconds. `once` marks moments; returned are,
    for each interval between neighbouring marks, its samples in seconds. The device is waited for after the
    warm-up and at the very end, never inside a run. Processes that wait for each other `agree` on the number of runs.
    """
    elapsed = 0.0
    for _ in range(max(1, warm_ups)):
        begin = time.perf_counter()
        once()
        clock.synchronize()
        elapsed = time.perf_counter() - begin
    repeats = agree(repeats_for(elapsed, share, fewest, most))
    runs = []
    for index in range(repeats):
        if between is not None:
            between(index, repeats)
        runs.append(once())
    clock.synchronize()
    spans = len(runs[0]) - 1
    return [[clock.seconds(marks[span], marks[span + 1]) for marks in runs] for span in range(spans)]


def warm_ups(device: Device) -> int:
    """A GPU compiles and chooses kernels and raises its clock; the processor only fills its caches."""
    return 1 if device.kind == "cpu" else 3


def fixed_gradients(outputs: Sequence[Tensor]) -> list[Tensor]:
    """One dense gradient per output that takes one, in order."""
    return [torch.randn_like(output.detach()) for output in outputs if output.requires_grad]


def gradients_of(plan: Plan) -> ContextManager[Any]:
    """Whether autograd records what runs."""
    return contextlib.nullcontext() if plan.training else torch.no_grad()
