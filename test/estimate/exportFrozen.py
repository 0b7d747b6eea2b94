"""Writes models of which a part is trained: `python exportFrozen.py FOLDER`.

FOLDER gets the models, without weights, and `frozen.json`: by patterns of `--freeze`, how many parameters PyTorch then trains,
and the bytes that autograd keeps for backward in fp32 on the CPU, weights left out. torch 2.13, onnx 1.23.
"""

from __future__ import annotations

import json
import sys
import warnings
from fnmatch import fnmatchcase
from pathlib import Path

import onnx
import torch
from torch import nn

warnings.filterwarnings("ignore")


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.head = nn.Linear(32 * 64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.head(torch.flatten(nn.functional.max_pool2d(x, 2), 1))


class Adapted(nn.Module):
    """A linear layer with a low-rank pair beside it (LoRA, arXiv:2106.09685, eq. 3)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.base = nn.Linear(inputs, outputs)
        self.lora_a = nn.Linear(inputs, 4, bias=False)
        self.lora_b = nn.Linear(4, outputs, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.lora_b(self.lora_a(x)) * 2.0


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok = nn.Embedding(100, 64)
        self.norms = nn.ModuleList([nn.LayerNorm(64) for _ in range(3)])
        self.up = nn.ModuleList([Adapted(64, 128) for _ in range(3)])
        self.down = nn.ModuleList([Adapted(128, 64) for _ in range(3)])
        self.head = nn.Linear(64, 100)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tok(tokens)
        for norm, up, down in zip(self.norms, self.up, self.down):
            x = x + down(nn.functional.gelu(up(norm(x))))
        return self.head(x)


MODELS = {
    "convolutions": (Convolutions, torch.randn(8, 3, 16, 16)),
    "blocks": (Blocks, torch.randint(0, 100, (8, 32))),
}
FREEZE = {
    "convolutions": [[], ["conv1", "bn1"], ["conv*", "bn*"], ["*", "!bn*"], ["*", "!*.bias"], ["conv2", "bn2"], ["head"]],
    "blocks": [[], ["*", "!*lora_*"], ["tok", "norms", "up", "down"], ["*", "!up.2"], ["*", "!norms.1"], ["*.base"]],
}


def is_inside(pattern: str, name: str) -> bool:
    parts = name.split(".")
    return any(fnmatchcase(".".join(parts[:count]), pattern) for count in range(1, len(parts) + 1))


def freeze(model: nn.Module, patterns: list[str]) -> None:
    for name, parameter in model.named_parameters():
        for pattern in patterns:
            if is_inside(pattern.removeprefix("!"), name):
                parameter.requires_grad_(pattern.startswith("!"))


def saved_bytes(model: nn.Module, x: torch.Tensor) -> int:
    known = {tensor.untyped_storage().data_ptr() for tensor in [*model.parameters(), *model.buffers()]}
    kept = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(x)
    del output
    return sum(storage.nbytes() for storage in kept.values())


def main(folder: Path) -> None:
    table = []
    for name, (make, example) in MODELS.items():
        path = folder / f"{name}.onnx"
        torch.onnx.export(make().train(), (example,), path, verbose=False, optimize=False)
        path.with_suffix(".onnx.data").unlink(missing_ok=True)
        model = onnx.load(path, load_external_data=False)
        for node in model.graph.node:
            kept = [entry for entry in node.metadata_props if entry.key.endswith(("name_scopes", "class_hierarchy"))]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)
        onnx.save(model, path)
        for patterns in FREEZE[name]:
            trained = make().train()
            freeze(trained, patterns)
            table.append({
                "model": name,
                "freeze": patterns,
                "parameters": sum(value.numel() for value in trained.parameters() if value.requires_grad),
                "saved": saved_bytes(trained, example),
            })
    (folder / "frozen.json").write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
