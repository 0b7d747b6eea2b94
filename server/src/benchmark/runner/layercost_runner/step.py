"""
The whole training step as one GPU does it, without communication and without reading input: forward, backward, update.

The loss is the scalar product of each output with a fixed random tensor: every output gets a dense gradient, and no loss
layer that the model does not have is timed.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor

from .device import Device, is_out_of_memory
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
    """What the whole step takes, and how to take that time again; or the reason why not."""
    try:
        return _step(network, device, events)
    except OperatorFailure as error:
        log("The whole step was not measured", error)
        if is_out_of_memory(error.__cause__ or error):
            return _no_step(_too_large(network.plan)), None
        return _no_step(str(error)), None
    except (RuntimeError, Unsupported) as error:
        log("The whole step was not measured", error)
        if is_out_of_memory(error):
            return _no_step(_too_large(network.plan)), None
        return _no_step(str(error).strip().splitlines()[0]), None


def _no_step(reason: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("whole", "forward", "backward", "update", "peakMemoryBytes"))
    return {**nothing, "reason": reason}


def _too_large(plan: Plan) -> str:
    return f"the whole step does not fit into memory at batch {plan.batch}: lower the batch"


def _step(network: Network, device: Device, events: Events) -> tuple[dict[str, Any], Again]:
    plan, clock = network.plan, device.clock()
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
    targets = fixed_gradients(outputs)
    # The first outputs hold the first pass's activations.
    del outputs
    with gradients_of(plan), device.autocast():
        forward_pass = written_step(network, device, events)
    update = Update(plan, device, network.parameters() if plan.training else [])

    passes = plan.accumulate if plan.training else 1

    def once() -> list[Any]:
        marks = [clock.mark()]
        update.clear_gradients()
        for _ in range(passes):
            with gradients_of(plan), device.autocast():
                found = forward_pass()
            marks.append(clock.mark())
            if plan.training:
                update.backward([output for output in found if output.requires_grad], targets)
            # Outputs of a pass are gone before the next, as in a loop over batches.
            del found
            marks.append(clock.mark())
        update.step()
        marks.append(clock.mark())
        return marks

    def between(index: int, repeats: int) -> None:
        events.progress(f"step {index + 1} of {repeats}", 0.15 + (STEP_SHARE - 0.15) * index / repeats, 1)

    events.progress("warming up", 0.12, 1)
    device.reset_peak()
    share = STEP_SHARE * plan.budget_seconds
    times = _Times(intervals(clock, once, share, fewest=3, most=20, warm_ups=warm_ups(device), between=between))
    update.clear_gradients()

    def again() -> dict[str, Any]:
        taken = _Times(intervals(clock, once, 0, fewest=3, most=3, warm_ups=1)).whole
        update.clear_gradients()
        return summarise(taken)

    trained = plan.training
    found = {
        "whole": summarise(times.whole),
        "forward": summarise(times.forward),
        "backward": summarise(times.backward) if trained else None,
        "update": summarise(times.update) if trained and plan.optimizer != "none" else None,
        "peakMemoryBytes": device.peak_memory(),
    }
    return found, again


class _Times:
    """Of runs of the step, in seconds: between its marks are forward and backward of each pass, then the update."""

    def __init__(self, spans: Sequence[Sequence[float]]) -> None:
        *passes, self.update = spans
        self.forward = [sum(each) for each in zip(*passes[0::2])]
        self.backward = [sum(each) for each in zip(*passes[1::2])]
        self.whole = [sum(each) for each in zip(self.forward, self.backward, self.update)]


def written_step(network: Network, device: Device, events: Events) -> Callable[[], list[Tensor]]:
    """
    Forward of the whole network as a program, compiled where the plan says so; as the plan's interpreter where it
    cannot be written.
    """
    plan = network.plan
    layer_of = {index: layer for layer in plan.layers for index in layer.operators}
    region_of = _regions(plan, events)
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
    run_all = _compiled(program.run, plan, events)
    return lambda: run_all(*given)


def _regions(plan: Plan, events: Events) -> dict[int, Region]:
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


def _compiled(run: Callable[..., list[Tensor]], plan: Plan, events: Events) -> Callable[..., list[Tensor]]:
    if plan.compile is None:
        return run
    if not hasattr(torch, "compile"):
        events.note(f"torch {torch.__version__} has no torch.compile; the step ran eager")
        return run
    events.note("The step was compiled; layers on their own ran eager")
    return torch.compile(run, mode=None if plan.compile == "default" else plan.compile)
