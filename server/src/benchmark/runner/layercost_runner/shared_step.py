"""
The step that several processes share: data parallel by DistributedDataParallel, or sharded by FSDP2 (`fully_shard`).

Beside it stands the step of the same processes without communication, so that the difference is what communication adds.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, Optional, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .device import Device
from .events import Events
from .measure import gradients_of, warm_ups
from .network import Environment, Network
from .operators import Unsupported
from .plan import Operator, Plan
from .program import CannotWrite, Recorder, record
from .ranks import Ranks
from .step import Step, Times, compiled, first_forward, regions_of, written_step
from .update import Update

Within = Callable[[bool], ContextManager[Any]]


def measure_shared_step(given: dict[str, Any], plan: Plan, device: Device, ranks: Ranks, events: Events) -> None:
    """`given`: how gradients and parameters are shared, as the plan has it under `shared`."""
    torch.manual_seed(0)
    is_sharded = given["kind"] == "fsdp"
    if is_sharded and device.half is not None:
        # Its policy casts parameters when it gathers them, and nothing else is cast.
        device.half_weights = True
    network = Network(plan, device.torch_device, device.half if device.half_weights else None)
    targets = first_forward(network, device, events)
    with gradients_of(plan), device.autocast():
        alone = written_step(network, device, events)
    timed = _timed(plan, device, ranks, events)

    whole = timed("the step alone", alone, Update(plan, device, network.parameters()), targets, _always, 0.0)
    shared = _fully_sharded if is_sharded else _data_parallel
    forward_pass, owned, within = shared(given, network, alone, targets, device, events)
    together = timed(f"the step of {ranks.count}", forward_pass, Update(plan, device, owned), targets, within, 0.5)
    events.send(
        "sharedStep",
        ranks=ranks.count,
        backend=ranks.backend,
        alone=whole.summaries(plan),
        together=together.summaries(plan),
        peakMemoryBytes=device.peak_memory(),
    )


_always: Within = lambda last: contextlib.nullcontext()  # noqa: E731


def _timed(plan: Plan, device: Device, ranks: Ranks, events: Events) -> Callable[..., Times]:
    def timed(
        phase: str,
        forward_pass: Callable[[], list[Tensor]],
        update: Update,
        targets: list[Tensor],
        within: Within,
        begin: float,
    ) -> Times:
        def between(index: int, repeats: int) -> None:
            if index == 0:
                device.reset_peak()
            events.progress(f"{phase}, {index + 1} of {repeats}", begin + 0.5 * index / repeats, 1)

        step = Step(plan, device, forward_pass, update, targets, within, ranks.agree)
        ranks.wait()
        # DDP puts parameters into other buckets after the first step.
        return step.times(0.5 * plan.budget_seconds, warm_ups=warm_ups(device) + 2, between=between)

    return timed


def _data_parallel(
    given: dict[str, Any],
    network: Network,
    alone: Callable[[], list[Tensor]],
    targets: Sequence[Tensor],
    device: Device,
    events: Events,
) -> tuple[Callable[[], list[Tensor]], list[Tensor], Within]:
    trained = _trained(network, alone, targets, device)
    if not trained:
        raise Unsupported("no parameter has a gradient: there is nothing to exchange")
    module = _Whole(alone, trained)
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(given["firstBucketMb"] * 2**20)
    parallel = nn.parallel.DistributedDataParallel(
        module,
        bucket_cap_mb=given["bucketMb"],
        gradient_as_bucket_view=given["gradientAsBucketView"],
        broadcast_buffers=False,
    )
    hook = {"fp16": "fp16_compress_hook", "bf16": "bf16_compress_hook"}.get(given["gradientDtype"])
    if hook is not None:
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

        parallel.register_comm_hook(None, getattr(default_hooks, hook))
    return parallel, trained, lambda last: contextlib.nullcontext() if last else parallel.no_sync()


def _trained(
    network: Network, alone: Callable[[], list[Tensor]], targets: Sequence[Tensor], device: Device
) -> list[Tensor]:
    """Parameters that backward reaches: DDP waits for a gradient of each that it is given."""
    with device.autocast():
        outputs = [output for output in alone() if output.requires_grad]
    parameters = network.parameters()
    gradients = torch.autograd.grad(outputs, parameters, list(targets), allow_unused=True) if outputs else []
    return [parameter for parameter, gradient in zip(parameters, gradients) if gradient is not None]


class _Whole(nn.Module):
    def __init__(self, forward_pass: Callable[[], list[Tensor]], parameters: Sequence[Tensor]) -> None:
        super().__init__()
        self._forward_pass = forward_pass
        self.trained = nn.ParameterList(parameters)

    def forward(self) -> list[Tensor]:
        return self._forward_pass()


def _fully_sharded(
    given: dict[str, Any],
    network: Network,
    alone: Callable[[], list[Tensor]],
    targets: Sequence[Tensor],
    device: Device,
    events: Events,
) -> tuple[Callable[[], list[Tensor]], list[Tensor], Within]:
    try:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    except ImportError as error:
        raise Unsupported(f"torch {torch.__version__} has no FSDP2 (fully_shard): PyTorch 2.6 or newer has it") from error
    plan = network.plan
    segments = _segments(plan, given["units"])
    with gradients_of(plan), device.autocast():
        written = _written_segments(network, segments, events)
    units = [_Unit(network, written[index], unit) for index, unit in segments_of_units(segments, given["units"])]
    root = _Root(network, written, {unit.segment: unit for unit in units}, given["units"])
    policy = MixedPrecisionPolicy(
        param_dtype=device.half if given["parameterDtype"] == "half" else None,
        reduce_dtype={"half": device.half, "fp32": torch.float32}.get(given["reduceDtype"]),
    )
    mesh = dist.device_mesh.init_device_mesh(device.kind, (dist.get_world_size(),))
    for unit in units:
        fully_shard(unit, mesh=mesh, mp_policy=policy, reshard_after_forward=given["reshards"])
    fully_shard(root, mesh=mesh, mp_policy=policy)

    @contextlib.contextmanager
    def within(last: bool) -> Any:
        root.set_requires_gradient_sync(last)
        yield

    # On a GPU, FSDP moves what a root is given to it, and takes it for granted that there is something.
    return lambda: root({}), list(root.parameters()), within


@dataclass(frozen=True)
class Segment:
    """Operators that run one after another, of one unit or of none."""

    operators: tuple[Operator, ...]
    unit: Optional[int]
    #: Activations of other segments that it reads, and what others or nobody but the caller read of it.
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def _segments(plan: Plan, units: Sequence[dict[str, Any]]) -> list[Segment]:
    unit_at = {index: number for number, unit in enumerate(units) for index in unit["operators"]}
    runs: list[tuple[Optional[int], list[Operator]]] = []
    for operator in plan.operators:
        unit = unit_at.get(operator.index)
        if not runs or runs[-1][0] != unit:
            runs.append((unit, []))
        runs[-1][1].append(operator)
    outputs = set(plan.outputs)
    segments = []
    for position, (unit, operators) in enumerate(runs):
        made = [name for operator in operators for name in operator.outputs if name]
        later = {name for _, others in runs[position + 1 :] for other in others for name in other.inputs}
        own = set(made)
        reads = dict.fromkeys(
            name
            for operator in operators
            for name in operator.inputs
            if name in plan.produced and name not in own and plan.values[name].elements is None
        )
        writes = tuple(name for name in made if name in later or name in outputs)
        segments.append(Segment(tuple(operators), unit, tuple(reads), writes))
    return segments


def segments_of_units(segments: Sequence[Segment], units: Sequence[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """By position in `segments`. Operators of a unit stand together: the plan sees to that."""
    found = [(position, units[segment.unit]) for position, segment in enumerate(segments) if segment.unit is not None]
    if len(found) != len(units):
        raise Unsupported("operators of one unit of FSDP do not follow each other")
    return found


@dataclass(frozen=True)
class Written:
    position: int
    segment: Segment
    run: Callable[..., list[Tensor]]
    #: Names of its arguments: activations that it reads, and stored tensors.
    inputs: tuple[str, ...]


def _written_segments(network: Network, segments: Sequence[Segment], events: Events) -> list[Written]:
    """Each as a program, as the whole step is."""
    plan = network.plan
    regions = regions_of(plan, events)
    environment: Environment = {}
    written = []
    for position, segment in enumerate(segments):
        given = {name: tensor for name in segment.reads if (tensor := environment.get(name)) is not None}

        def run(recorder: Recorder, segment: Segment = segment) -> list[Tensor]:
            inside: Environment = dict(given)
            network.run(
                segment.operators, inside, before=lambda operator: recorder.enter(regions.get(operator.index))
            )
            environment.update({name: inside[name] for name in segment.writes})
            return [_present(inside[name]) for name in segment.writes]

        try:
            program = record(run, {**network.tensors(), **given})
        except CannotWrite as error:
            raise Unsupported(f"the step cannot be written as a program, which FSDP needs: {error}") from error
        written.append(Written(position, segment, compiled(program.run, plan, events), program.inputs))
    return written


def _present(tensor: Optional[Tensor]) -> Tensor:
    if tensor is None:
        raise CannotWrite("a part of the model gives nothing")
    return tensor


class _Unit(nn.Module):
    """A unit of FSDP: its parameters, and the operators that run while they are gathered."""

    def __init__(self, network: Network, written: Written, unit: dict[str, Any]) -> None:
        super().__init__()
        self.segment = written.position
        self._written = written
        self._stored = network.tensors()
        self._own = _own_parameters(self, network, unit["parameters"])

    def forward(self, activations: dict[str, Tensor]) -> list[Tensor]:
        return self._written.run(*_arguments(self, self._written, self._stored, self._own, activations))


class _Root(nn.Module):
    """The whole model: what lies outside of units, and the units in their order."""

    def __init__(
        self,
        network: Network,
        written: Sequence[Written],
        units: dict[int, _Unit],
        given: Sequence[dict[str, Any]],
    ) -> None:
        super().__init__()
        self._written = written
        self._outputs = network.plan.outputs
        self._stored = network.tensors()
        self.units = nn.ModuleList(units.values())
        self._unit_at = {position: index for index, position in enumerate(units)}
        held = {name for unit in given for name in unit["parameters"]}
        rest = [name for name, tensor in self._stored.items() if tensor.requires_grad and name not in held]
        self._own = _own_parameters(self, network, rest)

    def forward(self, given: dict[str, Tensor]) -> list[Tensor]:
        activations = dict(given)
        for written in self._written:
            segment = written.segment
            index = self._unit_at.get(written.position)
            if index is None:
                made = written.run(*_arguments(self, written, self._stored, self._own, activations))
            else:
                made = self.units[index]({name: activations[name] for name in segment.reads if name in activations})
            activations.update(zip(segment.writes, made))
        return [activations[name] for name in self._outputs if name in activations]


def _own_parameters(module: nn.Module, network: Network, names: Sequence[str]) -> dict[str, str]:
    """Parameters in fp32, as the optimizer keeps them; attributes by the names of the plan."""
    own = {}
    for index, name in enumerate(names):
        tensor = network.stored(name)
        if tensor is None or not tensor.requires_grad:
            continue
        own[name] = f"parameter_{index}"
        module.register_parameter(own[name], nn.Parameter(tensor.detach().float()))
    return own


def _arguments(
    module: nn.Module, written: Written, stored: dict[str, Tensor], own: dict[str, str], activations: dict[str, Tensor]
) -> list[Tensor]:
    return [
        getattr(module, own[name]) if name in own else activations[name] if name in activations else stored[name]
        for name in written.inputs
    ]
