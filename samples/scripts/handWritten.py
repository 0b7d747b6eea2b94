"""Networks as people write them, on torch alone: what a library's model seldom has and an exported program must carry.

`programs.py` exports and counts them, and costs archives with their stack traces, which say what is checkpointed.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from exports import BATCH, Model, tokens
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.norm, self.rise, self.fall = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.fall(F.gelu(self.rise(self.norm(x))))


class Checkpointed(nn.Module):
    """Blocks of which backward computes each again."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.first, self.head, self.options = nn.Linear(32, 64), nn.Linear(64, 10), options
        self.blocks = nn.ModuleList([Block() for _ in range(4)])

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, **self.options)
        return self.head(x)


class SliceWrites(nn.Module):
    """A tensor that is filled part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner, self.head = nn.Linear(32, 64), nn.Linear(64, 64), nn.Linear(64, 8)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x)
        filled = torch.zeros_like(hidden)
        filled[:, 1:] = self.inner(hidden[:, :-1])
        filled[:, 0] = hidden[:, 0]
        return self.head(torch.relu(filled))


class PartWrites(nn.Module):
    """Parts of a copy that are overwritten, added to and scaled."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(32, 64), nn.Linear(32, 64), nn.Linear(64, 8)

    def forward(self, x: Tensor) -> Tensor:
        whole = self.first(x).clone()
        whole[:, 1:, :32] = self.second(x)[:, 1:, :32]
        whole[..., 32:] += 1.5
        whole[:, 0].mul_(2.0)
        return self.head(torch.relu(whole))


class Rounded(nn.Module):
    """Weights of eight bits, with a straight-through estimator."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Linear(32, 64), nn.Linear(64, 10)

    def rounded(self, weight: Tensor) -> Tensor:
        step = weight.detach().abs().max() / 127
        return weight + (torch.round(weight / step) * step - weight).detach()

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.relu(F.linear(x, self.rounded(self.first.weight), self.first.bias))
        return F.linear(hidden, self.rounded(self.head.weight), self.head.bias)


class Adversarial(nn.Module):
    """Both losses of a GAN: the discriminator is called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(16, 32, 4), nn.BatchNorm2d(32), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()
        )
        self.discriminator = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 1, 4))

    def forward(self, noise: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        made = self.generator(noise)
        judged = self.discriminator(real).mean() + F.softplus(self.discriminator(made)).mean()
        return judged, F.softplus(-self.discriminator(made.detach())).mean()


class Student(nn.Module):
    """Self-distillation: a teacher without gradients beside the student."""

    def __init__(self) -> None:
        super().__init__()
        self.student, self.teacher = (nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32)) for _ in range(2))
        self.teacher.requires_grad_(False)
        self.head = nn.Linear(32, 32)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        with torch.no_grad():
            target = F.normalize(self.teacher(other), dim=-1)
        return 2 - 2 * (F.normalize(self.head(self.student(one)), dim=-1) * target).sum(-1)


class Gathered(nn.Module):
    """A mixture of experts whose chosen weights are gathered."""

    def __init__(self, width: int = 32, experts: int = 8) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.rise = nn.Parameter(torch.randn(experts, 4 * width, width))
        self.fall = nn.Parameter(torch.randn(experts, width, 4 * width))

    def forward(self, x: Tensor) -> Tensor:
        chances, chosen = torch.topk(self.gate(x), 2)
        hidden = F.silu(torch.einsum("ti,taoi->tao", x, self.rise[chosen]))
        return torch.einsum("tai,ta->ti", torch.einsum("tao,taio->tai", hidden, self.fall[chosen]), F.softmax(chances, -1))


class Steps(nn.Module):
    """Cells of recurrent layers, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(1000, 32), nn.Linear(64, 100)
        self.lstm, self.gru, self.simple = nn.LSTMCell(32, 64), nn.GRUCell(64, 64), nn.RNNCell(64, 64)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embed(words)
        hidden, state, gated, last = (x.new_zeros(x.shape[0], 64) for _ in range(4))
        results = []
        for step in range(x.shape[1]):
            hidden, state = self.lstm(x[:, step], (hidden, state))
            gated = self.gru(hidden, gated)
            last = self.simple(gated, last)
            results.append(last)
        return self.head(torch.stack(results, 1))


class Scan(nn.Module):
    """A selective state space (Mamba, arXiv:2312.00752) as a loop over steps."""

    def __init__(self, width: int = 32, states: int = 8) -> None:
        super().__init__()
        inner = 2 * width
        self.first, self.last = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.choose, self.pace = nn.Linear(inner, 2 + 2 * states, bias=False), nn.Linear(2, inner)
        self.decay, self.skip = nn.Parameter(torch.zeros(inner, states)), nn.Parameter(torch.ones(inner))
        self.states = states

    def forward(self, x: Tensor) -> Tensor:
        given, gate = self.first(x).chunk(2, -1)
        given = F.silu(self.conv(given.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        pace, into, out = self.choose(given).split([2, self.states, self.states], -1)
        pace = F.softplus(self.pace(pace))
        kept = torch.exp(pace.unsqueeze(-1) * -torch.exp(self.decay))
        added = pace.unsqueeze(-1) * into.unsqueeze(2) * given.unsqueeze(-1)
        state, results = torch.zeros_like(kept[:, 0]), []
        for step in range(x.shape[1]):
            state = kept[:, step] * state + added[:, step]
            results.append((state * out[:, step].unsqueeze(1)).sum(-1))
        return self.last((torch.stack(results, 1) + given * self.skip) * F.silu(gate))


def own(name: str, network: type[nn.Module], *shapes: tuple[int, ...], **options: Any) -> Model:
    inputs = lambda: {f"input{at}": torch.randn(BATCH, *shape) for at, shape in enumerate(shapes)}  # noqa: E731
    return Model(name, "torch", lambda: network(**options), inputs)


HAND_WRITTEN = [
    own("checkpoint", Checkpointed, (16, 32), use_reentrant=False),
    own("checkpoint_reentrant", Checkpointed, (16, 32), use_reentrant=True),
    own("slice_writes", SliceWrites, (16, 32)),
    own("part_writes", PartWrites, (16, 32)),
    own("rounded", Rounded, (32,)),
    own("adversarial", Adversarial, (16, 1, 1), (3, 8, 8)),
    own("student", Student, (48,), (48,)),
    own("gathered", Gathered, (32,)),
    Model("cells", "torch", Steps, lambda: {"words": tokens(6)}),
    own("scan", Scan, (12, 32)),
]
