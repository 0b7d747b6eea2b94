"""
What is measured: the whole training step first, then every layer on its own.

The step is what one GPU does without communication and without reading input: forward, backward, update. The
loss is the scalar product of each output with a fixed random tensor: every output gets a dense gradient, and no
loss layer that the model does not have is timed. A layer runs on inputs of the shape, type and memory layout
they have in the whole network.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from typing import Any, Callable, Optional, Sequence

import torch
from torch import Tensor

from .device import Device, is_out_of_memory
from .events import Events, log
from .measure import intervals, summarise
from .network import Environment, Network, OperatorFailure
from .operators import Unsupported
from .plan import Layer, Operator, Plan
from .program import CannotWrite, record
from .standalone import write_standalone

#: Share of the time budget for the whole step; the layers have the rest.
STEP_SHARE = 0.3
#: Past this multiple of the budget layers are no longer measured.
PATIENCE = 3.0
MOST_NOTES = 10


def benchmark(plan: Plan, device: Device, events: Events) -> None:
    """Measures and sends what it finds. A part that cannot run is sent with the reason, and the rest goes on."""
    torch.manual_seed(0)
    network = Network(plan, device.torch_device, device.half if device.half_weights else None)
    deadline = Deadline(plan.budget_seconds)
    events.progress("first step", 0, 1)
    step = _measure_step(network, device, events)
    events.send("step", **step)
    device.empty_cache()
    deadline.restart(1 - STEP_SHARE)
    for position, layer in enumerate(plan.layers):
        events.progress(f"layer {layer.name}", STEP_SHARE + (1 - STEP_SHARE) * position / len(plan.layers), 1)
        left = len(plan.layers) - position
        events.send("layer", name=layer.name, **_measure_layer(network, layer, device, deadline, left))
    events.progress("done", 1, 1)


class Deadline:
    """Shares what is left of the budget among what is left to do."""

    def __init__(self, seconds: float) -> None:
        self._budget = seconds
        self.restart(1.0)

    def restart(self, share: float) -> None:
        self._begin = time.monotonic()
        self._seconds = self._budget * share

    def share(self, left: int) -> float:
        return max(0.0, self._seconds - (time.monotonic() - self._begin)) / max(1, left)

    @property
    def overdrawn(self) -> bool:
        return time.monotonic() - self._begin > PATIENCE * self._seconds

    @property
    def budget(self) -> float:
        return self._budget


def _measure_step(network: Network, device: Device, events: Events) -> dict[str, Any]:
    try:
        return _step(network, device, events)
    except OperatorFailure as error:
        log("The whole step was not measured", error)
        if is_out_of_memory(error.__cause__ or error):
            return _no_step(_too_large(network.plan))
        return _no_step(str(error))
    except (RuntimeError, Unsupported) as error:
        log("The whole step was not measured", error)
        if is_out_of_memory(error):
            return _no_step(_too_large(network.plan))
        return _no_step(str(error).strip().splitlines()[0])


def _no_step(reason: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("whole", "forward", "backward", "update", "peakMemoryBytes"))
    return {**nothing, "reason": reason}


def _too_large(plan: Plan) -> str:
    return f"the whole step does not fit into memory at batch {plan.batch}: lower the batch"


def _step(network: Network, device: Device, events: Events) -> dict[str, Any]:
    plan, clock = network.plan, device.clock()
    notes = 0

    def look(operator: Operator, outputs: Sequence[Optional[Tensor]]) -> None:
        nonlocal notes
        for problem in network.look(operator, outputs):
            notes += 1
            if notes <= MOST_NOTES:
                events.note(f"{problem}; what ran was measured")
        events.progress("first forward", 0.1 * (operator.index + 1) / len(plan.operators), 1)

    with _gradients(plan), device.autocast():
        outputs = network.forward(after=look)
    for operator in network.written_out[:MOST_NOTES]:
        events.note(f"{operator.name} ran operator by operator: one call of {operator.type} gives other numbers")
    if notes > MOST_NOTES:
        events.note(f"{notes - MOST_NOTES} more operators gave other shapes than predicted")
    targets = _fixed_gradients(outputs)
    # The first outputs hold the first pass's activations.
    del outputs
    with _gradients(plan), device.autocast():
        forward_pass = _written_step(network, device, events)
    update = Update(plan, device, network.parameters() if plan.training else [])

    passes = plan.accumulate if plan.training else 1

    def once() -> list[Any]:
        marks = [clock.mark()]
        update.clear_gradients()
        for _ in range(passes):
            with _gradients(plan), device.autocast():
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
    *parts, updating = intervals(
        clock, once, share, fewest=3, most=20, warm_ups=_warm_ups(device), between=between
    )
    forward = [sum(spans) for spans in zip(*parts[0::2])]
    backward = [sum(spans) for spans in zip(*parts[1::2])]
    whole = [sum(spans) for spans in zip(forward, backward, updating)]
    trained = plan.training
    return {
        "whole": summarise(whole),
        "forward": summarise(forward),
        "backward": summarise(backward) if trained else None,
        "update": summarise(updating) if trained and plan.optimizer != "none" else None,
        "peakMemoryBytes": device.peak_memory(),
    }


def _written_step(network: Network, device: Device, events: Events) -> Callable[[], list[Tensor]]:
    """
    Forward of the whole network as a program, compiled where the plan says so; as the plan's interpreter where it
    cannot be written.
    """
    layer_of = {index: layer for layer in network.plan.layers for index in layer.operators}
    tensors = network.tensors()
    current: Optional[Layer] = None

    def run(comment: Callable[[str], None]) -> list[Tensor]:
        def announce(operator: Operator) -> None:
            nonlocal current
            layer = layer_of.get(operator.index)
            if layer is not None and layer is not current:
                comment(f"{layer.name}: {layer.type}")
            current = layer

        return network.forward(before=announce)

    try:
        program = record(run, tensors)
    except CannotWrite as error:
        events.note(f"The step ran operator by operator, which costs the host more: {error}")
        return network.forward
    events.send("program", source=write_standalone(program, network.plan, device.precision, tensors))
    given = [tensors[name] for name in program.inputs]
    run_all = _compiled(program.run, network.plan, events)
    return lambda: run_all(*given)


def _compiled(run: Callable[..., list[Tensor]], plan: Plan, events: Events) -> Callable[..., list[Tensor]]:
    if plan.compile is None:
        return run
    if not hasattr(torch, "compile"):
        events.note(f"torch {torch.__version__} has no torch.compile; the step ran eager")
        return run
    events.note("The step was compiled; layers on their own ran eager")
    return torch.compile(run, mode=None if plan.compile == "default" else plan.compile)


class Update:
    """Backward and optimizer of the step, with loss scaling where fp16 needs it."""

    def __init__(self, plan: Plan, device: Device, parameters: list[Tensor]) -> None:
        self._plan = plan
        self._parameters = parameters
        copies = plan.weights == "half-with-copy" and device.half_weights
        self._copies = [each.detach().float() for each in parameters] if copies else []
        self._optimizer = _optimizer(plan, self._copies or parameters)
        # It refuses gradients in fp16: where the optimizer updates weights in fp16, programs scale the loss by hand.
        scales = device.precision == "fp16" and (copies or not device.half_weights)
        self._scaler = _scaler() if scales and self._optimizer is not None else None

    def clear_gradients(self) -> None:
        if self._plan.adds_gradients:
            for parameter in self._parameters:
                if parameter.grad is not None:
                    parameter.grad.zero_()
            return
        for parameter in self._parameters:
            parameter.grad = None

    def backward(self, outputs: list[Tensor], gradients: list[Tensor]) -> None:
        if not outputs:
            return
        scaled = outputs if self._scaler is None else self._scaler.scale(outputs)
        torch.autograd.backward(scaled, gradients)

    def step(self) -> None:
        if self._optimizer is None:
            return
        for copy, parameter in zip(self._copies, self._parameters):
            copy.grad = None if parameter.grad is None else parameter.grad.float()
        if self._plan.clips_norm:
            if self._scaler is not None:
                self._scaler.unscale_(self._optimizer)
            torch.nn.utils.clip_grad_norm_(self._copies or self._parameters, 1.0)
        if self._scaler is None:
            self._optimizer.step()
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()
        with torch.no_grad():
            for copy, parameter in zip(self._copies, self._parameters):
                parameter.copy_(copy)


def _optimizer(plan: Plan, parameters: list[Tensor]) -> Optional[torch.optim.Optimizer]:
    """With a learning rate that moves nothing: the time is the same and no run drifts into infinities."""
    rate = 1e-9
    if plan.optimizer == "none" or not parameters:
        return None
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}.get(plan.optimizer, torch.optim.SGD)
    kernels: dict[str, Any] = {"foreach": plan.optimizer_kernels == "foreach"}
    if plan.optimizer_kernels == "fused":
        kernels = {"fused": True}
        if "fused" not in inspect.signature(kind).parameters:
            raise Unsupported(f"torch {torch.__version__} has no fused {kind.__name__}: leave out optimizer-kernels=fused")
    if plan.optimizer == "momentum":
        kernels["momentum"] = 0.9
    return kind(parameters, lr=rate, **kernels)


def _scaler() -> Any:
    # The scale that suits gradients of about 1: none overflows, so no update is skipped.
    newer = getattr(torch.amp, "GradScaler", None)
    return torch.cuda.amp.GradScaler(init_scale=64.0) if newer is None else newer("cuda", init_scale=64.0)


def _measure_layer(
    network: Network, layer: Layer, device: Device, deadline: Deadline, left: int
) -> dict[str, Any]:
    if not layer.operators:
        return _no_layer("nothing of it runs on the device: its values are known beforehand")
    if deadline.overdrawn:
        return _no_layer(f"the time budget of {deadline.budget:g} s was used up: raise it or lower the batch")
    try:
        return _layer(network, layer, device, deadline.share(left))
    except (OperatorFailure, Unsupported) as error:
        cause = error.__cause__ or error
        return _no_layer("it does not fit into memory" if is_out_of_memory(cause) else str(error))
    except RuntimeError as error:
        log(f"Layer {layer.name}", error)
        if is_out_of_memory(error):
            device.empty_cache()
            return _no_layer("it does not fit into memory")
        return _no_layer(str(error).strip().splitlines()[0])


def _no_layer(reason: str) -> dict[str, Any]:
    return {"forward": None, "backward": None, "reason": reason}


def _layer(network: Network, layer: Layer, device: Device, share: float) -> dict[str, Any]:
    plan, clock = network.plan, device.clock()
    operators = [plan.operators[index] for index in layer.operators]
    inputs, leaves = _layer_inputs(network, operators)
    results = _layer_outputs(plan, layer, operators)

    def interpreted(_: object = None) -> list[Tensor]:
        environment: Environment = dict(inputs)
        network.run(operators, environment)
        return [found for found in (environment.get(name) for name in results) if found is not None]

    with _gradients(plan), device.autocast():
        # The first run makes the stored tensors, which the program is given.
        targets = _fixed_gradients(interpreted())
        forward = _written_layer(interpreted, {**network.tensors(), **_present(inputs)})
    differentiates = plan.training and bool(leaves) and bool(targets)

    def once() -> list[Any]:
        # Casts of weights are remembered for as long as autocast is entered: each run makes them, as each step does.
        with _gradients(plan), device.autocast():
            marks = [clock.mark()]
            outputs = forward()
            marks.append(clock.mark())
        if differentiates:
            wanted = [output for output in outputs if output.requires_grad]
            torch.autograd.grad(wanted, leaves, targets, allow_unused=True)
            marks.append(clock.mark())
        return marks

    most = 50 if device.kind == "cuda" else 20
    spans = intervals(clock, once, share, fewest=1, most=most, warm_ups=_warm_ups(device))
    return {
        "forward": summarise(spans[0]),
        "backward": summarise(spans[1]) if differentiates else None,
    }


def _written_layer(
    interpreted: Callable[[object], list[Tensor]], tensors: dict[str, Tensor]
) -> Callable[[], list[Tensor]]:
    try:
        program = record(interpreted, tensors)
    except CannotWrite as error:
        log("A layer ran operator by operator", error)
        return lambda: interpreted(None)
    given = [tensors[name] for name in program.inputs]
    return lambda: program.run(*given)


def _present(environment: Environment) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in environment.items() if tensor is not None}


def _warm_ups(device: Device) -> int:
    """A GPU compiles and chooses kernels and raises its clock; the processor only fills its caches."""
    return 3 if device.kind == "cuda" else 1


def _layer_inputs(network: Network, operators: Sequence[Operator]) -> tuple[Environment, list[Tensor]]:
    """Stand-ins for what other layers compute, and every tensor backward gives a gradient to."""
    inside = {name for operator in operators for name in operator.outputs}
    inputs: Environment = {}
    leaves: dict[int, Tensor] = {}
    for operator in operators:
        for name in operator.inputs:
            if not name or name in inside or name in inputs:
                continue
            if name in network.plan.produced and network.plan.values[name].elements is None:
                tensor: Optional[Tensor] = network.activation(name)
                inputs[name] = tensor
            else:
                tensor = network.stored(name)
            if tensor is not None and tensor.requires_grad:
                leaves[id(tensor)] = tensor
    return inputs, list(leaves.values())


def _layer_outputs(plan: Plan, layer: Layer, operators: Sequence[Operator]) -> list[str]:
    """What the rest of the network reads of a layer; its last operator's outputs where nothing does."""
    own = set(layer.operators)
    read = {name for operator in plan.operators if operator.index not in own for name in operator.inputs}
    read.update(plan.outputs)
    produced = [name for operator in operators for name in operator.outputs if name]
    return [name for name in produced if name in read] or [name for name in operators[-1].outputs if name]


def _fixed_gradients(outputs: Sequence[Tensor]) -> list[Tensor]:
    """One dense gradient per output that takes one, in order."""
    return [torch.randn_like(output.detach()) for output in outputs if output.requires_grad]


def _gradients(plan: Plan) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if plan.training else torch.no_grad()


