"""
The host ahead of the GPU: what is timed next waits behind a kernel that spins until all of it is launched, so that the
time between two marks holds kernels and no wait for the host. How long the host launches is taken beside it.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import Iterator, Optional

from .device import Device

#: Of a first run, which looks for kernels: the GPU need not wait for all of that.
LONGEST_HOLD = 0.005
#: A launch takes the host longer now and then.
MARGIN = 1.5
#: Of the marks themselves.
AT_LEAST = 20e-6


class HostLead:
    def __init__(self, device: Device) -> None:
        self._device = device
        self._runs: dict[str, list[float]] = {}

    @contextlib.contextmanager
    def ahead(self, part: str) -> Iterator[None]:
        """Around the launches of a part. Does nothing on a processor, which has no queue."""
        runs = self._runs.setdefault(part, [])
        if runs:
            self._device.hold(min(LONGEST_HOLD, MARGIN * min(runs) + AT_LEAST))
        begin = time.perf_counter()
        yield
        runs.append(time.perf_counter() - begin)

    def seconds(self, part: str, warm_ups: int) -> Optional[float]:
        """Of the host for a part: the median of the runs after the warm-up; None on a processor, where it is the time itself."""
        runs = self._runs.get(part, [])[warm_ups:]
        return statistics.median(runs) if runs and self._device.kind != "cpu" else None
