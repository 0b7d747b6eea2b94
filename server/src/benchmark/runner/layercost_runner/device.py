"""The device a benchmark runs on: which one, what it can do, how time is taken on it."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from dataclasses import dataclass, field
from typing import Any, ContextManager, Optional

import torch

from .ranks import is_rank_of_many


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
        cuda = self.kind == "cuda"
        return {
            "kind": self.kind,
            "name": self.name,
            "torch": str(torch.__version__),
            "cuda": (torch.version.cuda or getattr(torch.version, "hip", None)) if cuda else None,
            "threads": None if cuda else torch.get_num_threads(),
            "memoryBytes": torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory if cuda else _available_memory(),
            "elementTypes": _element_types(self.kind),
            "precision": self.precision,
            "notes": self.notes,
        }

    @property
    def half(self) -> Optional[torch.dtype]:
        return {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision)

    def autocast(self) -> ContextManager[Any]:
        """Mixed precision as frameworks do it: matrix work in 16 bits, master weights in 32."""
        if self.half_weights:
            return contextlib.nullcontext()
        if self.precision == "bf16":
            return torch.autocast(device_type=self.kind, dtype=torch.bfloat16)
        if self.precision == "fp16":
            return torch.autocast(device_type=self.kind, dtype=torch.float16)
        return contextlib.nullcontext()

    def clock(self) -> Clock:
        return CudaClock() if self.kind == "cuda" else HostClock()

    def empty_cache(self) -> None:
        if self.kind == "cuda":
            torch.cuda.empty_cache()

    def reset_peak(self) -> None:
        if self.kind == "cuda":
            torch.cuda.reset_peak_memory_stats()

    def peak_memory(self) -> Optional[int]:
        return torch.cuda.max_memory_allocated() if self.kind == "cuda" else None


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


class CudaClock(Clock):
    """CUDA events on the current stream: kernels run asynchronously, so the host's clock would time launches."""

    def mark(self) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def synchronize(self) -> None:
        torch.cuda.synchronize()

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


def open_device(wanted: str, precision: str, conv_tf32: bool = False) -> Device:
    """The device that was asked for. `auto` takes the GPU where there is one, otherwise the CPU with a note."""
    gpu = torch.cuda.is_available()
    if wanted == "cuda" and not gpu:
        raise NoDevice(_why_no_gpu())
    if wanted == "cuda" or (wanted == "auto" and gpu):
        device = Device("cuda", torch.cuda.get_device_name(), precision)
        if torch.cuda.device_count() > 1 and not is_rank_of_many():
            device.notes.append(
                f"{torch.cuda.device_count()} GPUs are there; one was used, communication between them was not measured"
            )
    else:
        threads = torch.get_num_threads()
        device = Device(
            "cpu", f"CPU ({_processor()}, {threads} {'thread' if threads == 1 else 'threads'})", precision
        )
        if wanted == "auto":
            device.notes.append(f"No GPU: {_why_no_gpu()}; measured on the CPU, which says nothing about a GPU")
        _cap_memory()
    _settle_precision(device, conv_tf32)
    return device


def _settle_precision(device: Device, conv_tf32: bool) -> None:
    wanted = device.precision
    if wanted == "fp8":
        device.precision = "bf16"
        device.notes.append("fp8 needs Transformer Engine, which the runner does not use; ran in bf16")
    if device.kind == "cpu":
        if wanted == "tf32":
            device.precision = "fp32"
            device.notes.append("tf32 exists on GPUs only; ran in fp32")
        if wanted == "fp16":
            device.precision = "bf16"
            device.notes.append("fp16 autocast is not complete on the CPU; ran in bf16")
    elif device.precision == "bf16" and not torch.cuda.is_bf16_supported():
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


def _why_no_gpu() -> str:
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return f"torch {torch.__version__} is built for the CPU only"
    return f"torch {torch.__version__} is built for GPUs, but finds no driver or no device"


def _element_types(kind: str) -> list[str]:
    if kind == "cpu":
        return ["float32", "float64", "bfloat16"]
    types = ["float32", "float64", "float16"]
    return [*types, "bfloat16"] if torch.cuda.is_bf16_supported() else types


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
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
