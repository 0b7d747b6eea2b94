"""More networks as people write them, for `asWritten.py`: what is called twice, frozen, scattered, looped, or computed from weights."""

from __future__ import annotations

import copy
import math
from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from exports import Inputs, Model
from networkList import BATCH, listing, randn, tokens
from torch.nn.utils.parametrizations import weight_norm

FURTHER: dict[str, Model] = {}
network = listing(FURTHER)


def images(channels: int = 3, size: int = 32, batch: int = BATCH) -> Callable[[], Inputs]:
    return lambda: {"x": randn(batch, channels, size, size)}


# One layer called twice on one value


@network(lambda: {"x": randn(8, 64), "y": randn(8, 32)})
class TwiceHead(nn.Module):
    """Two branches call the same head on the same features."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 128)
        self.head = nn.Linear(128, 32)
        self.left = nn.Linear(32, 32)

    def forward(self, x, y):
        h = F.relu(self.body(x))
        a = self.left(self.head(h))
        b = torch.tanh(self.head(h)) * y
        return (a * b).sum(-1)


@network(images(batch=4))
class SiameseSame(nn.Module):
    """A pair of views that the example passes as one tensor."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 64))

    def forward(self, x):
        a, b = self.net(x), self.net(x)
        return (a - b).pow(2).sum(-1).mean() + (a * b).sum(-1).mean()


@network(images(batch=4))
class RDrop(nn.Module):
    """Two passes that differ by their dropout (arXiv 2106.14448)."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(3072, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10))

    def forward(self, x):
        p, q = F.log_softmax(self.net(x), -1), F.log_softmax(self.net(x), -1)
        return F.kl_div(p, q, log_target=True, reduction="batchmean") + F.kl_div(q, p, log_target=True, reduction="batchmean")


# Parts that are not trained


class Tower(nn.Module):
    def __init__(self, width: int = 32, out: int = 64):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.fc = nn.Linear(width, out)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).mean((2, 3)))


@network(lambda: {"a": randn(8, 3, 16, 16), "b": randn(8, 3, 16, 16)})
class DINO(nn.Module):
    """Self-distillation with a momentum teacher and centring."""

    def __init__(self):
        super().__init__()
        self.student = nn.Sequential(Tower(), nn.GELU(), nn.Linear(64, 96))
        self.teacher = copy.deepcopy(self.student)
        self.teacher.requires_grad_(False)
        self.register_buffer("centre", torch.zeros(1, 96))

    def forward(self, a, b):
        s1, s2 = self.student(a) / 0.1, self.student(b) / 0.1
        with torch.no_grad():
            t1, t2 = F.softmax((self.teacher(a) - self.centre) / 0.04, -1), F.softmax((self.teacher(b) - self.centre) / 0.04, -1)
        return -(t1 * F.log_softmax(s2, -1)).sum(-1).mean() - (t2 * F.log_softmax(s1, -1)).sum(-1).mean()


@network(lambda: {"a": randn(8, 3, 16, 16), "b": randn(8, 3, 16, 16)})
class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = Tower()
        self.h = nn.Sequential(nn.Linear(64, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 64))

    def forward(self, a, b):
        z1, z2 = self.f(a), self.f(b)
        p1, p2 = self.h(z1), self.h(z2)
        return -(F.cosine_similarity(p1, z2.detach()).mean() + F.cosine_similarity(p2, z1.detach()).mean()) / 2


@network(images())
class FrozenBackbone(nn.Module):
    """A probe on features of a network that is frozen and evaluated without gradients."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU())
        self.probe = nn.Linear(64, 10)
        self.backbone.requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.probe(h.mean((2, 3)))


@network(lambda: {"x": randn(16, 12), "z": randn(16, 8)})
class GANStep(nn.Module):
    """A discriminator's loss on detached samples and a generator's on samples."""

    def __init__(self):
        super().__init__()
        self.g = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 12))
        self.d = nn.Sequential(nn.Linear(12, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x, z):
        fake = self.g(z)
        d = F.softplus(-self.d(x)).mean() + F.softplus(self.d(fake.detach())).mean()
        return d + F.softplus(-self.d(fake)).mean()


# Scatter and gather


@network(lambda: {"x": randn(64, 16), "index": torch.randperm(64)[:24]})
class IndexCopy(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 32)
        self.b = nn.Linear(16, 32)
        self.c = nn.Linear(32, 8)

    def forward(self, x, index):
        h = self.a(x)
        h = h.index_copy(0, index, F.gelu(self.b(x.index_select(0, index))))
        return self.c(torch.tanh(h))


@network(lambda: {"x": randn(64, 16), "k": torch.randint(1, 4, (64, 1))})
class PowInteger(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 64)
        self.c = nn.Linear(64, 8)

    def forward(self, x, k):
        h = self.a(x)
        return self.c(torch.sigmoid(h) ** k)


@network(lambda: {"x": randn(50, 16), "src": torch.randint(0, 50, (200,)), "dst": torch.randint(0, 50, (200,)), "e": randn(200, 4)})
class EdgeNet(nn.Module):
    """Principal neighbourhood aggregation: sum, mean, max and standard deviation of messages."""

    def __init__(self, d=32):
        super().__init__()
        self.m = nn.Linear(36, d)
        self.u = nn.Linear(4 * d + 16, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, x, src, dst, e):
        m = F.relu(self.m(torch.cat([x[src], x[dst], e], -1)))
        n, d = x.size(0), m.size(1)
        i = dst[:, None].expand(-1, d)
        total = torch.zeros(n, d).scatter_add(0, i, m)
        count = torch.zeros(n).scatter_add(0, dst, torch.ones(dst.size(0))).clamp(min=1)[:, None]
        mean = total / count
        peak = torch.zeros(n, d).scatter_reduce(0, i, m, reduce="amax", include_self=False)
        square = torch.zeros(n, d).index_add(0, dst, m * m) / count
        std = (square - mean * mean).clamp(min=0).add(1e-5).sqrt()
        return self.norm(self.u(torch.cat([x, total, mean, peak, std], -1)))


@network(lambda: {"x": randn(BATCH, 32, 16)})
class SortPool(nn.Module):
    """Top nodes by score, gathered, and their maximum."""

    def __init__(self):
        super().__init__()
        self.s = nn.Linear(16, 1)
        self.f = nn.Linear(16, 32)
        self.o = nn.Linear(32, 4)

    def forward(self, x):
        score = self.s(x).squeeze(-1)
        v, i = score.topk(8, dim=1)
        h = self.f(x).gather(1, i[:, :, None].expand(-1, -1, 32)) * torch.sigmoid(v)[:, :, None]
        h = h.sort(dim=1)[0]
        return self.o(h.flatten(0, 1)).view(x.size(0), 8, 4).amax(1)


@network(lambda: {"x": randn(BATCH, 16, 32), "keep": torch.rand(BATCH, 16) > 0.5})
class MAE(nn.Module):
    """A masked autoencoder whose positions are chosen by sorted noise."""

    def __init__(self, d=64):
        super().__init__()
        self.p = nn.Linear(32, d)
        self.pos = nn.Parameter(randn(1, 16, d))
        self.mask = nn.Parameter(torch.zeros(1, 1, d))
        self.enc = nn.TransformerEncoderLayer(d, 4, 128, batch_first=True, norm_first=True, dropout=0.0)
        self.dec = nn.TransformerEncoderLayer(d, 4, 128, batch_first=True, norm_first=True, dropout=0.0)
        self.out = nn.Linear(d, 32)

    def forward(self, x, keep):
        h = self.p(x) + self.pos
        b, n, d = h.shape
        order = torch.argsort(torch.rand(b, n), dim=1)
        back = torch.argsort(order, dim=1)
        seen = torch.gather(h, 1, order[:, :4, None].expand(-1, -1, d))
        e = self.enc(seen)
        full = torch.cat([e, self.mask.expand(b, n - 4, -1)], 1)
        full = torch.gather(full, 1, back[:, :, None].expand(-1, -1, d)) + self.pos
        y = self.out(self.dec(full))
        loss = (y - x).pow(2).mean(-1)
        return (loss * keep).sum() / keep.sum()


# In place


@network(images())
class InPlace(nn.Module):
    """In-place activations, sums, masks and slices."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 16, 3, padding=1)
        self.b = nn.Conv2d(16, 16, 3, padding=1)
        self.n = nn.BatchNorm2d(16)
        self.c = nn.Conv2d(16, 8, 3, padding=1)

    def forward(self, x):
        h = F.relu(self.n(self.a(x)), inplace=True)
        r = self.b(h)
        r += h
        r.mul_(0.5)
        r = F.leaky_relu_(r, 0.1)
        y = self.c(r).clone()
        y[:, :4] = y[:, :4] * 2
        y[:, 4:, ::2] += 1
        return y.masked_fill_(y < -1, 0.0)


# Convolutions


@network(images(16, 16))
class Grouped(nn.Module):
    """Grouped, dilated, transposed with output padding, depthwise transposed, and pixel shuffles."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(16, 32, 3, groups=4, padding=2, dilation=2)
        self.b = nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.c = nn.ConvTranspose2d(16, 16, 5, groups=16, dilation=2)
        self.d = nn.Conv2d(16, 64, (1, 7), padding="same")
        self.e = nn.Conv2d(16, 4, 1)

    def forward(self, x):
        h = F.hardswish(self.a(x))
        h = F.elu(self.b(h))
        h = F.softplus(self.c(h))
        h = F.pixel_shuffle(self.d(h), 2)
        return F.pixel_unshuffle(self.e(h), 2)


@network(lambda: {"x": randn(BATCH, 2, 8, 16, 16)})
class Video(nn.Module):
    """Factorised three-dimensional convolutions with a pooled gate."""

    def __init__(self):
        super().__init__()
        self.s = nn.Conv3d(2, 16, (1, 3, 3), padding=(0, 1, 1))
        self.t = nn.Conv3d(16, 16, (3, 1, 1), padding=(1, 0, 0), groups=4)
        self.n = nn.BatchNorm3d(16)
        self.g = nn.Conv3d(16, 16, 1)
        self.u = nn.ConvTranspose3d(16, 4, 2, stride=2)

    def forward(self, x):
        h = F.relu6(self.n(self.t(F.silu(self.s(x)))))
        h = h * torch.sigmoid(self.g(F.adaptive_avg_pool3d(h, 1)))
        h = F.avg_pool3d(h, 2)
        return self.u(F.max_pool3d(h, (1, 2, 2)))


@network(images(4, 32))
class AttentionUNet(nn.Module):
    """A U-Net with attention gates and bilinear upsampling."""

    def __init__(self, w=16):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.GroupNorm(4, o), nn.SiLU(inplace=True))
        self.d1, self.d2, self.mid = block(4, w), block(w, 2 * w), block(2 * w, 4 * w)
        self.q = nn.Conv2d(4 * w, 12 * w, 1)
        self.o = nn.Conv2d(4 * w, 4 * w, 1)
        self.gx, self.gg, self.gp = nn.Conv2d(2 * w, w, 1), nn.Conv2d(4 * w, w, 1), nn.Conv2d(w, 1, 1)
        self.u2, self.u1 = block(6 * w, 2 * w), block(3 * w, w)
        self.out = nn.Conv2d(w, 2, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.avg_pool2d(b, 2))
        n, c, h, w = m.shape
        q, k, v = self.q(m).view(n, 3, 4, c // 4, h * w).unbind(1)
        s = torch.einsum("bhdi,bhdj->bhij", q, k) * (c // 4) ** -0.5
        m = m + self.o(torch.einsum("bhij,bhdj->bhdi", s.softmax(-1), v).reshape(n, c, h, w))
        up = F.interpolate(m, scale_factor=2, mode="bilinear", align_corners=False)
        g = torch.sigmoid(self.gp(F.relu(self.gx(b) + self.gg(up))))
        u = self.u2(torch.cat([up, b * g], 1))
        u = self.u1(torch.cat([F.interpolate(u, scale_factor=2, mode="nearest"), a], 1))
        return self.out(u)


# Weights that are computed


@network(lambda: {"x": randn(16, 24), "c": randn(16, 8)})
class HyperNet(nn.Module):
    """A network that makes the weights of another for each sample, and of a shared one."""

    def __init__(self):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.w = nn.Linear(32, 24 * 16)
        self.b = nn.Linear(32, 16)
        self.z = nn.Parameter(randn(1, 8))
        self.o = nn.Linear(8, 16 * 4)

    def forward(self, x, c):
        e = self.h(c)
        w = self.w(e).view(-1, 24, 16)
        y = torch.bmm(x.unsqueeze(1), w).squeeze(1) + self.b(e)
        k = self.o(self.z).view(4, 16)
        return F.linear(F.relu(y), k)


@network(images(batch=4))
class WeightNormNet(nn.Module):
    """Weight normalization of convolutions and a linear layer."""

    def __init__(self):
        super().__init__()
        self.a = weight_norm(nn.Conv2d(3, 16, 3, padding=1))
        self.b = weight_norm(nn.Conv2d(16, 16, 3, padding=1))
        self.c = weight_norm(nn.Linear(16, 10))

    def forward(self, x):
        h = F.elu(self.a(x))
        h = F.elu(self.b(h)) + h
        return self.c(h.mean((2, 3)))


@network(images(batch=4))
class OldSpectral(nn.Module):
    """Spectral normalization by the hook of old PyTorch."""

    def __init__(self):
        super().__init__()
        s = nn.utils.spectral_norm
        self.a = s(nn.Conv2d(3, 32, 3, padding=1))
        self.b = s(nn.Conv2d(32, 32, 4, 2, 1))
        self.c = s(nn.Linear(32, 1))

    def forward(self, x):
        return self.c(F.leaky_relu(self.b(F.leaky_relu(self.a(x), 0.1)), 0.1).sum((2, 3)))


@network(lambda: {"x": randn(16, 32)})
class TiedDecoder(nn.Module):
    """An autoencoder whose decoder uses the encoder's weights transposed."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(randn(64, 32))
        self.b = nn.Parameter(randn(16, 64))
        self.p, self.q = nn.Parameter(torch.zeros(64)), nn.Parameter(torch.zeros(32))

    def forward(self, x):
        h = torch.tanh(F.linear(x, self.a, self.p))
        z = F.linear(h, self.b)
        h = torch.tanh(F.linear(z, self.b.t(), self.p))
        return F.mse_loss(F.linear(h, self.a.t(), self.q), x)


@network(lambda: {"ids": tokens(BATCH, 20), "next": tokens(BATCH, 20)})
class TiedLM(nn.Module):
    """A language model of weight-tied recurrences: tied embedding, shared block, adaptive input factorization."""

    def __init__(self, d=48):
        super().__init__()
        self.e = nn.Embedding(100, 16)
        self.up = nn.Linear(16, d, bias=False)
        self.block = nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, dropout=0.0)
        self.ln = nn.LayerNorm(d)

    def forward(self, ids, next):
        h = self.up(self.e(ids))
        m = torch.full((20, 20), float("-inf")).triu(1)
        for _ in range(3):
            h = self.block(h, src_mask=m)
        y = F.linear(self.ln(h) @ self.up.weight, self.e.weight)
        return F.cross_entropy(y.flatten(0, 1), next.flatten(), ignore_index=0)


@network(lambda: {"x": randn(16, 32)})
class LoRAMerged(nn.Module):
    """Low-rank updates that are merged with the weight at each step."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(randn(64, 32), requires_grad=False)
        self.a = nn.Parameter(randn(4, 32))
        self.b = nn.Parameter(torch.zeros(64, 4))
        self.o = nn.Linear(64, 8)

    def forward(self, x):
        return self.o(F.relu(F.linear(x, self.w + self.b @ self.a * 2.0)))


class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return torch.round(x / scale).clamp(-8, 7) * scale

    @staticmethod
    def backward(ctx, g):
        return g, None


@network(lambda: {"x": randn(32, 64)})
class QATLinear(nn.Module):
    """Quantization-aware training by the detached difference, and by fake_quantize of PyTorch."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 128)
        self.b = nn.Linear(128, 10)

    def q(self, w):
        s = w.detach().abs().max() / 127
        return w + (torch.round(w / s).clamp(-128, 127) * s - w).detach()

    def forward(self, x):
        h = F.relu(F.linear(x, self.q(self.a.weight), self.a.bias))
        h = torch.fake_quantize_per_tensor_affine(h, 0.1, 0, -128, 127)
        return F.linear(h, self.q(self.b.weight), self.b.bias)


@network(lambda: {"x": randn(32, 64)})
class BinaryNet(nn.Module):
    """Binarized weights and activations with a scale per row."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 128, bias=False)
        self.n = nn.BatchNorm1d(128)
        self.b = nn.Linear(128, 10, bias=False)

    def sign(self, x):
        c = x.clamp(-1, 1)
        return c + (torch.sign(x) - c).detach()

    def forward(self, x):
        w = self.a.weight
        h = F.linear(self.sign(x), self.sign(w) * w.abs().mean(1, keepdim=True))
        h = self.sign(self.n(h))
        return F.linear(h, self.sign(self.b.weight))


@network(lambda: {"x": randn(32, 28)})
class ChebyKAN(nn.Module):
    """Chebyshev polynomials as a layer, with einsum."""

    def __init__(self, deg=4):
        super().__init__()
        self.c = nn.ParameterList([nn.Parameter(randn(28, 32, deg + 1)), nn.Parameter(randn(32, 10, deg + 1))])
        self.register_buffer("k", torch.arange(0, deg + 1, 1))
        self.n = nn.LayerNorm(32)

    def layer(self, x, c):
        x = torch.tanh(x).unsqueeze(-1).expand(-1, -1, c.size(-1)).acos()
        return torch.einsum("bid,iod->bo", (x * self.k).cos(), c)

    def forward(self, x):
        return self.layer(self.n(self.layer(x, self.c[0])), self.c[1])


# Recurrent and iterated


@network(lambda: {"x": randn(16, 24)})
class NeuralODE(nn.Module):
    """Runge-Kutta steps of order four with one vector field."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(25, 64), nn.Tanh(), nn.Linear(64, 24))

    def field(self, t, x):
        return self.f(torch.cat([x, torch.full((x.size(0), 1), t)], -1))

    def forward(self, x):
        h = 0.25
        for s in range(4):
            t = s * h
            k1 = self.field(t, x)
            k2 = self.field(t + h / 2, x + h / 2 * k1)
            k3 = self.field(t + h / 2, x + h / 2 * k2)
            k4 = self.field(t + h, x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x


@network(lambda: {"x": randn(16, 32)})
class DEQ(nn.Module):
    """A deep equilibrium model: a fixed point without gradients, then one step with."""

    def __init__(self):
        super().__init__()
        self.u = nn.Linear(32, 48)
        self.w = nn.Linear(48, 48)
        self.n = nn.LayerNorm(48)
        self.o = nn.Linear(48, 5)

    def step(self, z, u):
        return self.n(torch.tanh(self.w(z) + u))

    def forward(self, x):
        u = self.u(x)
        with torch.no_grad():
            z = torch.zeros(x.size(0), 48)
            for _ in range(6):
                z = self.step(z, u)
        return self.o(self.step(z, u))


@network(lambda: {"x": randn(BATCH, 12, 16), "lengths": torch.tensor([12, 7])})
class PackedLSTM(nn.Module):
    """A bidirectional LSTM of packed sequences, with masked pooling."""

    def __init__(self):
        super().__init__()
        self.l = nn.LSTM(16, 24, bidirectional=True, batch_first=True)
        self.o = nn.Linear(48, 5)

    def forward(self, x, lengths):
        p = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        h, _ = self.l(p)
        h, n = nn.utils.rnn.pad_packed_sequence(h, batch_first=True, total_length=12)
        m = torch.arange(12)[None] < lengths[:, None]
        return self.o((h * m[:, :, None]).sum(1) / n[:, None])


@network(lambda: {"x": randn(BATCH, 12, 16)})
class ConvLSTMMix(nn.Module):
    """A GRU cell in a loop beside a causal convolution, with a gate."""

    def __init__(self):
        super().__init__()
        self.g = nn.GRUCell(16, 32)
        self.c = nn.Conv1d(16, 32, 3)
        self.m = nn.Linear(64, 32)

    def forward(self, x):
        h = torch.zeros(x.size(0), 32)
        hs = []
        for t in range(x.size(1)):
            h = self.g(x[:, t], h)
            hs.append(h)
        a = torch.stack(hs, 1)
        b = self.c(F.pad(x.transpose(1, 2), (2, 0))).transpose(1, 2)
        g = torch.sigmoid(self.m(torch.cat([a, b], -1)))
        return g * a + (1 - g) * b


# Attention of other kinds


@network(lambda: {"x": randn(BATCH, 64, 24)})
class Perceiver(nn.Module):
    def __init__(self, d=32, n=8):
        super().__init__()
        self.z = nn.Parameter(randn(n, d))
        self.ln, self.lx = nn.LayerNorm(d), nn.LayerNorm(24)
        self.x = nn.MultiheadAttention(d, 4, kdim=24, vdim=24, batch_first=True)
        self.s = nn.MultiheadAttention(d, 4, batch_first=True)
        self.f = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))
        self.o = nn.Linear(d, 5)

    def forward(self, x):
        z = self.z.expand(x.size(0), -1, -1)
        k = self.lx(x)
        z = z + self.x(self.ln(z), k, k, need_weights=False)[0]
        for _ in range(2):
            z = z + self.s(z, z, z, need_weights=False)[0]
            z = z + self.f(z)
        return self.o(z.mean(1))


@network(images(3, 32))
class Mixer(nn.Module):
    def __init__(self, d=48, n=16):
        super().__init__()
        self.p = nn.Conv2d(3, d, 8, 8)
        self.t = nn.ModuleList([nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 96), nn.GELU(), nn.Linear(96, d)) for _ in range(2)])
        self.n = nn.ModuleList([nn.LayerNorm(d) for _ in range(2)])
        self.m = nn.ModuleList([nn.Sequential(nn.Conv1d(n, 32, 1), nn.GELU(), nn.Conv1d(32, n, 1)) for _ in range(2)])
        self.o = nn.Linear(d, 10)

    def forward(self, x):
        h = self.p(x).flatten(2).transpose(1, 2)
        for t, n, m in zip(self.t, self.n, self.m):
            h = h + m(n(h))
            h = h + t(h)
        return self.o(h.mean(1))


@network(images(16, 16))
class Swin(nn.Module):
    """Shifted windows with a table of relative positions."""

    def __init__(self, d=16, w=4, h=2):
        super().__init__()
        self.w, self.h = w, h
        self.table = nn.Parameter(0.02 * randn((2 * w - 1) ** 2, h))
        c = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
        r = (c[:, :, None] - c[:, None]).permute(1, 2, 0) + w - 1
        self.register_buffer("places", r[..., 0] * (2 * w - 1) + r[..., 1])
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.n = nn.LayerNorm(d)

    def forward(self, x):
        b, c, H, W = x.shape
        w = self.w
        h = torch.roll(self.n(x.permute(0, 2, 3, 1)), (-2, -2), (1, 2))
        h = h.view(b, H // w, w, W // w, w, c).transpose(2, 3).reshape(-1, w * w, c)
        q, k, v = self.qkv(h).view(-1, w * w, 3, self.h, c // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.places.view(-1)].view(w * w, w * w, -1).permute(2, 0, 1)
        a = (q * (c // self.h) ** -0.5) @ k.transpose(-2, -1) + bias
        h = self.o((a.softmax(-1) @ v).transpose(1, 2).reshape(-1, w * w, c))
        h = h.view(b, H // w, W // w, w, w, c).transpose(2, 3).reshape(b, H, W, c)
        return x + torch.roll(h, (2, 2), (1, 2)).permute(0, 3, 1, 2)


@network(lambda: {"x": randn(BATCH, 20, 32)})
class RelativeXL(nn.Module):
    """Transformer-XL's relative positions with the shift, and T5's buckets."""

    def __init__(self, d=32, h=4):
        super().__init__()
        self.q, self.k, self.v, self.r = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.u, self.w = nn.Parameter(randn(h, d // h)), nn.Parameter(randn(h, d // h))
        self.register_buffer("pos", randn(20, d))
        self.bias = nn.Embedding(32, h)
        self.h = h

    def forward(self, x):
        b, n, d = x.shape
        s = lambda t: t.view(b, n, self.h, -1)
        q, k, v = s(self.q(x)), s(self.k(x)), s(self.v(x))
        r = self.r(self.pos).view(n, self.h, -1)
        ac = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
        bd = torch.einsum("bihd,jhd->bhij", q + self.w, r)
        bd = F.pad(bd, (1, 0)).view(b, self.h, n + 1, n)[:, :, 1:].reshape(b, self.h, n, n)
        p = (torch.arange(n)[:, None] - torch.arange(n)[None]).abs().clamp(max=31)
        a = ((ac + bd) / math.sqrt(d // self.h) + self.bias(p).permute(2, 0, 1)).softmax(-1)
        return torch.einsum("bhij,bjhd->bihd", a, v).reshape(b, n, d)


@network(lambda: {"x": randn(BATCH, 24, 32)})
class GatedDelta(nn.Module):
    """A linear recurrence by chunks with cumulative decay, as in xLSTM and gated linear attention."""

    def __init__(self, d=32):
        super().__init__()
        self.p = nn.Linear(d, 3 * d)
        self.g = nn.Linear(d, 1)
        self.o = nn.Linear(d, d)
        self.n = nn.GroupNorm(4, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.p(x).chunk(3, -1)
        g = F.logsigmoid(self.g(x)).squeeze(-1).cumsum(1)
        decay = (g[:, :, None] - g[:, None]).masked_fill(torch.ones(n, n).triu(1).bool(), -1e9).exp()
        y = (q @ k.transpose(1, 2) * decay / math.sqrt(d)) @ v
        return self.o(self.n(y.reshape(b * n, d)).view(b, n, d) * F.silu(x))


@network(lambda: {"x": randn(BATCH, 16, 32), "y": tokens(BATCH, 16, vocabulary=11)})
class MixtureDensity(nn.Module):
    """A mixture density network with logsumexp, and a CRF-like partition."""

    def __init__(self, k=5):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(32, 64), nn.Softsign())
        self.pi, self.mu, self.s = nn.Linear(64, k), nn.Linear(64, k), nn.Linear(64, k)
        self.e = nn.Linear(64, 11)
        self.t = nn.Parameter(randn(11, 11))

    def forward(self, x, y):
        h = self.f(x)
        lp = F.log_softmax(self.pi(h), -1)
        s = F.softplus(self.s(h)) + 1e-3
        z = (x.mean(-1, keepdim=True) - self.mu(h)) / s
        nll = -torch.logsumexp(lp - s.log() - 0.5 * z * z, -1).mean()
        e = self.e(h)
        a = e[:, 0]
        for t in range(1, e.size(1)):
            a = torch.logsumexp(a[:, :, None] + self.t, 1) + e[:, t]
        gold = e.gather(-1, y[:, :, None]).sum((1, 2)) + self.t[y[:, :-1], y[:, 1:]].sum(1)
        return nll + (torch.logsumexp(a, -1) - gold).mean()


# Losses, Fourier, and matrices


@network(lambda: {"x": randn(BATCH, 4096), "y": randn(BATCH, 4096)})
class STFTLoss(nn.Module):
    """A vocoder with a multi-resolution spectral loss."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(1, 16, 15, padding=7)
        self.b = nn.Conv1d(16, 1, 15, padding=7)

    def forward(self, x, y):
        h = self.b(F.leaky_relu(self.a(x[:, None]), 0.2)).squeeze(1)
        loss = (h - y).abs().mean()
        for n in (128, 256):
            w = torch.hann_window(n)
            m = lambda t: torch.stft(t, n, n // 4, window=w, return_complex=True).abs().clamp(min=1e-5)
            p, q = m(h), m(y)
            loss = loss + (p.log() - q.log()).abs().mean() + (q - p).norm() / q.norm()
        return loss


@network(images(8, 16))
class GlobalFilter(nn.Module):
    """Two-dimensional Fourier mixing with a complex filter, with FNet beside it."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(randn(16, 9, 8, 2) * 0.02)
        self.n = nn.LayerNorm(8)
        self.f = nn.Linear(8, 8)

    def forward(self, x):
        h = self.n(x.permute(0, 2, 3, 1))
        z = torch.fft.rfft2(h, dim=(1, 2), norm="ortho") * torch.view_as_complex(self.w)
        h = h + torch.fft.irfft2(z, s=(16, 16), dim=(1, 2), norm="ortho")
        return self.f(h) + torch.fft.fft(torch.fft.fft(h, dim=-1), dim=1).real


@network(lambda: {"x": randn(8, 24), "y": randn(8, 24)})
class BarlowDiag(nn.Module):
    """Redundancy reduction: a cross-correlation's diagonal and the rest; covariance with diag_embed."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
        self.n = nn.BatchNorm1d(32, affine=False)
        self.s = nn.Linear(24, 32)

    def forward(self, x, y):
        c = self.n(self.f(x)).t() @ self.n(self.f(y)) / x.size(0)
        on = torch.diagonal(c).sub(1).pow(2).sum()
        off = c.flatten()[:-1].view(31, 33)[:, 1:].pow(2).sum()
        d = torch.diag_embed(F.softplus(self.s(x)))
        e = d + 0.1 * torch.eye(32)
        return on + 0.005 * off + (e @ e.transpose(1, 2)).mean()


@network(lambda: {"x": randn(8, 24)})
class LowRankGaussian(nn.Module):
    """A reparameterised Gaussian with a Cholesky factor and its divergence."""

    def __init__(self, k=6):
        super().__init__()
        self.h = nn.Linear(24, 32)
        self.m, self.d, self.l = nn.Linear(32, k), nn.Linear(32, k), nn.Linear(32, k * k)
        self.o = nn.Linear(k, 24)
        self.k = k

    def forward(self, x):
        h = F.selu(self.h(x))
        m, d = self.m(h), self.d(h)
        low = self.l(h).view(-1, self.k, self.k).tril(-1) + torch.diag_embed(d.exp())
        z = m + (low @ torch.randn(x.size(0), self.k, 1)).squeeze(-1)
        kl = 0.5 * (low.pow(2).sum((1, 2)) + m.pow(2).sum(-1) - 2 * d.sum(-1)).mean()
        return F.mse_loss(self.o(z), x) + kl


@network(lambda: {"a": randn(16, 20), "b": randn(16, 30)})
class BilinearPair(nn.Module):
    """A bilinear scorer beside outer-product fusion."""

    def __init__(self):
        super().__init__()
        self.s = nn.Bilinear(20, 30, 12)
        self.o = nn.Linear(600, 12)

    def forward(self, a, b):
        return torch.sigmoid(self.s(a, b)) * self.o((a[:, :, None] * b[:, None]).flatten(1))


@network(lambda: {"x": randn(8, 16), "y": randn(12, 16)})
class Sinkhorn(nn.Module):
    """Entropic optimal transport between two sets, after a soft nearest-neighbour attention."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(16, 32)

    def forward(self, x, y):
        a, b = self.f(x), self.f(y)
        c = (a[:, None] - b[None]).pow(2).sum(-1)
        k = -c / 0.5
        u, v = torch.zeros(8), torch.zeros(12)
        for _ in range(5):
            u = -torch.logsumexp(k + v[None], 1)
            v = -torch.logsumexp(k + u[:, None], 0)
        return ((k + u[:, None] + v[None]).exp() * c).sum()


@network(lambda: {"x": randn(32, 8)})
class PINN(nn.Module):
    """Sine layers with Fourier features, and a residual by finite differences."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", randn(8, 16))
        self.l = nn.ModuleList([nn.Linear(32, 64), nn.Linear(64, 64)])
        self.o = nn.Linear(64, 1)

    def u(self, x):
        p = 2 * math.pi * x @ self.b
        h = torch.cat([p.sin(), p.cos()], -1)
        for l in self.l:
            h = torch.sin(30 * l(h))
        return self.o(h)

    def forward(self, x):
        e = 1e-2
        r = (self.u(x + e) - 2 * self.u(x) + self.u(x - e)) / e**2
        return r.pow(2).mean() + self.u(x).pow(2).mean()


# Small things that optimizers of exporters like


@network(lambda: {"x": randn(BATCH, 16, 48)})
class FreshTransformer(nn.Module):
    """Blocks as people initialise them: biases at zero, scales of layers at zero and at one."""

    def __init__(self, d=48):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(3):
            layer = nn.Module()
            layer.n1, layer.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
            layer.qkv, layer.o, layer.f, layer.g = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
            layer.s1, layer.s2 = nn.Parameter(torch.zeros(d)), nn.Parameter(torch.ones(d))
            self.layers.append(layer)
        self.shift = nn.Parameter(torch.zeros(d))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x):
        x = x + self.shift
        for l in self.layers:
            q, k, v = l.qkv(l.n1(x)).view(x.size(0), -1, 3, 4, 12).permute(2, 0, 3, 1, 4)
            x = x + l.s1 * l.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            x = x + l.s2 * l.g(F.gelu(l.f(l.n2(x))))
        return x


@network(images(3, 32))
class TwoHeads(nn.Module):
    """A backbone that two branches run again, with one shared neck."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.SiLU())
        self.neck = nn.Sequential(nn.Conv2d(16, 16, 1), nn.ReLU())
        self.box, self.kind = nn.Conv2d(16, 4, 1), nn.Conv2d(16, 10, 1)

    def forward(self, x):
        h = self.stem(x)
        return self.box(self.neck(h)).flatten(2), torch.sigmoid(self.kind(self.neck(h))).flatten(2)


@network(lambda: {"x": randn(8, 32)})
class DropTwice(nn.Module):
    """Contrast of one sentence with itself, which dropout alone tells apart (SimCSE)."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, 32))

    def forward(self, x):
        a, b = F.normalize(self.f(x), dim=-1), F.normalize(self.f(x), dim=-1)
        return F.cross_entropy(a @ b.t() / 0.05, torch.arange(x.size(0)))


@network(lambda: {"s": randn(16, 6), "a": randn(16, 2), "r": randn(16, 1), "n": randn(16, 6)})
class TD3(nn.Module):
    """Twin critics beside their targets, which are not trained."""

    def __init__(self):
        super().__init__()
        q = lambda: nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
        self.actor = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2), nn.Tanh())
        self.q1, self.q2 = q(), q()
        self.actor_old, self.old1, self.old2 = (copy.deepcopy(each) for each in (self.actor, self.q1, self.q2))

    def forward(self, s, a, r, n):
        with torch.no_grad():
            b = (self.actor_old(n) + 0.1 * torch.randn_like(a)).clamp(-1, 1)
            t = torch.cat([n, b], -1)
            y = r + 0.99 * torch.minimum(self.old1(t), self.old2(t))
        x = torch.cat([s, a], -1)
        return F.mse_loss(self.q1(x), y) + F.smooth_l1_loss(self.q2(x), y)


@network(lambda: {"x": randn(BATCH, 3, 32, 32), "y": torch.randint(0, 5, (BATCH, 32, 32))})
class MeanTeacher(nn.Module):
    """Segmentation with a consistency loss against a teacher in a submodule."""

    def __init__(self):
        super().__init__()
        net = lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv2d(16, 5, 1))
        self.pair = nn.ModuleDict({"student": net(), "teacher": net()})

    def forward(self, x, y):
        p = self.pair["student"](x)
        with torch.no_grad():
            t = self.pair["teacher"](x + 0.1 * torch.randn_like(x)).softmax(1)
        sure = (t.amax(1) > 0.3).float()
        return F.cross_entropy(p, y) + (F.mse_loss(p.softmax(1), t, reduction="none").mean(1) * sure).mean()


@network(lambda: {"x": randn(BATCH, 10, 16)})
class Slots(nn.Module):
    """Slot attention: a GRU cell, iterations, and the last one alone with a gradient."""

    def __init__(self, d=16, n=4):
        super().__init__()
        self.n = n
        self.mu = nn.Parameter(randn(1, n, d))
        self.k, self.v, self.q = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.gru = nn.GRUCell(d, d)
        self.ln, self.lx = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        b, _, d = x.shape
        x = self.lx(x)
        k, v = self.k(x), self.v(x)
        s = self.mu.expand(b, -1, -1)
        for i in range(3):
            if i == 2:
                s = s.detach()
            a = (k @ self.q(self.ln(s)).transpose(1, 2) * d**-0.5).softmax(-1) + 1e-8
            u = (a / a.sum(1, keepdim=True)).transpose(1, 2) @ v
            s = self.gru(u.reshape(-1, d), s.reshape(-1, d)).view(b, self.n, d)
        return s
