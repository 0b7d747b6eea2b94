"""Writes models whose exports have lists, loops and run-time counts: `python exportRunTime.py FOLDER`.

Projections that are split into lists, experts that take the tokens routed to them, bags of embeddings. FOLDER gets models
without weights and `flops.json`: FLOPs of forward and backward that PyTorch counts (`torch.utils.flop_counter`), experts
with as many tokens each. Backward takes no gradient of the input. torch 2.13, onnx 1.23.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path

import onnx
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
BATCH, LENGTH, WIDTH, EXPERTS, TAKEN = 4, 16, 32, 8, 2


class Packed(nn.Module):
    """Queries, keys and values of one projection, parted by `parts`."""

    def __init__(self, parts):
        super().__init__()
        self.parts = parts
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        heads = [y.unflatten(-1, (4, -1)).transpose(1, 2) for y in self.parts(self.project(x))]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        nn.init.normal_(self.attention.out_proj.bias)  # the exporter drops a bias of zeros

    def forward(self, x):
        return self.attention(x, x.flip(1), x, need_weights=False)[0]


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def balanced(scores):
    """Where FLOPs are counted: each expert is chosen as often as the others."""
    tokens = torch.arange(scores.shape[0])
    chosen = torch.stack([(TAKEN * tokens + place) % EXPERTS for place in range(TAKEN)], -1)
    return scores.gather(-1, chosen), chosen


class Experts(nn.Module):
    """The loops that programs write: over a one-hot mask, over the experts that are hit, and by comparison."""

    def __init__(self, form):
        super().__init__()
        self.form, self.is_counted = form, False
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, x):
        tokens = x.reshape(-1, WIDTH)
        scores = self.router(tokens).softmax(-1)
        weights, chosen = balanced(scores) if self.is_counted else scores.topk(TAKEN, -1)
        result = torch.zeros_like(tokens)
        if self.form == "compare":
            for index, expert in enumerate(self.experts):
                row, place = torch.where(chosen == index)
                result[row] = result[row] + expert(tokens[row]) * weights[row, place].unsqueeze(-1)
            return result.view_as(x)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        hit = mask.sum((-1, -2)).gt(0).nonzero() if self.form == "hit" else range(EXPERTS)
        for index in hit:
            index = index[0] if self.form == "hit" else index
            place, row = torch.where(mask[index])
            given = tokens[None, row].reshape(-1, WIDTH)
            result.index_add_(0, row, self.experts[index](given) * weights[row, place, None])
        return result.view_as(x)


@torch.jit.script
def loop_over_hit(tokens, weights, chosen, mask, up, down):
    result = torch.zeros_like(tokens)
    hit = mask.sum((-1, -2)).gt(0).nonzero()
    for position in range(hit.size(0)):
        index = hit[position, 0]
        found = mask[index].nonzero()
        place, row = found[:, 0], found[:, 1]
        given = F.relu(tokens[row].matmul(up[index])).matmul(down[index])
        result = result.index_add(0, row, given * weights[row, place].unsqueeze(-1))
    return result


class Scripted(nn.Module):
    """A loop that stays one: over the experts that are hit, with their weights in one tensor."""

    def __init__(self):
        super().__init__()
        self.is_counted = False
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * WIDTH))
        self.down = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH, WIDTH))

    def forward(self, x):
        tokens = x.reshape(-1, WIDTH)
        scores = self.router(tokens).softmax(-1)
        weights, chosen = balanced(scores) if self.is_counted else scores.topk(TAKEN, -1)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        return loop_over_hit(tokens, weights, chosen, mask, self.up, self.down).view_as(x)


class Bags(nn.Module):
    def __init__(self, mode, has_offsets):
        super().__init__()
        self.bag, self.out = nn.EmbeddingBag(1000, WIDTH, mode=mode), nn.Linear(WIDTH, 10)
        self.has_offsets = has_offsets

    def forward(self, ids, offsets=None):
        return self.out(self.bag(ids, offsets) if self.has_offsets else self.bag(ids))


def tokens():
    return (torch.randn(BATCH, LENGTH, WIDTH),)


def ids():
    return (torch.randint(0, 1000, (32, 20)),)


def listed_ids():
    return (torch.randint(0, 1000, (640,)), torch.arange(0, 640, 20))


MODELS = {
    "split-size": (Packed(lambda y: y.split(WIDTH, -1)), tokens),
    "split-sizes": (Packed(lambda y: y.split([WIDTH] * 3, -1)), tokens),
    "split-chunks": (Packed(lambda y: y.chunk(3, -1)), tokens),
    "split-cross": (Cross(), tokens),
    "experts-mask": (Experts("mask"), tokens),
    "experts-hit": (Experts("hit"), tokens),
    "experts-compare": (Experts("compare"), tokens),
    "experts-loop": (Scripted(), tokens),
    "bag-sum": (Bags("sum", False), ids),
    "bag-mean": (Bags("mean", False), ids),
    "bag-max": (Bags("max", False), ids),
    "bag-offsets": (Bags("sum", True), listed_ids),
}
EXPORTERS = {
    "default": {"dynamo": True, "external_data": False},
    "unoptimized": {"dynamo": True, "external_data": False, "optimize": False},
    "legacy": {"dynamo": False},
}


def flops_of(model, given) -> dict[str, int]:
    for module in model.modules():
        if isinstance(module, (Experts, Scripted)):
            module.is_counted = True
    with FlopCounterMode(display=False) as forward:
        result = model(*given)
    with FlopCounterMode(display=False) as backward:
        result.sum().backward()
    for module in model.modules():
        if isinstance(module, (Experts, Scripted)):
            module.is_counted = False
    return {"forward": forward.get_total_flops(), "backward": backward.get_total_flops()}


def without_weights(path: Path) -> onnx.ModelProto:
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or len(tensor.dims) < 1:
            continue
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights")
    strip_source(model.graph)
    for function in model.functions:
        strip_source(function)
    return model


def strip_source(body: onnx.GraphProto | onnx.FunctionProto) -> None:
    """Takes away where the exporter ran: stack traces, in the bodies of loops too."""
    for node in body.node:
        kept = [entry for entry in node.metadata_props if "stack_trace" not in entry.key and "fx_node" not in entry.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                strip_source(inner)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    flops, refused = {}, []
    for name, (model, make) in MODELS.items():
        torch.manual_seed(0)
        given = make()
        if not name.startswith("split"):  # the counter knows no fused attention on CPUs
            flops[name] = flops_of(model, given)
        for exporter, options in EXPORTERS.items():
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "model.onnx"
                try:
                    torch.onnx.export(model, given, path, verbose=False, **options)
                except Exception:
                    refused.append(f"{name}.{exporter}")
                    continue
                onnx.save(without_weights(path), folder / f"{name}.{exporter}.onnx")
    (folder / "flops.json").write_text(json.dumps(flops, indent=2) + "\n")
    print("refused:", *refused)


main()
