"""What other processes of the machine use of its processors. Needs no torch: it is asked for before torch is loaded."""

from __future__ import annotations

import os
import time
from typing import Optional


class OtherWork:
    """Cores that other processes kept busy since this was made, on average. Linux alone tells."""

    def __init__(self) -> None:
        self._began = _moment()

    def cores(self) -> Optional[float]:
        now = _moment()
        if self._began is None or now is None:
            return None
        wall, machine, own = (after - before for after, before in zip(now, self._began))
        return max(0.0, machine - own) / wall if wall > 0 else None


def _moment() -> Optional[tuple[float, float, float]]:
    """Seconds now, those that all cores were busy since the machine started, and those that this process used."""
    try:
        with open("/proc/stat", encoding="ascii") as lines:
            # proc(5): user nice system idle iowait irq softirq steal, in ticks.
            user, nice, system, _, _, irq, softirq, steal = map(int, lines.readline().split()[1:9])
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None
    own = os.times()
    return time.monotonic(), busy, own.user + own.system + own.children_user + own.children_system
