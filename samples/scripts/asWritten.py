"""Networks as people write them, of more than two hundred kinds, with those of `furtherNetworks.py`, `researchNetworks.py`, `trainedNetworks.py` and `repeatedNetworks.py`: `python samples/scripts/asWritten.py FOLDER [--only NAME ...]`.

Losses, detection, segmentation, speech, graphs with scatter, diffusion, recommenders, spectral and weight normalization, experts,
reinforcement learning, normalizing flows, state spaces, memory. Each is exported in training mode by the TorchScript exporter
(`legacy`), by the default one with and without its optimizer (`default`, `unoptimized`), and by `torch.export` (`archive`).
Standard output has one JSON object per line: versions, then for each network what PyTorch counts of it (see `programs.py`), then
each file in FOLDER, or why it was refused. `npm run samples -- --written` costs the files and writes `measured/written.jsonl`.
"""

from __future__ import annotations

import copy
import gc
import math
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from exportRun import arguments_of, teller  # noqa: E402
from exports import Model  # noqa: E402
from furtherNetworks import FURTHER  # noqa: E402
from networkList import BATCH, listing, randn, tokens  # noqa: E402
from programs import truth  # noqa: E402
from repeatedNetworks import REPEATED  # noqa: E402
from researchNetworks import RESEARCH  # noqa: E402
from trainedNetworks import TRAINED  # noqa: E402
from torch.nn.utils.parametrizations import spectral_norm, weight_norm  # noqa: E402

NETWORKS: dict[str, Model] = {}
network = listing(NETWORKS)


@network(lambda: {'x': randn(BATCH, 16, 32), 'keep': torch.rand(BATCH, 16) > 0.3})
class BoolMask(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 64)
        self.b = nn.Linear(64, 64)
        self.c = nn.Linear(64, 8)

    def forward(self, x, keep):
        h = F.gelu(self.a(x)) * keep.unsqueeze(-1)
        h = self.b(h)
        m = h > 0
        h = h * m
        return self.c(h)


@network(lambda: {'x': randn(BATCH, 64, 64)})
class Diagonal(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 64)
        self.b = nn.Linear(64, 8)

    def forward(self, x):
        k = self.a(x) @ x.transpose(1, 2)
        d = k.diagonal(dim1=-2, dim2=-1)
        return self.b(torch.sigmoid(d))


@network(lambda: {'x': randn(BATCH, 20, 32)})
class CDist(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 32)
        self.p = nn.Parameter(randn(10, 32))
        self.c = nn.Linear(10, 4)

    def forward(self, x):
        return self.c(-torch.cdist(self.a(x), self.p.expand(x.shape[0], -1, -1)))


@network(lambda: {'x': randn(4, 3, 32, 32)})
class MixStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 16, 3, padding=1)
        self.b = nn.Conv2d(16, 16, 3, padding=1)
        self.c = nn.Linear(16, 10)

    def forward(self, x):
        x = F.relu(self.a(x))
        b = x.size(0)
        mu = x.mean(dim=[2, 3], keepdim=True)
        var = x.var(dim=[2, 3], keepdim=True)
        sig = (var + 1e-06).sqrt()
        mu, sig = (mu.detach(), sig.detach())
        xn = (x - mu) / sig
        lam = torch.rand(b, 1, 1, 1)
        perm = torch.randperm(b)
        mu2, sig2 = (mu[perm], sig[perm])
        x = xn * (sig * lam + sig2 * (1 - lam)) + mu * lam + mu2 * (1 - lam)
        x = F.relu(self.b(x))
        return self.c(x.mean((2, 3)))


def squash(v, dim=-1):
    n = (v ** 2).sum(dim, keepdim=True)
    return n / (1 + n) * v / torch.sqrt(n + 1e-08)


@network(lambda: {'x': randn(BATCH, 1, 28, 28)})
class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 9)
        self.prim = nn.Conv2d(32, 32, 9, stride=2)
        self.W = nn.Parameter(0.01 * randn(1, 10, 144, 16, 8))

    def forward(self, x):
        x = self.prim(F.relu(self.conv(x)))
        u = squash(x.view(x.size(0), 4, 8, 36).permute(0, 1, 3, 2).reshape(x.size(0), -1, 8))
        u = u[:, None, :, :, None]
        uh = (self.W @ u).squeeze(-1)
        uhd = uh.detach()
        b = torch.zeros(x.size(0), 10, 144, 1)
        for i in range(3):
            c = F.softmax(b, dim=1)
            if i == 2:
                v = squash((c * uh).sum(2))
            else:
                v = squash((c * uhd).sum(2))
                b = b + (uhd * v.unsqueeze(2)).sum(-1, keepdim=True)
        return v.norm(dim=-1)


class VQ(nn.Module):
    def __init__(self, k, d, beta=0.25):
        super().__init__()
        self.e = nn.Embedding(k, d)
        self.beta = beta
        self.k = k

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        d = flat.pow(2).sum(1, keepdim=True) + self.e.weight.pow(2).sum(1) - 2 * flat @ self.e.weight.t()
        idx = d.argmin(1).unsqueeze(1)
        enc = torch.zeros(idx.shape[0], self.k, device=z.device)
        enc.scatter_(1, idx, 1)
        q = torch.matmul(enc, self.e.weight).view(z.shape)
        loss = F.mse_loss(q.detach(), z) * self.beta + F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        p = enc.mean(0)
        perp = torch.exp(-(p * torch.log(p + 1e-10)).sum())
        return (q.permute(0, 3, 1, 2).contiguous(), loss, perp)


@network(lambda: {'x': randn(BATCH, 3, 32, 32)})
class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 16, 1))
        self.vq = VQ(128, 16)
        self.dec = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))

    def forward(self, x):
        q, l, p = self.vq(self.enc(x))
        r = self.dec(q)
        return (F.mse_loss(r, x) + l, p)


class VQ2(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.e = nn.Embedding(k, d)

    def forward(self, z):
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        with torch.no_grad():
            d = torch.cdist(flat, self.e.weight)
            idx = d.argmin(1)
        q = self.e(idx).view(z.shape)
        commit = F.mse_loss(z, q.detach())
        cb = F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        return (q.permute(0, 3, 1, 2), commit * 0.25 + cb)


@network(lambda: {'x': randn(BATCH, 3, 32, 32)})
class VQVAE2(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 16, 1))
        self.vq = VQ2(128, 16)
        self.dec = nn.Sequential(nn.Conv2d(16, 64, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1))

    def forward(self, x):
        q, l = self.vq(self.enc(x))
        r = self.dec(q)
        return F.mse_loss(r, x) + l


@network(lambda: {'x': randn(BATCH, 6, 8)})
class NTM(nn.Module):
    N = 16
    M = 10

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(8 + self.M, 32)
        self.rd = nn.Linear(32, self.M + 1 + 1 + 3 + 1)
        self.wr = nn.Linear(32, self.M * 3 + 1 + 1 + 3 + 1)
        self.out = nn.Linear(32 + self.M, 8)
        self.h0 = nn.Parameter(torch.zeros(1, 32))
        self.c0 = nn.Parameter(torch.zeros(1, 32))
        self.r0 = nn.Parameter(randn(1, self.M))
        self.register_buffer('mem0', torch.full((self.N, self.M), 0.001))

    def address(self, k, beta, g, sh, gamma, mem, w):
        k = torch.tanh(k)
        beta = F.softplus(beta)
        g = torch.sigmoid(g)
        sh = F.softmax(sh, -1)
        gamma = 1 + F.softplus(gamma)
        wc = F.softmax(beta * F.cosine_similarity(mem + 1e-16, k.unsqueeze(1) + 1e-16, dim=-1), -1)
        wg = g * wc + (1 - g) * w
        t = torch.cat([wg[:, -1:], wg, wg[:, :1]], 1)
        ws = sum((t[:, i:i + self.N] * sh[:, i:i + 1] for i in range(3)))
        w = ws ** gamma
        return w / (w.sum(-1, keepdim=True) + 1e-16)

    def forward(self, x):
        b = x.size(0)
        h = self.h0.expand(b, -1)
        c = self.c0.expand(b, -1)
        r = self.r0.expand(b, -1)
        mem = self.mem0.unsqueeze(0).expand(b, -1, -1)
        wr = torch.zeros(b, self.N)
        ww = torch.zeros(b, self.N)
        outs = []
        for t in range(x.size(1)):
            h, c = self.cell(torch.cat([x[:, t], r], 1), (h, c))
            k, be, g, sh, ga = torch.split(self.rd(h), [self.M, 1, 1, 3, 1], 1)
            wr = self.address(k, be, g, sh, ga, mem, wr)
            r = torch.bmm(wr.unsqueeze(1), mem).squeeze(1)
            k, be, g, sh, ga, e, a = torch.split(self.wr(h), [self.M, 1, 1, 3, 1, self.M, self.M], 1)
            ww = self.address(k, be, g, sh, ga, mem, ww)
            e = torch.sigmoid(e)
            mem = mem * (1 - torch.matmul(ww.unsqueeze(-1), e.unsqueeze(1))) + torch.matmul(ww.unsqueeze(-1), a.unsqueeze(1))
            outs.append(torch.sigmoid(self.out(torch.cat([h, r], 1))))
        return torch.stack(outs, 1)


@network(lambda: {'img': randn(16, 128), 'txt': randn(16, 96)})
class CLIPLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(128, 64)
        self.b = nn.Linear(96, 64)
        self.scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def forward(self, img, txt):
        i = self.a(img)
        t = self.b(txt)
        i = i / i.norm(dim=1, keepdim=True)
        t = t / t.norm(dim=1, keepdim=True)
        l = self.scale.exp() * i @ t.t()
        lab = torch.arange(l.shape[0], device=l.device)
        return (F.cross_entropy(l, lab) + F.cross_entropy(l.t(), lab)) / 2


@network(lambda: {'img': randn(16, 128), 'txt': randn(16, 96)})
class CLIPLossN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(128, 64)
        self.b = nn.Linear(96, 64)
        self.scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def forward(self, img, txt):
        i = F.normalize(self.a(img), dim=-1)
        t = F.normalize(self.b(txt), dim=-1)
        l = self.scale.exp() * i @ t.t()
        lab = torch.arange(l.shape[0], device=l.device)
        return (F.cross_entropy(l, lab) + F.cross_entropy(l.t(), lab)) / 2


@network(lambda: {'x': randn(BATCH, 16, 32), 't': torch.rand(BATCH, 16, 50).softmax(-1)})
class KLDiv(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 50)

    def forward(self, x, t):
        return F.kl_div(F.log_softmax(self.a(x), -1), t, reduction='batchmean')


@network(lambda: {'x': randn(8, 32)})
class Distil(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 50))
        self.a = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 50))

    def forward(self, x):
        with torch.no_grad():
            t = self.t(x)
        return F.kl_div(F.log_softmax(self.a(x) / 4, -1), F.softmax(t / 4, -1), reduction='batchmean') * 16


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


@network(lambda: {'a': randn(8, 3, 16, 16), 'b': randn(8, 3, 16, 16)})
class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.on = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), mlp(32, 128, 64))
        self.pred = mlp(64, 128, 64)
        self.tg = copy.deepcopy(self.on)
        for p in self.tg.parameters():
            p.requires_grad = False

    def loss(self, p, z):
        return 2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z, dim=-1)).sum(-1)

    def forward(self, a, b):
        pa = self.pred(self.on(a))
        pb = self.pred(self.on(b))
        with torch.no_grad():
            za = self.tg(a)
            zb = self.tg(b)
        return (self.loss(pa, zb.detach()) + self.loss(pb, za.detach())).mean()


class KANLinear(nn.Module):
    def __init__(self, i, o, g=5, k=3):
        super().__init__()
        self.g = g
        self.k = k
        h = 2 / g
        grid = (torch.arange(-k, g + k + 1) * h - 1).expand(i, -1).contiguous()
        self.register_buffer('grid', grid)
        self.base = nn.Parameter(randn(o, i))
        self.spline = nn.Parameter(randn(o, i, g + k))
        self.scaler = nn.Parameter(randn(o, i))
        self.i = i
        self.o = o

    def b_splines(self, x):
        grid = self.grid
        x = x.unsqueeze(-1)
        b = ((x >= grid[:, :-1]) & (x < grid[:, 1:])).to(x.dtype)
        for k in range(1, self.k + 1):
            b = (x - grid[:, :-(k + 1)]) / (grid[:, k:-1] - grid[:, :-(k + 1)]) * b[:, :, :-1] + (grid[:, k + 1:] - x) / (grid[:, k + 1:] - grid[:, 1:-k]) * b[:, :, 1:]
        return b.contiguous()

    def forward(self, x):
        out = F.linear(F.silu(x), self.base)
        sp = F.linear(self.b_splines(x).view(x.size(0), -1), (self.spline * self.scaler.unsqueeze(-1)).view(self.o, -1))
        return out + sp


@network(lambda: {'x': randn(16, 28)})
class KAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([KANLinear(28, 64), KANLinear(64, 10)])

    def forward(self, x):
        for l in self.l:
            x = l(x)
        return x


@network(lambda: {'x': torch.rand(BATCH, 3, 32, 32)})
class SSIM(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))
        g = torch.exp(-(torch.arange(11) - 5.0) ** 2 / (2 * 1.5 ** 2))
        g = g / g.sum()
        w = (g[:, None] @ g[None]).expand(3, 1, 11, 11).contiguous()
        self.register_buffer('window', w)

    def forward(self, x):
        y = self.net(x)
        w = self.window
        c = lambda t: F.conv2d(t, w, padding=5, groups=3)
        m1, m2 = (c(x), c(y))
        m11 = m1.pow(2)
        m22 = m2.pow(2)
        m12 = m1 * m2
        s1 = c(x * x) - m11
        s2 = c(y * y) - m22
        s12 = c(x * y) - m12
        r = (2 * m12 + 0.0001) * (2 * s12 + 0.0009) / ((m11 + m22 + 0.0001) * (s1 + s2 + 0.0009))
        return 1 - r.mean()


@network(lambda: {'x': torch.rand(BATCH, 3, 32, 32)})
class SSIM2(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))

    def forward(self, x):
        g = torch.tensor([math.exp(-(i - 5) ** 2 / (2 * 1.5 ** 2)) for i in range(11)])
        g = g / g.sum()
        w = g.unsqueeze(1).mm(g.unsqueeze(0)).unsqueeze(0).unsqueeze(0).expand(3, 1, 11, 11).contiguous()
        y = self.net(x)
        c = lambda t: F.conv2d(t, w, padding=5, groups=3)
        m1, m2 = (c(x), c(y))
        m11 = m1.pow(2)
        m22 = m2.pow(2)
        m12 = m1 * m2
        s1 = c(x * x) - m11
        s2 = c(y * y) - m22
        s12 = c(x * y) - m12
        r = (2 * m12 + 0.0001) * (2 * s12 + 0.0009) / ((m11 + m22 + 0.0001) * (s1 + s2 + 0.0009))
        return 1 - r.mean()


class StdConv(nn.Conv2d):
    def forward(self, x):
        w = self.weight
        v, m = torch.var_mean(w, dim=[1, 2, 3], keepdim=True, unbiased=False)
        return F.conv2d(x, (w - m) / torch.sqrt(v + 1e-10), self.bias, self.stride, self.padding, self.dilation, self.groups)


@network(lambda: {'x': randn(BATCH, 3, 32, 32)})
class BiT(nn.Module):
    def __init__(self):
        super().__init__()
        self.root = StdConv(3, 32, 3, padding=1, bias=False)
        self.n1 = nn.GroupNorm(8, 32)
        self.c1 = StdConv(32, 32, 1, bias=False)
        self.n2 = nn.GroupNorm(8, 32)
        self.c2 = StdConv(32, 32, 3, padding=1, bias=False)
        self.n3 = nn.GroupNorm(8, 32)
        self.c3 = StdConv(32, 32, 1, bias=False)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.root(x)
        y = self.c1(F.relu(self.n1(x)))
        y = self.c2(F.relu(self.n2(y)))
        y = self.c3(F.relu(self.n3(y)))
        return self.head((x + y).mean((2, 3)))


@network(lambda: {'x': randn(BATCH, 32, 64)})
class RetNet(nn.Module):
    def __init__(self, d=64, h=4):
        super().__init__()
        self.h = h
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, d, bias=False)
        self.g = nn.Linear(d, d, bias=False)
        self.o = nn.Linear(d, d, bias=False)
        self.gn = nn.GroupNorm(h, d)
        self.register_buffer('gamma', 1 - 2.0 ** (-5 - torch.arange(h).float()))
        self.ln = nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, n, d = x.shape
        r = x
        x = self.ln(x)
        q, k, v = (l(x).view(b, n, self.h, -1).transpose(1, 2) for l in (self.q, self.k, self.v))
        i = torch.arange(n, device=x.device)
        diff = i[:, None] - i[None]
        D = torch.where(diff >= 0, self.gamma[:, None, None] ** diff.clamp(min=0), torch.zeros(()))
        a = q @ k.transpose(-1, -2) * (d // self.h) ** (-0.5) * D
        y = (a @ v).transpose(1, 2).reshape(b * n, d)
        y = self.gn(y).view(b, n, d)
        x = r + self.o(F.silu(self.g(x)) * y)
        return x + self.ff(x)


@network(lambda: {'dense': randn(8, 13), 'a': tokens(8), 'b': tokens(8), 'c': tokens(8)})
class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.ModuleList([nn.Embedding(100, 16) for _ in range(3)])
        self.bot = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 6, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, dense, a, b, c):
        x = self.bot(dense)
        T = torch.stack([x] + [e(i) for e, i in zip(self.e, (a, b, c))], 1)
        Zm = torch.bmm(T, T.transpose(1, 2))
        li = torch.tensor([i for i in range(4) for j in range(i)])
        lj = torch.tensor([j for i in range(4) for j in range(i)])
        return self.top(torch.cat([x, Zm[:, li, lj]], 1))


@network(lambda: {'dense': randn(8, 13), 'a': tokens(8, 4), 'b': tokens(8, 4), 'c': tokens(8, 4)})
class DLRMBag(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.ModuleList([nn.EmbeddingBag(100, 16, mode='sum') for _ in range(3)])
        self.bot = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 6, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, dense, a, b, c):
        x = self.bot(dense)
        T = torch.stack([x] + [e(i) for e, i in zip(self.e, (a, b, c))], 1)
        Zm = torch.bmm(T, T.transpose(1, 2))
        i = torch.tril_indices(4, 4, offset=-1)
        return self.top(torch.cat([x, Zm[:, i[0], i[1]]], 1))


@network(lambda: {'q': randn(8, 32), 'k': randn(8, 32)})
class MoCo(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = mlp(32, 64, 32)
        self.k = mlp(32, 64, 32)
        self.register_buffer('queue', F.normalize(randn(32, 256), dim=0))
        for p in self.k.parameters():
            p.requires_grad = False

    def forward(self, q, k):
        q = F.normalize(self.q(q), dim=1)
        with torch.no_grad():
            k = F.normalize(self.k(k), dim=1)
        pos = torch.einsum('nc,nc->n', [q, k]).unsqueeze(-1)
        neg = torch.einsum('nc,ck->nk', [q, self.queue.clone().detach()])
        l = torch.cat([pos, neg], 1) / 0.07
        return F.cross_entropy(l, torch.zeros(l.shape[0], dtype=torch.long))


@network(lambda: {'enc': randn(BATCH, 12, 32), 'y': tokens(BATCH, 8)})
class GRUDec(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 32)
        self.cell = nn.GRUCell(64, 64)
        self.att = nn.Linear(64 + 32, 32)
        self.v = nn.Linear(32, 1, bias=False)
        self.out = nn.Linear(64 + 32, 100)

    def forward(self, enc, y):
        h = torch.zeros(enc.size(0), 64)
        e = self.emb(y)
        outs = []
        for t in range(y.size(1)):
            a = self.v(torch.tanh(self.att(torch.cat([h.unsqueeze(1).expand(-1, enc.size(1), -1), enc], -1)))).squeeze(-1).softmax(-1)
            c = torch.bmm(a.unsqueeze(1), enc).squeeze(1)
            h = self.cell(torch.cat([e[:, t], c], -1), h)
            outs.append(self.out(torch.cat([h, c], -1)))
        return torch.stack(outs, 1)


@network(lambda: {'x': randn(BATCH, 1, 28, 28)})
class STN(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Sequential(nn.Conv2d(1, 8, 7), nn.MaxPool2d(2, 2), nn.ReLU(True), nn.Conv2d(8, 10, 5), nn.MaxPool2d(2, 2), nn.ReLU(True))
        self.fc = nn.Sequential(nn.Linear(90, 32), nn.ReLU(True), nn.Linear(32, 6))
        self.c = nn.Conv2d(1, 10, 5)
        self.o = nn.Linear(10 * 12 * 12, 10)

    def forward(self, x):
        t = self.fc(self.loc(x).view(-1, 90)).view(-1, 2, 3)
        g = F.affine_grid(t, x.size(), align_corners=False)
        x = F.grid_sample(x, g, align_corners=False)
        return F.log_softmax(self.o(F.relu(F.max_pool2d(self.c(x), 2)).flatten(1)), 1)


def rot(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


@network(lambda: {'x': tokens(BATCH, 32)})
class Rotary(nn.Module):
    def __init__(self, d=64, h=4):
        super().__init__()
        self.h = h
        self.e = nn.Embedding(100, d)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.o = nn.Linear(d, d)
        inv = 1 / 10000 ** (torch.arange(0, d // h, 2).float() / (d // h))
        self.register_buffer('inv', inv, persistent=False)
        self.head = nn.Linear(d, 100)

    def forward(self, x):
        x = self.e(x)
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        f = torch.outer(torch.arange(n).float(), self.inv)
        f = torch.cat([f, f], -1)
        c, si = (f.cos(), f.sin())
        q = q * c + rot(q) * si
        k = k * c + rot(k) * si
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, d)
        return self.head(x + self.o(y))


@network(lambda: {'x': tokens(BATCH, 32)})
class RotaryPairs(nn.Module):
    def __init__(self, d=64, h=4):
        super().__init__()
        self.h = h
        self.e = nn.Embedding(100, d)
        self.q = nn.Linear(d, d, bias=False)
        self.k = nn.Linear(d, d, bias=False)
        self.v = nn.Linear(d, d, bias=False)
        self.o = nn.Linear(d, d)
        self.head = nn.Linear(d, 100)
        f = torch.outer(torch.arange(64).float(), 1 / 10000 ** (torch.arange(0, d // h, 2).float() / (d // h)))
        self.register_buffer('cos', f.cos())
        self.register_buffer('sin', f.sin())

    def apply_rot(self, x, c, si):
        x1, x2 = (x[..., ::2], x[..., 1::2])
        return torch.stack([x1 * c - x2 * si, x1 * si + x2 * c], -1).flatten(-2)

    def forward(self, x):
        x = self.e(x)
        b, n, d = x.shape
        q, k, v = (l(x).view(b, n, self.h, -1).transpose(1, 2) for l in (self.q, self.k, self.v))
        c, si = (self.cos[:n], self.sin[:n])
        q = self.apply_rot(q, c, si)
        k = self.apply_rot(k, c, si)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(b, n, d)
        return self.head(x + self.o(y))


@network(lambda: {'x': randn(16, 2)})
class RealNVP(nn.Module):
    def __init__(self):
        super().__init__()
        n = 6
        self.register_buffer('mask', torch.tensor([[0.0, 1.0], [1.0, 0.0]] * 3))
        self.t = nn.ModuleList([nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(), nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 2)) for _ in range(n)])
        self.s = nn.ModuleList([nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(), nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 2), nn.Tanh()) for _ in range(n)])

    def forward(self, x):
        ld = x.new_zeros(x.shape[0])
        z = x
        for i in reversed(range(6)):
            z_ = self.mask[i] * z
            sc = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-sc) + z_
            ld = ld - sc.sum(1)
        return -(ld - 0.5 * (z ** 2).sum(1) - math.log(2 * math.pi)).mean()


@network(lambda: {'a': randn(BATCH, 10, 32), 'b': randn(BATCH, 10, 24)})
class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(32, 32)
        self.r = nn.Linear(24, 24)
        self.b = nn.Bilinear(32, 24, 16)
        self.o = nn.Linear(16, 4)

    def forward(self, a, b):
        return self.o(torch.tanh(self.b(F.relu(self.p(a)), F.relu(self.r(b)))))


@network(lambda: {'x': randn(BATCH, 1, 128)})
class WaveNet(nn.Module):
    def __init__(self, c=32, L=6):
        super().__init__()
        self.f = nn.Conv1d(1, c, 1)
        self.d = nn.ModuleList([nn.Conv1d(c, 2 * c, 2, dilation=2 ** i) for i in range(L)])
        self.r = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in range(L)])
        self.s = nn.ModuleList([nn.Conv1d(c, c, 1) for _ in range(L)])
        self.o = nn.Sequential(nn.ReLU(), nn.Conv1d(c, c, 1), nn.ReLU(), nn.Conv1d(c, 64, 1))

    def forward(self, x):
        x = self.f(x)
        sk = 0
        for i in range(len(self.d)):
            h = self.d[i](F.pad(x, (2 ** i, 0)))
            a, b = h.chunk(2, 1)
            h = torch.tanh(a) * torch.sigmoid(b)
            sk = sk + self.s[i](h)
            x = x + self.r[i](h)
        return self.o(sk)


@network(lambda: {'x': randn(BATCH, 64, 16)})
class S4D(nn.Module):
    def __init__(self, H=16, N=32):
        super().__init__()
        self.C = nn.Parameter(randn(H, N // 2, 2))
        self.log_dt = nn.Parameter(torch.rand(H) * -3)
        self.log_A = nn.Parameter(torch.log(0.5 * torch.ones(H, N // 2)))
        self.A_im = nn.Parameter(math.pi * torch.arange(N // 2).repeat(H, 1).float())
        self.D = nn.Parameter(randn(H))
        self.out = nn.Sequential(nn.Conv1d(H, 2 * H, 1), nn.GLU(dim=-2))

    def forward(self, u):
        u = u.transpose(1, 2)
        L = u.size(-1)
        dt = self.log_dt.exp()
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A) + 1j * self.A_im
        dtA = A * dt.unsqueeze(-1)
        K = dtA.unsqueeze(-1) * torch.arange(L)
        C = C * (torch.exp(dtA) - 1.0) / A
        K = 2 * torch.einsum('hn,hnl->hl', C, torch.exp(K)).real
        kf = torch.fft.rfft(K, n=2 * L)
        uf = torch.fft.rfft(u, n=2 * L)
        y = torch.fft.irfft(uf * kf, n=2 * L)[..., :L]
        y = y + u * self.D.unsqueeze(-1)
        return self.out(F.gelu(y)).transpose(1, 2)


@network(lambda: {'x': randn(BATCH, 3, 64, 64), 't': torch.randint(0, 2, (BATCH, 4 * 64, 8)).float(), 'box': randn(BATCH, 256, 4), 'pos': torch.rand(BATCH, 256) > 0.8})
class FCOS(nn.Module):
    """head with focal loss and IoU loss"""

    def __init__(self, c=32):
        super().__init__()
        self.bb = nn.Sequential(nn.Conv2d(3, c, 3, 2, 1), nn.BatchNorm2d(c), nn.ReLU(inplace=True), nn.Conv2d(c, c, 3, 2, 1), nn.BatchNorm2d(c), nn.ReLU(inplace=True))
        self.cls = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(8, c), nn.ReLU(), nn.Conv2d(c, 8, 3, padding=1))
        self.reg = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(8, c), nn.ReLU(), nn.Conv2d(c, 4, 3, padding=1))
        self.sc = nn.Parameter(torch.ones(1))

    def forward(self, x, t, box, pos):
        f = self.bb(x)
        l = self.cls(f).flatten(2).transpose(1, 2)
        r = torch.exp(self.sc * self.reg(f)).flatten(2).transpose(1, 2)
        p = l.sigmoid()
        ce = F.binary_cross_entropy_with_logits(l, t, reduction='none')
        pt = p * t + (1 - p) * (1 - t)
        a = 0.25 * t + 0.75 * (1 - t)
        cl = (a * ce * (1 - pt) ** 2).sum()
        lt = torch.max(-r[..., :2], box[..., :2])
        rb = torch.min(r[..., 2:], box[..., 2:])
        wh = (rb - lt).clamp(min=0)
        inter = wh[..., 0] * wh[..., 1]
        ar = (r[..., 0] + r[..., 2]) * (r[..., 1] + r[..., 3])
        ab = (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])
        iou = inter / (ar + ab - inter + 1e-06)
        return cl + ((1 - iou) * pos.float()).sum()


def dice(p, t):
    return 1 - ((2 * (p * t).sum((2, 3)) + 1) / (p.sum((2, 3)) + t.sum((2, 3)) + 1)).mean()


class DC(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True), nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


@network(lambda: {'x': randn(BATCH, 1, 64, 64), 't': torch.randint(0, 2, (BATCH, 1, 64, 64)).float()})
class UNetDice(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = DC(1, 16)
        self.d2 = DC(16, 32)
        self.d3 = DC(32, 64)
        self.u2 = nn.ConvTranspose2d(64, 32, 2, 2)
        self.c2 = DC(64, 32)
        self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.c1 = DC(48, 16)
        self.o = nn.Conv2d(16, 1, 1)

    def forward(self, x, t):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.d3(F.max_pool2d(b, 2))
        y = self.c2(torch.cat([b, self.u2(c)], 1))
        y = self.o(self.c1(torch.cat([a, self.up(y)], 1)))
        return dice(torch.sigmoid(y), t) + F.binary_cross_entropy_with_logits(y, t)


@network(lambda: {'a': randn(BATCH, 3, 32, 32), 'p': randn(BATCH, 3, 32, 32), 'n': randn(BATCH, 3, 32, 32)})
class Triplet(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.PReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.PReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 64))

    def forward(self, a, p, n):
        a, p, n = (F.normalize(self.n(i)) for i in (a, p, n))
        return F.triplet_margin_loss(a, p, n, margin=0.2)


@network(lambda: {'a': randn(16, 32), 'b': randn(16, 32)})
class InfoNCE(nn.Module):
    """SimCLR NT-Xent"""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, a, b):
        z = F.normalize(torch.cat([self.f(a), self.f(b)]), dim=1)
        n = z.size(0)
        sim = z @ z.t() / 0.5
        sim = sim.masked_fill(torch.eye(n, dtype=torch.bool, device=z.device), float('-inf'))
        lab = torch.cat([torch.arange(n // 2) + n // 2, torch.arange(n // 2)])
        return F.cross_entropy(sim, lab)


@network(lambda: {'x': randn(BATCH, 50, 64)})
class Conformer(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.f1 = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))
        self.n = nn.LayerNorm(d)
        self.a = nn.MultiheadAttention(d, 4, batch_first=True)
        self.n2 = nn.LayerNorm(d)
        self.p1 = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, 15, padding=7, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.p2 = nn.Conv1d(d, d, 1)
        self.f2 = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))
        self.ln = nn.LayerNorm(d)

    def forward(self, x):
        x = x + 0.5 * self.f1(x)
        y = self.n(x)
        x = x + self.a(y, y, y, need_weights=False)[0]
        y = self.n2(x).transpose(1, 2)
        y = F.glu(self.p1(y), 1)
        y = self.p2(F.silu(self.bn(self.dw(y))))
        x = x + y.transpose(1, 2)
        x = x + 0.5 * self.f2(x)
        return self.ln(x)


@network(lambda: {'x': randn(40, 32), 'e': torch.randint(0, 40, (2, 160))})
class GAT(nn.Module):
    """GAT with scatter softmax"""

    def __init__(self, d=32, h=4, o=16):
        super().__init__()
        self.h = h
        self.o = o
        self.l = nn.Linear(d, h * o, bias=False)
        self.a = nn.Parameter(randn(1, h, o))
        self.b = nn.Parameter(randn(1, h, o))
        self.out = nn.Linear(h * o, 7)

    def forward(self, x, e):
        n = x.size(0)
        z = self.l(x).view(n, self.h, self.o)
        src, dst = (e[0], e[1])
        al = F.leaky_relu((z * self.a).sum(-1)[src] + (z * self.b).sum(-1)[dst], 0.2)
        ex = (al - al.max()).exp()
        den = torch.zeros(n, self.h).index_add(0, dst, ex)
        w = ex / (den[dst] + 1e-16)
        out = torch.zeros(n, self.h, self.o).index_add(0, dst, z[src] * w.unsqueeze(-1))
        return F.log_softmax(self.out(F.elu(out.flatten(1))), 1)


@network(lambda: {'x': randn(40, 32), 'e': torch.randint(0, 40, (2, 160))})
class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 64)
        self.b = nn.Linear(64, 7)

    def prop(self, x, e, norm):
        out = torch.zeros_like(x)
        return out.scatter_add(0, e[1].unsqueeze(1).expand(-1, x.size(1)), x[e[0]] * norm.unsqueeze(1))

    def forward(self, x, e):
        deg = torch.zeros(x.size(0)).scatter_add(0, e[1], torch.ones(e.size(1)))
        di = deg.clamp(min=1).rsqrt()
        norm = di[e[0]] * di[e[1]]
        x = F.dropout(F.relu(self.prop(self.a(x), e, norm)), 0.5, self.training)
        return F.log_softmax(self.prop(self.b(x), e, norm), 1)


@network(lambda: {'x': randn(40, 32), 'e': torch.randint(0, 40, (2, 160)), 'ea': randn(160, 8)})
class MPNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.Sequential(nn.Linear(72, 64), nn.SiLU(), nn.Linear(64, 64))
        self.u = nn.GRUCell(64, 32)
        self.r = nn.Linear(32, 1)

    def forward(self, x, e, ea):
        for _ in range(3):
            m = self.m(torch.cat([x[e[0]], x[e[1]], ea], -1))
            ag = torch.zeros(x.size(0), 64).index_add_(0, e[1], m)
            x = self.u(ag, x)
        return self.r(x).mean()


class Res(nn.Module):
    def __init__(self, i, o, t=64):
        super().__init__()
        self.n1 = nn.GroupNorm(8, i)
        self.c1 = nn.Conv2d(i, o, 3, padding=1)
        self.t = nn.Linear(t, 2 * o)
        self.n2 = nn.GroupNorm(8, o)
        self.dr = nn.Dropout(0.1)
        self.c2 = nn.Conv2d(o, o, 3, padding=1)
        self.sk = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x)))
        sc, sh = self.t(F.silu(t))[:, :, None, None].chunk(2, 1)
        h = self.n2(h) * (1 + sc) + sh
        return self.sk(x) + self.c2(self.dr(F.silu(h)))


@network(lambda: {'x': randn(BATCH, 3, 32, 32), 'noise': randn(BATCH, 3, 32, 32), 't': torch.randint(0, 1000, (BATCH,))})
class DDPM(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        be = torch.linspace(0.0001, 0.02, 1000)
        self.register_buffer('ac', torch.cumprod(1 - be, 0))
        self.te = nn.Sequential(nn.Linear(c, 64), nn.SiLU(), nn.Linear(64, 64))
        self.c = c
        self.i = nn.Conv2d(3, c, 3, padding=1)
        self.r1 = Res(c, c)
        self.dn = nn.Conv2d(c, c, 3, 2, 1)
        self.r2 = Res(c, 2 * c)
        self.qkv = nn.Conv2d(2 * c, 6 * c, 1)
        self.pr = nn.Conv2d(2 * c, 2 * c, 1)
        self.an = nn.GroupNorm(8, 2 * c)
        self.r3 = Res(2 * c, c)
        self.r4 = Res(2 * c, c)
        self.o = nn.Conv2d(c, 3, 3, padding=1)

    def temb(self, t):
        h = self.c // 2
        f = torch.exp(-math.log(10000) * torch.arange(h, device=t.device) / h)
        a = t[:, None].float() * f[None]
        return torch.cat([a.sin(), a.cos()], -1)

    def forward(self, x, noise, t):
        a = self.ac[t][:, None, None, None]
        xt = a.sqrt() * x + (1 - a).sqrt() * noise
        e = self.te(self.temb(t))
        h0 = self.r1(self.i(xt), e)
        h = self.r2(self.dn(h0), e)
        b, c, H, W = h.shape
        q, k, v = self.qkv(self.an(h)).reshape(b, 3, 4, c // 4, H * W).unbind(1)
        w = torch.softmax(torch.einsum('bhdi,bhdj->bhij', q, k) * (c // 4) ** (-0.5), -1)
        h = h + self.pr(torch.einsum('bhij,bhdj->bhdi', w, v).reshape(b, c, H, W))
        h = self.r4(torch.cat([F.interpolate(self.r3(h, e), scale_factor=2), h0], 1), e)
        return F.mse_loss(self.o(F.silu(h)), noise)


@network(lambda: {'f': tokens(16, 10, vocabulary=1000), 'v': torch.rand(16, 10)})
class DeepFM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(1000, 16)
        self.w = nn.Embedding(1000, 1)
        self.b = nn.Parameter(torch.zeros(1))
        self.m = nn.Sequential(nn.Linear(160, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))

    def forward(self, f, v):
        e = self.e(f) * v.unsqueeze(-1)
        fm = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(fm + (self.w(f).squeeze(-1) * v).sum(1, keepdim=True) + self.b + self.m(e.flatten(1)))


@network(lambda: {'seq': tokens(8, 20, vocabulary=500), 'pos': tokens(8, 20, vocabulary=500), 'neg': tokens(8, 20, vocabulary=500)})
class SASRec(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.e = nn.Embedding(500, d, padding_idx=0)
        self.p = nn.Embedding(20, d)
        self.dr = nn.Dropout(0.2)
        self.n1 = nn.LayerNorm(d)
        self.a = nn.MultiheadAttention(d, 2, dropout=0.2)
        self.n2 = nn.LayerNorm(d)
        self.c1 = nn.Conv1d(d, d, 1)
        self.c2 = nn.Conv1d(d, d, 1)
        self.ln = nn.LayerNorm(d)

    def forward(self, seq, pos, neg):
        x = self.e(seq) * 32 ** 0.5 + self.p(torch.arange(seq.size(1)))
        x = self.dr(x)
        m = seq == 0
        x = x * (~m).unsqueeze(-1)
        x = x.transpose(0, 1)
        q = self.n1(x)
        y, _ = self.a(q, x, x, attn_mask=~torch.tril(torch.ones(20, 20, dtype=torch.bool)))
        x = (q + y).transpose(0, 1)
        x = self.n2(x)
        x = x + self.dr(self.c2(F.relu(self.c1(x.transpose(1, 2)))).transpose(1, 2))
        x = x * (~m).unsqueeze(-1)
        x = self.ln(x)
        pl = (x * self.e(pos)).sum(-1)
        nl = (x * self.e(neg)).sum(-1)
        ist = (pos != 0).float()
        return ((-torch.log(torch.sigmoid(pl) + 1e-24) - torch.log(1 - torch.sigmoid(nl) + 1e-24)) * ist).sum() / ist.sum()


@network(lambda: {'z': randn(BATCH, 64)})
class SNGAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = nn.Sequential(nn.ConvTranspose2d(64, 64, 4, 1, 0), nn.BatchNorm2d(64), nn.ReLU(True), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(True), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())
        self.d = nn.Sequential(spectral_norm(nn.Conv2d(3, 32, 4, 2, 1)), nn.LeakyReLU(0.2), spectral_norm(nn.Conv2d(32, 64, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(), spectral_norm(nn.Linear(1024, 1)))

    def forward(self, z):
        return F.softplus(-self.d(self.g(z[:, :, None, None]))).mean()


@network(lambda: {'x': randn(BATCH, 16, 64)})
class WNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(*[m for i in range(3) for m in (weight_norm(nn.Conv1d(16, 16, 3, padding=2 ** i, dilation=2 ** i)), nn.LeakyReLU(0.1))])
        self.o = weight_norm(nn.Linear(64, 8))

    def forward(self, x):
        return self.o(self.c(x) + x)


@network(lambda: {'x': randn(BATCH, 16, 64)})
class MoESwitch(nn.Module):
    """top-2 dense dispatch with einsum and capacity (GShard)"""

    def __init__(self, d=64, E=4, C=20):
        super().__init__()
        self.E = E
        self.C = C
        self.g = nn.Linear(d, E, bias=False)
        self.w1 = nn.Parameter(randn(E, d, 2 * d) * 0.02)
        self.w2 = nn.Parameter(randn(E, 2 * d, d) * 0.02)

    def forward(self, x):
        sh = x.shape
        x = x.reshape(-1, sh[-1])
        p = F.softmax(self.g(x), -1)
        i1 = p.argmax(-1)
        m1 = F.one_hot(i1, self.E)
        p2 = p.masked_fill(m1.bool(), 0.0)
        m2 = F.one_hot(p2.argmax(-1), self.E)
        l1 = torch.cumsum(m1, 0) - 1
        l2 = torch.cumsum(m2, 0) - 1 + m1.sum(0, keepdim=True)
        aux = (p.mean(0) * m1.float().mean(0)).sum() * self.E
        m1 = m1 * (l1 < self.C)
        m2 = m2 * (l2 < self.C)
        l1 = (l1 * m1).sum(1)
        l2 = (l2 * m2).sum(1)
        g1 = (p * m1).sum(1)
        g2 = (p * m2).sum(1)
        dn = (g1 + g2).clamp(min=1e-09)
        g1 = g1 / dn
        g2 = g2 / dn
        cw = torch.einsum('s,se,sc->sec', g1, m1.float(), F.one_hot(l1, self.C).float()) + torch.einsum('s,se,sc->sec', g2, m2.float(), F.one_hot(l2, self.C).float())
        di = torch.einsum('sec,sm->ecm', cw.bool().to(x.dtype), x)
        h = torch.bmm(F.relu(torch.bmm(di, self.w1)), self.w2)
        return (torch.einsum('sec,ecm->sm', cw, h).reshape(sh), aux)


@network(lambda: {'x': randn(BATCH, 16, 64)})
class MoETopK(nn.Module):
    """all experts, weighted by masked gate"""

    def __init__(self, d=64, E=4):
        super().__init__()
        self.g = nn.Linear(d, E)
        self.n = nn.Linear(d, E)
        self.ex = nn.ModuleList([nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(E)])

    def forward(self, x):
        l = self.g(x)
        l = l + torch.randn_like(l) * F.softplus(self.n(x))
        v, i = l.topk(2, -1)
        z = torch.full_like(l, float('-inf')).scatter(-1, i, v)
        w = F.softmax(z, -1)
        return sum((w[..., k:k + 1] * e(x) for k, e in enumerate(self.ex)))


@network(lambda: {'o': randn(32, 17), 'a': randn(32, 6), 'adv': randn(32), 'ret': randn(32), 'olp': randn(32)})
class PPO(nn.Module):
    def __init__(self):
        super().__init__()
        m = lambda o: nn.Sequential(nn.Linear(17, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, o))
        self.pi = m(6)
        self.v = m(1)
        self.ls = nn.Parameter(torch.zeros(1, 6))

    def forward(self, o, a, adv, ret, olp):
        mu = self.pi(o)
        ls = self.ls.expand_as(mu)
        sd = ls.exp()
        lp = (-(a - mu) ** 2 / (2 * sd ** 2) - sd.log() - math.log(math.sqrt(2 * math.pi))).sum(-1)
        ent = (0.5 + 0.5 * math.log(2 * math.pi) + sd.log()).sum(-1)
        r = (lp - olp).exp()
        adv = (adv - adv.mean()) / (adv.std() + 1e-08)
        pg = torch.max(-adv * r, -adv * torch.clamp(r, 0.8, 1.2)).mean()
        v = self.v(o).squeeze(-1)
        return pg - 0.01 * ent.mean() + 0.5 * 0.5 * ((v - ret) ** 2).mean()


@network(lambda: {'o': randn(32, 17), 'eps': randn(32, 6)})
class SAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Sequential(nn.Linear(17, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.mu = nn.Linear(64, 6)
        self.ls = nn.Linear(64, 6)
        q = lambda: nn.Sequential(nn.Linear(23, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.q1 = q()
        self.q2 = q()

    def forward(self, o, eps):
        h = self.b(o)
        mu = self.mu(h)
        ls = torch.tanh(self.ls(h))
        ls = -5 + 0.5 * 7 * (ls + 1)
        sd = ls.exp()
        u = mu + sd * eps
        a = torch.tanh(u)
        lp = (-0.5 * ((u - mu) / sd) ** 2 - ls - 0.5 * math.log(2 * math.pi) - torch.log(1 - a.pow(2) + 1e-06)).sum(-1, keepdim=True)
        oa = torch.cat([o, a], -1)
        return (0.2 * lp - torch.min(self.q1(oa), self.q2(oa))).mean()


@network(lambda: {'s': randn(32, 4, 42, 42), 's2': randn(32, 4, 42, 42), 'a': torch.randint(0, 6, (32, 1)), 'r': randn(32, 1), 'd': torch.randint(0, 2, (32, 1)).float()})
class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        n = lambda: nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(288, 64), nn.ReLU())
        self.q = n()
        self.v = nn.Linear(64, 1)
        self.ad = nn.Linear(64, 6)
        self.t = n()
        self.tv = nn.Linear(64, 1)
        self.ta = nn.Linear(64, 6)

    def forward(self, s_, s2, a, r, d):
        h = self.q(s_)
        ad = self.ad(h)
        q = self.v(h) + ad - ad.mean(1, keepdim=True)
        q = q.gather(1, a)
        with torch.no_grad():
            h = self.t(s2)
            ad = self.ta(h)
            y = r + 0.99 * (1 - d) * (self.tv(h) + ad - ad.mean(1, keepdim=True)).max(1, keepdim=True)[0]
        return F.smooth_l1_loss(q, y)


@network(lambda: {'x': torch.rand(BATCH, 3, 24, 24), 'y': torch.rand(BATCH, 3, 72, 72)})
class EDSR(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.h = nn.Conv2d(3, c, 3, padding=1)
        self.b = nn.ModuleList([nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(True), nn.Conv2d(c, c, 3, padding=1)) for _ in range(3)])
        self.u = nn.Sequential(nn.Conv2d(c, 9 * c, 3, padding=1), nn.PixelShuffle(3), nn.Conv2d(c, 3, 3, padding=1))
        self.register_buffer('mean', torch.rand(1, 3, 1, 1))

    def forward(self, x, y):
        f = self.h(x - self.mean)
        r = f
        for b in self.b:
            r = r + b(r) * 0.1
        return torch.sqrt((self.u(f + r) + self.mean - y) ** 2 + 1e-06).mean()


class Inv(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, c, 1, 1))
        self.sc = nn.Parameter(torch.ones(1, c, 1, 1))
        self.w = nn.Parameter(torch.linalg.qr(randn(c, c))[0])
        self.n = nn.Sequential(nn.Conv2d(c // 2, 32, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(32, 32, 1), nn.ReLU(inplace=True), nn.Conv2d(32, c, 3, padding=1))

    def forward(self, x):
        b, c, h, w = x.shape
        x = self.sc * (x + self.loc)
        ld = h * w * self.sc.abs().log().sum() + h * w * torch.slogdet(self.w)[1]
        x = F.conv2d(x, self.w[:, :, None, None])
        a, bb = x.chunk(2, 1)
        ls, t = self.n(a).chunk(2, 1)
        sg = torch.sigmoid(ls + 2)
        bb = (bb + t) * sg
        return (torch.cat([a, bb], 1), ld + sg.log().sum((1, 2, 3)))


@network(lambda: {'x': torch.rand(BATCH, 3, 16, 16)})
class Glow(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.ModuleList([Inv(12) for _ in range(3)])

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).contiguous().view(b, 4 * c, h // 2, w // 2)
        ld = 0
        for f in self.f:
            x, d = f(x)
            ld = ld + d
        return (-ld + 0.5 * (x ** 2 + math.log(2 * math.pi)).sum((1, 2, 3))).mean()


@network(lambda: {'x': randn(BATCH, 64, 32), 'y': randn(BATCH, 16, 32)})
class Mamba(nn.Module):
    """selective scan written as loop"""

    def __init__(self, d=32, n=8, L=16):
        super().__init__()
        e = 2 * d
        self.n = n
        self.L = L
        self.i = nn.Linear(d, 2 * e, bias=False)
        self.c = nn.Conv1d(e, e, 4, padding=3, groups=e)
        self.xp = nn.Linear(e, 4 + 2 * n, bias=False)
        self.dt = nn.Linear(4, e)
        self.A = nn.Parameter(torch.log(torch.arange(1, n + 1).float()).repeat(e, 1))
        self.D = nn.Parameter(torch.ones(e))
        self.o = nn.Linear(e, d, bias=False)

    def forward(self, x, y):
        x = x[:, :self.L]
        x, z = self.i(x).chunk(2, -1)
        L = x.size(1)
        x = F.silu(self.c(x.transpose(1, 2))[..., :L]).transpose(1, 2)
        dt, Bm, C = self.xp(x).split([4, self.n, self.n], -1)
        dt = F.softplus(self.dt(dt))
        A = -torch.exp(self.A)
        dA = torch.exp(dt.unsqueeze(-1) * A)
        dB = dt.unsqueeze(-1) * Bm.unsqueeze(2) * x.unsqueeze(-1)
        h = torch.zeros(x.size(0), x.size(2), self.n)
        ys = []
        for t in range(L):
            h = dA[:, t] * h + dB[:, t]
            ys.append((h * C[:, t].unsqueeze(1)).sum(-1))
        y2 = torch.stack(ys, 1) + x * self.D
        return F.mse_loss(self.o(y2 * F.silu(z)), y)


@network(lambda: {'x': randn(BATCH, 3, 64, 64), 'y': torch.randint(0, 100, (BATCH,))})
class ArcFace(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.PReLU(32), nn.Conv2d(32, 64, 3, 2, 1), nn.BatchNorm2d(64), nn.PReLU(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 128), nn.BatchNorm1d(128))
        self.w = nn.Parameter(randn(100, 128))

    def forward(self, x, y):
        c = F.linear(F.normalize(self.n(x)), F.normalize(self.w))
        sn = torch.sqrt(1 - torch.pow(c, 2).clamp(0, 1))
        ph = c * math.cos(0.5) - sn * math.sin(0.5)
        ph = torch.where(c > math.cos(math.pi - 0.5), ph, c - math.sin(math.pi - 0.5) * 0.5)
        oh = torch.zeros_like(c).scatter_(1, y.view(-1, 1).long(), 1)
        return F.cross_entropy((oh * ph + (1 - oh) * c) * 30, y)


@network(lambda: {'x': torch.rand(BATCH, 784)})
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(784, 256)
        self.m = nn.Linear(256, 32)
        self.v = nn.Linear(256, 32)
        self.d = nn.Linear(32, 256)
        self.o = nn.Linear(256, 784)

    def forward(self, x):
        h = F.relu(self.a(x))
        m, lv = (self.m(h), self.v(h))
        sd = torch.exp(0.5 * lv)
        z = m + torch.randn_like(sd) * sd
        r = torch.sigmoid(self.o(F.relu(self.d(z))))
        return F.binary_cross_entropy(r, x, reduction='sum') - 0.5 * torch.sum(1 + lv - m.pow(2) - lv.exp())


@network(lambda: {'q': randn(BATCH, 20, 64), 'img': randn(BATCH, 3, 64, 64)})
class DETRish(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.b = nn.Sequential(nn.Conv2d(3, d, 8, 8))
        self.t = nn.Transformer(d, 4, 1, 1, 128, batch_first=True)
        self.row = nn.Parameter(randn(8, d // 2))
        self.col = nn.Parameter(randn(8, d // 2))
        self.c = nn.Linear(d, 11)
        self.bx = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))

    def forward(self, q, img):
        h = self.b(img)
        pos = torch.cat([self.col.unsqueeze(0).repeat(8, 1, 1), self.row.unsqueeze(1).repeat(1, 8, 1)], -1).flatten(0, 1).unsqueeze(0)
        h = self.t(pos + h.flatten(2).transpose(1, 2), q)
        return (self.c(h), self.bx(h).sigmoid())


@network(lambda: {'x': randn(BATCH, 3, 512)})
class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(3, 64, 1)
        self.ba = nn.BatchNorm1d(64)
        self.b = nn.Conv1d(64, 128, 1)
        self.bb = nn.BatchNorm1d(128)
        self.f = nn.Linear(128, 9)
        self.c = nn.Conv1d(3, 64, 1)
        self.o = nn.Linear(64, 10)

    def forward(self, x):
        h = F.relu(self.ba(self.a(x)))
        h = F.relu(self.bb(self.b(h)))
        h = h.max(2)[0]
        t = self.f(h).view(-1, 3, 3) + torch.eye(3)
        x = torch.bmm(x.transpose(2, 1), t).transpose(2, 1)
        h = F.relu(self.c(x)).max(2, keepdim=True)[0].view(-1, 64)
        reg = torch.norm(torch.bmm(t, t.transpose(2, 1)) - torch.eye(3), dim=(1, 2)).mean()
        return (F.log_softmax(self.o(h), 1), reg)


@network(lambda: {'x': randn(BATCH, 256, 3)})
class DGCNN(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.k = k
        self.c = nn.Sequential(nn.Conv2d(6, 32, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2))
        self.d = nn.Sequential(nn.Conv2d(64, 32, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2))
        self.o = nn.Linear(64, 10)

    def feat(self, x):
        x = x.transpose(1, 2)
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        xx = (x ** 2).sum(1, keepdim=True)
        idx = (-xx - inner - xx.transpose(2, 1)).topk(self.k, -1)[1]
        b, d, n = x.shape
        idx = (idx + torch.arange(b).view(-1, 1, 1) * n).view(-1)
        x = x.transpose(2, 1).contiguous()
        f = x.view(b * n, -1)[idx].view(b, n, self.k, d)
        x = x.view(b, n, 1, d).repeat(1, 1, self.k, 1)
        return torch.cat([f - x, x], 3).permute(0, 3, 1, 2).contiguous()

    def forward(self, x):
        a = self.c(self.feat(x)).max(-1)[0]
        b = self.d(self.feat(a.transpose(1, 2))).max(-1)[0]
        return self.o(torch.cat([a, b], 1).max(-1)[0])


@network(lambda: {'rays': randn(128, 3), 'd': randn(128, 3)})
class NeRF(nn.Module):
    def __init__(self, N=16):
        super().__init__()
        self.N = N
        self.m = nn.Sequential(nn.Linear(39, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.sg = nn.Linear(64, 1)
        self.f = nn.Linear(64, 64)
        self.rgb = nn.Sequential(nn.Linear(64 + 27, 32), nn.ReLU(), nn.Linear(32, 3), nn.Sigmoid())

    def enc(self, x, L):
        return torch.cat([x] + [f(2.0 ** i * x) for i in range(L) for f in (torch.sin, torch.cos)], -1)

    def forward(self, rays, d):
        z = torch.linspace(2, 6, self.N).expand(rays.size(0), -1)
        p = rays[:, None] + d[:, None] * z[..., None]
        h = self.m(self.enc(p, 6))
        sig = F.relu(self.sg(h)).squeeze(-1)
        c = self.rgb(torch.cat([self.f(h), self.enc(d, 4)[:, None].expand(-1, self.N, -1)], -1))
        dl = torch.cat([z[:, 1:] - z[:, :-1], torch.full_like(z[:, :1], 10000000000.0)], -1)
        a = 1 - torch.exp(-sig * dl)
        T = torch.cumprod(torch.cat([torch.ones_like(a[:, :1]), 1 - a + 1e-10], -1), -1)[:, :-1]
        w = a * T
        return ((w[..., None] * c).sum(1), (w * z).sum(-1))


@network(lambda: {'x': randn(BATCH, 96, 7)})
class PatchTST(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.w = nn.Parameter(torch.ones(7))
        self.b = nn.Parameter(torch.zeros(7))
        self.p = nn.Linear(16, d)
        self.pos = nn.Parameter(randn(11, d))
        self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, batch_first=True, activation='gelu'), 2)
        self.h = nn.Linear(11 * d, 24)

    def forward(self, x):
        m = x.mean(1, keepdim=True).detach()
        sd = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-05).detach()
        x = (x - m) / sd * self.w + self.b
        b, l, c = x.shape
        p = x.transpose(1, 2).unfold(-1, 16, 8).reshape(b * c, -1, 16)
        h = self.e(self.p(p) + self.pos)
        y = self.h(h.flatten(1)).view(b, c, -1).transpose(1, 2)
        return (y - self.b) / self.w * sd + m


@network(lambda: {'x': randn(BATCH, 3, 32, 32), 'y': torch.randint(0, 10, (BATCH,))})
class LabelSmooth(nn.Module):
    """SE-ResNet with hand-made label smoothing"""

    def __init__(self, c=32):
        super().__init__()
        self.c1 = nn.Conv2d(3, c, 3, padding=1)
        self.b1 = nn.BatchNorm2d(c)
        self.c2 = nn.Conv2d(c, c, 3, padding=1)
        self.b2 = nn.BatchNorm2d(c)
        self.se = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 4, 1), nn.SiLU(), nn.Conv2d(c // 4, c, 1), nn.Sigmoid())
        self.f = nn.Linear(c, 10)

    def forward(self, x, y):
        h = F.mish(self.b1(self.c1(x)))
        r = self.b2(self.c2(h))
        h = F.hardswish(r * self.se(r) + h)
        lp = F.log_softmax(self.f(h.mean((2, 3))), -1)
        n = -lp.gather(-1, y.unsqueeze(1)).squeeze(1)
        return (0.9 * n - 0.1 * lp.mean(-1)).mean()


@network(lambda: {'x': randn(BATCH, 3, 64, 64)})
class Perceptual(nn.Module):
    """style transfer with a frozen feature net and Gram matrices"""

    def __init__(self):
        super().__init__()
        self.g = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(3, 16, 3), nn.InstanceNorm2d(16, affine=True), nn.ReLU(), nn.Upsample(scale_factor=1.0), nn.Conv2d(16, 3, 3, padding=1))
        self.v = nn.ModuleList([nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)])
        for p in self.v.parameters():
            p.requires_grad_(False)
        self.register_buffer('style', randn(16, 16))

    def feats(self, x):
        a = F.relu(self.v[0](x))
        return (a, F.relu(self.v[1](F.max_pool2d(a, 2))))

    def forward(self, x):
        y = self.g(x)
        a, b = self.feats(y)
        with torch.no_grad():
            _, c = self.feats(x)
        n, ch, h, w = a.shape
        f = a.view(n, ch, h * w)
        G = f.bmm(f.transpose(1, 2)) / (ch * h * w)
        tv = (y[:, :, 1:] - y[:, :, :-1]).abs().mean() + (y[:, :, :, 1:] - y[:, :, :, :-1]).abs().mean()
        return F.mse_loss(b, c) + F.mse_loss(G, self.style.expand_as(G)) + tv


@network(lambda: {'u': randn(BATCH, 2, 64), 'y': randn(BATCH, 4, 64)})
class FNO(nn.Module):
    def __init__(self, w=16, m=12):
        super().__init__()
        self.m = m
        self.p = nn.Conv1d(2, w, 1)
        self.wr = nn.Parameter(randn(w, w, m, 2))
        self.c = nn.Conv1d(w, w, 1)
        self.o = nn.Conv1d(w, 4, 1)

    def forward(self, u, y):
        x = self.p(u)
        xf = torch.fft.rfft(x)
        W = torch.view_as_complex(self.wr)
        o = torch.einsum('bix,iox->box', xf[:, :, :self.m], W)
        o = F.pad(o, (0, xf.size(-1) - self.m))
        x = F.gelu(torch.fft.irfft(o, n=x.size(-1)) + self.c(x))
        d = self.o(x)
        return ((d - y).flatten(1).norm(dim=1) / y.flatten(1).norm(dim=1)).mean()


@network(lambda: {'w': tokens(BATCH, 12), 'c': tokens(BATCH, 12, 6)})
class CharCNNTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(100, 32)
        self.ce = nn.Embedding(100, 16)
        self.cc = nn.Conv1d(16, 16, 3, padding=1)
        self.hw = nn.Linear(48, 96)
        self.l = nn.GRU(48, 32, bidirectional=True, batch_first=True)
        self.q = nn.Parameter(randn(64))
        self.o = nn.Linear(64, 9)

    def forward(self, w, c):
        b, t, k = c.shape
        ch = self.cc(self.ce(c.view(-1, k)).transpose(1, 2)).max(-1)[0].view(b, t, -1)
        x = torch.cat([self.e(w), ch], -1)
        h, g = self.hw(x).chunk(2, -1)
        g = torch.sigmoid(g)
        x = g * F.relu(h) + (1 - g) * x
        h, _ = self.l(x)
        a = F.softmax(torch.tanh(h) @ self.q, -1)
        return self.o((h * a.unsqueeze(-1)).sum(1))


@network(lambda: {'x': randn(BATCH, 16, 64)})
class LinAttn(nn.Module):
    """Performer style linear attention and RMSNorm and SwiGLU"""

    def __init__(self, d=64):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.o = nn.Linear(d, d)
        self.g = nn.Parameter(torch.ones(d))
        self.w = nn.Linear(d, 2 * d, bias=False)
        self.u = nn.Linear(d, 2 * d, bias=False)
        self.dn = nn.Linear(2 * d, d, bias=False)

    def norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-06) * self.g

    def forward(self, x):
        h = self.norm(x)
        b, n, d = h.shape
        q, k, v = (l(h).view(b, n, 4, -1).transpose(1, 2) for l in (self.q, self.k, self.v))
        q = F.elu(q) + 1
        k = F.elu(k) + 1
        kv = torch.einsum('bhnd,bhne->bhde', k, v)
        z = 1 / (torch.einsum('bhnd,bhd->bhn', q, k.sum(2)) + 1e-06)
        y = torch.einsum('bhnd,bhde,bhn->bhne', q, kv, z)
        x = x + self.o(y.transpose(1, 2).reshape(b, n, d))
        h = self.norm(x)
        return x + self.dn(F.silu(self.w(h)) * self.u(h))


@network(lambda: {'a': randn(64, 32), 'b': randn(64, 32)})
class Cosine(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 48)
        self.b = nn.Linear(32, 48)

    def forward(self, a, b):
        return (1 - F.cosine_similarity(self.a(a), self.b(b))).mean()


@network(lambda: {'a': randn(64, 32), 'b': randn(64, 48)})
class MSE(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 48)
        self.b = nn.Linear(48, 48)

    def forward(self, a, b):
        return F.mse_loss(torch.tanh(self.a(a)), torch.tanh(self.b(b)))


@network(lambda: {'a': randn(4, 16, 32), 'm': torch.rand(4, 16) > 0.3})
class MaskMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 48)
        self.b = nn.Linear(48, 8)

    def forward(self, a, m):
        h = self.a(a)
        m = m.unsqueeze(-1).expand(h.size()).float()
        return self.b((h * m).sum(1) / m.sum(1).clamp(min=1e-09))


@network(lambda: {'a': randn(4, 16, 32)})
class Bern(nn.Module):
    """drop path by hand"""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 32)
        self.b = nn.Linear(32, 32)

    def forward(self, x):
        for l in (self.a, self.b):
            h = F.gelu(l(x))
            keep = 0.9
            r = keep + torch.rand((h.shape[0], 1, 1), dtype=h.dtype)
            r = r.floor()
            x = x + h.div(keep) * r
        return x


EXPORTS: dict[str, dict[str, Any]] = {
    "legacy": {"dynamo": False, "training": torch.onnx.TrainingMode.TRAINING, "opset_version": 17},
    "default": {"dynamo": True, "external_data": False, "verbose": False},
    "unoptimized": {"dynamo": True, "external_data": False, "verbose": False, "optimize": False},
    "archive": {},
}


def export(model: Model, way: str, path: Path) -> None:
    torch.manual_seed(0)
    written, inputs = model.build().train(), model.inputs()
    if way == "archive":
        torch.export.save(torch.export.export(written, tuple(inputs.values()), strict=False), path)
    else:
        torch.onnx.export(written, tuple(inputs.values()), str(path), input_names=list(inputs), **EXPORTS[way])


def export_all(model: Model, folder: Path, tell: Callable[[dict], None]) -> None:
    torch.manual_seed(0)
    tell({"model": model.name, "truth": truth(model)})
    for way in EXPORTS:
        row = {"model": model.name, "export": way}
        path = folder / f"{model.name}-{way}.{'pt2' if way == 'archive' else 'onnx'}"
        try:
            export(model, way, path)
        except Exception as error:  # what cannot be exported is a row of the table
            tell({**row, "refused": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"})
        else:
            tell({**row, "file": str(path)})
        gc.collect()


def main() -> None:
    networks = NETWORKS | FURTHER | RESEARCH | TRAINED | REPEATED
    arguments = arguments_of(__doc__, networks, "network")
    tell = teller()
    tell({"versions": {"torch": torch.__version__, **{name: version(name) for name in ["onnx", "onnxscript"]}}})
    for name, model in networks.items():
        if not arguments.only or name in arguments.only:
            export_all(model, arguments.folder, tell)


if __name__ == "__main__":
    main()
