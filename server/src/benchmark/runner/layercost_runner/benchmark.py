"""What is measured: the whole training step first, then every layer on its own, then the step once more."""

from __future__ import annotations

import torch

from .device import Device
from .events import Events
from .layers import measure_layers
from .network import Network
from .plan import Plan
from .step import STEP_SHARE, measure_step
from .trace import trace_step


def benchmark_traced(plan: Plan, device: Device, events: Events) -> None:
    """The step as it is, then once under the profiler."""
    torch.manual_seed(0)
    network = Network(plan, device.torch_device, device.half if device.half_weights else None)
    step, _ = measure_step(network, device, events)
    events.send("step", **step)
    trace_step(network, device, events)
    events.progress("done", 1, 1)


def benchmark(plan: Plan, device: Device, events: Events) -> None:
    """Measures and sends what it finds. A part that cannot run is sent with the reason, and the rest goes on."""
    torch.manual_seed(0)
    network = Network(plan, device.torch_device, device.half if device.half_weights else None)
    events.progress("first step", 0, 1)
    step, again = measure_step(network, device, events)
    events.send("step", **step)
    device.empty_cache()
    measure_layers(network, device, events, begin=STEP_SHARE)
    if again is not None and plan.layers:
        events.progress("the step again", 0.99, 1)
        events.send("stepAgain", whole=again())
    events.progress("done", 1, 1)
