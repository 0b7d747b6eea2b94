"""More networks as people write them, for `asWritten.py`: image translation, speech, ranking, forecasts, graphs, and attention written out."""

from __future__ import annotations

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from exports import Model
from networkList import BATCH, listing, randn, tokens
from torch.nn.utils import weight_norm as old_weight_norm
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

TRAINED: dict[str, Model] = {}
network = listing(TRAINED)


# --- Attention, written out ---


@network(lambda: {"x": tokens(BATCH, 24)})
class ALiBi(nn.Module):
    """Slopes by distance, a causal mask by `tril`, weights shared with the head."""

    def __init__(self, d=64, h=4):
        super().__init__()
        self.h = h
        self.embed = nn.Embedding(100, d)
        self.norm = nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.register_buffer("slopes", torch.tensor([2.0 ** (-2 * (i + 1)) for i in range(h)]))
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(d, 100, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        x = self.embed(x)
        b, n, d = x.size()
        q, k, v = self.qkv(self.norm(x)).split(d, dim=2)
        q, k, v = (t.view(b, n, self.h, d // self.h).transpose(1, 2) for t in (q, k, v))
        at = torch.arange(n, device=x.device)
        w = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)) + self.slopes.view(-1, 1, 1) * (at[None] - at[:, None])
        w = w.masked_fill(self.mask[:, :, :n, :n] == 0, float("-inf"))
        y = self.drop(F.softmax(w, dim=-1)) @ v
        return self.head(x + self.out(y.transpose(1, 2).contiguous().view(b, n, d)))


@network(lambda: {"x": randn(BATCH, 24, 64)})
class EinsumAttention(nn.Module):
    def __init__(self, d=64, h=4):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Parameter(0.1 * randn(d, h, d // h)) for _ in range(3))
        self.wo = nn.Parameter(0.1 * randn(h, d // h, d))
        self.scale = (d // h) ** -0.5
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        q = torch.einsum("bnd,dhk->bhnk", x, self.wq)
        k = torch.einsum("bnd,dhk->bhnk", x, self.wk)
        v = torch.einsum("bnd,dhk->bhnk", x, self.wv)
        sim = torch.einsum("b h i d, b h j d -> b h i j", q * self.scale, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        out = torch.einsum("bhij,bhjd->bhid", sim.softmax(dim=-1), v)
        return self.head(torch.einsum("bhnk,hkd->bnd", out, self.wo).mean(1))


class RMS(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


@network(lambda: {"x": tokens(BATCH, 24)})
class GroupedQuery(nn.Module):
    """Llama as its authors published it: repeated keys, rotation of halves, a gated MLP, a causal mask by `triu`."""

    def __init__(self, d=64, h=4, g=2):
        super().__init__()
        self.h, self.g, self.k = h, g, d // h
        self.embed = nn.Embedding(100, d)
        self.wq, self.wk, self.wv = (nn.Linear(d, n * self.k, bias=False) for n in (h, g, g))
        self.wo = nn.Linear(d, d, bias=False)
        self.n1, self.n2, self.n3 = RMS(d), RMS(d), RMS(d)
        self.w1, self.w2, self.w3 = nn.Linear(d, 160, bias=False), nn.Linear(160, d, bias=False), nn.Linear(d, 160, bias=False)
        f = torch.outer(torch.arange(64).float(), 10000 ** (-torch.arange(0, self.k, 2).float() / self.k))
        self.register_buffer("cos", torch.cat([f, f], -1).cos(), persistent=False)
        self.register_buffer("sin", torch.cat([f, f], -1).sin(), persistent=False)
        self.head = nn.Linear(d, 100, bias=False)

    def rotate(self, x, n):
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * self.cos[None, :n, None] + turned * self.sin[None, :n, None]

    def forward(self, x):
        h = self.embed(x)
        b, n, d = h.shape
        y = self.n1(h)
        q, k, v = (w(y).view(b, n, -1, self.k) for w in (self.wq, self.wk, self.wv))
        q, k = self.rotate(q, n), self.rotate(k, n)
        r = self.h // self.g
        k = k[:, :, :, None, :].expand(b, n, self.g, r, self.k).reshape(b, n, self.h, self.k)
        v = torch.repeat_interleave(v, dim=2, repeats=r)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        mask = torch.full((n, n), float("-inf"), device=h.device).triu(diagonal=1)
        s = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.k) + mask
        s = F.softmax(s.float(), dim=-1).type_as(q)
        h = h + self.wo((s @ v).transpose(1, 2).contiguous().view(b, n, -1))
        y = self.n2(h)
        return self.head(self.n3(h + self.w2(F.silu(self.w1(y)) * self.w3(y))))


@network(lambda: {"x": randn(BATCH, 32, 64)})
class Performer(nn.Module):
    def __init__(self, d=64, h=4, m=32):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.register_buffer("projection", randn(m, d // h))

    def features(self, x):
        p = torch.einsum("bhnd,md->bhnm", x * x.shape[-1] ** -0.25, self.projection)
        norm = (x ** 2).sum(-1, keepdim=True) / 2
        return (torch.exp(p - norm - p.amax((-1, -2), keepdim=True).detach()) + 1e-4) * self.projection.shape[0] ** -0.5

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (l(x).view(b, n, self.h, -1).transpose(1, 2) for l in (self.q, self.k, self.v))
        q, k = self.features(q), self.features(k)
        z = 1.0 / torch.einsum("bhnm,bhm->bhn", q, k.sum(dim=-2))
        context = torch.einsum("bhnm,bhnd->bhmd", k, v)
        y = torch.einsum("bhmd,bhnm,bhn->bhnd", context, q, z)
        return self.o(y.transpose(1, 2).reshape(b, n, d))


@network(lambda: {"x": randn(BATCH, 32, 64)})
class Linformer(nn.Module):
    def __init__(self, d=64, h=4, n=32, k=8):
        super().__init__()
        self.attend = nn.MultiheadAttention(d, h, dropout=0.1)
        self.e = nn.Parameter(0.1 * randn(n, k))
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.Linear(4 * d, d))

    def forward(self, x):
        small = torch.einsum("bnd,nk->bkd", x, self.e)
        y, w = self.attend(x.transpose(0, 1), small.transpose(0, 1), small.transpose(0, 1))
        x = self.norm(x + y.transpose(0, 1))
        return x + self.mlp(x), w


@network(lambda: {"x": randn(BATCH, 16, 64)})
class UniversalTransformer(nn.Module):
    """One layer called four times."""

    def __init__(self, d=64):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d, 4, 128, dropout=0.1, batch_first=True, norm_first=True)
        self.steps = nn.Parameter(0.1 * randn(4, d))
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        for i in range(4):
            x = self.layer(x + self.steps[i])
        return self.head(x[:, 0])


# --- Images ---


def instance(c):
    return nn.InstanceNorm2d(c, affine=True)


@network(lambda: {"x": torch.rand(BATCH, 3, 32, 32)})
class CycleGenerator(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.head = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, c, 7), instance(c), nn.ReLU(inplace=True), nn.Conv2d(c, 2 * c, 3, 2, 1), instance(2 * c), nn.ReLU(inplace=True))
        self.blocks = nn.ModuleList([nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(2 * c, 2 * c, 3), nn.InstanceNorm2d(2 * c), nn.ReLU(True), nn.Dropout(0.5), nn.ReflectionPad2d(1), nn.Conv2d(2 * c, 2 * c, 3), nn.InstanceNorm2d(2 * c)) for _ in range(2)])
        self.tail = nn.Sequential(nn.ConvTranspose2d(2 * c, c, 3, 2, 1, output_padding=1), instance(c), nn.ReLU(True), nn.ReflectionPad2d(3), nn.Conv2d(c, 3, 7), nn.Tanh())

    def forward(self, x):
        x = self.head(x)
        for block in self.blocks:
            x = x + block(x)
        return self.tail(x)


@network(lambda: {"x": torch.rand(BATCH, 3, 32, 32), "y": torch.rand(BATCH, 3, 32, 32)})
class PixToPix(nn.Module):
    """A U-Net with leaky activations in place before each convolution, and an L1 loss."""

    def __init__(self, c=16):
        super().__init__()
        self.d1 = nn.Conv2d(3, c, 4, 2, 1)
        self.d2 = nn.Sequential(nn.LeakyReLU(0.2, True), nn.Conv2d(c, 2 * c, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * c))
        self.d3 = nn.Sequential(nn.LeakyReLU(0.2, True), nn.Conv2d(2 * c, 4 * c, 4, 2, 1))
        self.u3 = nn.Sequential(nn.ReLU(True), nn.ConvTranspose2d(4 * c, 2 * c, 4, 2, 1), nn.BatchNorm2d(2 * c), nn.Dropout(0.5))
        self.u2 = nn.Sequential(nn.ReLU(True), nn.ConvTranspose2d(4 * c, c, 4, 2, 1), nn.BatchNorm2d(c))
        self.u1 = nn.Sequential(nn.ReLU(True), nn.ConvTranspose2d(2 * c, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x, y):
        a = self.d1(x)
        b = self.d2(a)
        z = self.u3(self.d3(b))
        z = self.u2(torch.cat([b, z], 1))
        return F.l1_loss(self.u1(torch.cat([a, z], 1)), y)


@network(lambda: {"x": torch.rand(BATCH, 3, 16, 16)})
class SRGenerator(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, c, 9, padding=4), nn.PReLU())
        self.blocks = nn.Sequential(*[self.Block(c) for _ in range(2)])
        self.join = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c))
        self.rise = nn.Sequential(nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2), nn.PReLU(c))
        self.last = nn.Conv2d(c, 3, 9, padding=4)

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.PReLU(), nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c))

        def forward(self, x):
            return x + self.body(x)

    def forward(self, x):
        x = self.first(x)
        return (torch.tanh(self.last(self.rise(x + self.join(self.blocks(x))))) + 1) / 2


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class CondConv(nn.Module):
    """Filters of each image: experts mixed, images as groups."""

    def __init__(self, k=4):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.route = nn.Linear(16, k)
        self.weight = nn.Parameter(0.1 * randn(k, 32, 16, 3, 3))
        self.bias = nn.Parameter(torch.zeros(k, 32))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.first(x), inplace=True)
        b, c, h, w = x.shape
        r = torch.sigmoid(self.route(F.adaptive_avg_pool2d(x, 1).flatten(1)))
        weight = (r @ self.weight.view(self.weight.size(0), -1)).view(b * 32, c, 3, 3)
        bias = (r @ self.bias).view(-1)
        y = F.conv2d(x.reshape(1, b * c, h, w), weight, bias, padding=1, groups=b).view(b, 32, h, w)
        return self.head(F.relu(y).mean([2, 3]))


@network(lambda: {"x": randn(BATCH, 16, 16, 16)})
class Involution(nn.Module):
    def __init__(self, c=16, k=3, g=4):
        super().__init__()
        self.k, self.g = k, g
        self.reduce = nn.Sequential(nn.Conv2d(c, c // 4, 1), nn.BatchNorm2d(c // 4), nn.ReLU())
        self.span = nn.Conv2d(c // 4, k * k * g, 1)
        self.unfold = nn.Unfold(k, padding=k // 2)
        self.head = nn.Conv2d(c, 8, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        kernel = self.span(self.reduce(x)).view(b, self.g, self.k ** 2, h, w).unsqueeze(2)
        out = self.unfold(x).view(b, self.g, c // self.g, self.k ** 2, h, w)
        return self.head((kernel * out).sum(dim=3).view(b, c, h, w))


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class CBAM(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.conv = nn.Conv2d(3, c, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(c)
        self.mlp = nn.Sequential(nn.Conv2d(c, c // 8, 1, bias=False), nn.ReLU(), nn.Conv2d(c // 8, c, 1, bias=False))
        self.spatial = nn.Conv2d(2, 1, 7, padding=3, bias=False)
        self.theta, self.phi, self.g, self.w = nn.Conv2d(c, c // 2, 1), nn.Conv2d(c, c // 2, 1), nn.Conv2d(c, c // 2, 1), nn.Conv2d(c // 2, c, 1)
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = F.relu_(self.norm(self.conv(x)))
        x = x * torch.sigmoid(self.mlp(F.adaptive_avg_pool2d(x, 1)) + self.mlp(F.adaptive_max_pool2d(x, 1)))
        s = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)
        x = x * self.spatial(s).sigmoid()
        small = F.max_pool2d(x, 2)
        b, c, h, w = x.shape
        f = F.softmax(torch.bmm(self.theta(x).flatten(2).transpose(1, 2), self.phi(small).flatten(2)), -1)
        y = torch.bmm(f, self.g(small).flatten(2).transpose(1, 2)).transpose(1, 2).contiguous().view(b, c // 2, h, w)
        return self.head(F.avg_pool2d(x + self.w(y), (h, w)).view(b, -1))


def unit(i, o, k=3, d=1):
    return nn.Sequential(nn.Conv2d(i, o, k, padding=d * (k // 2), dilation=d, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


@network(lambda: {"x": randn(BATCH, 3, 48, 48), "y": torch.randint(0, 5, (BATCH, 48, 48))})
class PyramidPooling(nn.Module):
    """Segmentation with two losses, pools of four sizes, and dropout of whole channels."""

    def __init__(self, c=32):
        super().__init__()
        self.stem = nn.Sequential(unit(3, c), nn.MaxPool2d(2), unit(c, c))
        self.deep = nn.Sequential(unit(c, c, d=2), unit(c, c, d=4))
        self.pools = nn.ModuleList([nn.Sequential(nn.AdaptiveAvgPool2d(s), unit(c, c // 4, 1)) for s in (2, 3, 6)])
        self.last = nn.Sequential(unit(c + 3 * (c // 4), c), nn.Dropout2d(0.1), nn.Conv2d(c, 5, 1))
        self.aux = nn.Sequential(unit(c, c // 2), nn.Dropout2d(0.1), nn.Conv2d(c // 2, 5, 1))

    def forward(self, x, y):
        size = x.shape[2:]
        low = self.stem(x)
        x = self.deep(low)
        x = torch.cat([x] + [F.interpolate(p(x), x.shape[2:], mode="bilinear", align_corners=True) for p in self.pools], 1)
        z = F.interpolate(self.last(x), size, mode="bilinear", align_corners=True)
        a = F.interpolate(self.aux(low), size, mode="bilinear", align_corners=True)
        return F.cross_entropy(z, y, ignore_index=255) + 0.4 * F.cross_entropy(a, y, ignore_index=255)


@network(lambda: {"x": randn(BATCH, 3, 32, 32), "heat": torch.rand(BATCH, 4, 8, 8), "size": torch.rand(BATCH, 2, 8, 8)})
class CenterNet(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.body = nn.Sequential(unit(3, c), nn.MaxPool2d(2), unit(c, c), nn.MaxPool2d(2), unit(c, 2 * c), nn.MaxPool2d(2), nn.ConvTranspose2d(2 * c, c, 4, 2, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(True))
        self.heat = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(c, 4, 1))
        self.size = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(c, 2, 1))

    def forward(self, x, heat, size):
        f = self.body(x)
        p = torch.clamp(self.heat(f).sigmoid_(), min=1e-4, max=1 - 1e-4)
        pos = heat.ge(0.99).float()
        neg = torch.pow(1 - heat, 4) * heat.lt(0.99).float()
        loss = (torch.log(p) * torch.pow(1 - p, 2) * pos).sum() + (torch.log(1 - p) * torch.pow(p, 2) * neg).sum()
        mask = pos.amax(1, keepdim=True)
        return -loss / (pos.sum() + 1e-4) + 0.1 * F.l1_loss(self.size(f) * mask, size * mask, reduction="sum") / (mask.sum() + 1e-4)


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class Hourglass(nn.Module):
    """Two stages with an output each; residual units before their activation."""

    class Unit(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.n1, self.n2, self.n3 = nn.BatchNorm2d(c), nn.BatchNorm2d(c // 2), nn.BatchNorm2d(c // 2)
            self.c1, self.c2, self.c3 = nn.Conv2d(c, c // 2, 1), nn.Conv2d(c // 2, c // 2, 3, padding=1), nn.Conv2d(c // 2, c, 1)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.c1(self.relu(self.n1(x)))
            y = self.c2(self.relu(self.n2(y)))
            y = self.c3(self.relu(self.n3(y)))
            y += x
            return y

    def __init__(self, c=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, c, 7, 2, 3), nn.BatchNorm2d(c), nn.ReLU(inplace=True))
        self.down, self.mid, self.up = (nn.ModuleList([self.Unit(c) for _ in range(2)]) for _ in range(3))
        self.outs = nn.ModuleList([nn.Conv2d(c, 5, 1) for _ in range(2)])
        self.back = nn.Conv2d(5, c, 1)

    def forward(self, x):
        x = self.stem(x)
        results = []
        for i in range(2):
            low = self.mid[i](F.max_pool2d(self.down[i](x), 2, stride=2))
            y = self.up[i](x) + F.interpolate(low, scale_factor=2)
            results.append(self.outs[i](y))
            x = x + self.back(results[-1])
        return results


@network(lambda: {"x": randn(1, 1, 16, 16, 16), "y": torch.randint(0, 2, (1, 1, 16, 16, 16)).float()})
class VNet(nn.Module):
    """Volumes, with ELU in place and a Dice loss by hand."""

    def __init__(self, c=8):
        super().__init__()
        self.first = nn.Sequential(nn.Conv3d(1, c, 5, padding=2), nn.BatchNorm3d(c), nn.ELU(inplace=True))
        self.down = nn.Sequential(nn.Conv3d(c, 2 * c, 2, stride=2), nn.BatchNorm3d(2 * c), nn.ELU(inplace=True))
        self.deep = nn.Sequential(nn.Dropout3d(), nn.Conv3d(2 * c, 2 * c, 5, padding=2), nn.BatchNorm3d(2 * c))
        self.up = nn.Sequential(nn.ConvTranspose3d(2 * c, c, 2, stride=2), nn.BatchNorm3d(c), nn.ELU(inplace=True))
        self.last = nn.Conv3d(2 * c, 1, 1)

    def forward(self, x, y):
        a = self.first(x)
        b = self.down(a)
        b = F.elu(self.deep(b) + b, inplace=True)
        p = torch.sigmoid(self.last(torch.cat((self.up(b), a), 1))).view(1, -1)
        t = y.view(1, -1)
        return 1 - (2 * (p * t).sum(1) / ((p * p).sum(1) + (t * t).sum(1) + 1e-6)).mean()


@network(lambda: {"x": torch.rand(BATCH, 1, 28, 28), "y": torch.randint(0, 256, (BATCH, 28, 28))})
class PixelCNN(nn.Module):
    class Masked(nn.Conv2d):
        def __init__(self, kind, *rest, **more):
            super().__init__(*rest, **more)
            mask = torch.ones_like(self.weight)
            k = self.kernel_size[0]
            mask[:, :, k // 2, k // 2 + (kind == "B"):] = 0
            mask[:, :, k // 2 + 1:] = 0
            self.register_buffer("mask", mask)

        def forward(self, x):
            self.weight.data *= self.mask
            return super().forward(x)

    def __init__(self, c=16):
        super().__init__()
        self.net = nn.Sequential(self.Masked("A", 1, c, 7, padding=3, bias=False), nn.BatchNorm2d(c), nn.ReLU(True), self.Masked("B", c, c, 7, padding=3, bias=False), nn.BatchNorm2d(c), nn.ReLU(True), nn.Conv2d(c, 256, 1))

    def forward(self, x, y):
        return F.cross_entropy(self.net(x), y)


@network(lambda: {"x": torch.rand(8, 32)})
class MADE(nn.Module):
    class Masked(nn.Linear):
        def __init__(self, i, o, mask):
            super().__init__(i, o)
            self.register_buffer("mask", mask)

        def forward(self, x):
            return F.linear(x, self.mask * self.weight, self.bias)

    def __init__(self, d=32, h=64):
        super().__init__()
        m0, m1 = torch.arange(d), torch.arange(h) % (d - 1)
        self.net = nn.Sequential(self.Masked(d, h, (m1[:, None] >= m0[None]).float()), nn.ReLU(), self.Masked(h, h, (m1[:, None] >= m1[None]).float()), nn.ReLU(), self.Masked(h, 2 * d, (m0.repeat(2)[:, None] > m1[None]).float()))

    def forward(self, x):
        mu, log_s = self.net(x).chunk(2, 1)
        log_s = torch.tanh(log_s)
        u = (x - mu) * torch.exp(-log_s)
        return (0.5 * (u ** 2 + math.log(2 * math.pi)) + log_s).sum(-1).mean()


@network(lambda: {"x": randn(BATCH, 16, 16, 16)})
class DropBlock(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.gamma = nn.Parameter(torch.full((c, 1, 1), 1e-2))

    def drop(self, x):
        mask = (torch.rand(x.shape[0], *x.shape[2:]) < 0.02).float()
        mask = 1 - F.max_pool2d(mask[:, None], 5, 1, 2).squeeze(1)
        return x * mask[:, None] * mask.numel() / mask.sum()

    def forward(self, x):
        x = self.drop(F.relu6(self.a(x)))
        y = self.gamma * self.b(x)
        if self.training:
            y = y * torch.bernoulli(torch.full((x.shape[0], 1, 1, 1), 0.9)) / 0.9
        return F.hardtanh(x + y).mean((2, 3))


# --- Normalization, by hand ---


@network(lambda: {"x": randn(BATCH, 3, 16, 16)})
class NormsByHand(nn.Module):
    def __init__(self, c=32):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, c, 3, padding=1, bias=False), nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.g, self.h = nn.Parameter(torch.ones(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))
        self.register_buffer("mean", torch.zeros(1, c, 1, 1))
        self.scale = nn.Parameter(torch.tensor(c ** 0.5))
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = self.a(x)
        mean = x.mean(dim=(0, 2, 3), keepdim=True)
        var = ((x - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        x = F.relu(self.g * (x - mean) / torch.sqrt(var + 1e-5) + self.h)
        x = F.relu(F.instance_norm(self.b(x)))
        x = F.group_norm(self.c(x), 4, self.g.flatten(), self.h.flatten()).clamp_(min=0)
        x = F.layer_norm(x.mean((2, 3)), (x.shape[1],))
        return self.head(self.scale * F.normalize(x, dim=-1))


# --- Speech ---


class Res2(nn.Module):
    def __init__(self, c, scale=4, d=2):
        super().__init__()
        self.scale = scale
        self.convs = nn.ModuleList([nn.Conv1d(c // scale, c // scale, 3, padding=d, dilation=d) for _ in range(scale - 1)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(c // scale) for _ in range(scale - 1)])

    def forward(self, x):
        parts = torch.split(x, x.size(1) // self.scale, 1)
        out, y = [parts[0]], None
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            y = parts[i + 1] if y is None else y + parts[i + 1]
            y = norm(F.relu(conv(y)))
            out.append(y)
        return torch.cat(out, 1)


@network(lambda: {"x": randn(BATCH, 40, 60), "y": torch.randint(0, 20, (BATCH,))})
class ECAPA(nn.Module):
    """Attentive statistics over time, and an additive margin."""

    def __init__(self, c=64):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(40, c, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(c))
        self.res = nn.Sequential(nn.Conv1d(c, c, 1), nn.ReLU(), nn.BatchNorm1d(c), Res2(c), nn.Conv1d(c, c, 1), nn.ReLU(), nn.BatchNorm1d(c))
        self.se = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(c, 16, 1), nn.ReLU(), nn.Conv1d(16, c, 1), nn.Sigmoid())
        self.att = nn.Sequential(nn.Conv1d(3 * c, 16, 1), nn.ReLU(), nn.BatchNorm1d(16), nn.Tanh(), nn.Conv1d(16, c, 1), nn.Softmax(dim=2))
        self.norm, self.fc = nn.BatchNorm1d(2 * c), nn.Linear(2 * c, 32)
        self.weight = nn.Parameter(randn(20, 32))

    def forward(self, x, y):
        x = self.first(x)
        r = self.res(x)
        x = x + r * self.se(r)
        t = x.size(-1)
        g = torch.cat((x, x.mean(2, keepdim=True).repeat(1, 1, t), torch.sqrt(x.var(2, keepdim=True).clamp(min=1e-4)).repeat(1, 1, t)), 1)
        w = self.att(g)
        mu = (x * w).sum(2)
        sd = torch.sqrt(((x ** 2 * w).sum(2) - mu ** 2).clamp(min=1e-4))
        e = self.fc(self.norm(torch.cat((mu, sd), 1)))
        cosine = F.linear(F.normalize(e), F.normalize(self.weight))
        margin = torch.zeros_like(cosine).scatter_(1, y.view(-1, 1), 0.2)
        return F.cross_entropy(30 * (cosine - margin), y)


class GlobalNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.ones(1, c, 1)), nn.Parameter(torch.zeros(1, c, 1))

    def forward(self, y):
        mean = y.mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
        var = (torch.pow(y - mean, 2)).mean(dim=1, keepdim=True).mean(dim=2, keepdim=True)
        return self.g * (y - mean) / torch.pow(var + 1e-8, 0.5) + self.b


@network(lambda: {"x": randn(BATCH, 1, 640), "y": randn(BATCH, 2, 640)})
class ConvTasNet(nn.Module):
    def __init__(self, n=32, h=64):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, n, 16, 8, bias=False), nn.ConvTranspose1d(n, 1, 16, 8, bias=False)
        self.norm = GlobalNorm(n)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Conv1d(n, h, 1), nn.PReLU(), GlobalNorm(h), nn.Conv1d(h, h, 3, padding=2 ** i, dilation=2 ** i, groups=h), nn.PReLU(), GlobalNorm(h), nn.Conv1d(h, n, 1)) for i in range(3)])
        self.mask = nn.Conv1d(n, 2 * n, 1)

    def forward(self, x, y):
        w = F.relu(self.encode(x))
        h = self.norm(w)
        for block in self.blocks:
            h = h + block(h)
        m = F.relu(self.mask(h)).view(x.size(0), 2, w.size(1), -1)
        s = self.decode((w.unsqueeze(1) * m).flatten(0, 1)).view(x.size(0), 2, -1)
        s, y = s - s.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
        p = (s * y).sum(-1, keepdim=True) * y / (y.pow(2).sum(-1, keepdim=True) + 1e-8)
        return -10 * torch.log10(p.pow(2).sum(-1) / ((s - p).pow(2).sum(-1) + 1e-8) + 1e-8).mean()


@network(lambda: {"x": randn(BATCH, 20, 16)})
class HiFiGAN(nn.Module):
    def __init__(self, c=64):
        super().__init__()
        self.pre = weight_norm(nn.Conv1d(20, c, 7, padding=3))
        self.ups = nn.ModuleList([weight_norm(nn.ConvTranspose1d(c // 2 ** i, c // 2 ** (i + 1), 8, 4, 2)) for i in range(2)])
        self.res = nn.ModuleList([nn.ModuleList([weight_norm(nn.Conv1d(c // 2 ** (i + 1), c // 2 ** (i + 1), k, padding=k // 2)) for k in (3, 7)]) for i in range(2)])
        self.post = weight_norm(nn.Conv1d(c // 4, 1, 7, padding=3))

    def forward(self, x):
        x = self.pre(x)
        for up, res in zip(self.ups, self.res):
            x = up(F.leaky_relu(x, 0.1))
            xs = None
            for r in res:
                y = r(F.leaky_relu(x, 0.1)) + x
                xs = y if xs is None else xs + y
            x = xs / len(res)
        return torch.tanh(self.post(F.leaky_relu(x)))


@network(lambda: {"x": randn(BATCH, 20, 16)})
class OldMelGAN(nn.Module):
    """Weight normalization by hooks, reflection, activations in place."""

    def __init__(self, c=32):
        super().__init__()
        wn = old_weight_norm
        self.net = nn.Sequential(nn.ReflectionPad1d(3), wn(nn.Conv1d(20, c, 7)), nn.LeakyReLU(0.2, True), wn(nn.ConvTranspose1d(c, c // 2, 8, 4, 2)), nn.LeakyReLU(0.2, True), nn.ReflectionPad1d(3), wn(nn.Conv1d(c // 2, 1, 7)), nn.Tanh())

    def forward(self, x):
        return self.net(x)


@network(lambda: {"x": randn(BATCH, 1, 40, 48), "y": tokens(BATCH, 6, vocabulary=28)})
class DeepSpeech(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, (11, 5), (2, 2), (5, 2)), nn.BatchNorm2d(8), nn.Hardtanh(0, 20, inplace=True))
        self.norm = nn.BatchNorm1d(h)
        self.r1, self.r2 = nn.GRU(160, h, bidirectional=True), nn.GRU(h, h, bidirectional=True)
        self.fc = nn.Linear(h, 28, bias=False)

    def forward(self, x, y):
        x = self.conv(x)
        b, c, f, t = x.size()
        x = x.view(b, c * f, t).permute(2, 0, 1).contiguous()
        for r in (self.r1, self.r2):
            x = r(x)[0]
            x = x.view(x.size(0), x.size(1), 2, -1).sum(2)
        x = self.norm(x.view(-1, x.size(-1))).view(t, b, -1)
        lp = F.log_softmax(self.fc(x), -1)
        return F.ctc_loss(lp, y, torch.full((b,), t, dtype=torch.long), torch.full((b,), 6, dtype=torch.long))


# --- Text ---


@network(lambda: {"x": tokens(BATCH, 30), "y": torch.randint(0, 4, (BATCH,))})
class TextCNN(nn.Module):
    """A table that is not trained, windows of three widths, and focal loss."""

    def __init__(self, d=48):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(randn(100, d), freeze=True)
        self.own = nn.Embedding(100, d, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv2d(2, 32, (k, d)) for k in (3, 4, 5)])
        self.drop, self.fc = nn.Dropout(0.5), nn.Linear(96, 4)

    def forward(self, x, y):
        x = torch.stack([self.embed(x), self.own(x)], 1)
        x = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        x = torch.cat([F.max_pool1d(i, i.size(2)).squeeze(2) for i in x], 1)
        ce = F.cross_entropy(self.fc(self.drop(x)), y, reduction="none")
        pt = torch.exp(-ce)
        return ((1 - pt) ** 2 * ce).mean()


@network(lambda: {"a": tokens(BATCH, 12), "b": tokens(BATCH, 10)})
class ESIM(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.embed = nn.Embedding(100, d)
        self.l1, self.l2 = nn.LSTM(d, d, batch_first=True, bidirectional=True), nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.mix = nn.Linear(8 * d, d)
        self.fc = nn.Sequential(nn.BatchNorm1d(8 * d), nn.Linear(8 * d, d), nn.ELU(inplace=True), nn.Dropout(0.2), nn.Linear(d, 3))

    def forward(self, a, b):
        ma, mb = a.eq(0), b.eq(0)
        a, b = self.l1(self.embed(a))[0], self.l1(self.embed(b))[0]
        e = torch.matmul(a, b.transpose(1, 2))
        wa = F.softmax(e.masked_fill(mb.unsqueeze(1), -1e9), -1)
        wb = F.softmax(e.transpose(1, 2).masked_fill(ma.unsqueeze(1), -1e9), -1)
        out = []
        for x, y in ((a, wa @ b), (b, wb @ a)):
            h = self.l2(F.relu(self.mix(torch.cat([x, y, x - y, x * y], -1))))[0]
            out += [h.mean(1), h.max(1).values]
        return self.fc(torch.cat(out, 1))


@network(lambda: {"x": tokens(BATCH, 10), "y": tokens(BATCH, 7)})
class Seq2Seq(nn.Module):
    """Attention by a step at a time over an encoder of two directions; the state of both is summed."""

    def __init__(self, d=32):
        super().__init__()
        self.e, self.f = nn.Embedding(100, d), nn.Embedding(100, d)
        self.enc = nn.GRU(d, d, bidirectional=True)
        self.dec = nn.GRU(2 * d, d)
        self.attn, self.v = nn.Linear(2 * d, d), nn.Parameter(0.1 * randn(d))
        self.out = nn.Linear(2 * d, 100)

    def forward(self, x, y):
        o, h = self.enc(self.e(x.t()))
        d = h.size(-1)
        o = o[:, :, :d] + o[:, :, d:]
        h = h[:1] + h[1:]
        results = []
        for t in range(y.size(1)):
            w = self.f(y[:, t]).unsqueeze(0)
            s = torch.relu(self.attn(torch.cat([h.repeat(o.size(0), 1, 1).transpose(0, 1), o.transpose(0, 1)], 2)))
            a = F.softmax(torch.bmm(self.v.repeat(s.size(0), 1).unsqueeze(1), s.transpose(1, 2)).squeeze(1), 1).unsqueeze(1)
            c = a.bmm(o.transpose(0, 1)).transpose(0, 1)
            z, h = self.dec(torch.cat([w, c], 2), h)
            results.append(F.log_softmax(self.out(torch.cat([z.squeeze(0), c.squeeze(0)], 1)), 1))
        return torch.stack(results)


@network(lambda: {"x": randn(BATCH, 20, 32)})
class HighwayQRNN(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.gates = nn.Conv1d(d, 3 * d, 2, padding=1)
        self.h, self.t = nn.Linear(d, d), nn.Linear(d, d)
        self.t.bias.data.fill_(-2)

    def forward(self, x):
        z, f, o = self.gates(x.transpose(1, 2))[..., :-1].transpose(1, 2).chunk(3, -1)
        z, f, o = torch.tanh(z), torch.sigmoid(f), torch.sigmoid(o)
        c, out = torch.zeros_like(z[:, 0]), []
        for i in range(x.size(1)):
            c = f[:, i] * c + (1 - f[:, i]) * z[:, i]
            out.append(c)
        y = o * torch.stack(out, 1)
        g = torch.sigmoid(self.t(y))
        return g * F.relu(self.h(y)) + (1 - g) * y


# --- Ranking ---


@network(lambda: {"x": tokens(16, 8, vocabulary=1000), "y": torch.rand(16)})
class CrossNet(nn.Module):
    """DCN version 2, a compressed interaction network, a linear part, and a loss of logits."""

    def __init__(self, f=8, d=16):
        super().__init__()
        self.embed, self.linear = nn.Embedding(1000, d), nn.Embedding(1000, 1)
        self.bias = nn.Parameter(torch.zeros(1))
        self.cross = nn.ModuleList([nn.Linear(f * d, f * d) for _ in range(2)])
        self.cin = nn.Conv1d(f * f, 12, 1)
        self.deep = nn.Sequential(nn.Linear(f * d, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2))
        self.fc = nn.Linear(f * d + 12 + 64, 1)

    def forward(self, x, y):
        e = self.embed(x)
        x0 = e.flatten(1)
        h = x0
        for layer in self.cross:
            h = x0 * layer(h) + h
        z = (e.unsqueeze(2) * e.unsqueeze(1)).flatten(1, 2)
        cin = F.relu(self.cin(z)).sum(2)
        fm = 0.5 * (e.sum(1) ** 2 - (e ** 2).sum(1)).sum(1)
        logit = self.fc(torch.cat([h, cin, self.deep(x0)], 1)).squeeze(1) + self.linear(x).sum((1, 2)) + fm + self.bias
        return F.binary_cross_entropy_with_logits(logit, y)


@network(lambda: {"x": randn(16, 32), "a": torch.rand(16, 1), "b": torch.rand(16, 1)})
class MMoE(nn.Module):
    """Experts that two tasks share, each weighted by its uncertainty."""

    def __init__(self, d=32, h=48, n=4):
        super().__init__()
        self.mix = nn.Parameter(0.1 * randn(n, d, h))
        self.shift = nn.Parameter(torch.zeros(n, h))
        self.gates = nn.ParameterList([nn.Parameter(0.1 * randn(d, n)) for _ in range(2)])
        self.towers = nn.ModuleList([nn.Sequential(nn.Linear(h, 16), nn.ReLU(), nn.Linear(16, 1)) for _ in range(2)])
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x, a, b):
        e = F.relu(torch.einsum("bd,ndh->bnh", x, self.mix) + self.shift)
        loss = 0
        for i, y in enumerate((a, b)):
            g = F.softmax(x @ self.gates[i], -1)
            p = torch.sigmoid(self.towers[i]((g.unsqueeze(2) * e).sum(1)))
            loss = loss + torch.exp(-self.log_var[i]) * F.binary_cross_entropy(p, y) + self.log_var[i]
        return loss


@network(lambda: {"u": tokens(16), "i": tokens(16), "j": tokens(16)})
class BPR(nn.Module):
    """Pairs of items, a product of tables, and weights of the loss by hand."""

    def __init__(self, d=32):
        super().__init__()
        self.u, self.i = nn.Embedding(200, d), nn.Embedding(200, d)
        self.bias = nn.Embedding(200, 1)
        self.mlp = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.h = nn.Linear(2 * d, 1, bias=False)

    def score(self, u, i):
        return self.h(torch.cat([self.mlp(torch.cat([u, i], -1)), u * i], -1)).squeeze(-1)

    def forward(self, u, i, j):
        u, p, n = self.u(u), self.i(i), self.i(j)
        loss = -F.logsigmoid(self.score(u, p) + self.bias(i).squeeze(1) - self.score(u, n) - self.bias(j).squeeze(1)).mean()
        return loss + 1e-4 * (u.norm(2).pow(2) + p.norm(2).pow(2) + n.norm(2).pow(2)) / 2


# --- Forecasts ---


@network(lambda: {"x": randn(BATCH, 48, 7)})
class DLinear(nn.Module):
    def __init__(self, n=48, m=24):
        super().__init__()
        self.avg = nn.AvgPool1d(25, stride=1)
        self.season, self.trend = nn.Linear(n, m), nn.Linear(n, m)

    def forward(self, x):
        last = x[:, -1:, :].detach()
        x = x - last
        padded = torch.cat([x[:, 0:1].repeat(1, 12, 1), x, x[:, -1:].repeat(1, 12, 1)], 1)
        trend = self.avg(padded.permute(0, 2, 1)).permute(0, 2, 1)
        season, trend = (x - trend).permute(0, 2, 1), trend.permute(0, 2, 1)
        return (self.season(season) + self.trend(trend)).permute(0, 2, 1) + last


@network(lambda: {"x": randn(BATCH, 48, 7), "mark": randn(BATCH, 48, 4)})
class Informer(nn.Module):
    """A convolution that wraps around, distilling by pools, a decoder that begins with zeros."""

    def __init__(self, d=32):
        super().__init__()
        self.value = nn.Conv1d(7, d, 3, padding=1, padding_mode="circular", bias=False)
        self.time = nn.Linear(4, d, bias=False)
        self.enc = nn.TransformerEncoderLayer(d, 4, 64, 0.05, "gelu", batch_first=True)
        self.conv = nn.Sequential(nn.Conv1d(d, d, 3, padding=1, padding_mode="circular"), nn.BatchNorm1d(d), nn.ELU(), nn.MaxPool1d(3, 2, 1))
        self.dec = nn.TransformerDecoderLayer(d, 4, 64, 0.05, "gelu", batch_first=True)
        self.out = nn.Linear(d, 7)

    def embed(self, x, mark):
        return self.value(x.transpose(1, 2)).transpose(1, 2) + self.time(mark)

    def forward(self, x, mark):
        e = self.enc(self.embed(x, mark))
        e = self.conv(e.transpose(1, 2)).transpose(1, 2)
        start = torch.cat([x[:, -24:], torch.zeros_like(x[:, -24:])], 1)
        mask = nn.Transformer.generate_square_subsequent_mask(48)
        return self.out(self.dec(self.embed(start, mark), e, tgt_mask=mask))[:, -24:]


@network(lambda: {"x": randn(BATCH, 64, 7)})
class Autoformer(nn.Module):
    """Correlation by Fourier transforms, and the delays that correlate most."""

    def __init__(self, d=32, h=4):
        super().__init__()
        self.h = h
        self.embed = nn.Linear(7, d)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.ff1, self.ff2 = nn.Conv1d(d, 64, 1, bias=False), nn.Conv1d(64, d, 1, bias=False)

    def forward(self, x):
        x = self.embed(x)
        b, n, d = x.shape
        q, k, v = (l(x).view(b, n, self.h, -1).permute(0, 2, 3, 1).contiguous() for l in (self.q, self.k, self.v))
        r = torch.fft.rfft(q, dim=-1) * torch.conj(torch.fft.rfft(k, dim=-1))
        corr = torch.fft.irfft(r, n=n, dim=-1)
        mean = corr.mean(1).mean(1)
        weights, delay = torch.topk(mean.mean(0), 3)
        w = torch.softmax(torch.stack([mean[:, delay[i]] for i in range(3)], -1), -1)
        double = v.repeat(1, 1, 1, 2)
        at = torch.arange(n).view(1, 1, 1, n).expand_as(v)
        y = sum(torch.gather(double, -1, at + delay[i]) * w[:, i].view(b, 1, 1, 1) for i in range(3))
        x = x + self.o(y.permute(0, 3, 1, 2).reshape(b, n, d))
        return x + self.ff2(F.gelu(self.ff1(x.transpose(1, 2)))).transpose(1, 2)


# --- Graphs ---


@network(lambda: {"x": randn(30, 16), "edge": torch.randint(0, 30, (2, 90)), "kind": torch.randint(0, 3, (90,))})
class Relational(nn.Module):
    """R-GCN with bases, and sums by `index_add`; degrees are counted."""

    def __init__(self, d=16, h=32, r=3, b=2):
        super().__init__()
        self.basis = nn.Parameter(0.1 * randn(b, d, h))
        self.coeff = nn.Parameter(randn(r, b))
        self.self_loop = nn.Linear(d, h)
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(h, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, 5))

    def forward(self, x, edge, kind):
        src, dst = edge
        w = torch.einsum("rb,bio->rio", self.coeff, self.basis)
        m = torch.bmm(x[src].unsqueeze(1), w[kind]).squeeze(1)
        deg = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(dst.size(0))).clamp_(min=1)
        out = torch.zeros(x.size(0), m.size(1)).index_add(0, dst, m) / deg.unsqueeze(1)
        h = F.relu(out + self.self_loop(x))
        agg = torch.zeros_like(h).scatter_add_(0, dst.unsqueeze(1).expand(-1, h.size(1)), h[src])
        return F.log_softmax(self.mlp((1 + self.eps) * h + agg), 1)


@network(lambda: {"x": randn(BATCH, 2, 12, 12), "adj": torch.rand(12, 12)})
class GraphWaveNet(nn.Module):
    """Gated convolutions over time, diffusion over a graph that is learned."""

    def __init__(self, c=16, n=12):
        super().__init__()
        self.start = nn.Conv2d(2, c, 1)
        self.e1, self.e2 = nn.Parameter(randn(n, 8)), nn.Parameter(randn(8, n))
        self.filters, self.gates = (nn.ModuleList([nn.Conv2d(c, c, (1, 2), dilation=2 ** i) for i in range(2)]) for _ in range(2))
        self.mix = nn.ModuleList([nn.Conv2d(3 * c, c, 1) for _ in range(2)])
        self.skips = nn.ModuleList([nn.Conv2d(c, 32, 1) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm2d(c) for _ in range(2)])
        self.end = nn.Conv2d(32, 12, 1)

    def forward(self, x, adj):
        own = F.softmax(F.relu(torch.mm(self.e1, self.e2)), dim=1)
        x, skip = self.start(x), 0
        for i in range(2):
            r = x
            x = torch.tanh(self.filters[i](x)) * torch.sigmoid(self.gates[i](x))
            s = self.skips[i](x)
            skip = s + (skip[:, :, :, -s.size(3):] if i else 0)
            out = [x] + [torch.einsum("ncvl,vw->ncwl", (x, a)).contiguous() for a in (adj, own)]
            x = F.dropout(self.mix[i](torch.cat(out, 1)), 0.3, training=self.training)
            x = self.norms[i](x + r[:, :, :, -x.size(3):])
        return self.end(F.relu(skip))


@network(lambda: {"x": randn(BATCH, 64, 3)})
class PointSets(nn.Module):
    """PointNet++: farthest points by a loop, neighbours within a ball, their maximum."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv2d(6, 32, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 1), nn.BatchNorm2d(64), nn.ReLU())
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        b, n, _ = x.shape
        with torch.no_grad():
            d = torch.cdist(x, x)
            centre = d[:, :, 0].topk(16, 1)[1]
            rows = torch.arange(b).view(b, 1)
            near = d[rows, centre].topk(8, -1, largest=False)[1]
        c = x[rows, centre]
        g = x[torch.arange(b).view(b, 1, 1), near]
        g = torch.cat([g - c.unsqueeze(2), g], -1).permute(0, 3, 2, 1)
        return self.fc(self.mlp(g).max(2)[0].max(-1)[0])


# --- Parts that are frozen, computed again, or read only once ---


@network(lambda: {"x": randn(BATCH, 16, 64)})
class Checkpointed(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(d, 4, 128, batch_first=True) for _ in range(2)])
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return self.head(x.mean(1))


class LowRank(nn.Module):
    """As `loralib` writes it: an own weight that is frozen, two matrices, and dropout on what they read."""

    def __init__(self, i, o, r=4):
        super().__init__()
        self.weight = nn.Parameter(0.1 * randn(o, i), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(o), requires_grad=False)
        self.lora_A, self.lora_B = nn.Parameter(0.1 * randn(r, i)), nn.Parameter(torch.zeros(o, r))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return F.linear(x, self.weight, self.bias) + self.drop(x) @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1) * 2.0


@network(lambda: {"x": randn(BATCH, 16, 64)})
class LoRALib(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.norm = nn.LayerNorm(d).requires_grad_(False)
        self.up, self.down, self.head = LowRank(d, 4 * d), LowRank(4 * d, d), nn.Linear(d, 5)

    def forward(self, x):
        return self.head((x + self.down(F.gelu(self.up(self.norm(x))))).mean(1))


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class DeepSupervision(nn.Module):
    """U-Net++ in small: every depth has its result."""

    def __init__(self, c=(8, 16, 32)):
        super().__init__()
        self.a, self.b, self.d = unit(3, c[0]), unit(c[0], c[1]), unit(c[1], c[2])
        self.ab, self.bd, self.abd = unit(c[0] + c[1], c[0]), unit(c[1] + c[2], c[1]), unit(2 * c[0] + c[1], c[0])
        self.o1, self.o2 = nn.Conv2d(c[0], 1, 1), nn.Conv2d(c[0], 1, 1)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.pool = nn.MaxPool2d(2, 2)

    def forward(self, x):
        a = self.a(x)
        b = self.b(self.pool(a))
        ab = self.ab(torch.cat([a, self.up(b)], 1))
        d = self.d(self.pool(b))
        bd = self.bd(torch.cat([b, self.up(d)], 1))
        abd = self.abd(torch.cat([a, ab, self.up(bd)], 1))
        return [self.o1(ab), self.o2(abd)]


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class ManyActivations(nn.Module):
    """An activation of each kind, by modules and by functions."""

    def __init__(self, c=16):
        super().__init__()
        self.first = nn.Conv2d(3, c, 3, padding=1)
        self.convs = nn.ModuleList([nn.Conv2d(c, c, 3, padding=1) for _ in range(12)])
        self.prelu, self.rrelu = nn.PReLU(c), nn.RReLU()
        self.hard, self.shrink = nn.Hardswish(inplace=True), nn.Softshrink(0.1)

    def forward(self, x):
        x = self.first(x)
        acts = [F.celu, F.selu, F.softsign, F.tanhshrink, F.softplus, F.hardsigmoid, F.logsigmoid, self.prelu, self.rrelu, self.hard, self.shrink, lambda t: F.threshold(t, 0.1, 0.0)]
        for conv, act in zip(self.convs, acts):
            x = x + act(conv(x))
        return F.glu(x, 1).mean((2, 3))
