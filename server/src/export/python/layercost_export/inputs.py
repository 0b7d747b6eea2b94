"""What a model is called with: given by the request, by `layercost_inputs()` beside the model, or by what its kind takes."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Optional, Union

import torch
from torch.utils._pytree import tree_leaves, tree_map

from .refusal import Refusal

BATCH = 2
"""Of the example; the batch of the program is open. One would be taken for a constant."""

SEQUENCE = 128
"""Of the example; open too where the program allows it."""


LABELS = ("labels", "targets", "label", "target")
"""What models call the labels that they compute their own loss from."""


@dataclass
class Inputs:
    """Tensors by parameter of `forward`, and by parameter the names of dimensions that stay open."""

    tensors: dict[str, Any]
    open: dict[str, dict[int, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def texts(self) -> "dict[str, str]":
        """As a person gives them: `int64[batch, 128]` by parameter."""
        return {name: texts(each, self.open.get(name, {})) for name, each in self.tensors.items() if any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(each))}

    def with_labels(self, model: torch.nn.Module) -> "list[Inputs]":
        """
        The same with labels, in the shapes that they can have: of each token, or of each sample. What a model computes without
        them, where it can be called so, is often another network, as for generation: its last position alone.
        """
        named = [each.name for each in parameters_of(model) if each.name in LABELS and each.default in (None, each.empty) and each.name not in self.tensors]
        first = next(iter(self.tensors.values()), None)
        if len(named) != 1 or not isinstance(first, torch.Tensor) or not self.open:
            return []
        name = named[0]
        dims = next(iter(self.open.values()))
        by_token = first.dtype == torch.int64 and first.dim() == 2
        shapes = [(first.shape, dims), (first.shape[:1], {0: dims[0]})] if by_token else [(first.shape[:1], {0: dims[0]})]
        return [
            Inputs(
                {**self.tensors, name: torch.empty(shape, dtype=torch.int64, device="meta")},
                {**self.open, name: dimensions},
                [*self.notes, f"{name} is given, so that the program has its loss"],
            )
            for shape, dimensions in shapes
            if 0 in dims and len(dimensions) == len(shape)
        ]


def texts(value: Any, names: "dict[int, str]") -> str:
    if isinstance(value, torch.Tensor):
        return text(value, names)
    return f"({', '.join(text(each, names) for each in tree_leaves(value) if isinstance(each, torch.Tensor))})"


def text(tensor: torch.Tensor, names: "dict[int, str]") -> str:
    sizes = [names.get(position, str(size)) for position, size in enumerate(tensor.shape)]
    return f"{str(tensor.dtype).split('.')[-1]}[{', '.join(sizes)}]"


def inputs_of(model: torch.nn.Module, module: Optional[ModuleType], given: dict[str, str]) -> Inputs:
    if not has_forward(model):
        inside = [name for name, each in model.named_children() if has_forward(each)]
        near = f", such as {inside[0]}" if inside else ""
        raise Refusal("inputs", f"{type(model).__name__} has no forward(): name a network inside of it{near}, as FILE.py:{type(model).__name__}.{inside[0] if inside else 'NAME'}")
    if given:
        return given_inputs(model, given)
    own = getattr(module, "layercost_inputs", None) if module is not None else None
    if own is not None:
        return own_inputs(model, own())
    return guessed_inputs(model)


def has_forward(model: torch.nn.Module) -> bool:
    """A module of Lightning may have steps of training alone."""
    own = type(model).forward
    return own is not torch.nn.Module.forward and not own.__module__.startswith(("lightning.", "pytorch_lightning."))


def parameters_of(model: torch.nn.Module) -> list[inspect.Parameter]:
    return [
        each
        for each in inspect.signature(model.forward).parameters.values()
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


def given_inputs(model: torch.nn.Module, given: dict[str, str]) -> Inputs:
    """`tokens` → `int64[batch, 128]`: names of dimensions stay open, numbers are fixed."""
    names = [each.name for each in parameters_of(model)]
    inputs = Inputs({})
    sizes: dict[str, int] = {}
    for name, text in given.items():
        if name not in names:
            raise Refusal("inputs", f"forward takes no {name}; it takes {', '.join(names)}")
        match = re.fullmatch(r"\s*(\w+)\s*\[([^\]]*)\]\s*", text)
        dtype = getattr(torch, match.group(1), None) if match else None
        if match is None or not isinstance(dtype, torch.dtype):
            raise Refusal("inputs", f"{name}={text} is no type with sizes, such as int64[batch, 128] or float32[batch, 3, 224, 224]")
        shape: list[int] = []
        for position, part in enumerate(part.strip() for part in match.group(2).split(",") if part.strip()):
            if part.isdigit():
                shape.append(int(part))
            elif part.isidentifier():
                inputs.open.setdefault(name, {})[position] = part
                # Different names must not look like one size.
                shape.append(sizes.setdefault(part, BATCH if part == "batch" else SEQUENCE + 8 * len(sizes)))
            else:
                raise Refusal("inputs", f"{name}={text}: {part} is neither a number nor a name")
        inputs.tensors[name] = torch.empty(shape, dtype=dtype, device="meta")
    return inputs


def own_inputs(model: torch.nn.Module, value: Any) -> Inputs:
    """A tensor, a tuple by position, or a dict by name. The first dimension of each is the batch, which stays open."""
    names = [each.name for each in parameters_of(model)]
    if isinstance(value, torch.Tensor):
        value = (value,)
    if isinstance(value, (tuple, list)):
        value = dict(zip(names, value))
    if not isinstance(value, dict):
        raise Refusal("inputs", f"layercost_inputs() gives a {type(value).__name__}: give a tensor, a tuple or a dict")
    tensors = {name: tree_map(lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf, each) for name, each in value.items()}
    batches = {each.shape[0] for each in tree_leaves(tensors) if has_batch(each)}
    inputs = Inputs(tensors)
    # One of several sizes is the batch of nothing that is known, and a batch of one is a constant to the exporter.
    if len(batches) == 1 and batches != {1}:
        inputs.open = {name: {0: "batch"} for name, each in tensors.items() if any(has_batch(leaf) for leaf in tree_leaves(each))}
    else:
        inputs.notes.append("the batch is fixed: give tensors of layercost_inputs() one first dimension above 1")
    return inputs


def has_batch(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0


def guessed_inputs(model: torch.nn.Module) -> Inputs:
    needed = [each for each in parameters_of(model) if each.default is each.empty]
    names = [each.name for each in parameters_of(model)]
    if "input_ids" in names:
        return language_inputs(model, names)
    if "pixel_values" in names:
        return Inputs({"pixel_values": image(model)}, {"pixel_values": {0: "batch"}})
    if len(needed) == 1 or are_sequences([each.name for each in needed]):
        tensor, dimensions = by_first_layer(model)
        if tensor is not None and (len(needed) == 1 or tensor.dtype == torch.int64):
            given = [each.name for each in needed]
            inputs = Inputs({name: tensor for name in given}, {name: dimensions for name in given})
            return with_fitting_images(model, inputs)
    raise Refusal(
        "inputs",
        f"what forward({', '.join(each.name for each in needed)}) takes is not known: write a function layercost_inputs() beside the model, or give --input NAME='int64[batch, 128]' for each",
    )


def are_sequences(names: "list[str]") -> bool:
    """What models from one sequence to another call what they read and what they have written so far."""
    return len(names) == 2 and names[0] in ("src", "source", "input", "inputs", "x") and names[1] in ("tgt", "trg", "target", "targets", "y")


SIDES = (224, 32, 28, 64, 96, 128, 256, 299, 384, 512)
"""Of images, the most usual first."""


def with_fitting_images(model: torch.nn.Module, inputs: Inputs) -> Inputs:
    """Images of a size that the layers fit: a model of linear layers behind convolutions has one alone."""
    (name, tensor), *more = inputs.tensors.items()
    if more or tensor.dim() != 4 or not is_any_size(model):
        return inputs
    for side in SIDES:
        images = torch.empty(*tensor.shape[:2], side, side, device="meta")
        try:
            with torch.no_grad():
                model(**{name: images})
        except Exception:  # noqa: BLE001 - a layer that does not fit raises what it likes
            continue
        return replace(inputs, tensors={name: images})
    return inputs


def is_any_size(model: torch.nn.Module) -> bool:
    """Whether the model does not say how large its images are."""
    return getattr(getattr(model, "config", None), "image_size", None) is None and not getattr(model, "default_cfg", None)


def language_inputs(model: torch.nn.Module, names: list[str]) -> Inputs:
    config = getattr(model, "config", None)
    longest = getattr(config, "max_position_embeddings", None) or SEQUENCE
    length = min(SEQUENCE, longest)
    ids = torch.empty(BATCH, length, dtype=torch.int64, device="meta")
    inputs = Inputs({"input_ids": ids}, {"input_ids": {0: "batch", 1: "seq"}})
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in names:
        inputs.tensors["decoder_input_ids"] = ids
        inputs.open["decoder_input_ids"] = {0: "batch", 1: "seq"}
    return inputs


def image(model: torch.nn.Module, channels: int = 3) -> torch.Tensor:
    """Of the size that the model was made for: transformers and timm say it; else 224, that of ImageNet."""
    config = getattr(model, "config", None)
    size: Union[int, list[int], tuple[int, ...], None] = getattr(config, "image_size", None)
    known = getattr(model, "default_cfg", None) or {}
    if size is None and isinstance(known, dict) and known.get("input_size"):
        channels, *size = known["input_size"]
    height, width = (size, size) if isinstance(size, int) else tuple(size) if size else (224, 224)
    channels = getattr(config, "num_channels", channels)
    return torch.empty(BATCH, channels, height, width, device="meta")


def by_first_layer(model: torch.nn.Module) -> tuple[Optional[torch.Tensor], dict[int, str]]:
    """What the first layer with weights takes; nothing where that does not decide."""
    nn = torch.nn
    for layer in model.modules():
        if isinstance(layer, nn.Embedding):
            return torch.empty(BATCH, SEQUENCE, dtype=torch.int64, device="meta"), {0: "batch", 1: "seq"}
        if isinstance(layer, nn.Conv2d):
            return image(model, layer.in_channels), {0: "batch"}
        if isinstance(layer, nn.Conv3d):
            return torch.empty(BATCH, layer.in_channels, 16, 112, 112, device="meta"), {0: "batch"}
        if isinstance(layer, nn.Conv1d):
            return torch.empty(BATCH, layer.in_channels, 1024, device="meta"), {0: "batch"}
        if isinstance(layer, nn.Linear):
            return torch.empty(BATCH, layer.in_features, device="meta"), {0: "batch"}
        if isinstance(layer, nn.RNNBase):
            shape = (BATCH, SEQUENCE) if layer.batch_first else (SEQUENCE, BATCH)
            batch = 0 if layer.batch_first else 1
            return torch.empty(*shape, layer.input_size, device="meta"), {batch: "batch", 1 - batch: "seq"}
        # A layer of somebody's own takes what only they know; tensors of a module that has layers decide nothing.
        if not any(True for _ in layer.children()) and any(True for _ in layer.parameters(recurse=False)):
            return None, {}
    return None, {}
