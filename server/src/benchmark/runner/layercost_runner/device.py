"""The device a benchmark runs on: which one, what it can do, how time is taken on it."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any, ContextManager, Optional

import torch

from .ranks import is_rank_of_many


#: Cycles a second of `torch.cuda._sleep`: no GPU is clocked much higher, and a slower one is held longer.
SPIN_HERTZ = 2e9


class NoDevice(Exception):
    """A GPU was asked for and there is none."""


@dataclass
class Device:
    kind: str
    name: str
    #: What really runs: fp32, tf32, fp16, bf16.
    precision: str
    #: All tensors are in half precision: nothing is cast.
    half_weights: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def torch_device(self) -> torch.device:
        return torch.device(self.kind)

    def facts(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "torch": str(torch.__version__),
            "cuda": (torch.version.cuda or getattr(torch.version, "hip", None)) if self.kind == "cuda" else None,
            "threads": torch.get_num_threads() if self.kind == "cpu" else None,
            "memoryBytes": _memory(self.kind),
            "elementTypes": _element_types(self.kind),
            "precision": self.precision,
            "notes": self.notes,
            "machine": _machine(),
        }

    @property
    def half(self) -> Optional[torch.dtype]:
        return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision)

    def autocast(self) -> ContextManager[Any]:
        """Mixed precision as frameworks do it: matrix work in 16 bits, master weights in 32."""
        if self.half_weights:
            return contextlib.nullcontext()
        half = self.half
        return contextlib.nullcontext() if half is None else torch.autocast(device_type=self.kind, dtype=half)

    def clock(self) -> Clock:
        return HostClock() if self.kind == "cpu" else EventClock(_library(self.kind))

    def hold(self, seconds: float) -> None:
        """Keeps a GPU busy for about so long while the host goes on; elsewhere nothing."""
        spin = getattr(_library(self.kind), "_sleep", None)
        if spin is not None:
            spin(int(seconds * SPIN_HERTZ))

    def empty_cache(self) -> None:
        if self.kind != "cpu":
            _library(self.kind).empty_cache()

    def reset_peak(self) -> None:
        reset = getattr(_library(self.kind), "reset_peak_memory_stats", None)
        if reset is not None:
            reset()

    def peak_memory(self) -> Optional[int]:
        """Bytes that tensors took at most; None where torch does not count them, as on Apple's GPUs."""
        return self._memory_statistic("max_memory_allocated")

    def peak_reserved_memory(self) -> Optional[int]:
        """Bytes that torch took from the driver at most, with what it keeps for later."""
        return self._memory_statistic("max_memory_reserved")

    def _memory_statistic(self, name: str) -> Optional[int]:
        statistic = getattr(_library(self.kind), name, None)
        return None if statistic is None else int(statistic())


def _library(kind: str) -> Any:
    """What torch offers for one kind of device: `torch.cuda`, `torch.xpu`, `torch.mps`."""
    return getattr(torch, kind, None)


class Clock:
    """Marks moments of the device's own timeline. Marking never waits; only `seconds` may."""

    def mark(self) -> Any:
        raise NotImplementedError

    def synchronize(self) -> None:
        """Waits until all work given to the device so far is done."""
        raise NotImplementedError

    def seconds(self, begin: Any, end: Any) -> float:
        """Time between two marks, after `synchronize`."""
        raise NotImplementedError


class EventClock(Clock):
    """Events on the current stream: kernels run asynchronously, so the host's clock would time launches."""

    def __init__(self, library: Any) -> None:
        self._library = library
        # Of Apple's, torch names the module `event`.
        self._event = getattr(library, "Event", None) or library.event.Event

    def mark(self) -> Any:
        event = self._event(enable_timing=True)
        event.record()
        return event

    def synchronize(self) -> None:
        self._library.synchronize()

    def seconds(self, begin: Any, end: Any) -> float:
        # `elapsed_time` is in milliseconds and needs both events to have completed.
        return begin.elapsed_time(end) / 1e3


class HostClock(Clock):
    def mark(self) -> float:
        return time.perf_counter()

    def synchronize(self) -> None:
        pass

    def seconds(self, begin: float, end: float) -> float:
        return end - begin


#: In the order in which `auto` looks for them.
GPU_KINDS = ("cuda", "xpu", "mps")


def open_device(wanted: str, precision: str, conv_tf32: bool = False) -> Device:
    """
    The device that was asked for: auto, cpu, a kind of GPU, or one of several as `cuda:1`. `auto` takes the GPU where there
    is one, otherwise the CPU with a note. Raises `NoDevice`.
    """
    kind, _, number = wanted.partition(":")
    if kind == "auto":
        kind = next((each for each in GPU_KINDS if has_gpu(each)), "cpu")
    elif kind != "cpu" and not has_gpu(kind):
        raise NoDevice(_why_no_gpu(kind))
    if number:
        _choose_gpu(kind, int(number))
    device = Device(kind, _name(kind), precision)
    if kind == "cpu":
        if wanted == "auto":
            device.notes.append(f"No GPU: {_why_no_gpu('cuda')}; measured on the CPU, which says nothing about a GPU")
        _cap_memory()
    elif kind == "cuda" and not number and torch.cuda.device_count() > 1 and not is_rank_of_many():
        device.notes.append(
            f"{torch.cuda.device_count()} GPUs are there; one was used, communication between them was not measured"
        )
    _settle_precision(device, conv_tf32)
    return device


def has_gpu(kind: str) -> bool:
    """Whether torch can use a GPU of this kind here. Older torch lacks the newer kinds."""
    library = getattr(torch.backends, "mps", None) if kind == "mps" else _library(kind)
    return library is not None and bool(library.is_available())


def _choose_gpu(kind: str, number: int) -> None:
    count = _library(kind).device_count()
    if number >= count:
        raise NoDevice(f"there is no {kind}:{number}; {count} {'is' if count == 1 else 'are'} there, counted from 0")
    _library(kind).set_device(number)


def _name(kind: str) -> str:
    if kind == "cpu":
        threads = torch.get_num_threads()
        return f"CPU ({_processor()}, {threads} {'thread' if threads == 1 else 'threads'})"
    return f"{_processor()} GPU" if kind == "mps" else str(_library(kind).get_device_name())


def _settle_precision(device: Device, conv_tf32: bool) -> None:
    wanted = device.precision
    if wanted in ("fp8", "nvfp4"):
        device.precision = "bf16"
        device.notes.append(f"{wanted} needs Transformer Engine, which the runner does not use; ran in bf16")
    if wanted == "tf32" and device.kind != "cuda":
        device.precision = "fp32"
        device.notes.append("tf32 exists on GPUs of NVIDIA only; ran in fp32")
    if device.kind == "cpu":
        if wanted == "fp16":
            device.precision = "bf16"
            device.notes.append("fp16 autocast is not complete on the CPU; ran in bf16")
    elif device.precision == "bf16" and not _has_bf16(device.kind):
        device.precision = "fp16"
        device.notes.append(f"{device.name} has no bf16; ran in fp16")
    # What `fp32` and `tf32` mean must not depend on torch's defaults, which let cuDNN use TF32.
    tf32 = device.precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    if device.kind == "cuda":
        torch.backends.cudnn.allow_tf32 = tf32 or conv_tf32
        # Shapes are fixed, so the fastest convolution is looked for once, in the warm-up.
        torch.backends.cudnn.benchmark = True


def is_out_of_memory(error: BaseException) -> bool:
    """torch raises `OutOfMemoryError` on a GPU and a plain `RuntimeError` from the CPU's allocator."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text
    )


def _why_no_gpu(kind: str) -> str:
    if kind == "mps":
        return f"torch {torch.__version__} finds no GPU of Apple"
    if kind == "xpu":
        return f"torch {torch.__version__} finds no GPU of Intel"
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return f"torch {torch.__version__} is built for the CPU only"
    return f"torch {torch.__version__} is built for GPUs, but finds no driver or no device"


def _has_bf16(kind: str) -> bool:
    """Apple's GPUs have it since macOS 14, which a tensor tells."""
    if kind != "mps":
        return bool(_library(kind).is_bf16_supported())
    try:
        torch.ones(1, dtype=torch.bfloat16, device=kind)
    except (RuntimeError, TypeError):
        return False
    return True


def _element_types(kind: str) -> list[str]:
    if kind == "cpu":
        return ["float32", "float64", "bfloat16"]
    types = ["float32", "float16"] if kind == "mps" else ["float32", "float64", "float16"]
    return [*types, "bfloat16"] if _has_bf16(kind) else types


def _memory(kind: str) -> Optional[int]:
    """Of the device, in bytes; of a processor, what is free."""
    if kind in ("cpu", "mps"):
        return _available_memory()
    library = _library(kind)
    return int(library.get_device_properties(library.current_device()).total_memory)


def _machine() -> dict[str, Any]:
    """As Node.js names it where the runner is started without a launcher."""
    kinds = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}
    return {
        "name": platform.node(),
        "platform": f"{sys.platform}-{kinds.get(platform.machine(), platform.machine())}",
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        try:
            named = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5)
            return named.stdout.strip() or platform.machine()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or platform.machine()


def _available_memory() -> Optional[int]:
    try:
        with open("/proc/meminfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _cap_memory() -> None:
    """On Linux: an allocation beyond what is free fails here, instead of the system killing other programs."""
    available = _available_memory()
    if available is None:
        return
    try:
        import resource

        with open("/proc/self/statm", encoding="utf-8") as line:
            mapped = int(line.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = mapped + available
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    except (ImportError, OSError, ValueError):
        pass
