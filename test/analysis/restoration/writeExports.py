"""Writes the same small networks as each exporter of PyTorch 2.13 gives them, without the data of weights.

Run: python3 test/analysis/restoration/writeExports.py (needs torch, onnx and onnxscript).
"""

import logging
import pathlib
import warnings

import onnx
import torch
from torch import nn

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
FOLDER = pathlib.Path(__file__).parent
MODE = torch.onnx.TrainingMode


class Normalized(nn.Module):
    """Every place a batch normalization is folded into: with and without a bias before it, grouped, transposed, linear."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.biased = nn.Conv2d(16, 24, 1)
        self.biased_bn = nn.BatchNorm2d(24)
        self.depthwise = nn.Conv2d(24, 24, 3, padding=1, groups=24, bias=False)
        self.depthwise_bn = nn.BatchNorm2d(24)
        self.up = nn.ConvTranspose2d(24, 16, 2, stride=2, groups=2, bias=False)
        self.up_bn = nn.BatchNorm2d(16)
        self.plain = nn.Conv2d(16, 8, 3)
        self.head = nn.Linear(8, 32)
        self.head_bn = nn.BatchNorm1d(32)
        self.fixed = nn.Linear(32, 32, bias=False)
        self.fixed_bn = nn.BatchNorm1d(32, affine=False)
        self.classes = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.biased_bn(self.biased(self.stem(x))))
        x = x + self.depthwise_bn(self.depthwise(x))
        x = self.plain(torch.relu(self.up_bn(self.up(x))))
        x = torch.relu(self.head_bn(self.head(x.mean((2, 3)))))
        return self.classes(torch.relu(self.fixed_bn(self.fixed(x))))


class Biased(nn.Module):
    """No normalization: genuine biases, some of them 0 as many initializers leave them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3)
        self.zero = nn.Conv2d(16, 24, 3)
        self.classes = nn.Linear(24, 10)
        nn.init.zeros_(self.zero.bias)
        nn.init.zeros_(self.classes.bias)

    def forward(self, x):
        return self.classes(torch.relu(self.zero(torch.relu(self.first(x)))).mean((2, 3)))


class Dropped(nn.Module):
    """Dropout, which evaluation leaves out."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.3)
        self.classes = nn.Linear(768, 10)

    def forward(self, x):
        return self.classes(self.drop(torch.relu(x.flatten(1))))


def write(model, name, train, **options):
    path = str(FOLDER / f"{name}.onnx")
    model.train(train)
    if options.get("dynamo"):
        options["external_data"] = False
    else:
        options["training"] = MODE.TRAINING if train else MODE.EVAL
    torch.onnx.export(model, (torch.randn(4, 3, 16, 16),), path, verbose=False, **options)
    exported = onnx.load(path)
    for tensor in exported.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
            del tensor.external_data[:]
            tensor.external_data.add(key="location", value="weights.bin")
    for node in exported.graph.node:
        for entry in reversed(range(len(node.metadata_props))):
            if node.metadata_props[entry].key.endswith("stack_trace"):
                del node.metadata_props[entry]
    del exported.graph.value_info[:]
    onnx.save(exported, path)


for kind in (Normalized, Biased):
    torch.manual_seed(0)
    made, stem = kind(), kind.__name__.lower()
    for part in made.modules():
        if isinstance(part, nn.BatchNorm2d):
            # As after training: a folded bias is then not 0.
            nn.init.normal_(part.bias)
    write(made, f"{stem}-default", False, dynamo=True)
    write(made, f"{stem}-default-train", True, dynamo=True)
    write(made, f"{stem}-unoptimized", True, dynamo=True, optimize=False)
    write(made, f"{stem}-torchscript", False, dynamo=False)
    write(made, f"{stem}-torchscript-train", True, dynamo=False, do_constant_folding=False)

write(Dropped(), "dropped", False, dynamo=True, optimize=False)
write(Dropped(), "dropped-train", True, dynamo=True)
