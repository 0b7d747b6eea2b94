"""Writes models whose weights exporters store otherwise than the program has them: `python exportWeights.py FOLDER`.

Tied and untied output layers, layers that begin alike, a layer called twice, a recurrent one too, blocks that are one (ALBERT), equal normalizations of one input, normalizations with and without weights, tables that are not trained, tables
that are looked up by constants, queries that are learned, heads that are one. Each is written by
PyTorch's exporters; FOLDER gets the models and `parameters.json`, PyTorch's own count of parameters. torch 2.13, onnx 1.23.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import onnx
import torch
from torch import nn

warnings.filterwarnings("ignore")
TOKENS, WIDTH, LENGTH = 40, 16, 6


class Language(nn.Module):
    """An embedding, a block and an output layer, which may be the embedding's."""

    def __init__(self, tied: bool) -> None:
        super().__init__()
        self.tok = nn.Embedding(TOKENS, WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        if tied:
            self.head.weight = self.tok.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tok(tokens)
        return self.head(x + self.down(torch.relu(self.up(x))))


class Pair(nn.Module):
    """Two embeddings and an output layer of one table, as encoder-decoder models have them; a bias of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.source = nn.Embedding(TOKENS, WIDTH)
        self.target = nn.Embedding(TOKENS, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS)
        self.target.weight = self.source.weight
        self.head.weight = self.source.weight
        nn.init.normal_(self.head.bias)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return self.head(self.mix(self.source(source)) + self.target(target))


class Alike(nn.Module):
    """Normalizations and layers that all begin alike, and one of them that is called several times."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(3)])
        first = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(3)])
        for layer in self.layers:
            layer.load_state_dict(first.state_dict())
        self.shared = nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
            x = torch.tanh(self.shared(self.norm(x)))
        return x


class Repeated(nn.Module):
    """Two blocks that each stand twice in a list, as in ALBERT (Lan et al., arXiv 1909.11942), beside two that begin alike."""

    def __init__(self) -> None:
        super().__init__()
        def block() -> nn.Module:
            return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH, bias=False), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        first, second = block(), block()
        self.layers = nn.ModuleList([first, second, first, second])
        self.copies = nn.ModuleList([block() for _ in range(2)])
        self.copies[1].load_state_dict(self.copies[0].state_dict())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in [*self.layers, *self.copies]:
            x = x + layer(x)
        return x


class Merged(nn.Module):
    """Queries and keys normalized apart from one input (Perceiver), and two normalized heads of one result (LeViT)."""

    def __init__(self) -> None:
        super().__init__()
        def attention() -> nn.Module:
            return nn.ModuleDict({"nq": nn.LayerNorm(WIDTH), "nk": nn.LayerNorm(WIDTH), "q": nn.Linear(WIDTH, WIDTH), "k": nn.Linear(WIDTH, WIDTH)})
        self.layers = nn.ModuleList([attention() for _ in range(2)])
        self.heads = nn.ModuleList([nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, 3)) for _ in range(2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            scores = layer["q"](layer["nq"](x)) @ layer["k"](layer["nk"](x)).transpose(1, 2)
            x = x + torch.softmax(scores, -1) @ x
        x = x.mean(1)
        return self.heads[0](x) + self.heads[1](x)


class Tables(nn.Module):
    """A rotary table and a mask; a learned scale and learned positions are all that is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 1 / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH))
        self.learned = nn.Parameter(torch.randn(1, LENGTH, WIDTH))
        self.scale = nn.Parameter(torch.randn(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        angles = torch.outer(torch.arange(LENGTH).float(), self.inv_freq).repeat(1, 2)
        x = x * angles.cos() + torch.flip(x, [-1]) * angles.sin() + self.learned
        scores = x @ x.transpose(-1, -2)
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        return torch.softmax(torch.where(mask, scores, float("-inf")), -1) @ (x * self.scale)


class Window(nn.Module):
    """Attention in a window of 3 × 3 places, with a table of relative position biases (Swin), and a scale (LayerScale)."""

    def __init__(self) -> None:
        super().__init__()
        places = torch.stack(torch.meshgrid(torch.arange(3), torch.arange(3), indexing="ij")).flatten(1)
        offsets = (places[:, :, None] - places[:, None, :]).permute(1, 2, 0) + 2
        self.register_buffer("relative_position_index", (5 * offsets[..., 0] + offsets[..., 1]).flatten())
        self.table = nn.Parameter(torch.randn(25, 2))
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = self.table[self.relative_position_index].view(9, 9, 2).permute(2, 0, 1).contiguous()
        return x + self.scale[:, None, None] * (torch.softmax(x @ x.transpose(-1, -2) + bias[None], -1) @ x)


class Windows(nn.Module):
    """A token that is repeated for every image, and two windows that begin with equal scales."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, 8))
        self.windows = nn.ModuleList([Window() for _ in range(2)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1).unflatten(2, (2, 4)).transpose(1, 2)
        for window in self.windows:
            x = window(x)
        return x


class Computed(nn.Module):
    """Decays of a state-space model, whose rows begin alike (Gu and Dao, arXiv 2312.00752), are computed from a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.log(torch.arange(1, 5).float()).repeat(WIDTH, 1))
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(self.mix(x)[..., None] * -torch.exp(self.decay)).sum(-1)


class Normed(nn.Module):
    """A convolution whose kernel is a direction and a length, each trained (Salimans and Kingma, arXiv 1602.07868)."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.utils.parametrizations.weight_norm(nn.Conv1d(WIDTH, 2 * WIDTH, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.convolution(x.transpose(1, 2)))


class Sentences(nn.Module):
    """One recurrent layer for both sentences of a pair, and two of its shape that are called once."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.LSTM(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)
        self.mix, self.mix_1 = (nn.LSTM(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True) for _ in range(2))

    def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        one, other = self.encode(one)[0], self.encode(other)[0]
        return self.mix(one)[0].mean(1) * self.mix_1(other)[0].mean(1)


class Unscaled(nn.Module):
    """Normalizations with a scale and a shift, and without, as in CycleGAN (Zhu et al., arXiv 1703.10593)."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = (nn.InstanceNorm1d(LENGTH, affine=True) for _ in range(2))
        self.inner = nn.Sequential(nn.Conv1d(LENGTH, LENGTH, 3), nn.InstanceNorm1d(LENGTH), nn.Conv1d(LENGTH, LENGTH, 3), nn.InstanceNorm1d(LENGTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.inner(torch.relu(self.first(x))))


class Seeds(nn.Module):
    """Learned queries for each sample (Perceiver; DETR; Lee et al., arXiv 1810.00825), and packed weights of attention that begin alike."""

    def __init__(self) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(1, 3, WIDTH))
        self.token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.cross = nn.ModuleList([nn.MultiheadAttention(WIDTH, 2, batch_first=True) for _ in range(3)])
        self.mixed = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        for attention in [*self.cross, self.mixed]:
            nn.init.normal_(attention.out_proj.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        queries = self.queries.expand(x.shape[0], -1, -1)
        queries = queries + self.cross[0](queries, x, x)[0]
        x = x + self.cross[1](x, queries, queries)[0]
        x = x + self.mixed(x, x, x)[0]
        return self.cross[2](self.token.repeat(x.shape[0], 1, 1), x, x)[0]


class Heads(nn.Module):
    """Heads of a list that are one, as object detectors tie those of all their levels (Deformable DETR)."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.heads = nn.ModuleList([nn.Linear(WIDTH, 4), nn.Linear(WIDTH, 4)])
        self.drop = nn.Dropout(0.1)
        self.heads[1].weight, self.heads[1].bias = self.heads[0].weight, self.heads[0].bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        levels = zip(self.heads, self.norms)
        return torch.stack([head(norm(self.drop(x) * (1 + level))) for level, (head, norm) in enumerate(levels)])


def copies() -> nn.Module:
    """`nn.TransformerEncoder` copies the layer that it is given."""
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)


tokens = torch.randint(0, TOKENS, (2, LENGTH))
values = torch.randn(2, LENGTH, WIDTH)
MODELS = {
    "tied": (lambda: Language(True), (tokens,)),
    "untied": (lambda: Language(False), (tokens,)),
    "pair": (Pair, (tokens, torch.randint(0, TOKENS, (2, LENGTH)))),
    "alike": (Alike, (values,)),
    "repeated": (Repeated, (values,)),
    "merged": (Merged, (values,)),
    "copies": (copies, (values[..., :8],)),
    "tables": (Tables, (values,)),
    "windows": (Windows, (torch.randn(2, 8, 8),)),
    "computed": (Computed, (values,)),
    "normed": (Normed, (values,)),
    "unscaled": (Unscaled, (values,)),
    "seeds": (Seeds, (values,)),
    "heads": (Heads, (values,)),
    "sentences": (Sentences, (values, values[:, 1:])),
}
EXPORTS = {
    "default": {},
    "inline": {"external_data": False},
    "plain": {"optimize": False},
    "legacy": {"dynamo": False},
    "unfolded": {"dynamo": False, "do_constant_folding": False},
    "trained": {"dynamo": False, "training": torch.onnx.TrainingMode.TRAINING},
}


# What is kept beside each operator; the other models show what is done without recorded calls.
KEPT = ("name_scopes", "class_hierarchy")
CALLS = {name: ("fx_node",) for name in ("repeated", "merged", "unscaled", "seeds", "heads")}


def main(folder: Path) -> None:
    counts = {}
    for name, (make, example) in MODELS.items():
        torch.manual_seed(0)
        model = make()
        with torch.no_grad():  # The optimizer of the newer exporter drops biases that are zero.
            for parameter, value in model.named_parameters():
                if parameter.endswith("bias") and not value.any():
                    value.fill_(0.5)
        counts[name] = sum(value.numel() for _, value in model.named_parameters())
        for export, options in EXPORTS.items():
            path = folder / f"{name}.{export}.onnx"
            torch.onnx.export(model.train(), example, path, verbose=False, **options)
            path.with_suffix(".onnx.data").unlink(missing_ok=True)
            stored = onnx.load(path, load_external_data=False)
            for node in stored.graph.node:
                keys = KEPT + CALLS.get(name, ())
                kept = [entry for entry in node.metadata_props if entry.key.endswith(keys)]
                del node.metadata_props[:]
                node.metadata_props.extend(kept)
            onnx.save(stored, path)
    (folder / "parameters.json").write_text(json.dumps(counts, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
