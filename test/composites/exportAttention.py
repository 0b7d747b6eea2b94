"""Writes attention in every form that PyTorch exports: `python exportAttention.py FOLDER [FORM ...]`.

Each form is a small module. It is exported by the TorchScript exporter and by the default one (`torch.export`), at
several opsets; opset 23 of the default exporter writes `scaled_dot_product_attention` as the operator `Attention`.
Torch 1.13 (Debian's python3-torch) writes what it can: it has no `scaled_dot_product_attention`.

FOLDER gets one binary model per form, exporter and opset, without weights; opsets that give the same graph share the
file of the lowest. `exports-TORCH.json` lists them, what cannot be exported, and the bytes that autograd keeps for
backward on the CPU, weights left out. `layercost convert` makes ONNX text of the models.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path

import onnx
import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore")
TORCH = ".".join(torch.__version__.split(".")[:2])
OLD = TORCH.startswith("1.")
BATCH, LENGTH, HEADS, GROUPS, SIZE = 2, 512, 4, 2, 32
WIDTH = HEADS * SIZE


class Heads(nn.Module):
    """Projections, heads, `attend`, output projection. Subclasses say how queries, keys and values meet."""

    groups = HEADS
    dtype = torch.float32

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(WIDTH, WIDTH)
        self.k = nn.Linear(WIDTH, self.groups * SIZE)
        self.v = nn.Linear(WIDTH, self.groups * SIZE)
        self.o = nn.Linear(WIDTH, WIDTH)
        self.to(self.dtype)

    def forward(self, x, *rest):
        split = lambda t, n: t.view(BATCH, LENGTH, n, SIZE).transpose(1, 2)
        q, k, v = split(self.q(x), HEADS), split(self.k(x), self.groups), split(self.v(x), self.groups)
        y = self.attend(q, k, v, *rest)
        return self.o(y.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


def heads(attend, **fields):
    return type("Heads_", (Heads,), {"attend": staticmethod(attend), **fields})()


sdpa = getattr(F, "scaled_dot_product_attention", None)
causal = lambda: torch.ones(LENGTH, LENGTH).tril().bool()
scale = 1 / math.sqrt(SIZE)


def repeated(t):
    shape = (BATCH, GROUPS, HEADS // GROUPS, LENGTH, SIZE)
    return t[:, :, None].expand(*shape).reshape(BATCH, HEADS, LENGTH, SIZE)


def padded(x_mask):
    return x_mask[:, None, None, :]


class Packed(nn.Module):
    """One projection for queries, keys and values, as in vision transformers."""

    def __init__(self, attend):
        super().__init__()
        self.qkv, self.o, self.attend = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), attend

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(BATCH, LENGTH, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4).unbind(0)
        return self.o(self.attend(q, k, v).transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


class Biased(Heads):
    """A learned bias per pair of positions."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(HEADS, LENGTH, LENGTH))

    def attend(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * scale + self.bias, -1) @ v


class BiasedSdpa(Biased):
    def attend(self, q, k, v):
        return sdpa(q, k, v, attn_mask=self.bias)


class Bmm(Heads):
    """Heads are part of the batch: products of three axes."""

    def attend(self, q, k, v):
        q, k, v = (t.reshape(BATCH * HEADS, LENGTH, SIZE) for t in (q, k, v))
        y = torch.bmm(torch.softmax(torch.bmm(q * scale, k.transpose(1, 2)), -1), v)
        return y.view(BATCH, HEADS, LENGTH, SIZE)


class Sdpa3d(Heads):
    def attend(self, q, k, v):
        q, k, v = (t.reshape(BATCH * HEADS, LENGTH, SIZE) for t in (q, k, v))
        return sdpa(q, k, v).view(BATCH, HEADS, LENGTH, SIZE)


class ValuesFirst(Heads):
    """values · weightsᵀ, as attention between the pixels of an image is often written."""

    def attend(self, q, k, v):
        weights = torch.softmax(q @ k.transpose(-2, -1) * scale, -1)
        return (v.transpose(-2, -1) @ weights.transpose(-2, -1)).transpose(-2, -1)


class Cross(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.q, self.kv, self.o, self.attend = (
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(WIDTH, 2 * WIDTH),
            nn.Linear(WIDTH, WIDTH),
            attend,
        )

    def forward(self, x, memory):
        split = lambda t: t.view(BATCH, -1, HEADS, SIZE).transpose(1, 2)
        k, v = self.kv(memory).chunk(2, -1)
        y = self.attend(split(self.q(x)), split(k), split(v))
        return self.o(y.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))


class Mha(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.mha, self.options = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), options

    def forward(self, x, padding=None):
        y, weights = self.mha(x, x, x, key_padding_mask=padding, **self.options)
        return y if weights is None else (y, weights)


# Softmax that is not attention.
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, LENGTH), nn.Linear(LENGTH, WIDTH)

    def forward(self, x):
        return self.c(torch.softmax(self.b(self.a(x)), -1))


class Pooling(nn.Module):
    """A learned query, softmax over positions, a weighted sum."""

    def __init__(self):
        super().__init__()
        self.a, self.o = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.o((torch.softmax(self.a(x), 1).transpose(1, 2) @ x).squeeze(1))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router, self.a, self.b = nn.Linear(WIDTH, 8), nn.Linear(WIDTH, WIDTH * 8), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        weights, chosen = torch.softmax(self.router(x), -1).topk(2)
        mixed = torch.zeros(BATCH, LENGTH, 8).scatter(-1, chosen, weights)
        out = self.a(x).view(BATCH, LENGTH, 8, WIDTH)
        return self.b((mixed.unsqueeze(-2) @ out).squeeze(-2))


class LinearAttention(Heads):
    def attend(self, q, k, v):
        return torch.softmax(q, -1) @ (torch.softmax(k, -2).transpose(-2, -1) @ v)


class OverQueries(Heads):
    """Slots compete for positions: softmax along queries, not keys."""

    def attend(self, q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) * scale, -2) @ v


class ChannelAttention(Heads):
    """Scores between channels (XCiT): attention over another axis, which no kernel of attention computes."""

    def attend(self, q, k, v):
        weights = torch.softmax(q.transpose(-2, -1) @ k * scale, -1)
        return (weights @ v.transpose(-2, -1)).transpose(-2, -1)


def written(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(SIZE), -1) @ v


def written_causal(q, k, v):
    scores = q @ k.transpose(-2, -1) * scale
    return torch.softmax(scores.masked_fill(~causal(), float("-inf")), -1) @ v


def written_fp32(q, k, v):
    scores = q @ k.transpose(-2, -1) * scale
    return torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype) @ v


def written_einsum(q, k, v):
    weights = torch.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) * scale, -1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


def written_softcap(q, k, v):
    return torch.softmax(30.0 * torch.tanh(q @ k.transpose(-2, -1) * scale / 30.0), -1) @ v


def written_alibi(q, k, v):
    distance = torch.arange(LENGTH)[None, :] - torch.arange(LENGTH)[:, None]
    slopes = 2.0 ** -(1.0 + torch.arange(HEADS))
    return torch.softmax(q @ k.transpose(-2, -1) * scale + distance * slopes[:, None, None], -1) @ v


def sdpa_alibi(q, k, v):
    distance = torch.arange(LENGTH)[None, :] - torch.arange(LENGTH)[:, None]
    slopes = 2.0 ** -(1.0 + torch.arange(HEADS))
    return sdpa(q, k, v, attn_mask=(distance * slopes[:, None, None])[None])


x = lambda dtype=torch.float32, length=LENGTH: torch.randn(BATCH, length, WIDTH, dtype=dtype)
bool_mask = lambda: torch.ones(BATCH, 1, LENGTH, LENGTH, dtype=torch.bool)
float_mask = lambda: torch.zeros(BATCH, 1, LENGTH, LENGTH)
row = lambda: torch.ones(BATCH, LENGTH, dtype=torch.bool)

# By name: whether attention is one kernel ("one"), written out ("several"), either ("assumed-one"), or not there ("none");
# the module; its inputs; whether it is exported in training mode.
WRITTEN = {
    "written": ("several", lambda: heads(written), lambda: (x(),)),
    "written-scaled-query": ("several", lambda: heads(lambda q, k, v: torch.softmax((q * scale) @ k.transpose(-2, -1), -1) @ v), lambda: (x(),)),
    "written-unscaled": ("assumed-one", lambda: heads(lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1), -1) @ v), lambda: (x(),)),
    "written-causal": ("several", lambda: heads(written_causal), lambda: (x(),)),
    "written-padded": ("several", lambda: heads(lambda q, k, v, m: torch.softmax((q @ k.transpose(-2, -1) * scale).masked_fill(~padded(m), -1e9), -1) @ v), lambda: (x(), row())),
    "written-float-mask": ("several", lambda: heads(lambda q, k, v, m: torch.softmax(q @ k.transpose(-2, -1) * scale + m, -1) @ v), lambda: (x(), float_mask())),
    "written-fp32": ("several", lambda: heads(written_fp32, dtype=torch.bfloat16), lambda: (x(torch.bfloat16),)),
    "written-grouped": ("several", lambda: heads(lambda q, k, v: written(q, repeated(k), repeated(v)), groups=GROUPS), lambda: (x(),)),
    "written-einsum": ("several", lambda: heads(written_einsum), lambda: (x(),)),
    "written-softcap": ("several", lambda: heads(written_softcap), lambda: (x(),)),
    "written-alibi": ("several", lambda: heads(written_alibi), lambda: (x(),)),
    "written-bias": ("several", Biased, lambda: (x(),)),
    "written-bmm": ("several", Bmm, lambda: (x(),)),
    "written-values-first": ("several", ValuesFirst, lambda: (x(),)),
    "written-dropout": ("several", lambda: heads(lambda q, k, v: F.dropout(torch.softmax(q @ k.transpose(-2, -1) * scale, -1), 0.1) @ v), lambda: (x(),)),
    "written-packed": ("several", lambda: Packed(written), lambda: (x(),)),
    "written-cross": ("several", lambda: Cross(written), lambda: (x(), x(length=256))),
    "mha-weights": ("several", lambda: Mha(need_weights=True), lambda: (x(),)),
    "mha": ("one", lambda: Mha(need_weights=False), lambda: (x(),)),
    "mha-padded": ("one", lambda: Mha(need_weights=False), lambda: (x(), ~row())),
    "encoder-layer": ("one", lambda: nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.0, batch_first=True), lambda: (x(),)),
    "decoder-layer": ("one", lambda: nn.TransformerDecoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.0, batch_first=True), lambda: (x(), x(length=256))),
    "none-classifier": ("none", Classifier, lambda: (x(),)),
    "none-pooling": ("none", Pooling, lambda: (x(),)),
    "none-experts": ("none", Experts, lambda: (x(),)),
    "none-linear": ("none", LinearAttention, lambda: (x(),)),
    "none-over-queries": ("none", OverQueries, lambda: (x(),)),
}
SDPA = {
    "sdpa": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v)), lambda: (x(),)),
    "sdpa-causal": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v, is_causal=True)), lambda: (x(),)),
    "sdpa-bool-mask": ("one", lambda: heads(lambda q, k, v, m: sdpa(q, k, v, m)), lambda: (x(), bool_mask())),
    "sdpa-float-mask": ("one", lambda: heads(lambda q, k, v, m: sdpa(q, k, v, m)), lambda: (x(), float_mask())),
    "sdpa-padded": ("one", lambda: heads(lambda q, k, v, m: sdpa(q, k, v, padded(m))), lambda: (x(), row())),
    "sdpa-built-mask": ("one", lambda: heads(lambda q, k, v, m: sdpa(q, k, v, padded(m) & causal())), lambda: (x(), row())),
    "sdpa-alibi": ("one", lambda: heads(sdpa_alibi), lambda: (x(),)),
    "sdpa-bias": ("one", BiasedSdpa, lambda: (x(),)),
    "sdpa-scale": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v, scale=0.3)), lambda: (x(),)),
    "sdpa-unscaled": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v, scale=1.0)), lambda: (x(),)),
    "sdpa-grouped": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v, enable_gqa=True), groups=GROUPS), lambda: (x(),)),
    "sdpa-repeated": ("one", lambda: heads(lambda q, k, v: sdpa(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)), groups=GROUPS), lambda: (x(),)),
    "sdpa-expanded": ("one", lambda: heads(lambda q, k, v: sdpa(q, repeated(k), repeated(v)), groups=GROUPS), lambda: (x(),)),
    "sdpa-dropout": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v, dropout_p=0.1)), lambda: (x(),)),
    "sdpa-packed": ("one", lambda: Packed(sdpa), lambda: (x(),)),
    "sdpa-cross": ("one", lambda: Cross(sdpa), lambda: (x(), x(length=256))),
    "sdpa-3d": ("one", Sdpa3d, lambda: (x(),)),
    "sdpa-half": ("one", lambda: heads(lambda q, k, v: sdpa(q, k, v), dtype=torch.float16), lambda: (x(torch.float16),)),
}
FORMS = WRITTEN if OLD else {**SDPA, **WRITTEN}
# The CPU has no fused kernel for these, and keeps a mask of dropout in four bytes where CUDA keeps one.
UNLIKE_CUDA = {"sdpa-bias", "sdpa-3d", "sdpa-dropout", "written-dropout"}
# MHA in evaluation takes a fused path of its own that no exporter can write; training mode exports what trains.
OPSETS = {"legacy": [11, 14, 17] if OLD else [11, 14, 17, 20], "dynamo": [] if OLD else [18, 20, 22, 23, 24]}


def saved_bytes(build, inputs) -> int:
    """Bytes of distinct storages that autograd keeps, without parameters, in training."""
    model, given = build().train(), inputs()
    known = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = model(*given)
    del out
    return sum(storage.nbytes() for storage in kept.values())


def without_weights(path: Path) -> bytes:
    """Strips what is not structure; gives the graph, which other opsets may share."""
    model = onnx.load(str(path))
    constants = [a.t for node in model.graph.node for a in node.attribute if a.HasField("t")]
    for tensor in [*model.graph.initializer, *constants]:
        if math.prod(tensor.dims) <= 64:
            continue
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        del tensor.external_data[:]
        tensor.external_data.add(key="location", value="weights")
    for node in [model, *model.graph.node]:
        node.doc_string = ""
        if "metadata_props" in node.DESCRIPTOR.fields_by_name:
            del node.metadata_props[:]
    onnx.save(model, str(path))
    return model.graph.SerializeToString(deterministic=True)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    forms, written, failed = {}, {}, {}
    for name, (decided, build, inputs) in FORMS.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        torch.manual_seed(0)
        # Before 2.0, multi-head attention ran products and softmax when it trained.
        forms[name] = {"launched": "several" if OLD and decided == "one" else decided}
        if not OLD and name not in UNLIKE_CUDA:
            forms[name]["saved"] = saved_bytes(build, inputs)
        for exporter, opsets in OPSETS.items():
            same = {}
            for opset in opsets:
                path = folder / f"{name}-torch{TORCH}-{exporter}{opset}.onnx"
                options = {} if OLD else {"dynamo": exporter == "dynamo", "external_data": False}
                if exporter == "legacy":
                    options |= {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
                try:
                    torch.onnx.export(build().train(), inputs(), str(path), opset_version=opset, **options)
                    first = same.setdefault(without_weights(path), path.stem)
                    written.setdefault(first, []).append(opset)
                    if first != path.stem:
                        path.unlink()
                except Exception as error:  # what an exporter cannot write is listed
                    failed[path.stem] = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
                    path.unlink(missing_ok=True)
    table = {"forms": forms, "opsets": written, "failed": failed}
    (folder / f"exports-{TORCH}.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
