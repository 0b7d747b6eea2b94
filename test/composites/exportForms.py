"""Writes composites in every form that PyTorch exports: `python exportForms.py FOLDER [FORM ...]`.

Each form stands between two linear layers. It is exported by the TorchScript exporter and by the default one
(`torch.export`), at several opsets; opsets that give the same graph share the file of the lowest. FOLDER gets models
without weights, binary because ONNX text has no metadata of nodes, and `exports.json`: the bytes that autograd keeps for backward in fp32 on the CPU, weights left out
(cells of recurrent layers as on a GPU, `scripts/measured/onGpu.py`), and what cannot be exported. torch 2.13, onnx 1.23.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "measured"))

import onnx
import torch
import torch.nn.functional as F
from onGpu import cells_on_gpu
from torch import nn

warnings.filterwarnings("ignore")
ROWS, WIDTH = 256, 64
OPSETS = {"legacy": (13, 17, 18, 20), "dynamo": (18, 20, 23)}


class Around(nn.Module):
    """`form` of the first layer's output, or of two layers' where it takes a gate and a value."""

    def __init__(self, form, *modules, image=False, gated=False, half=False):
        super().__init__()
        self.form, self.image, self.gated = form, image, gated
        self.first = nn.Linear(WIDTH, WIDTH)
        self.up = nn.Linear(WIDTH, WIDTH) if gated else None
        self.inner = nn.ModuleList(modules)
        self.last = nn.Linear(WIDTH // 2 if half else WIDTH, WIDTH)

    def forward(self, x):
        given = [self.first(x)] + ([self.up(x)] if self.gated else [])
        if self.image:
            given = [given[0].view(ROWS // 64, 64, 8, 8)]
        y = self.form(*given, *self.inner)
        return self.last(y.view(ROWS, WIDTH) if self.image else y)


class LlamaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        kind = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(kind)


class PlainLayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / torch.sqrt(centred.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight + self.bias


class NewGELU(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class WrittenCell(nn.Module):
    """An LSTM cell of linear layers, as people write one."""

    def __init__(self):
        super().__init__()
        self.of_input, self.of_state = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(WIDTH, 4 * WIDTH)

    def forward(self, x, state, cell):
        taken, kept, added, given = (self.of_input(x) + self.of_state(state)).chunk(4, 1)
        cell = kept.sigmoid() * cell + taken.sigmoid() * added.tanh()
        return given.sigmoid() * cell.tanh()


call = lambda x, module: module(x)
weight = lambda: nn.Parameter(torch.ones(WIDTH))
FORMS = {
    "gelu": lambda: Around(F.gelu),
    "gelu-module": lambda: Around(call, nn.GELU()),
    "gelu-tanh": lambda: Around(lambda x: F.gelu(x, approximate="tanh")),
    "gelu-tanh-module": lambda: Around(call, nn.GELU("tanh")),
    "gelu-new": lambda: Around(call, NewGELU()),
    "gelu-written": lambda: Around(lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))),
    "gelu-quick": lambda: Around(lambda x: x * torch.sigmoid(1.702 * x)),
    "silu": lambda: Around(F.silu),
    "silu-module": lambda: Around(call, nn.SiLU()),
    "swiglu": lambda: Around(lambda g, u: F.silu(g) * u, gated=True),
    "swiglu-module": lambda: Around(lambda g, u, silu: silu(g) * u, nn.SiLU(), gated=True),
    "geglu": lambda: Around(lambda g, u: F.gelu(g) * u, gated=True),
    "glu": lambda: Around(F.glu, half=True),
    "glu-module": lambda: Around(call, nn.GLU(), half=True),
    "mish": lambda: Around(F.mish),
    "mish-module": lambda: Around(call, nn.Mish()),
    "softplus": lambda: Around(F.softplus),
    "softplus-module": lambda: Around(call, nn.Softplus()),
    "softplus-beta": lambda: Around(lambda x: F.softplus(x, beta=2.0)),
    "hardswish": lambda: Around(F.hardswish),
    "hardswish-module": lambda: Around(call, nn.Hardswish()),
    "hardsigmoid": lambda: Around(F.hardsigmoid),
    "relu6": lambda: Around(F.relu6),
    "hardtanh-module": lambda: Around(call, nn.Hardtanh(-2.0, 2.0)),
    "expm1": lambda: Around(lambda x: torch.expm1(x) * 2.0),
    "logaddexp": lambda: Around(lambda x: torch.logaddexp(x, x * 2.0)),
    "elu": lambda: Around(F.elu),
    "celu": lambda: Around(lambda x: F.celu(x, 2.0)),
    "selu": lambda: Around(F.selu),
    "leaky-relu": lambda: Around(F.leaky_relu),
    "softmin": lambda: Around(lambda x: F.softmin(x, -1)),
    "log-softmax": lambda: Around(lambda x: F.log_softmax(x, -1)),
    "layer-norm": lambda: Around(lambda x: F.layer_norm(x, (WIDTH,))),
    "layer-norm-module": lambda: Around(call, nn.LayerNorm(WIDTH)),
    "layer-norm-no-bias": lambda: Around(call, nn.LayerNorm(WIDTH, bias=False)),
    "layer-norm-written": lambda: Around(call, PlainLayerNorm()),
    "layer-norm-var": lambda: Around(lambda x: (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True, correction=0) + 1e-5)),
    "rms-norm": lambda: Around(lambda x: F.rms_norm(x, (WIDTH,), eps=1e-6)),
    "rms-norm-module": lambda: Around(call, nn.RMSNorm(WIDTH, eps=1e-6)),
    "rms-norm-llama": lambda: Around(call, LlamaRMSNorm()),
    "group-norm": lambda: Around(lambda x: F.group_norm(x, 4), image=True),
    "group-norm-module": lambda: Around(call, nn.GroupNorm(4, 64), image=True),
    "instance-norm": lambda: Around(lambda x: F.instance_norm(x), image=True),
    "pixel-shuffle": lambda: Around(lambda x: F.pixel_shuffle(x, 2), image=True),
    "normalize": lambda: Around(lambda x: F.normalize(x, dim=-1)),
    "logsumexp": lambda: Around(lambda x: x - torch.logsumexp(x, -1, keepdim=True)),
    "threshold": lambda: Around(lambda x: F.threshold(x, 0.1, 0.0)),
    "hardshrink": lambda: Around(F.hardshrink),
    "hardshrink-module": lambda: Around(call, nn.Hardshrink(0.3)),
    "softshrink": lambda: Around(F.softshrink),
    "softshrink-module": lambda: Around(call, nn.Softshrink(0.3)),
    "rsqrt": lambda: Around(lambda x: torch.rsqrt(x * x + 1)),
    "var": lambda: Around(lambda x: x / (x.var(-1, keepdim=True) + 1e-3)),
    "sine": lambda: Around(torch.sin),
    "sign": lambda: Around(lambda x: torch.sign(x) * x),
    "attention-three-axes": lambda: Around(
        lambda x: F.scaled_dot_product_attention(*(n * x.view(16, 16, WIDTH) for n in (1, 2, 3))).view(ROWS, WIDTH)
    ),
    "attention-one-key-head": lambda: Around(
        lambda x: F.scaled_dot_product_attention(
            x.view(4, 4, 64, 16), *(n * x.view(4, 4, 64, 16)[:, :1] for n in (2, 3))
        ).view(ROWS, WIDTH)
    ),
    "lstm-cell": lambda: Around(lambda x, cell: cell(x, (x * x, x - 1))[0], nn.LSTMCell(WIDTH, WIDTH)),
    "lstm-cell-written": lambda: Around(lambda x, cell: cell(x, x * x, x - 1), WrittenCell()),
    "gru-cell": lambda: Around(lambda x, cell: cell(x, x * x), nn.GRUCell(WIDTH, WIDTH)),
    "std": lambda: Around(lambda x: x / (x.std(-1, keepdim=True) + 1e-3)),
}


def saved_bytes(model, x) -> int:
    known = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage
        return tensor

    undo = cells_on_gpu()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = model(x)
    undo()
    del out
    return sum(storage.nbytes() for storage in kept.values())


def structure_of(path: Path) -> onnx.ModelProto:
    """The model without the contents of weights, and of the metadata of nodes only scopes and classes."""
    model = onnx.load(str(path))
    kept = {"pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy"}
    for node in [*model.graph.node, *(node for function in model.functions for node in function.node)]:
        node.doc_string = ""
        props = [p for p in node.metadata_props if p.key in kept]
        del node.metadata_props[:]
        node.metadata_props.extend(props)
    for part in [model, model.graph, *model.graph.input, *model.graph.output, *model.graph.value_info]:
        part.doc_string = ""
        del part.metadata_props[:]
    for tensor in model.graph.initializer:
        del tensor.metadata_props[:]
        if math.prod(tensor.dims) < WIDTH:
            continue
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights")
    return model


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    table = json.loads((folder / "exports.json").read_text()) if (folder / "exports.json").exists() else {}
    for name, build in FORMS.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        torch.manual_seed(0)
        x = torch.randn(ROWS, WIDTH)
        row = {"saved": saved_bytes(build().train(), x), "files": {}, "refused": []}
        for exporter, opsets in OPSETS.items():
            same = {}
            for opset in opsets:
                options = {"training": torch.onnx.TrainingMode.TRAINING} if exporter == "legacy" else {}
                with tempfile.TemporaryDirectory() as temporary:
                    path = Path(temporary) / "model.onnx"
                    try:
                        torch.onnx.export(
                            build().train(), (x,), str(path), opset_version=opset, dynamo=exporter == "dynamo", **options
                        )
                    except Exception:  # what an exporter cannot write is listed
                        row["refused"].append(f"{exporter}{opset}")
                        continue
                    model = structure_of(path)
                key = model.graph.SerializeToString(deterministic=True)
                first = same.setdefault(key, f"{name}-{exporter}{opset}")
                row["files"].setdefault(first, []).append(opset)
                if len(row["files"][first]) == 1:
                    onnx.save(model, str(folder / f"{first}.onnx"))
        table[name] = row
    (folder / "exports.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
