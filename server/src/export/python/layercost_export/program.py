"""The model as a program with open dimensions, as many as it allows."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Iterator, NamedTuple, Optional

import torch
from torch.utils._pytree import tree_map

from .inputs import Inputs, has_batch, inputs_of, parameters_of
from .refusal import Refusal


class Exported(NamedTuple):
    program: "torch.export.ExportedProgram"
    #: Of its open dimensions, by symbol.
    names: "dict[str, str]"
    #: What about it a person should know.
    notes: "list[str]"
    #: What it was called with, by parameter: `int64[batch, 128]`.
    inputs: "dict[str, str]"


def export_program(
    model: torch.nn.Module, module: Optional[ModuleType], given: dict[str, str]
) -> Exported:
    inputs = inputs_of(model, module, given)
    inputs.notes.extend(take_square_masks_for_causal(model))
    shares = [getattr(each, "layerdrop", 0) for each in model.modules()]
    if any(isinstance(share, float) and share > 0 for share in shares):
        inputs.notes.append("layers that training skips at random (layerdrop) are all in the program")
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
            return Exported(program, found, [*tried.notes, *notes], tried.texts())
    raise Refusal("export", refusal_text(errors[0]))


def refusal_text(error: Exception) -> str:
    """What torch says, and the line of the model's own code where it said so."""
    first = str(error).strip().split("\n")[0]
    own = [each for each in traceback.extract_tb(error.__traceback__) if is_own(each.filename)]
    place = f" at {Path(own[-1].filename).name}:{own[-1].lineno}, `{own[-1].line}`" if own and own[-1].line else ""
    if type(error).__name__ == "GuardOnDataDependentSymNode":
        return f"torch.export cannot follow what depends on the contents of a tensor{place}: write it with torch.where, or export the model without it"
    if "CUDA" in first or "cuda" in first:
        return f"the model asks for a GPU{place}, and is exported without one: leave `.cuda()` and `.to('cuda')` to the loop of training"
    return f"torch.export refuses the model{place}: {type(error).__name__}: {first}"


def is_own(filename: str) -> bool:
    """Whether a frame is of the person's code: neither of an installed package nor of this script."""
    path = Path(filename)
    return path.is_file() and "site-packages" not in path.parts and "dist-packages" not in path.parts and path.parent != Path(__file__).parent and path.name != "__main__.py" and not is_library(path)


def is_library(path: Path) -> bool:
    return Path(sysconfig.get_paths()["stdlib"]) in path.parents


def take_square_masks_for_causal(model: torch.nn.Module) -> "list[str]":
    """
    `nn.Transformer` looks into its masks to see whether they are causal, which a program without contents cannot. A mask of each
    position by each is causal in whatever is trained with one, and a note says that it was taken so.
    """
    from torch.nn.modules import transformer

    known = getattr(transformer, "_detect_is_causal_mask", None)
    layers = (torch.nn.Transformer, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder)
    if known is None or not any(isinstance(each, layers) for each in model.modules()):
        return []

    def is_causal(mask: Any, is_causal: Any = None, size: Any = None) -> bool:
        if mask is None or is_causal is not None:
            return bool(is_causal)
        return mask.dim() == 2 and bool(mask.shape[0] == mask.shape[1])

    transformer._detect_is_causal_mask = is_causal
    return ["square masks of nn.Transformer are taken for causal"]


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
    shapes = dynamic(model, inputs, names)
    for _ in range(4):
        try:
            with layers_not_skipped():
                return torch.export.export(model, (), inputs.tensors, dynamic_shapes=shapes, strict=False)
        except Exception as error:  # noqa: BLE001 - the tracer raises whatever the model does
            if register_result(str(error)):
                continue
            errors.append(error)
            refined = with_suggested_ranges(str(error), shapes)
        if refined is None:
            return None
        shapes = refined
    return None


@contextlib.contextmanager
def layers_not_skipped() -> "Iterator[None]":
    """
    Encoders and decoders of transformers ask `torch.rand([]) < layerdrop` before each layer, also where that is 0, which no program
    without contents can follow. Here no layer is skipped.
    """
    rand = torch.rand

    def never(*size: Any, **more: Any) -> Any:
        return 1.0 if size == ([],) else rand(*size, **more)

    torch.rand = never
    try:
        yield
    finally:
        torch.rand = rand


def register_result(message: str) -> bool:
    """Whether a dataclass that the model takes or gives, and that torch does not know, is one that it knows now."""
    match = re.search(r"Found <class '([\w.]+)\.(\w+)'> in (?:output|input)", message)
    kind = getattr(sys.modules.get(match.group(1)), match.group(2), None) if match else None
    if not dataclasses.is_dataclass(kind) or kind in registered:
        return False
    registered.add(kind)
    torch.export.register_dataclass(kind, serialized_type_name=f"{kind.__module__}.{kind.__qualname__}")
    return True


registered: "set[type]" = set()
"""One that torch still does not know is not registered twice."""


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


def dynamic(model: torch.nn.Module, inputs: Inputs, names: "list[str]") -> Any:
    """As the arguments of `forward` are nested. Where it takes some by any name, none is open: torch 2.13 loses count of them."""
    named = {each.name for each in parameters_of(model)}
    if any(parameter not in named for parameter in inputs.tensors):
        return None
    dims = {name: torch.export.Dim(name) for name in names}

    def of(parameter: str) -> Any:
        opened = {position: dims[name] for position, name in inputs.open.get(parameter, {}).items() if name in dims}
        return tree_map(lambda leaf: opened if opened and has_batch(leaf) else None, inputs.tensors[parameter])

    return {parameter: of(parameter) for parameter in inputs.tensors}


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
        # Those in a tuple have its name and their place.
        nested = (each for name, each in placeholders.items() if name.startswith(f"{parameter}_"))
        value = placeholders.get(parameter, next(nested, None))
        if not isinstance(value, torch.Tensor):
            continue
        for position, name in dimensions.items():
            size = value.shape[position]
            if isinstance(size, torch.SymInt) and str(size).isidentifier():
                names[str(size)] = name
    return names
