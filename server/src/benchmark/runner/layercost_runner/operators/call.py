"""One application of an operator, as its rule sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence, Union

import torch
from torch import Tensor

from ..plan import Number, Operator, Plan

Outputs = Union[Tensor, Sequence[Optional[Tensor]]]
Rule = Callable[["Call"], Outputs]

#: By domain and type; filled by `@operator`.
rules: dict[tuple[str, str], Rule] = {}


class Unsupported(Exception):
    """The operator, or this form of it, has no rule here."""


def operator(*types: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Registers a rule for operators of these types."""

    def register(rule: Rule) -> Rule:
        for name in types:
            rules[(domain, name)] = rule
        return rule

    return register


element_types: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "bool": torch.bool,
    # Wider than torch's partial support for them, and never on a hot path.
    "uint16": torch.int32,
    "uint32": torch.int64,
    "uint64": torch.int64,
}

#: `TensorProto.DataType` numbers (ONNX 1.23, onnx-ml.proto) of the types above.
element_type_numbers = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}


def alternating(shape: Sequence[int], device: torch.device) -> Tensor:
    """A mask whose contents are not known: one that hides everything gives no numbers, whichever value hides."""
    last = torch.arange(shape[-1] if shape else 1, device=device) % 2 == 0
    return last.expand(tuple(shape)).contiguous()


def torch_type(name: str) -> torch.dtype:
    found = element_types.get(name)
    if found is None:
        raise Unsupported(f"torch has no tensors of type {name} that the runner could use")
    return found


@dataclass(frozen=True)
class Call:
    operator: Operator
    inputs: Sequence[Optional[Tensor]]
    plan: Plan
    device: torch.device

    def __getitem__(self, index: int) -> Tensor:
        """Input `index`, which must be there."""
        found = self.get(index)
        if found is None:
            raise Unsupported(f"input {index} of {self.operator.type} is missing")
        return found

    def get(self, index: int) -> Optional[Tensor]:
        return self.inputs[index] if index < len(self.inputs) else None

    def present(self) -> list[Tensor]:
        return [tensor for tensor in self.inputs if tensor is not None]

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        return self.operator.attributes.get(name, otherwise)

    def has(self, index: int) -> bool:
        return index < len(self.operator.inputs) and self.operator.inputs[index] != ""

    def host(self, index: int) -> Optional[list[Number]]:
        """
        Contents of a small input, flattened. Taken from the plan, so that a GPU need not be waited for; only
        where the plan does not know them are they fetched from the tensor.
        """
        if not self.has(index):
            return None
        known = self.plan.values[self.operator.inputs[index]].elements
        if known is not None:
            return list(known)
        tensor = self.get(index)
        return None if tensor is None else tensor.detach().flatten().tolist()

    def host_ints(self, index: int, attribute: Optional[str] = None) -> Optional[list[int]]:
        """An integer list that older operator sets give as an attribute and newer ones as an input."""
        if attribute is not None:
            given = self.attribute(attribute)
            if given is not None:
                return [int(entry) for entry in (given if isinstance(given, list) else [given])]
        found = self.host(index)
        return None if found is None else [int(entry) for entry in found]

    def shape(self, index: int = 0) -> Optional[tuple[int, ...]]:
        """The shape the plan expects of output `index`."""
        return self.plan.values[self.operator.outputs[index]].shape

    def wants(self, index: int) -> bool:
        """Whether anything names output `index`."""
        return index < len(self.operator.outputs) and self.operator.outputs[index] != ""
