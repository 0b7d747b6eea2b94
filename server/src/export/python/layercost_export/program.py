"""The model as a program with open dimensions, as many as it allows."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

import torch

from .inputs import Inputs, inputs_of
from .refusal import Refusal


def export_program(
    model: torch.nn.Module, module: Optional[ModuleType], given: dict[str, str]
) -> "tuple[torch.export.ExportedProgram, dict[str, str], list[str]]":
    """The program, the names of its open dimensions by symbol, and what about it a person should know."""
    inputs = inputs_of(model, module, given)
    # Labels that a person left out are left out.
    is_guessed = not given and getattr(module, "layercost_inputs", None) is None
    errors: list[Exception] = []
    for tried in [*(inputs.with_labels(model) if is_guessed else []), inputs]:
        errors = []
        for names in attempts(tried):
            program = exported(model, tried, names, errors)
            if program is None:
                continue
            found = names_of_symbols(program, tried)
            fixed = [name for name in open_names(tried) if name not in found.values()]
            notes = [f"{name} is fixed, because the model does not export with it open" for name in fixed]
            return program, found, [*tried.notes, *notes]
    first = str(errors[0]).strip().split("\n")[0] if errors else ""
    raise Refusal("export", f"torch.export refuses the model: {type(errors[0]).__name__}: {first}")


def open_names(inputs: Inputs) -> list[str]:
    """In the order in which they are more worth keeping."""
    names = {name for dimensions in inputs.open.values() for name in dimensions.values()}
    return sorted(names, key=lambda name: (name != "batch", name))


def attempts(inputs: Inputs) -> "list[list[str]]":
    """Names of dimensions that are open, fewer each time."""
    names = open_names(inputs)
    return [names[:count] for count in range(len(names), -1, -1)]


def exported(
    model: torch.nn.Module, inputs: Inputs, names: "list[str]", errors: "list[Exception]"
) -> "Optional[torch.export.ExportedProgram]":
    """
    With these dimensions open; what torch says against it is added to `errors`. A model that checks its length against a longest
    one is exported once more, with the ranges that torch suggests.
    """
    shapes = dynamic(inputs, names)
    for _ in range(2):
        try:
            return torch.export.export(model, (), inputs.tensors, dynamic_shapes=shapes, strict=False)
        except Exception as error:  # noqa: BLE001 - the tracer raises whatever the model does
            errors.append(error)
            refined = with_suggested_ranges(str(error), shapes)
        if refined is None:
            return None
        shapes = refined
    return None


def with_suggested_ranges(message: str, shapes: Any) -> Any:
    """Nothing where torch suggests none, or constants in their place."""
    _, found, fixes = message.partition("Suggested fixes:")
    # What torch appends to its message is no fix, and its own reader of them fails at it.
    lines = [line for line in fixes.split("\n") if re.fullmatch(r"\s*\w+ = .+", line)]
    if not found or not lines:
        return None
    try:
        from torch.export.dynamic_shapes import refine_dynamic_shapes_from_suggested_fixes

        return refine_dynamic_shapes_from_suggested_fixes("\n".join([found, *lines]), shapes)
    except Exception:  # noqa: BLE001 - the message is prose of another release
        return None


def dynamic(inputs: Inputs, names: "list[str]") -> Any:
    dims = {name: torch.export.Dim(name) for name in names}
    return {
        parameter: {
            position: dims[name] for position, name in inputs.open.get(parameter, {}).items() if name in dims
        }
        or None
        for parameter in inputs.tensors
    }


def write_program(program: "torch.export.ExportedProgram", names: dict[str, str], output: str) -> None:
    """`names`: what its symbols are called, which the program itself does not keep."""
    path = Path(output)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Tensors of the example would be written beside the program.
    if "example_inputs" in inspect.signature(type(program).__init__).parameters:
        program._example_inputs = None
    torch.export.save(program, str(path), extra_files={"layercost_dimensions.json": json.dumps(names)})


def names_of_symbols(program: "torch.export.ExportedProgram", inputs: Inputs) -> dict[str, str]:
    """`s27` → `seq`, by the sizes of the inputs."""
    names: dict[str, str] = {}
    placeholders = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    for parameter, dimensions in inputs.open.items():
        value = placeholders.get(parameter)
        if not isinstance(value, torch.Tensor):
            continue
        for position, name in dimensions.items():
            size = value.shape[position]
            if isinstance(size, torch.SymInt) and str(size).isidentifier():
                names[str(size)] = name
    return names
