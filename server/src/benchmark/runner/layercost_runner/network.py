"""The network of a plan, as torch executes it: its stored tensors, its inputs, and its operators in order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Callable, Iterable, Optional, Sequence

import torch
from torch import Tensor

from .device import is_out_of_memory
from .operators import Call, Unsupported, find_rule
from .operators.call import alternating, torch_type
from .plan import Operator, Plan, Value, elements_of

Environment = dict[str, Optional[Tensor]]

#: Activations up to this many elements are kept as they were; larger ones are drawn anew for a lone layer.
KEPT_ELEMENTS = 65_536


class OperatorFailure(Exception):
    """An operator did not run. The cause is chained."""

    def __init__(self, operator: Operator, cause: BaseException) -> None:
        lines = str(cause).strip().splitlines()
        said = lines[0] if lines else type(cause).__name__
        label = "" if operator.name in ("", operator.type) else f" {operator.name}"
        unsupported = isinstance(cause, Unsupported)
        super().__init__(said if unsupported else f"{operator.type}{label} failed: {said}")
        self.operator = operator


@dataclass(frozen=True)
class Seen:
    """What a tensor was like when the whole network ran."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool
    #: The contents, where they are few or are not floating-point (indices, masks).
    kept: Optional[Tensor]


@dataclass
class Network:
    plan: Plan
    device: torch.device
    #: What fp32 tensors are where weights are in half precision.
    half: Optional[torch.dtype] = None
    seen: dict[str, Seen] = field(default_factory=dict)
    _stored: Environment = field(default_factory=dict)
    #: Whether an operator with parts runs as one call.
    _composed: dict[int, bool] = field(default_factory=dict)
    #: Operators that run as their parts, because one call would compute something else.
    written_out: list[Operator] = field(default_factory=list)

    def __post_init__(self) -> None:
        last: dict[str, int] = {}
        for operator in self.plan.operators:
            for name in (*operator.inputs, *operator.outputs):
                last[name] = operator.index
        self._released: list[list[str]] = [[] for _ in self.plan.operators]
        for name, index in last.items():
            if name in self.plan.produced and name not in self.plan.outputs:
                self._released[index].append(name)

    def parameters(self) -> list[Tensor]:
        """Trainable tensors, each once. Complete once the network ran."""
        return [t for t in (self.stored(v.name) for v in self._parameter_values()) if t is not None and t.requires_grad]

    def _parameter_values(self) -> Iterable[Value]:
        values = self.plan.values.values()
        return (value for value in values if value.role == "parameter" and value.name not in self.plan.produced)

    def stored(self, name: str) -> Optional[Tensor]:
        """A parameter, buffer, constant or input; made on first use."""
        if name not in self._stored:
            value = self.plan.values[name]
            if value.shape is None:
                raise Unsupported(f"the shape of {name} is not known")
            self._stored[name] = self._make(value, value.shape)
        return self._stored[name]

    def tensors(self) -> dict[str, Tensor]:
        """All that is stored or fed, by name. Complete once the network ran."""
        return {name: tensor for name, tensor in self._stored.items() if tensor is not None}

    def run(
        self,
        operators: Sequence[Operator],
        environment: Environment,
        release: bool = False,
        before: Optional[Callable[[Operator], None]] = None,
        after: Optional[Callable[[Operator, Sequence[Optional[Tensor]]], None]] = None,
    ) -> None:
        """Executes operators in order; what they compute is added to `environment`."""
        for operator in operators:
            if before is not None:
                before(operator)
            try:
                outputs = self._apply(operator, environment)
            except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, Unsupported) as error:
                raise OperatorFailure(operator, error) from error
            for name, output in zip(operator.outputs, outputs):
                if name:
                    environment[name] = output
            if after is not None:
                after(operator, outputs)
            if release:
                # What nobody reads any more is dropped, as eager code drops it: autograd keeps what it needs.
                for name in self._released[operator.index]:
                    environment.pop(name, None)

    def forward(
        self,
        before: Optional[Callable[[Operator], None]] = None,
        after: Optional[Callable[[Operator, Sequence[Optional[Tensor]]], None]] = None,
    ) -> list[Tensor]:
        """The whole network; its outputs."""
        environment: Environment = {}
        self.run(self.plan.operators, environment, release=True, before=before, after=after)
        outputs = (environment.get(name) for name in self.plan.outputs)
        return [output for output in outputs if output is not None]

    def look(self, operator: Operator, outputs: Sequence[Optional[Tensor]]) -> list[str]:
        """Remembers what an operator gave; returns where that contradicts the plan."""
        problems = []
        for name, output in zip(operator.outputs, outputs):
            if not name or output is None:
                continue
            expected = self.plan.values[name].shape
            shape = tuple(output.shape)
            if expected is not None and shape != expected:
                problems.append(f"{operator.type} gave {name} the shape {list(shape)}, predicted was {list(expected)}")
            small = output.numel() <= KEPT_ELEMENTS or not output.is_floating_point()
            self.seen[name] = Seen(
                shape=shape,
                stride=tuple(output.stride()),
                dtype=output.dtype,
                requires_grad=output.requires_grad,
                kept=output.detach().clone() if small else None,
            )
        return problems

    def activation(self, name: str) -> Tensor:
        """A stand-in for an activation, with the layout and type it had in the whole network where that ran."""
        value = self.plan.values[name]
        seen = self.seen.get(name)
        if seen is None:
            if value.shape is None:
                raise Unsupported(f"the shape of {name} is not known")
            tensor = self._make(value, value.shape)
            wants = value.gradient and self.plan.training
        else:
            tensor = seen.kept.clone() if seen.kept is not None else self._like(seen)
            wants = seen.requires_grad
        tensor = tensor.detach()
        return tensor.requires_grad_() if wants and tensor.is_floating_point() else tensor

    def _apply(self, operator: Operator, environment: Environment) -> Sequence[Optional[Tensor]]:
        if not operator.parts:
            return self._call(operator, environment)
        if operator.index not in self._composed:
            self._composed[operator.index] = self._agrees(operator, environment)
        if self._composed[operator.index]:
            return self._call(operator, environment)
        return self._run_parts(operator, environment)

    def _call(self, operator: Operator, environment: Environment) -> Sequence[Optional[Tensor]]:
        if operator.obstacle is not None:
            raise Unsupported(f"{operator.type} cannot be run: {operator.obstacle}")
        rule = find_rule(operator.domain, operator.type)
        inputs = [
            None if not name else environment[name] if name in environment else self.stored(name)
            for name in operator.inputs
        ]
        outputs = rule(Call(operator, inputs, self.plan, self.device))
        return (outputs,) if isinstance(outputs, Tensor) else outputs

    def _run_parts(
        self, operator: Operator, environment: Environment, checks: bool = False
    ) -> Sequence[Optional[Tensor]]:
        inside: Environment = dict(environment)
        for part in operator.parts:
            if checks and part.type == "Dropout":
                inside[part.outputs[0]] = inside[part.inputs[0]]
                continue
            if checks and part.type == "InstanceNormalization":
                # Exporters give it ones and zeros, which are not read; numbers drawn for them would hide what it is.
                part = replace(part, inputs=part.inputs[:1])
            for name, output in zip(part.outputs, self._call(part, inside)):
                if name:
                    inside[name] = output
        return [inside[name] for name in operator.outputs]

    def _agrees(self, operator: Operator, environment: Environment) -> bool:
        """Whether one call computes what its parts do. Where it does not, the parts run, and `written_out` says so."""
        without_drops = {**operator.attributes, "dropout_p": 0.0}
        try:
            with torch.no_grad():
                [expected] = self._run_parts(operator, environment, checks=True)
                [found] = self._call(replace(operator, attributes=without_drops), environment)
        except Unsupported:
            agrees = False
        except RuntimeError as error:
            # What the parts store may not fit where the call does.
            agrees = is_out_of_memory(error)
        else:
            agrees = expected is not None and found is not None and self._alike(expected, found)
        if not agrees:
            self.written_out.append(operator)
        return agrees

    def _alike(self, expected: Tensor, found: Tensor) -> bool:
        """The same but for rounding, over the largest element; half precision rounds between any two operators."""
        if expected.shape != found.shape:
            return False
        wide, other = expected.detach().double(), found.detach().double()
        finite = torch.isfinite(wide)
        if not torch.equal(finite, torch.isfinite(other)):
            return False
        if not bool(finite.any()):
            return True
        half = self.plan.precision not in ("fp32", "tf32") or expected.dtype in (torch.float16, torch.bfloat16)
        difference = (wide - other)[finite].abs().max()
        return bool(difference <= (0.05 if half else 1e-3) * wide[finite].abs().max().clamp_min(1e-12))

    def _like(self, seen: Seen) -> Tensor:
        # An expanded dimension has stride 0: one element of it is stored and shown many times.
        size = [1 if stride == 0 else extent for extent, stride in zip(seen.shape, seen.stride)]
        try:
            tensor = torch.empty_strided(size, seen.stride, dtype=seen.dtype, device=self.device).normal_()
        except RuntimeError:
            tensor = torch.randn(size, device=self.device).to(seen.dtype)
        return tensor.expand(seen.shape)

    def _make(self, value: Value, shape: tuple[int, ...]) -> Tensor:
        dtype = torch_type(value.element_type)
        if self.half is not None and dtype == torch.float32:
            dtype = self.half
        if value.elements is not None and len(value.elements) == elements_of(shape):
            return torch.tensor(value.elements, device=self.device).to(dtype).reshape(shape)
        if dtype == torch.bool:
            return alternating(shape, self.device)
        if not dtype.is_floating_point:
            if value.limit is not None:
                return torch.randint(0, value.limit, shape, device=self.device).to(dtype)
            # Masks and counts: 1 neither hides everything nor indexes past an end.
            return torch.ones(shape, dtype=dtype, device=self.device)
        return self._make_floating(value, shape, dtype)

    def _make_floating(self, value: Value, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        if value.role in ("parameter", "buffer", "constant"):
            if len(shape) <= 1:
                # Near 1: a scale keeps magnitudes, a variance is positive.
                tensor = 1 + 0.01 * torch.randn(shape, device=self.device)
            else:
                # Magnitudes survive the depth of the network (He et al., 2015, without the gain).
                fan_in = max(1, elements_of(shape[1:]))
                tensor = torch.randn(shape, device=self.device).div_(math.sqrt(fan_in))
        else:
            tensor = torch.randn(shape, device=self.device)
        tensor = tensor.to(dtype)
        if self.plan.channels_last and len(shape) == 4:
            tensor = tensor.contiguous(memory_format=torch.channels_last)
        return tensor.requires_grad_() if value.role == "parameter" and value.gradient and self.plan.training else tensor
