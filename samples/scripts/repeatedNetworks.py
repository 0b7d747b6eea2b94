"""Networks that compute something again which the default exporter merges, or that begin with equal weights, for `asWritten.py`.

Dropout that is drawn again (SimCSE, R-Drop, several samples), critics that judge `fake.detach()` and then `fake`, two tokens and scales
that are zeros before training, positions that are expanded for all heads, and tensors that are read backwards.
"""

from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from exports import Model
from networkList import BATCH, listing, randn

REPEATED: dict[str, Model] = {}
network = listing(REPEATED)


class Encoder(nn.Module):
    def __init__(self, rate=0.1):
        super().__init__()
        self.enter = nn.Linear(16, 32)
        self.drop = nn.Dropout(rate)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(32, 4, 64, rate, batch_first=True) for _ in range(2)])
        self.leave = nn.Linear(32, 8)

    def forward(self, x):
        x = self.drop(self.enter(x))
        for layer in self.layers:
            x = layer(x)
        return self.leave(x[:, 0])


@network(lambda: {'x': randn(4, 6, 16)})
class SimCSE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        a, b = F.normalize(self.encoder(x), dim=-1), F.normalize(self.encoder(x), dim=-1)
        return F.cross_entropy(a @ b.T / 0.05, torch.arange(4))


@network(lambda: {'x': randn(4, 6, 16), 'y': torch.randint(0, 8, (4,))})
class RDrop(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x, y):
        a, b = self.encoder(x), self.encoder(x)
        return F.cross_entropy(a, y) + F.cross_entropy(b, y) + F.kl_div(F.log_softmax(a, -1), F.softmax(b, -1), reduction='batchmean')


@network(lambda: {'x': randn(4, 16)})
class SampledDropout(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1))
        self.drops = nn.ModuleList([nn.Dropout(0.3) for _ in range(5)])
        self.head = nn.Linear(64, 8)

    def forward(self, x):
        h = self.body(x)
        return sum(self.head(drop(h)) for drop in self.drops) / 5


@network(lambda: {'real': randn(4, 3, 16, 16), 'z': randn(4, 32)})
class HingeCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Sequential(nn.Linear(32, 1024), nn.Unflatten(1, (64, 4, 4)), nn.Conv2d(64, 128, 3, padding=1), nn.PixelShuffle(2), nn.Tanh(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
        self.d = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.Tanh(), nn.PixelUnshuffle(2), nn.Conv2d(128, 32, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(512, 1))

    def forward(self, real, z):
        fake = self.g(z)
        critic = F.relu(1 - self.d(real)).mean() + F.relu(1 + self.d(fake.detach())).mean()
        return critic, -self.d(fake).mean()


@network(lambda: {'x': randn(BATCH, 9, 16)})
class TwoTokens(nn.Module):
    """DeiT's class token and token for distillation"""

    def __init__(self):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, 16))
        self.distilled = nn.Parameter(torch.zeros(1, 1, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        b = x.shape[0]
        x = self.layer(torch.cat([self.cls.expand(b, -1, -1), self.distilled.expand(b, -1, -1), x], 1))
        return self.head(x[:, 0]) + self.head(x[:, 1])


class ResponseNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(c))
        self.bias = nn.Parameter(torch.zeros(c))

    def forward(self, x):
        g = x.norm(p=2, dim=(2, 3), keepdim=True)
        n = g / (g.mean(1, keepdim=True) + 1e-6)
        return x + torch.addcmul(self.bias.view(1, -1, 1, 1), self.weight.view(1, -1, 1, 1), x * n)


@network(lambda: {'x': randn(BATCH, 3, 16, 16)})
class GlobalResponse(nn.Module):
    """blocks of ConvNeXt V2"""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, 16, 4, 4)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(16, 64, 1), nn.GELU(), ResponseNorm(64), nn.Conv2d(64, 16, 1)) for _ in range(2)])
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


@network(lambda: {'x': randn(BATCH, 24, 32)})
class ExpandedPositions(nn.Module):
    """the part of DeBERTa's attention that gathers scores by distance"""

    def __init__(self, d=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.distances = nn.Embedding(16, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (layer(x).view(b, n, self.heads, -1).transpose(1, 2).reshape(b * self.heads, n, -1) for layer in (self.q, self.k, self.v))
        table = self.k(self.distances.weight).view(1, 16, self.heads, -1).transpose(1, 2).expand(b, -1, -1, -1).reshape(b * self.heads, 16, -1)
        places = torch.arange(n)
        apart = (places[:, None] - places[None] + 8).clamp(0, 15)
        scores = q @ k.transpose(1, 2) + torch.gather(q @ table.transpose(1, 2), 2, apart.expand(b * self.heads, n, n))
        mixed = scores.softmax(-1) @ v
        return self.o(mixed.view(b, self.heads, n, -1).transpose(1, 2).reshape(b, n, d))


@network(lambda: {'x': randn(BATCH, 16, 32)})
class BothWays(nn.Module):
    """a scan and the same backwards, each by a convolution that sees the past alone"""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(32, 64), nn.Linear(128, 8)
        self.past = nn.ModuleList([nn.Conv1d(64, 64, 4, groups=64) for _ in range(2)])

    def forward(self, x):
        h = torch.tanh(self.a(x))
        one, other = (conv(F.pad(y.transpose(1, 2), (3, 0))).transpose(1, 2) for conv, y in zip(self.past, (h, h.flip(1))))
        return self.b(torch.cat([F.silu(one), F.silu(other).flip(1)], -1))
