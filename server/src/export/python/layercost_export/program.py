"""The model as a program with open dimensions, as many as it allows."""

from __future__ import annotations

import inspect
import json
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
    errors: list[Exception] = []
    for names in attempts(inputs):
        try:
            program = torch.export.export(
                model, (), inputs.tensors, dynamic_shapes=dynamic(inputs, names), strict=False
            )
        except Exception as error:  # noqa: BLE001 - the tracer raises whatever the model does
            errors.append(error)
            continue
        fixed = [name for name in open_names(inputs) if name not in names]
        notes = [f"{name} is fixed, because the model does not export with it open" for name in fixed]
        return program, names_of_symbols(program, inputs), [*inputs.notes, *notes]
    first = str(errors[0]).strip().split("\n")[0] if errors else ""
    raise Refusal("export", f"torch.export refuses the model: {type(errors[0]).__name__}: {first}")


def open_names(inputs: Inputs) -> list[str]:
    """In the order in which they are more worth keeping."""
    names = {name for dimensions in inputs.open.values() for name in dimensions.values()}
    return sorted(names, key=lambda name: (name != "batch", name))


def attempts(inputs: Inputs) -> list[list[str]]:
    names = open_names(inputs)
    fewer = [names[:count] for count in range(len(names), -1, -1)]
    return fewer


def dynamic(inputs: Inputs, names: list[str]) -> Any:
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
