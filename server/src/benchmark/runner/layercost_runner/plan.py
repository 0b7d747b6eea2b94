"""The plan as the runner sees it. Its schema is `planSchema.ts`; this reads it and knows nothing of torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence, Union

PLAN_VERSION = 3

Number = Union[int, float]


class BadPlan(Exception):
    """The plan is of another version, or not a plan."""


@dataclass(frozen=True)
class Value:
    """A tensor: what is stored with the model or fed to it, or what an operator computes."""

    name: str
    role: str
    element_type: str
    shape: Optional[tuple[int, ...]]
    gradient: bool
    elements: Optional[tuple[Number, ...]] = None
    limit: Optional[int] = None


@dataclass(frozen=True)
class Operator:
    index: int
    name: str
    type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    obstacle: Optional[str] = None
    #: One call for several operators: these, in order.
    parts: tuple[Operator, ...] = ()


@dataclass(frozen=True)
class Layer:
    name: str
    type: str
    operators: tuple[int, ...]


@dataclass(frozen=True)
class Recomputed:
    """Operators that backward recomputes together."""

    operators: tuple[int, ...]
    #: What is kept beside what goes in: nothing, matmuls, alternate matmuls.
    keeping: str


@dataclass(frozen=True)
class Plan:
    model: str
    batch: int
    mode: str
    precision: str
    optimizer: str
    #: Passes before one update.
    accumulate: int
    channels_last: bool
    #: Mode of `torch.compile`; None for eager PyTorch.
    compile: Optional[str]
    optimizer_kernels: str
    clips_norm: bool
    adds_gradients: bool
    #: fp32, half, or half-with-copy: the optimizer updates a copy in fp32.
    weights: str
    conv_tf32: bool
    #: Before each timing of a layer: cold or hot.
    caches: str
    budget_seconds: float
    opset: int
    values: dict[str, Value]
    operators: tuple[Operator, ...]
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]
    recomputed: tuple[Recomputed, ...]
    #: Whether they are recomputed to the end (`use_reentrant` of torch.utils.checkpoint).
    reentrant: bool
    #: A step that does not fit into memory ends the run; else its layers alone are measured.
    ends_where_too_large: bool = False
    produced: frozenset[str] = field(default_factory=frozenset)

    @property
    def training(self) -> bool:
        return self.mode == "training"

    @staticmethod
    def from_json(given: Any) -> Plan:
        if not isinstance(given, dict):
            raise BadPlan("the plan is not a JSON object")
        if given.get("version") != PLAN_VERSION:
            raise BadPlan(f"the plan has version {given.get('version')}, this runner reads {PLAN_VERSION}")
        try:
            return _read(given)
        except (KeyError, TypeError, IndexError) as error:
            raise BadPlan(f"the plan lacks or misuses {error}") from error


def _read(given: dict[str, Any]) -> Plan:
    values = {
        entry["name"]: Value(
            name=entry["name"],
            role=entry["role"],
            element_type=entry["elementType"],
            shape=None if entry["shape"] is None else tuple(entry["shape"]),
            gradient=entry["gradient"],
            elements=None if entry.get("elements") is None else tuple(number(e) for e in entry["elements"]),
            limit=entry.get("limit"),
        )
        for entry in given["values"]
    }
    operators = tuple(_operator(index, entry) for index, entry in enumerate(given["operators"]))
    layers = tuple(
        Layer(name=entry["name"], type=entry["type"], operators=tuple(entry["operators"])) for entry in given["layers"]
    )
    for operator in operators:
        for name in (*operator.inputs, *operator.outputs):
            if name and name not in values:
                raise BadPlan(f"operator {operator.name} uses {name}, which the plan does not describe")
    if any(not 0 <= index < len(operators) for layer in layers for index in layer.operators):
        raise BadPlan("a layer names an operator the plan does not have")
    return Plan(
        model=given["model"],
        batch=given["batch"],
        mode=given["mode"],
        precision=given["precision"],
        optimizer=given["optimizer"],
        accumulate=given["accumulate"],
        channels_last=given["channelsLast"],
        compile=given["compile"],
        optimizer_kernels=given["optimizerKernels"],
        clips_norm=given["clipsNorm"],
        adds_gradients=given["addsGradients"],
        weights=given["weights"],
        conv_tf32=given["convTf32"],
        caches=given["caches"],
        budget_seconds=float(given["budgetSeconds"]),
        opset=given["opset"],
        values=values,
        operators=operators,
        layers=layers,
        outputs=tuple(given["outputs"]),
        recomputed=tuple(
            Recomputed(operators=tuple(entry["operators"]), keeping=entry["keeping"]) for entry in given["recomputed"]
        ),
        reentrant=given["reentrant"],
        ends_where_too_large=given.get("endsWhereTooLarge", False),
        produced=frozenset(name for operator in operators for name in operator.outputs if name),
    )


def _operator(index: int, entry: dict[str, Any]) -> Operator:
    return Operator(
        index=index,
        name=entry["name"],
        type=entry["type"],
        domain="" if entry["domain"] == "ai.onnx" else entry["domain"],
        inputs=tuple(entry["inputs"]),
        outputs=tuple(entry["outputs"]),
        attributes={key: _attribute(value) for key, value in entry["attributes"].items()},
        obstacle=entry.get("obstacle"),
        parts=tuple(_operator(index, part) for part in entry.get("parts", ())),
    )


def number(given: Any) -> Number:
    """JSON has no infinities: they come as strings."""
    return float(given) if isinstance(given, str) else given


def _attribute(given: Any) -> Any:
    if isinstance(given, dict):
        elements: Optional[Sequence[Any]] = given.get("elements")
        return {**given, "elements": None if elements is None else [number(element) for element in elements]}
    if isinstance(given, str) and given in ("Infinity", "-Infinity", "NaN"):
        return float(given)
    return given


def elements_of(shape: Sequence[int]) -> int:
    return math.prod(shape)
