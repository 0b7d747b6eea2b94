"""Exports networks around one call of PyTorch that launches several kernels, or keeps what a file shows otherwise: `python writeCalls.py`.

Each by `torch.export`, the default exporter and the TorchScript exporter, in training mode; `saved.json` gets the bytes that autograd
keeps on the CPU. Heads of keys that queries share are repeated as transformers does. torch 2.13, onnx 1.23.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

warnings.filterwarnings("ignore")
FOLDER = Path(__file__).parent


class Scores(nn.Module):
    """The loss of scores, of which positives may weigh more."""

    def __init__(self, weighted: bool) -> None:
        super().__init__()
        self.head = nn.Linear(8, 16)
        self.register_buffer("weight", torch.arange(1.0, 17.0) if weighted else None)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.head(x), y, pos_weight=self.weight)


class Masked(nn.Module):
    """Attention with a mask of booleans; of `shared` heads of keys there is one, which is repeated."""

    def __init__(self, shared: bool) -> None:
        super().__init__()
        self.shared = shared
        self.q, self.k, self.v = nn.Linear(32, 32), *(nn.Linear(32, 8 if shared else 32) for _ in range(2))
        self.out = nn.Linear(32, 32)

    def heads(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        apart = x.view(batch, length, -1, 8).transpose(1, 2)
        if apart.shape[1] == 4:
            return apart
        return apart[:, :, None].expand(batch, 1, 4, length, 8).reshape(batch, 4, length, 8)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.heads(layer(x)) for layer in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, mask)
        return self.out(attended.transpose(1, 2).reshape(x.shape))


class Chosen(nn.Module):
    """One token, which the step chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        return self.last(hidden[:, hidden.mean((0, 2)).argmax()])


class Slopes(nn.Module):
    """Slopes at random, which are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(F.rrelu(self.first(x), training=self.training))


class Gathered(nn.Module):
    """Messages that are added up by receiver, along the second axis."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        messages = torch.tanh(self.first(x))
        return self.last(torch.zeros(2, 8, 16).index_add(1, places, messages))


class Judged(nn.Module):
    """A critic that judges one thing in a target, without gradients, and in the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = nn.Linear(16, 16), nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: Tensor) -> Tensor:
        action = torch.tanh(self.actor(x))
        with torch.no_grad():
            target = self.critic(action) + 1
        return ((self.critic(x) - target) ** 2).mean() - self.critic(action).mean()


def scores() -> dict[str, Tensor]:
    return {"x": torch.randn(2, 12, 8), "y": torch.rand(2, 12, 16)}


def masked() -> dict[str, Tensor]:
    return {"x": torch.randn(2, 16, 32), "mask": torch.ones(2, 1, 16, 16, dtype=torch.bool).tril()}


NETWORKS = {
    "scores": (lambda: Scores(False), scores),
    "weighted": (lambda: Scores(True), scores),
    "masked": (lambda: Masked(False), masked),
    "one-head": (lambda: Masked(True), masked),
    "chosen": (Chosen, lambda: {"x": torch.randn(2, 16, 32)}),
    "judged": (Judged, lambda: {"x": torch.randn(24, 16)}),
    "gathered": (Gathered, lambda: {"x": torch.randn(2, 24, 16), "places": torch.randint(0, 8, (24,))}),
    "slopes": (Slopes, lambda: {"x": torch.randn(2, 16, 32)}),
}


def saved_of(network: nn.Module, inputs: dict[str, Tensor]) -> int:
    own = {held.untyped_storage()._cdata for held in [*network.parameters(), *network.buffers()]}
    kept: dict[int, Tensor] = {}

    def pack(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage()._cdata not in own:
            kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        network(**inputs)
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def main() -> None:
    saved = {}
    for name, (build, make) in NETWORKS.items():
        torch.manual_seed(0)
        network, inputs = build().train(), make()
        saved[name] = saved_of(network, inputs)
        given, names = tuple(inputs.values()), list(inputs)
        program = torch.export.export(network, given)
        for part in program.graph_module.modules():
            for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else []:
                node.meta.pop("stack_trace", None)  # paths of the machine
        torch.export.save(program, FOLDER / f"{name}.pt2")
        if name != "slopes":  # which the default exporter does not know
            path = str(FOLDER / f"{name}.default.onnx")
            torch.onnx.export(program, (), path, input_names=names, external_data=False)
        # The TorchScript exporter refuses the one and records no `no_grad` of the other.
        if name in ("gathered", "judged"):
            continue
        training = torch.onnx.TrainingMode.TRAINING
        legacy = str(FOLDER / f"{name}.legacy.onnx")
        torch.onnx.export(network, given, legacy, input_names=names, training=training, dynamo=False)
    (FOLDER / "saved.json").write_text(json.dumps(saved, indent=2) + "\n")


if __name__ == "__main__":
    main()
