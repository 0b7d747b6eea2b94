"""
Every layer on its own: forward, and backward as a whole, for the data alone and for the weights alone.

A layer runs on inputs of the shape, type and memory layout that they have in the whole network. Layers that do not differ
in these are measured once.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Hashable, Optional, Sequence

from torch import Tensor, autograd

from .caches import Caches
from .device import Device, is_out_of_memory
from .events import Events, log
from .gradient_sums import measure_gradient_sums
from .host_lead import HostLead
from .measure import fixed_gradients, gradients_of, intervals, summarise, warm_ups
from .network import Environment, Network, OperatorFailure
from .operators import Unsupported
from .plan import Layer, Operator, Plan
from .program import CannotWrite, record

#: Past this multiple of the budget layers are no longer measured.
PATIENCE = 3.0
#: Of backward, in the order in which they are timed.
PARTS = ("backward", "dataGradient", "weightGradient")


def measure_layers(network: Network, device: Device, events: Events, begin: float) -> None:
    """Sends the times of each layer. `begin` is the share of the budget that is spent already."""
    plan = network.plan
    deadline = Deadline(plan.budget_seconds * (1 - begin))
    in_step = forward_in_step(network, device)
    caches = Caches(device, plan.caches)
    keys = [None if not layer.operators else layer_key(network, layer) for layer in plan.layers]
    distinct = len(set(keys))
    found: dict[Hashable, tuple[str, dict[str, Any]]] = {}
    for position, (layer, key) in enumerate(zip(plan.layers, keys)):
        events.progress(f"layer {layer.name}", begin + (1 - begin) * position / len(plan.layers), 1)
        known = found.get(key) if key is not None else None
        if known is None:
            times = _measure(network, layer, device, caches, deadline, distinct - len(found))
            found[key] = (layer.name, times)
        else:
            first, times = known
            times = {**times, "sameAs": first}
        inside = in_step.get(layer.name)
        events.send("layer", name=layer.name, **times, **({} if inside is None else {"forwardInStep": inside}))
    if plan.training:
        events.send("gradientSums", **measure_gradient_sums(network, device, caches))


class Deadline:
    """Shares what is left of the budget among what is left to do."""

    def __init__(self, seconds: float) -> None:
        self.budget = seconds
        self._begin = time.monotonic()

    def share(self, left: int) -> float:
        return max(0.0, self.budget - (time.monotonic() - self._begin)) / max(1, left)

    @property
    def overdrawn(self) -> bool:
        return time.monotonic() - self._begin > PATIENCE * self.budget


def layer_key(network: Network, layer: Layer) -> Hashable:
    """Equal for layers that run the same operators on tensors of the same shapes, types, layouts and known contents."""
    numbers: dict[str, int] = {"": -1}
    tensors: list[Hashable] = []

    def number(name: str) -> int:
        if name not in numbers:
            numbers[name] = len(numbers)
            value, seen = network.plan.values[name], network.seen.get(name)
            layout = None if seen is None else (seen.shape, seen.stride, seen.dtype, seen.requires_grad)
            tensors.append((value.role, value.element_type, value.shape, value.gradient, value.elements, value.limit, layout))
        return numbers[name]

    def written(operator: Operator) -> Hashable:
        names = (tuple(number(name) for name in operator.inputs), tuple(number(name) for name in operator.outputs))
        attributes = repr(sorted(operator.attributes.items()))
        parts = tuple(written(part) for part in operator.parts)
        return (operator.type, operator.domain, names, attributes, operator.obstacle, parts)

    operators = tuple(written(network.plan.operators[index]) for index in layer.operators)
    results = _layer_outputs(network.plan, layer)
    return (operators, tuple(number(name) for name in results), tuple(tensors))


def forward_in_step(network: Network, device: Device) -> dict[str, float]:
    """Forward of each layer where it runs within the whole network: the median of three, in seconds, by layer."""
    plan, clock = network.plan, device.clock()
    layer_of = {index: layer.name for layer in plan.layers for index in layer.operators}
    runs: dict[str, list[float]] = {}
    try:
        for _ in range(3):
            marks: list[tuple[Optional[str], Any]] = []
            with gradients_of(plan), device.autocast():
                outputs = network.forward(before=lambda each: marks.append((layer_of.get(each.index), clock.mark())))
            marks.append((None, clock.mark()))
            del outputs
            clock.synchronize()
            spans: dict[str, float] = {}
            for (name, begin), (_, end) in zip(marks, marks[1:]):
                if name is not None:
                    spans[name] = spans.get(name, 0.0) + clock.seconds(begin, end)
            for name, seconds in spans.items():
                runs.setdefault(name, []).append(seconds)
    except (OperatorFailure, RuntimeError) as error:
        log("Layers were not timed within the step", error)
        return {}
    return {name: sorted(seconds)[len(seconds) // 2] for name, seconds in runs.items()}


def _measure(
    network: Network, layer: Layer, device: Device, caches: Caches, deadline: Deadline, left: int
) -> dict[str, Any]:
    if not layer.operators:
        return _no_layer("nothing of it runs on the device: its values are known beforehand")
    if deadline.overdrawn:
        return _no_layer(f"the time budget of {network.plan.budget_seconds:g} s was used up: raise it or lower the batch")
    try:
        return _layer(network, layer, device, caches, deadline.share(left))
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


def _layer(network: Network, layer: Layer, device: Device, caches: Caches, share: float) -> dict[str, Any]:
    plan, clock = network.plan, device.clock()
    operators = [plan.operators[index] for index in layer.operators]
    inputs, data, weights = _layer_inputs(network, operators)
    results = _layer_outputs(plan, layer)

    def interpreted(_: object = None) -> list[Tensor]:
        environment: Environment = dict(inputs)
        network.run(operators, environment)
        return [found for found in (environment.get(name) for name in results) if found is not None]

    given = list(_present(inputs).values())
    with gradients_of(plan), device.autocast():
        # The first run makes the stored tensors, which the program is given.
        targets = fixed_gradients(interpreted())
        forward = _written_layer(interpreted, {**network.tensors(), **_present(inputs)})
    differentiates = plan.training and bool(data or weights) and bool(targets)
    # Backward as a whole, and apart where there is something to tell apart.
    wanted = [[*data, *weights], *([data, weights] if data and weights else [])] if differentiates else []

    lead = HostLead(device)
    parts = PARTS[: len(wanted)]

    def once() -> list[Any]:
        marks: list[Any] = []
        caches.settle(given)
        # Casts of weights are remembered for as long as autocast is entered: each run makes them, as each step does.
        with gradients_of(plan), device.autocast(), lead.ahead("forward"):
            marks.append(clock.mark())
            outputs = forward()
            marks.append(clock.mark())
        taking = [output for output in outputs if output.requires_grad]
        for part, leaves in zip(parts, wanted):
            caches.settle(targets)
            with lead.ahead(part):
                marks.append(clock.mark())
                autograd.grad(taking, leaves, targets, retain_graph=leaves is not wanted[-1], allow_unused=True)
                marks.append(clock.mark())
        return marks

    most = 20 if device.kind == "cpu" else 50
    first = warm_ups(device)
    spans = intervals(clock, once, share, fewest=1, most=most, warm_ups=first)[0::2]
    backward = [summarise(times) for times in spans[1:]]
    both = {"backward": backward[0]} if backward else {"backward": None}
    if len(backward) == 3:
        apart = {"dataGradient": backward[1], "weightGradient": backward[2]}
    else:
        apart = {"dataGradient" if data else "weightGradient": backward[0]} if backward else {}
    host = {part: seconds for part in ("forward", *parts) if (seconds := lead.seconds(part, first)) is not None}
    return {"forward": summarise(spans[0]), **both, **apart, **({"host": host} if host else {})}


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


def _layer_inputs(
    network: Network, operators: Sequence[Operator]
) -> tuple[Environment, list[Tensor], list[Tensor]]:
    """Stand-ins for what other layers compute, and every tensor that backward gives a gradient to: data, then weights."""
    inside = {name for operator in operators for name in operator.outputs}
    inputs: Environment = {}
    data: dict[int, Tensor] = {}
    weights: dict[int, Tensor] = {}
    for operator in operators:
        for name in operator.inputs:
            if not name or name in inside or name in inputs:
                continue
            if name in network.plan.produced and network.plan.values[name].elements is None:
                tensor: Optional[Tensor] = network.activation(name)
                inputs[name] = tensor
                leaves = data
            else:
                tensor = network.stored(name)
                leaves = weights
            if tensor is not None and tensor.requires_grad:
                leaves[id(tensor)] = tensor
    return inputs, list(data.values()), list(weights.values())


def _layer_outputs(plan: Plan, layer: Layer) -> list[str]:
    """What the rest of the network reads of a layer; its last operator's outputs where nothing does."""
    own = set(layer.operators)
    operators = [plan.operators[index] for index in layer.operators]
    read = {name for operator in plan.operators if operator.index not in own for name in operator.inputs}
    read.update(plan.outputs)
    produced = [name for operator in operators for name in operator.outputs if name]
    return [name for name in produced if name in read] or [name for name in operators[-1].outputs if name]
