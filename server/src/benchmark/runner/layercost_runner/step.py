"""
The whole training step as one GPU does it, without communication and without reading input: forward, backward, update.

The loss is the scalar product of each output with a fixed random tensor: every output gets a dense gradient, and no loss
layer that the model does not have is timed.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, Optional, Sequence

import torch
from torch import Tensor

from .device import Clock, Device, is_out_of_memory
from .events import Events, log
from .measure import fixed_gradients, gradients_of, intervals, summarise, warm_ups
from .network import Network, OperatorFailure
from .operators import Unsupported
from .plan import Layer, Operator, Plan
from .program import CannotWrite, Recorder, record
from .source import Region
from .standalone import write_standalone
from .update import Update

#: Share of the time budget for the whole step; the layers have the rest.
STEP_SHARE = 0.3
MOST_NOTES = 10

#: Measures the step once more, as a summary of the whole.
Again = Callable[[], dict[str, Any]]


def measure_step(network: Network, device: Device, events: Events) -> tuple[dict[str, Any], Optional[Again]]:
    """
    What the whole step takes, and how to take that time again; or the reason why not. Where it does not fit into memory,
    raises what the allocator raised if the plan ends there.
    """
    plan = network.plan
    try:
        return _step(network, device, events)
    except (OperatorFailure, RuntimeError, Unsupported) as error:
        log("The whole step was not measured", error)
        cause = (error.__cause__ or error) if isinstance(error, OperatorFailure) else error
        if not is_out_of_memory(cause):
            return _no_step(str(error).strip().splitlines()[0]), None
        if plan.ends_where_too_large:
            raise cause
        return _no_step(_too_large(plan)), None


def _no_step(reason: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("whole", "forward", "backward", "update", "peakMemoryBytes", "peakReservedBytes", "host"))
    return {**nothing, "reason": reason}


def _too_large(plan: Plan) -> str:
    return f"the whole step does not fit into memory at batch {plan.batch}: lower the batch"


def _step(network: Network, device: Device, events: Events) -> tuple[dict[str, Any], Again]:
    plan = network.plan
    targets = first_forward(network, device, events)
    with gradients_of(plan), device.autocast():
        forward_pass = written_step(network, device, events)
    update = Update(plan, device, network.parameters() if plan.training else [])
    step = Step(plan, device, forward_pass, update, targets)

    def between(index: int, repeats: int) -> None:
        if index == 0:
            # What the search for kernels took in the warm-up is no part of a step.
            device.reset_peak()
        events.progress(f"step {index + 1} of {repeats}", 0.15 + (STEP_SHARE - 0.15) * index / repeats, 1)

    events.progress("warming up", 0.12, 1)
    times = step.times(STEP_SHARE * plan.budget_seconds, warm_ups=warm_ups(device), between=between)

    def again() -> dict[str, Any]:
        return summarise(step.times(0, most=3).whole)

    memory = {"peakMemoryBytes": device.peak_memory(), "peakReservedBytes": device.peak_reserved_memory()}
    return {**times.summaries(plan), **memory, "host": times.host}, again


def first_forward(network: Network, device: Device, events: Events) -> list[Tensor]:
    """Runs the network for the first time, says what differs from the plan, and draws the gradients of its outputs."""
    plan = network.plan
    notes = 0

    def look(operator: Operator, outputs: Sequence[Optional[Tensor]]) -> None:
        nonlocal notes
        for problem in network.look(operator, outputs):
            notes += 1
            if notes <= MOST_NOTES:
                events.note(f"{problem}; what ran was measured")
        events.progress("first forward", 0.1 * (operator.index + 1) / len(plan.operators), 1)

    with gradients_of(plan), device.autocast():
        outputs = network.forward(after=look)
    for operator in network.written_out[:MOST_NOTES]:
        events.note(f"{operator.name} ran operator by operator: one call of {operator.type} gives other numbers")
    if notes > MOST_NOTES:
        events.note(f"{notes - MOST_NOTES} more operators gave other shapes than predicted")
    # The outputs hold the first pass's activations: they are gone when this returns.
    return fixed_gradients(outputs)


@dataclass
class Step:
    """Forward and backward of each pass, then the update."""

    plan: Plan
    device: Device
    forward_pass: Callable[[], list[Tensor]]
    update: Update
    targets: list[Tensor]
    #: What a pass runs in, by whether it is the last before the update.
    within: Callable[[bool], ContextManager[Any]] = lambda last: contextlib.nullcontext()
    #: Processes that wait for each other agree on the number of runs.
    agree: Callable[[int], int] = int

    def times(
        self,
        share: float,
        most: int = 20,
        warm_ups: int = 1,
        between: Optional[Callable[[int, int], None]] = None,
    ) -> Times:
        clock = self.device.clock()
        host: list[float] = []

        def once() -> list[Any]:
            begin = time.perf_counter()
            marks = self.once(clock)
            host.append(time.perf_counter() - begin)
            return marks

        spans = intervals(clock, once, share, 3, most, warm_ups=warm_ups, between=between, agree=self.agree)
        self.update.clear_gradients()
        # Once the queue of the GPU is full, the host waits for it: the quickest run tells how long launching takes.
        return Times(spans, None if self.device.kind == "cpu" else min(host[warm_ups:]))

    def once(self, clock: Clock) -> list[Any]:
        plan = self.plan
        passes = plan.accumulate if plan.training else 1
        marks = [clock.mark()]
        self.update.clear_gradients()
        for index in range(passes):
            with self.within(index == passes - 1):
                with gradients_of(plan), self.device.autocast():
                    found = self.forward_pass()
                marks.append(clock.mark())
                if plan.training:
                    self.update.backward([output for output in found if output.requires_grad], self.targets)
            # Outputs of a pass are gone before the next, as in a loop over batches.
            del found
            marks.append(clock.mark())
        self.update.step()
        marks.append(clock.mark())
        return marks


class Times:
    """
    Of runs of the step, in seconds: between its marks are forward and backward of each pass, then the update. `host`: what
    launching a step takes at least; None on a processor, where that is the step.
    """

    def __init__(self, spans: Sequence[Sequence[float]], host: Optional[float]) -> None:
        self.host = host
        *passes, self.update = spans
        self.forward = [sum(each) for each in zip(*passes[0::2])]
        self.backward = [sum(each) for each in zip(*passes[1::2])]
        self.whole = [sum(each) for each in zip(self.forward, self.backward, self.update)]

    def summaries(self, plan: Plan) -> dict[str, Any]:
        trained = plan.training
        return {
            "whole": summarise(self.whole),
            "forward": summarise(self.forward),
            "backward": summarise(self.backward) if trained else None,
            "update": summarise(self.update) if trained and plan.optimizer != "none" else None,
        }


def written_step(network: Network, device: Device, events: Events) -> Callable[[], list[Tensor]]:
    """
    Forward of the whole network as a program, compiled where the plan says so; as the plan's interpreter where it
    cannot be written.
    """
    plan = network.plan
    layer_of = {index: layer for layer in plan.layers for index in layer.operators}
    region_of = regions_of(plan, events)
    tensors = network.tensors()
    current: Optional[Layer] = None

    def run(recorder: Recorder) -> list[Tensor]:
        def announce(operator: Operator) -> None:
            nonlocal current
            recorder.enter(region_of.get(operator.index))
            layer = layer_of.get(operator.index)
            if layer is not None and layer is not current:
                recorder.comment(f"{layer.name}: {layer.type}")
            current = layer

        return network.forward(before=announce)

    try:
        program = record(run, tensors)
    except CannotWrite as error:
        if region_of:
            raise Unsupported(f"checkpointing needs the step as a program, which cannot be written: {error}") from error
        events.note(f"The step ran operator by operator, which costs the host more: {error}")
        return network.forward
    events.send("program", source=write_standalone(program, plan, device.precision, tensors))
    given = [tensors[name] for name in program.inputs]
    run_all = compiled(program.run, plan, events)
    return lambda: run_all(*given)


def regions_of(plan: Plan, events: Events) -> dict[int, Region]:
    """What is recomputed, by operator. Operators between those of a block divide it."""
    regions = {
        index: Region(number, group.keeping, plan.reentrant)
        for number, group in enumerate(plan.recomputed)
        for index in group.operators
    }
    order = [regions.get(operator.index) for operator in plan.operators]
    runs = sum(region is not None and region != before for region, before in zip(order, [None, *order]))
    blocks = len(set(regions.values()))
    if runs > blocks:
        events.note(f"{blocks} checkpointed blocks ran in {runs} parts: other operators run between theirs")
    return regions


def compiled(run: Callable[..., list[Tensor]], plan: Plan, events: Events) -> Callable[..., list[Tensor]]:
    if plan.compile is None:
        return run
    if not hasattr(torch, "compile"):
        events.note(f"torch {torch.__version__} has no torch.compile; the step ran eager")
        return run
    events.note("The step was compiled; layers on their own ran eager")
    return torch.compile(run, mode=None if plan.compile == "default" else plan.compile)
