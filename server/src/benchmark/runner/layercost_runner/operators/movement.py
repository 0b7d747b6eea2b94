"""Operators that move or select elements."""

from __future__ import annotations

from functools import lru_cache
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from .call import Call, Outputs, Unsupported, alternating, operator, torch_type


@operator("Reshape")
def reshape(call: Call) -> Tensor:
    x = call[0]
    target = call.host_ints(1, "shape") if _known(call, 1) else None
    if target is None:
        # The plan's own shape saves a look at the contents, for which a GPU would have to be waited.
        expected = call.shape()
        return x.reshape(call.host_ints(1, "shape") if expected is None else expected)
    if not call.attribute("allowzero", 0):
        target = [x.shape[position] if size == 0 else size for position, size in enumerate(target)]
    return x.reshape(target)


@operator("Expand")
def expand(call: Call) -> Tensor:
    x = call[0]
    if _known(call, 1):
        target = torch.broadcast_shapes(tuple(x.shape), tuple(call.host_ints(1) or ()))
    else:
        target = call.shape() or torch.broadcast_shapes(tuple(x.shape), tuple(call.host_ints(1) or ()))
    return x.expand(target)


@operator("Flatten")
def flatten(call: Call) -> Tensor:
    x = call[0]
    axis = call.attribute("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return x.reshape(rows, -1)


@operator("Transpose")
def transpose(call: Call) -> Tensor:
    x = call[0]
    return x.permute(call.attribute("perm") or list(range(x.dim()))[::-1])


@operator("Squeeze")
def squeeze(call: Call) -> Tensor:
    x = call[0]
    axes = call.host_ints(1, "axes")
    if axes is None:
        return x.squeeze()
    for axis in sorted((axis % x.dim() for axis in axes), reverse=True):
        x = x.squeeze(axis)
    return x


@operator("Unsqueeze")
def unsqueeze(call: Call) -> Tensor:
    x = call[0]
    axes = call.host_ints(1, "axes") or []
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@operator("Concat")
def concatenate(call: Call) -> Tensor:
    return torch.cat(call.present(), dim=call.attribute("axis", 0))


@operator("Split")
def split(call: Call) -> Outputs:
    x = call[0]
    axis = call.attribute("axis", 0)
    sizes = call.host_ints(1, "split")
    if sizes is None:
        parts = call.attribute("num_outputs") or len(call.operator.outputs)
        return torch.split(x, -(-x.shape[axis] // parts), dim=axis)
    return torch.split(x, sizes, dim=axis)


@operator("Slice")
def slice_of(call: Call) -> Tensor:
    x = call[0]
    starts, ends = call.host_ints(1, "starts"), call.host_ints(2, "ends")
    if starts is None or ends is None:
        raise Unsupported("Slice without starts and ends")
    axes = call.host_ints(3, "axes") or list(range(len(starts)))
    steps = call.host_ints(4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step < 0:
            extent = x.shape[axis]
            indices = list(range(extent))[start if start < extent else None : end if end >= -extent else None : step]
            x = x.index_select(axis, torch.tensor(indices, device=x.device))
            continue
        key = [slice(None)] * x.dim()
        key[axis] = slice(start, end, step)
        x = x[tuple(key)]
    return x


@operator("Gather")
def gather(call: Call) -> Tensor:
    x, indices = call[0], call[1]
    axis = call.attribute("axis", 0) % x.dim()
    known = call.host_ints(1) if _known(call, 1) else None
    if known is not None and indices.dim() == 0:
        return x.select(axis, known[0])
    if axis == 0 and x.dim() == 2 and x.is_floating_point() and known is None:
        return F.embedding(indices.long(), x)
    flat = indices.reshape(-1).long()
    if known is None or any(index < 0 for index in known):
        flat = torch.where(flat < 0, flat + x.shape[axis], flat)
    chosen = x.index_select(axis, flat)
    return chosen.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])


@operator("GatherElements")
def gather_elements(call: Call) -> Tensor:
    x, indices = call[0], call[1].long()
    axis = call.attribute("axis", 0) % x.dim()
    # Tables that exporters looked up for one sample serve all.
    sizes = [size if have == 1 and at != axis else have for at, (have, size) in enumerate(zip(x.shape, indices.shape))]
    x = x.expand(sizes) if sizes != list(x.shape) else x
    return torch.gather(x, axis, torch.where(indices < 0, indices + x.shape[axis], indices))


@operator("GatherND")
def gather_nd(call: Call) -> Tensor:
    if call.attribute("batch_dims", 0):
        raise Unsupported("GatherND with batch_dims")
    return call[0][tuple(call[1].long().unbind(-1))]


@operator("ScatterND")
def scatter_nd(call: Call) -> Tensor:
    accumulate = {"none": False, "add": True}.get(call.attribute("reduction", "none"))
    if accumulate is None:
        raise Unsupported(f"ScatterND with reduction {call.attribute('reduction')}")
    keys = tuple(call[1].long().unbind(-1))
    return call[0].index_put(keys, call[2].to(call[0].dtype), accumulate)


@lru_cache(maxsize=64)
def _leading(shape: tuple[int, ...], count: int, device: torch.device) -> Tensor:
    """A mask that holds for the first elements, made once, so that no timed call makes it."""
    elements = 1
    for size in shape:
        elements *= size
    return (torch.arange(elements, device=device) < count).reshape(shape)


@operator("MaskedScatter", domain="layercost")
def masked_scatter(call: Call) -> Tensor:
    # A mask of contents at random may hold for more elements than the source has, which a GPU reports by an error: it
    # holds for as many as there are.
    x, source = call[0], call[2]
    return x.masked_scatter(_leading(tuple(x.shape), source.numel(), x.device), source.to(x.dtype))


@operator("ScatterElements")
def scatter_elements(call: Call) -> Tensor:
    axis = call.attribute("axis", 0)
    reduction = call.attribute("reduction", "none")
    if reduction == "none":
        return call[0].scatter(axis, call[1].long(), call[2])
    if reduction == "add":
        return call[0].scatter_add(axis, call[1].long(), call[2])
    raise Unsupported(f"ScatterElements with reduction {reduction}")


@operator("Tile")
def tile(call: Call) -> Tensor:
    return call[0].repeat(call.host_ints(1) or [])


@operator("Pad")
def pad(call: Call) -> Tensor:
    x = call[0]
    pads = call.host_ints(1, "pads") or []
    axes = [axis % x.dim() for axis in (call.host_ints(3) or range(x.dim()))]
    amounts = [(0, 0)] * x.dim()
    for position, axis in enumerate(axes):
        amounts[axis] = (pads[position], pads[position + len(axes)])
    flat = [entry for pair in reversed(amounts) for entry in pair]
    mode = call.attribute("mode", "constant")
    if mode == "constant":
        value = call.host(2)
        return F.pad(x, flat, value=float(value[0]) if value else call.attribute("value", 0.0))
    # torch pads only trailing dimensions by reflection.
    while len(flat) > 2 and flat[-2:] == [0, 0]:
        flat = flat[:-2]
    return F.pad(x, flat, mode={"reflect": "reflect", "edge": "replicate", "wrap": "circular"}[mode])


@operator("Resize", "Upsample")
def resize(call: Call) -> Tensor:
    x = call[0]
    expected = call.shape()
    if expected is None or len(expected) != x.dim() or expected[:2] != tuple(x.shape[:2]):
        raise Unsupported("Resize to a shape that is not known, or of batch or channels")
    mode = call.attribute("mode", "nearest")
    if mode == "nearest":
        return F.interpolate(x, size=expected[2:], mode="nearest")
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[x.dim() - 2]
    corners = call.attribute("coordinate_transformation_mode", "half_pixel") == "align_corners"
    return F.interpolate(
        x, size=expected[2:], mode="bicubic" if mode == "cubic" else linear, align_corners=corners
    )


@operator("DepthToSpace")
def depth_to_space(call: Call) -> Tensor:
    x, block = call[0], call.attribute("blocksize")
    if call.attribute("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, block)
    batch, channels, height, width = x.shape
    split = x.reshape(batch, block, block, channels // block**2, height, width)
    return split.permute(0, 3, 4, 1, 5, 2).reshape(batch, channels // block**2, height * block, width * block)


@operator("SpaceToDepth")
def space_to_depth(call: Call) -> Tensor:
    x, block = call[0], call.attribute("blocksize")
    batch, channels, height, width = x.shape
    split = x.reshape(batch, channels, height // block, block, width // block, block)
    return split.permute(0, 3, 5, 1, 2, 4).reshape(batch, channels * block**2, height // block, width // block)


@operator("Trilu")
def triangle(call: Call) -> Tensor:
    offset = call.host_ints(1)
    diagonal = offset[0] if offset else 0
    return torch.triu(call[0], diagonal) if call.attribute("upper", 1) else torch.tril(call[0], diagonal)


@operator("Shape")
def shape(call: Call) -> Tensor:
    sizes = list(call[0].shape)[slice(call.attribute("start", 0), call.attribute("end"))]
    return torch.tensor(sizes, dtype=torch.int64, device=call.device)


@operator("Size")
def size(call: Call) -> Tensor:
    return torch.tensor(call[0].numel(), dtype=torch.int64, device=call.device)


@operator("Constant")
def constant(call: Call) -> Tensor:
    for name, kind in (
        ("value_float", "float32"),
        ("value_floats", "float32"),
        ("value_int", "int64"),
        ("value_ints", "int64"),
    ):
        given = call.attribute(name)
        if given is not None:
            return torch.tensor(given, dtype=torch_type(kind), device=call.device)
    literal = call.attribute("value")
    if literal is None:
        raise Unsupported("Constant of strings or sparse values")
    kind = torch_type(literal["elementType"])
    if literal["elements"] is None and kind == torch.bool:
        return alternating(literal["shape"], call.device)
    if literal["elements"] is None:
        return torch.zeros(literal["shape"], dtype=kind, device=call.device)
    return torch.tensor(literal["elements"], dtype=kind, device=call.device).reshape(literal["shape"])


@operator("ConstantOfShape")
def constant_of_shape(call: Call) -> Tensor:
    target: Optional[tuple[int, ...]] = tuple(call.host_ints(0) or ()) if _known(call, 0) else call.shape()
    if target is None:
        target = tuple(call.host_ints(0) or ())
    literal = call.attribute("value")
    kind = torch_type(literal["elementType"]) if literal else torch.float32
    fill = literal["elements"][0] if literal and literal["elements"] else 0
    return torch.full(target, fill, dtype=kind, device=call.device)


@operator("Range")
def range_of(call: Call) -> Tensor:
    start, limit, step = ((call.host(index) or [0])[0] for index in range(3))
    return torch.arange(start, limit, step, dtype=call[0].dtype, device=call.device)


@operator("OneHot")
def one_hot(call: Call) -> Tensor:
    depth = int((call.host(1) or [0])[0])
    off, on = (call.host(2) or [0, 1])[:2]
    indices = call[0].long()
    hot = F.one_hot(torch.where(indices < 0, indices + depth, indices), depth).to(call[2].dtype)
    hot = hot * (on - off) + off
    axis = call.attribute("axis", -1)
    return hot if axis in (-1, hot.dim() - 1) else hot.movedim(-1, axis)


@operator("EyeLike")
def eye_like(call: Call) -> Tensor:
    rows, columns = call[0].shape
    return torch.eye(rows, columns, device=call.device)


@operator("RandomNormalLike")
def random_normal_like(call: Call) -> Tensor:
    return torch.randn_like(call[0]) * call.attribute("scale", 1.0) + call.attribute("mean", 0.0)


@operator("RandomUniformLike")
def random_uniform_like(call: Call) -> Tensor:
    low, high = call.attribute("low", 0.0), call.attribute("high", 1.0)
    return torch.rand_like(call[0]) * (high - low) + low


@operator("Bernoulli")
def bernoulli(call: Call) -> Tensor:
    return torch.bernoulli(call[0].clamp(0, 1))


def _known(call: Call, index: int) -> bool:
    """Whether the plan itself holds the contents of input `index`."""
    return call.has(index) and call.plan.values[call.operator.inputs[index]].elements is not None
