"""
Collectives of torch.distributed by size: what one takes on these processes with nothing beside it.

A size is that of the whole tensor, as in nccl-tests: what each process holds of an all-reduce, and all processes together of an
all-gather, a reduce-scatter or an all-to-all.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

from .device import Device
from .events import Events
from .measure import intervals, summarise, warm_ups
from .ranks import Ranks

#: Past this multiple of the budget sizes are left out: five runs of a large one may take longer than its share.
PATIENCE = 3.0
#: Bytes of fp32.
WIDTH = 4


def measure_collectives(given: dict[str, Any], device: Device, ranks: Ranks, events: Events) -> None:
    """`given`: operations, sizes in bytes, and the budget of seconds. A size that cannot be divided is rounded up."""
    operations, sizes = given["operations"], given["bytes"]
    clock, place = device.clock(), device.torch_device
    total = len(operations) * len(sizes)
    begin = time.monotonic()
    for index, (operation, size) in enumerate((one, size) for one in operations for size in sizes):
        events.progress(f"{operation} of {size} bytes", index, total)
        # Processes wait for each other, so the first says when the time is up.
        if ranks.agree(int(time.monotonic() - begin > PATIENCE * given["budgetSeconds"])):
            events.note(f"The time was up: {total - index} of {total} sizes were not measured")
            return
        each = max(1, -(-size // (WIDTH * ranks.count)))
        try:
            call = _call(operation, each, ranks.count, place)

            def once() -> Sequence[Any]:
                begin = clock.mark()
                call()
                return [begin, clock.mark()]

            ranks.wait()
            share = given["budgetSeconds"] / total
            spans = intervals(clock, once, share, fewest=5, most=200, warm_ups=warm_ups(device) + 1, agree=ranks.agree)
        except RuntimeError as error:
            events.note(f"{operation} was not measured: {str(error).strip().splitlines()[0]}")
            continue
        events.send(
            "collective", operation=operation, bytes=each * ranks.count * WIDTH, ranks=ranks.count, time=summarise(spans[0])
        )


def _call(operation: str, each: int, ranks: int, place: torch.device) -> Callable[[], object]:
    whole = torch.ones(each * ranks, device=place)
    part = torch.ones(each, device=place)
    if operation == "all-reduce":
        # An average stays what it is, however often it is taken.
        average = dist.ReduceOp.AVG if place.type == "cuda" else dist.ReduceOp.MAX
        return lambda: dist.all_reduce(whole, op=average)
    if operation == "all-gather":
        gather = getattr(dist, "all_gather_into_tensor", None) or dist._all_gather_base
        return lambda: gather(whole, part)
    if operation == "reduce-scatter":
        scatter = getattr(dist, "reduce_scatter_tensor", None) or dist._reduce_scatter_base
        return lambda: scatter(part, whole)
    if operation == "all-to-all":
        other = torch.empty_like(whole)
        return lambda: dist.all_to_all_single(other, whole)
    raise RuntimeError(f"the runner does not know {operation}")
