"""The state of the machine around a measurement: clock, power and heat of an NVIDIA GPU, and what other processes use."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import threading
from dataclasses import dataclass
from typing import Any, Iterator, Optional, Sequence

import torch

from .device import Device
from .events import Events, speaks
from .other_work import OtherWork
from .ranks import is_rank_of_many

#: Seconds between two looks at the GPU, each of which takes milliseconds of another core.
BETWEEN_LOOKS = 0.5
#: What nvidia-smi calls the reasons for a lower clock, in drivers before and since 535.
REASON_FIELDS = ("clocks_throttle_reasons.active", "clocks_event_reasons.active")
FIELDS = ("driver_version", "clocks.sm", "clocks.max.sm", "power.draw", "power.limit", "temperature.gpu", "utilization.gpu")
#: Bits of nvmlClocksThrottleReasons (nvml.h of CUDA 12) that hold the clock of a busy GPU down.
REASONS = {
    "the power limit": 0x4,
    "a slowdown of the hardware": 0x8,
    "heat": 0x20 | 0x40,
    "the power supply": 0x80,
    "clocks set by the administrator": 0x2,
}
IDLE = 0x1
#: Share of the looks at which a reason must be seen.
OFTEN = 0.1


@dataclass(frozen=True)
class Look:
    """One line of nvidia-smi; None for what the GPU does not tell."""

    driver: str
    clock: Optional[float]
    most_clock: Optional[float]
    watts: Optional[float]
    most_watts: Optional[float]
    celsius: Optional[float]
    busy: Optional[float]
    reasons: int

    @classmethod
    def from_line(cls, line: str) -> Optional[Look]:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(FIELDS) + 1:
            return None
        driver, *numbers, reasons = cells
        clock, most_clock, watts, most_watts, celsius, percent = map(_number, numbers)
        try:
            bits = int(reasons, 16)
        except ValueError:
            bits = 0
        return cls(driver, clock, most_clock, watts, most_watts, celsius, None if percent is None else percent / 100, bits)

    def facts(self) -> dict[str, Any]:
        return {
            "megahertz": self.clock,
            "mostMegahertz": self.most_clock,
            "watts": self.watts,
            "mostWatts": self.most_watts,
            "celsius": self.celsius,
            "busy": self.busy,
        }


@contextlib.contextmanager
def watched(device: Device, events: Events, others: OtherWork) -> Iterator[None]:
    """
    Sends the state before what runs inside, and once more with what was seen meanwhile. `others`: since the process started.
    """
    if not speaks():
        yield
        return
    # Processes of one step would count each other.
    before = None if is_rank_of_many() else others.cores()
    gpu = GpuLooks.of(device)
    since = OtherWork()

    def send(during: Optional[float]) -> None:
        events.send(
            "machineState",
            versions=_versions(device, gpu),
            gpu=None if gpu is None else gpu.facts(),
            coresOfOthers={"before": before, "during": during},
        )

    send(None)
    try:
        yield
        send(None if is_rank_of_many() else since.cores())
    finally:
        if gpu is not None:
            gpu.close()


class GpuLooks:
    """One look before the work; then nvidia-smi looks every half second by itself."""

    def __init__(self, command: Sequence[str], before: Look) -> None:
        self.before = before
        self._looks: list[Look] = []
        self._process = subprocess.Popen(
            [*command, f"--loop-ms={round(BETWEEN_LOOKS * 1000)}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def of(cls, device: Device) -> Optional[GpuLooks]:
        """`None` for other devices than NVIDIA's, and where nvidia-smi cannot tell which GPU it is."""
        if device.kind != "cuda" or torch.version.cuda is None:
            return None
        # Since PyTorch 2.4. An index would be one of all GPUs, not of those that this process may use.
        uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None)
        if uuid is None:
            return None
        for reason in REASON_FIELDS:
            fields = ",".join((*FIELDS, reason))
            command = ["nvidia-smi", f"--id=GPU-{uuid}", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
            try:
                found = subprocess.run(command, capture_output=True, text=True, timeout=10)
                before = Look.from_line(found.stdout) if found.returncode == 0 else None
                if before is not None:
                    return cls(command, before)
            except (OSError, subprocess.SubprocessError):
                return None
        return None

    def _read(self) -> None:
        with self._process.stdout as lines:
            for line in lines:
                look = Look.from_line(line)
                if look is not None:
                    self._looks.append(look)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def facts(self) -> dict[str, Any]:
        looks = list(self._looks)
        loaded = [look for look in looks if not look.reasons & IDLE]
        return {
            "before": self.before.facts(),
            "during": _middle(loaded).facts() if loaded else None,
            "after": looks[-1].facts() if looks else None,
            "heldBackBy": [
                name
                for name, bits in REASONS.items()
                if loaded and sum(bool(look.reasons & bits) for look in loaded) > OFTEN * len(loaded)
            ],
        }


def _middle(looks: Sequence[Look]) -> Look:
    """The median of each number."""

    def median(values: Sequence[Optional[float]]) -> Optional[float]:
        told = [value for value in values if value is not None]
        return statistics.median(told) if told else None

    return Look(
        looks[0].driver,
        median([look.clock for look in looks]),
        median([look.most_clock for look in looks]),
        median([look.watts for look in looks]),
        median([look.most_watts for look in looks]),
        median([look.celsius for look in looks]),
        median([look.busy for look in looks]),
        0,
    )


def _versions(device: Device, gpu: Optional[GpuLooks]) -> dict[str, Optional[str]]:
    on_cuda = device.kind == "cuda"
    cudnn = torch.backends.cudnn.version() if on_cuda else None
    return {
        "driver": None if gpu is None else gpu.before.driver,
        "cudnn": None if cudnn is None else _cudnn_text(cudnn),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())) if on_cuda and torch.distributed.is_nccl_available() else None,
    }


def _cudnn_text(version: int) -> str:
    """cudnn_version.h: 90100 is 9.1.0; before version 9, 8902 was 8.9.2."""
    major = version // 10000 if version >= 90000 else version // 1000
    rest = version % 10000 if version >= 90000 else version % 1000
    return f"{major}.{rest // 100}.{rest % 100}"


def _number(cell: str) -> Optional[float]:
    """nvidia-smi writes `[N/A]` for what a GPU does not tell."""
    try:
        return float(cell)
    except ValueError:
        return None
