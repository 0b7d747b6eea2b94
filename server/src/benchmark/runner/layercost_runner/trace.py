"""One step under torch.profiler: which kernels each layer launches, and where the device waits for the host."""

from __future__ import annotations

import base64
import gzip
import json
import os
import tempfile
from typing import Any, Optional, Sequence

from torch import Tensor
from torch.profiler import ProfilerActivity, profile, record_function

from .device import Device
from .events import Events
from .network import Network
from .plan import Layer, Operator
from .step import Step, first_forward
from .trace_kernels import LAYER, UPDATE, kernels_of_step
from .update import Update

#: Of the compressed trace in one line of events, in bytes before base64.
CHUNK = 512 * 1024


def trace_step(network: Network, device: Device, events: Events) -> None:
    """Sends the kernels of each layer, the step as a whole, and the trace itself in parts."""
    plan = network.plan
    if plan.recomputed or plan.compile is not None:
        events.note("The traced step ran eager and recomputed nothing, so that each kernel has its layer")
    layer_of = {index: number for number, layer in enumerate(plan.layers) for index in layer.operators}

    def forward() -> list[Tensor]:
        current: Optional[int] = None
        scope: Any = None

        def announce(operator: Operator) -> None:
            nonlocal current, scope
            layer = layer_of.get(operator.index)
            if layer == current:
                return
            if scope is not None:
                scope.__exit__(None, None, None)
            current, scope = layer, None
            if layer is not None:
                scope = record_function(f"{LAYER}{layer}")
                scope.__enter__()

        try:
            return network.forward(before=announce)
        finally:
            if scope is not None:
                scope.__exit__(None, None, None)

    targets = first_forward(network, device, events)
    update = NamedUpdate(plan, device, network.parameters() if plan.training else [])
    step = Step(plan, device, forward, update, targets)
    events.progress("warming up", 0.5, 1)
    step.times(0, most=1)
    kinds = [ProfilerActivity.CPU]
    gpu = {"cuda": "CUDA", "xpu": "XPU"}.get(device.kind)
    if gpu is not None and hasattr(ProfilerActivity, gpu):
        kinds.append(getattr(ProfilerActivity, gpu))
    clock = device.clock()
    events.progress("tracing", 0.7, 1)
    with profile(activities=kinds) as profiler:
        step.once(clock)
        clock.synchronize()
    update.clear_gradients()
    events.progress("reading the trace", 0.8, 1)
    trace = _trace_of(profiler)
    found = kernels_of_step(trace["traceEvents"])
    _name_layers(trace["traceEvents"], plan.layers)
    for number, directions in sorted(found.layers.items()):
        events.send("layerKernels", name=plan.layers[number].name, **directions)
    events.send("tracedStep", **found.step)
    packed = gzip.compress(json.dumps(trace).encode("utf-8"), compresslevel=6)
    for begin in range(0, len(packed), CHUNK):
        part = base64.b64encode(packed[begin : begin + CHUNK]).decode("ascii")
        events.send("traceFile", part=part)


class NamedUpdate(Update):
    """The update under a name of its own in the trace."""

    def step(self) -> None:
        with record_function(UPDATE):
            super().step()


def _name_layers(trace_events: list[dict[str, Any]], layers: Sequence[Layer]) -> None:
    """For a person who looks at the trace."""
    for event in trace_events:
        name = event.get("name")
        if isinstance(name, str) and name.startswith(LAYER):
            event["name"] = layers[int(name[len(LAYER) :])].name


def _trace_of(profiler: Any) -> dict[str, Any]:
    """As torch writes it, for Perfetto."""
    with tempfile.TemporaryDirectory(prefix="layercost-") as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            return json.load(file, strict=False)
