"""Networks of research code, for `asWritten.py`: speech, molecules, fields, codebooks, frozen backbones, world models, flow, sets."""

from __future__ import annotations

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from exports import Model
from networkList import BATCH, listing, randn, tokens
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

RESEARCH: dict[str, Model] = {}
network = listing(RESEARCH)


# Speech


@network(lambda: {"x": randn(BATCH, 64, 20), "y": tokens(BATCH, 6, vocabulary=30), "n": torch.tensor([16, 12]), "m": torch.tensor([6, 4])})
class SpeechCTC(nn.Module):
    """Convolutional subsampling, a bidirectional LSTM, and the CTC loss."""

    def __init__(self, d=48):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.ReLU())
        self.proj = nn.Linear(8 * 5, d)
        self.enc = nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, norm_first=True)
        self.out = nn.Linear(d, 30)

    def forward(self, x, y, n, m):
        h = self.sub(x.unsqueeze(1))
        b, c, t, f = h.shape
        h = self.proj(h.transpose(1, 2).reshape(b, t, c * f))
        logp = F.log_softmax(self.out(self.enc(h)), -1)
        return F.ctc_loss(logp.transpose(0, 1), y, n, m, blank=0, zero_infinity=True)


@network(lambda: {"x": randn(BATCH, 24, 40), "y": tokens(BATCH, 8, vocabulary=30)})
class Transducer(nn.Module):
    """A joint network over every pair of frame and label."""

    def __init__(self, d=64):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(40, d), nn.SiLU(), nn.Linear(d, d))
        self.emb = nn.Embedding(30, d)
        self.conv = nn.Conv1d(d, d, 2, groups=d)
        self.e, self.p = nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, 30)

    def forward(self, x, y):
        e = self.e(self.enc(x))
        p = self.emb(y).transpose(1, 2)
        p = self.p(F.relu(self.conv(F.pad(p, (1, 0)))).transpose(1, 2))
        return F.log_softmax(self.out(torch.tanh(e.unsqueeze(2) + p.unsqueeze(1))), -1)


class ConvModule(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.up = nn.Conv1d(d, 2 * d, 1)
        self.dw = nn.Conv1d(d, d, 7, padding=3, groups=d)
        self.bn = nn.BatchNorm1d(d)
        self.down = nn.Conv1d(d, d, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = self.up(self.ln(x).transpose(1, 2))
        h = F.silu(self.bn(self.dw(F.glu(h, dim=1))))
        return self.drop(self.down(h)).transpose(1, 2)


@network(lambda: {"x": randn(BATCH, 16, 32), "mask": torch.arange(16).expand(2, 16) < torch.tensor([[16], [11]])})
class Squeezeformer(nn.Module):
    """Convolution and relative attention with a padding mask, down and up in time."""

    def __init__(self, d=32, h=4):
        super().__init__()
        self.h, self.d = h, d
        self.qkv = nn.Linear(d, 3 * d)
        self.pos = nn.Linear(d, d, bias=False)
        self.u, self.v = nn.Parameter(torch.zeros(h, d // h)), nn.Parameter(torch.zeros(h, d // h))
        self.o = nn.Linear(d, d)
        self.conv = ConvModule(d)
        self.down = nn.Conv1d(d, d, 3, 2, 1, groups=d)
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))

    def attend(self, x, mask):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).unbind(2)
        at = torch.arange(n - 1, -n, -1.0).unsqueeze(1)
        freq = torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))
        p = self.pos(torch.cat([torch.sin(at * freq), torch.cos(at * freq)], -1)).view(1, 2 * n - 1, self.h, -1)
        ac = torch.matmul((q + self.u).transpose(1, 2), k.permute(0, 2, 3, 1))
        bd = torch.matmul((q + self.v).transpose(1, 2), p.permute(0, 2, 3, 1))
        bd = F.pad(bd, (1, 0)).view(b, self.h, 2 * n, n)[:, :, 1:].reshape(b, self.h, n, 2 * n - 1)[..., :n]
        s = (ac + bd) / math.sqrt(d // self.h)
        s = s.masked_fill(~mask[:, None, None, :], -1e9)
        return self.o((s.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2).reshape(b, n, d))

    def forward(self, x, mask):
        x = x + self.attend(x, mask)
        x = x + self.conv(x)
        y = self.down(x.transpose(1, 2)).transpose(1, 2)
        y = y + 0.5 * self.ff(y)
        x = x + y.repeat_interleave(2, dim=1)
        return x * mask.unsqueeze(-1)


@network(lambda: {"wave": randn(BATCH, 800), "negatives": torch.randint(0, 18, (BATCH, 18, 5))})
class Wav2Vec(nn.Module):
    """Features of a waveform, masked, against quantized targets with gathered negatives."""

    def __init__(self, d=32):
        super().__init__()
        self.f = nn.ModuleList([nn.Conv1d(1, d, 10, 5, bias=False), nn.Conv1d(d, d, 3, 2, bias=False), nn.Conv1d(d, d, 8, 4, bias=False)])
        self.gn = nn.GroupNorm(d, d)
        self.mask = nn.Parameter(torch.rand(d))
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, batch_first=True, activation="gelu"), 1)
        self.codes, self.pick = nn.Parameter(randn(1, 16, d)), nn.Linear(d, 16)
        self.fin, self.q = nn.Linear(d, 24), nn.Linear(d, 24)
        self.register_buffer("at", torch.arange(18) % 3 == 0)

    def forward(self, wave, negatives):
        h = wave.unsqueeze(1)
        for i, conv in enumerate(self.f):
            h = conv(h)
            if i == 0:
                h = self.gn(h)
            h = F.gelu(h)
        z = h.transpose(1, 2)[:, :18]
        chosen = F.gumbel_softmax(self.pick(z), tau=2.0, hard=True)
        q = self.q((chosen.unsqueeze(-1) * self.codes).sum(2))
        c = self.fin(self.enc(torch.where(self.at[None, :, None], self.mask, z)))
        n = q.gather(1, negatives.view(BATCH, -1, 1).expand(-1, -1, 24)).view(BATCH, 18, 5, 24)
        t = torch.cat([q.unsqueeze(2), n], 2)
        s = F.cosine_similarity(c.unsqueeze(2), t, dim=-1) / 0.1
        return F.cross_entropy(s.flatten(0, 1), torch.zeros(36, dtype=torch.long))


@network(lambda: {"memory": randn(BATCH, 12, 48), "mels": randn(BATCH, 6, 20)})
class Tacotron(nn.Module):
    """Location-sensitive attention, frame by frame, with a prenet that always drops."""

    def __init__(self, d=48):
        super().__init__()
        self.pre = nn.ModuleList([nn.Linear(20, 32), nn.Linear(32, 32)])
        self.cell = nn.LSTMCell(32 + d, 64)
        self.q, self.m, self.v = nn.Linear(64, 24, bias=False), nn.Linear(d, 24, bias=False), nn.Linear(24, 1, bias=False)
        self.loc, self.l = nn.Conv1d(2, 8, 5, padding=2, bias=False), nn.Linear(8, 24, bias=False)
        self.out, self.stop = nn.Linear(64 + d, 20), nn.Linear(64 + d, 1)
        self.post = nn.Sequential(nn.Conv1d(20, 32, 5, padding=2), nn.BatchNorm1d(32), nn.Tanh(), nn.Dropout(0.5), nn.Conv1d(32, 20, 5, padding=2))

    def forward(self, memory, mels):
        b, t, d = memory.shape
        h, c = memory.new_zeros(b, 64), memory.new_zeros(b, 64)
        w, cum, ctx = memory.new_zeros(b, t), memory.new_zeros(b, t), memory.new_zeros(b, d)
        keys = self.m(memory)
        frames, stops = [], []
        x = torch.cat([mels.new_zeros(b, 1, 20), mels[:, :-1]], 1)
        for layer in self.pre:
            x = F.dropout(F.relu(layer(x)), 0.5, training=True)
        for step in range(mels.size(1)):
            h, c = self.cell(torch.cat([x[:, step], ctx], -1), (h, c))
            loc = self.l(self.loc(torch.stack([w, cum], 1)).transpose(1, 2))
            w = F.softmax(self.v(torch.tanh(self.q(h).unsqueeze(1) + keys + loc)).squeeze(-1), -1)
            cum = cum + w
            ctx = torch.bmm(w.unsqueeze(1), memory).squeeze(1)
            both = torch.cat([h, ctx], -1)
            frames.append(self.out(both))
            stops.append(self.stop(both))
        y = torch.stack(frames, 1)
        z = y + self.post(y.transpose(1, 2)).transpose(1, 2)
        return F.mse_loss(y, mels) + F.mse_loss(z, mels), torch.cat(stops, 1)


class Chomp(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return x[:, :, : -self.size].contiguous()


@network(lambda: {"x": randn(BATCH, 8, 64)})
class TCN(nn.Module):
    """Dilated causal convolutions with normalised weights."""

    def __init__(self, w=24):
        super().__init__()
        self.blocks, self.skips = nn.ModuleList(), nn.ModuleList()
        for i, c in enumerate([8, w, w]):
            k = 2**i
            conv = lambda a, k=k: weight_norm(nn.Conv1d(a, w, 3, padding=2 * k, dilation=k))  # noqa: E731
            self.blocks.append(nn.Sequential(conv(c), Chomp(2 * k), nn.ReLU(), nn.Dropout(0.2), conv(w), Chomp(2 * k), nn.ReLU(), nn.Dropout(0.2)))
            self.skips.append(nn.Conv1d(c, w, 1) if c != w else nn.Identity())
        self.o = nn.Linear(w, 5)

    def forward(self, x):
        for block, skip in zip(self.blocks, self.skips):
            x = F.relu(block(x) + skip(x))
        return self.o(x[:, :, -1])


class Vector(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.register_buffer("codes", randn(k, d))

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.codes.t() + self.codes.t().pow(2).sum(0, keepdim=True)
        at = (-distance).max(dim=-1).indices
        q = F.embedding(at, self.codes).view_as(x)
        loss = F.mse_loss(q.detach(), x)
        return x + (q - x).detach(), loss


@network(lambda: {"wave": randn(BATCH, 1, 256)})
class SoundStream(nn.Module):
    """A codec with residual codebooks that are moving averages."""

    def __init__(self, c=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, c, 7, padding=3), nn.ELU(), nn.Conv1d(c, 2 * c, 4, 2, 1), nn.ELU(), nn.Conv1d(2 * c, 2 * c, 8, 4, 2))
        self.dec = nn.Sequential(nn.ConvTranspose1d(2 * c, 2 * c, 8, 4, 2), nn.ELU(), nn.ConvTranspose1d(2 * c, c, 4, 2, 1), nn.ELU(), nn.Conv1d(c, 1, 7, padding=3), nn.Tanh())
        self.q = nn.ModuleList([Vector(32, 2 * c) for _ in range(3)])

    def forward(self, wave):
        z = self.enc(wave).transpose(1, 2)
        rest, total, losses = z, torch.zeros_like(z), []
        for layer in self.q:
            q, loss = layer(rest)
            rest = rest - q.detach()
            total = total + q
            losses.append(loss)
        y = self.dec(total.transpose(1, 2))
        return F.l1_loss(y, wave) + torch.stack(losses).mean()


# Graphs, molecules, proteins


def edges(n=20, e=64):
    return torch.randint(0, n, (2, e))


@network(lambda: {"x": randn(20, 16), "edges": edges()})
class GraphSAGE(nn.Module):
    """Means of neighbours by `index_add`."""

    def __init__(self):
        super().__init__()
        self.own, self.other = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 32)]), nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 32)])
        self.o = nn.Linear(32, 4)

    def forward(self, x, edges):
        src, dst = edges
        n = x.size(0)
        degree = torch.zeros(n, dtype=x.dtype).index_add(0, dst, torch.ones(dst.size(0), dtype=x.dtype)).clamp(min=1)
        for own, other in zip(self.own, self.other):
            m = torch.zeros(n, x.size(1), dtype=x.dtype).index_add(0, dst, x[src]) / degree.unsqueeze(1)
            x = F.normalize(F.relu(own(x) + other(m)), dim=-1)
        return F.log_softmax(self.o(x), -1)


class ShiftedSoftplus(nn.Module):
    def forward(self, x):
        return F.softplus(x) - math.log(2.0)


@network(lambda: {"z": tokens(20, vocabulary=50), "pos": randn(20, 3), "edges": edges()})
class SchNet(nn.Module):
    """Continuous filters of distances in a basis of Gaussians."""

    def __init__(self, d=32, g=25):
        super().__init__()
        self.e = nn.Embedding(100, d, padding_idx=0)
        offset = torch.linspace(0, 5, g)
        self.c = -0.5 / (offset[1] - offset[0]).item() ** 2
        self.register_buffer("offset", offset)
        self.filters = nn.ModuleList([nn.Sequential(nn.Linear(g, d), ShiftedSoftplus(), nn.Linear(d, d)) for _ in range(2)])
        self.a = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(2)])
        self.b = nn.ModuleList([nn.Sequential(nn.Linear(d, d), ShiftedSoftplus(), nn.Linear(d, d)) for _ in range(2)])
        self.o = nn.Sequential(nn.Linear(d, d // 2), ShiftedSoftplus(), nn.Linear(d // 2, 1))

    def forward(self, z, pos, edges):
        row, col = edges[0], edges[1]
        h = self.e(z)
        r = (pos[row] - pos[col]).norm(dim=-1)
        basis = torch.exp(self.c * torch.pow(r.view(-1, 1) - self.offset.view(1, -1), 2))
        cut = 0.5 * (torch.cos(r * math.pi / 5.0) + 1.0)
        for f, a, b in zip(self.filters, self.a, self.b):
            w = f(basis) * cut.view(-1, 1)
            m = a(h)[row] * w
            h = h + b(torch.zeros_like(h).scatter_add(0, col.unsqueeze(-1).expand_as(m), m))
        return self.o(h).sum()


@network(lambda: {"h": randn(20, 16), "x": randn(20, 3), "edges": edges()})
class EGNN(nn.Module):
    """Equivariant messages that move coordinates."""

    def __init__(self, d=16):
        super().__init__()
        self.e = nn.Sequential(nn.Linear(2 * d + 1, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU())
        self.n = nn.Sequential(nn.Linear(32 + d, 32), nn.SiLU(), nn.Linear(32, d))
        self.c = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1, bias=False), nn.Tanh())
        self.att = nn.Sequential(nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, h, x, edges):
        row, col = edges
        for _ in range(2):
            diff = x[row] - x[col]
            radial = torch.sum(diff**2, 1, keepdim=True)
            norm = torch.sqrt(radial).detach() + 1e-8
            m = self.e(torch.cat([h[row], h[col], radial], dim=1))
            m = m * self.att(m)
            trans = diff / norm * self.c(m)
            count = x.new_zeros(x.size(0), 1).index_add_(0, row, torch.ones_like(radial)).clamp(min=1)
            x = x + x.new_zeros(x.size(0), 3).index_add_(0, row, trans) / count
            agg = h.new_zeros(h.size(0), 32).index_add_(0, row, m)
            h = h + self.n(torch.cat([h, agg], dim=1))
        return h, x


@network(lambda: {"z": randn(BATCH, 12, 12, 16), "mask": torch.ones(BATCH, 12, 12, 1)})
class Triangle(nn.Module):
    """Triangle multiplication, outgoing and incoming, and a transition."""

    def __init__(self, c=16, h=24):
        super().__init__()
        self.ln = nn.ModuleList([nn.LayerNorm(c) for _ in range(3)])
        self.lo = nn.ModuleList([nn.LayerNorm(h) for _ in range(2)])
        self.ab = nn.ModuleList([nn.Linear(c, 2 * h) for _ in range(2)])
        self.gates = nn.ModuleList([nn.Linear(c, 2 * h) for _ in range(2)])
        self.g, self.o = nn.ModuleList([nn.Linear(c, c) for _ in range(2)]), nn.ModuleList([nn.Linear(h, c) for _ in range(2)])
        self.t = nn.Sequential(nn.Linear(c, 4 * c), nn.ReLU(), nn.Linear(4 * c, c))

    def forward(self, z, mask):
        for i, equation in enumerate(["bikc,bjkc->bijc", "bkic,bkjc->bijc"]):
            x = self.ln[i](z)
            a, b = (mask * torch.sigmoid(self.gates[i](x)) * self.ab[i](x)).chunk(2, -1)
            z = z + torch.sigmoid(self.g[i](x)) * self.o[i](self.lo[i](torch.einsum(equation, a, b)))
        return z + self.t(self.ln[2](z)) * mask


@network(lambda: {"m": randn(BATCH, 6, 12, 16), "z": randn(BATCH, 12, 12, 16)})
class Evoformer(nn.Module):
    """Rows of an alignment that attend with a bias of pairs, and an outer product mean."""

    def __init__(self, c=16, h=4):
        super().__init__()
        self.h = h
        self.lm, self.lz = nn.LayerNorm(c), nn.LayerNorm(c)
        self.q, self.k, self.v, self.g = (nn.Linear(c, c, bias=i == 3) for i in range(4))
        self.b, self.o = nn.Linear(c, h, bias=False), nn.Linear(c, c)
        self.l1, self.l2, self.lo = nn.Linear(c, 8), nn.Linear(c, 8), nn.Linear(64, c)

    def forward(self, m, z):
        x = self.lm(m)
        split = lambda t: t.view(*t.shape[:-1], self.h, -1)  # noqa: E731
        q, k, v = split(self.q(x)) * 4**-0.5, split(self.k(x)), split(self.v(x))
        logits = torch.einsum("bsihd,bsjhd->bshij", q, k)
        logits = logits + self.b(self.lz(z)).permute(0, 3, 1, 2).unsqueeze(1)
        w = F.softmax(logits, -1)
        a = torch.einsum("bshij,bsjhd->bsihd", w, v)
        m = m + self.o((torch.sigmoid(split(self.g(x))) * a).flatten(-2))
        l, r = self.l1(m), self.l2(m)
        outer = torch.einsum("bsic,bsjd->bijcd", l, r) / m.shape[1]
        return m, z + self.lo(outer.flatten(-2))


@network(lambda: {"u": tokens(32), "v": tokens(32), "negatives": tokens(32, 5)})
class SkipGram(nn.Module):
    """Negative sampling."""

    def __init__(self, d=32):
        super().__init__()
        self.u, self.v = nn.Embedding(100, d, sparse=False), nn.Embedding(100, d)

    def forward(self, u, v, negatives):
        eu, ev, en = self.u(u), self.v(v), self.v(negatives)
        good = F.logsigmoid(torch.sum(eu * ev, dim=1).clamp(-10, 10))
        bad = F.logsigmoid(-torch.bmm(en, eu.unsqueeze(2)).squeeze(2)).sum(1)
        return -(good + bad).mean()


# Fields and rendering


class Sine(nn.Module):
    def __init__(self, a, b, w=30.0):
        super().__init__()
        self.l, self.w = nn.Linear(a, b), w

    def forward(self, x):
        return torch.sin(self.w * self.l(x))


@network(lambda: {"x": randn(128, 3), "sdf": randn(128, 1)})
class SDF(nn.Module):
    """A signed distance with positional encoding, a skip connection and a clamped loss."""

    def __init__(self, d=64, freqs=6):
        super().__init__()
        self.register_buffer("f", 2.0 ** torch.arange(freqs))
        e = 3 + 6 * freqs
        self.l = nn.ModuleList([weight_norm(nn.Linear(a, b)) for a, b in [(e, d), (d, d - e), (d, d), (d, 1)]])
        self.act = nn.Softplus(beta=100)

    def forward(self, x, sdf):
        a = x[..., None] * self.f
        e = torch.cat([x, torch.sin(a).flatten(-2), torch.cos(a).flatten(-2)], -1)
        h = e
        for i, l in enumerate(self.l):
            if i == 2:
                h = torch.cat([h, e], -1) / math.sqrt(2)
            h = l(h)
            if i < 3:
                h = self.act(h)
        return F.l1_loss(torch.clamp(h, -0.1, 0.1), torch.clamp(sdf, -0.1, 0.1))


@network(lambda: {"x": randn(128, 2), "c": randn(128, 3)})
class SIREN(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = nn.Sequential(Sine(2, 64), Sine(64, 64), Sine(64, 64), nn.Linear(64, 3))

    def forward(self, x, c):
        return ((self.n(x) - c) ** 2).mean()


@network(lambda: {"x": torch.rand(64, 3)})
class HashGrid(nn.Module):
    """Tables of features, hashed corner by corner and interpolated."""

    def __init__(self, levels=4, size=256, f=2):
        super().__init__()
        self.t = nn.ModuleList([nn.Embedding(size, f) for _ in range(levels)])
        self.res = [int(8 * 1.5**i) for i in range(levels)]
        self.size = size
        self.m = nn.Sequential(nn.Linear(levels * f, 64, bias=False), nn.ReLU(), nn.Linear(64, 4, bias=False))
        self.register_buffer("corner", torch.tensor([[[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]]))

    def forward(self, x):
        out = []
        for table, res in zip(self.t, self.res):
            s = x * res
            low = torch.floor(s).long()
            w = (s - low).unsqueeze(1)
            at = low.unsqueeze(1) + self.corner
            at = (at[..., 0] ^ (at[..., 1] * 2654435761) ^ (at[..., 2] * 805459861)) % self.size
            weights = torch.where(self.corner == 1, w, 1 - w).prod(-1, keepdim=True)
            out.append((table(at) * weights).sum(1))
        y = self.m(torch.cat(out, -1))
        return torch.sigmoid(y[:, :3]), torch.exp(y[:, 3])


@network(lambda: {"x": torch.rand(BATCH, 128, 3)})
class TriPlane(nn.Module):
    """Features of three planes, sampled bilinearly, and composed along rays."""

    def __init__(self, c=16):
        super().__init__()
        self.p = nn.Parameter(0.1 * randn(3, c, 32, 32))
        self.m = nn.Sequential(nn.Linear(c, 64), nn.Softplus(), nn.Linear(64, 4))

    def forward(self, x):
        b, n, _ = x.shape
        x = 2 * x - 1
        f = sum(F.grid_sample(self.p[i : i + 1].expand(b, -1, -1, -1), x[:, None, :, at], align_corners=False) for i, at in enumerate([[0, 1], [0, 2], [1, 2]]))
        y = self.m(f.squeeze(2).permute(0, 2, 1)).view(b, 8, 16, 4)
        density = F.softplus(y[..., 3] - 1) * 0.1
        alpha = 1 - torch.exp(-density)
        t = torch.exp(-torch.cumsum(torch.cat([torch.zeros_like(density[..., :1]), density[..., :-1]], -1), -1))
        return ((alpha * t).unsqueeze(-1) * torch.sigmoid(y[..., :3])).sum(-2)


# Diffusion and codebooks


def timestep_embedding(t, d):
    half = d // 2
    freqs = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
    a = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(a), torch.sin(a)], -1)


class ResBlock(nn.Module):
    def __init__(self, a, b, e):
        super().__init__()
        self.i = nn.Sequential(nn.GroupNorm(8, a), nn.SiLU(), nn.Conv2d(a, b, 3, padding=1))
        self.e = nn.Sequential(nn.SiLU(), nn.Linear(e, 2 * b))
        self.n, self.o = nn.GroupNorm(8, b), nn.Sequential(nn.SiLU(), nn.Dropout(0.1), nn.Conv2d(b, b, 3, padding=1))
        self.s = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, e):
        h = self.i(x)
        scale, shift = self.e(e)[..., None, None].chunk(2, 1)
        return self.s(x) + self.o(self.n(h) * (1 + scale) + shift)


class Attend(nn.Module):
    def __init__(self, c, h=2):
        super().__init__()
        self.h, self.n = h, nn.GroupNorm(8, c)
        self.qkv, self.o = nn.Conv1d(c, 3 * c, 1), nn.Conv1d(c, c, 1)

    def forward(self, x):
        b, c, *s = x.shape
        x = x.reshape(b, c, -1)
        q, k, v = self.qkv(self.n(x)).reshape(b * self.h, 3 * c // self.h, -1).split(c // self.h, 1)
        scale = 1 / math.sqrt(math.sqrt(c // self.h))
        w = torch.einsum("bct,bcs->bts", q * scale, k * scale)
        w = torch.softmax(w.float(), -1).type(w.dtype)
        a = torch.einsum("bts,bcs->bct", w, v).reshape(b, c, -1)
        return (x + self.o(a)).reshape(b, c, *s)


@network(lambda: {"x": randn(BATCH, 3, 16, 16), "noise": randn(BATCH, 3, 16, 16), "t": torch.randint(0, 1000, (BATCH,)), "y": torch.randint(0, 10, (BATCH,))})
class GuidedUNet(nn.Module):
    """Classifier-free dropout of labels, time embeddings, attention, learned variance."""

    def __init__(self, c=32):
        super().__init__()
        e = 4 * c
        self.t = nn.Sequential(nn.Linear(c, e), nn.SiLU(), nn.Linear(e, e))
        self.y = nn.Embedding(11, e)
        self.i = nn.Conv2d(3, c, 3, padding=1)
        self.d1, self.down, self.d2, self.a = ResBlock(c, c, e), nn.Conv2d(c, c, 3, 2, 1), ResBlock(c, 2 * c, e), Attend(2 * c)
        self.m, self.u2, self.up, self.u1 = ResBlock(2 * c, 2 * c, e), ResBlock(4 * c, 2 * c, e), nn.Conv2d(2 * c, 2 * c, 3, padding=1), ResBlock(3 * c, c, e)
        self.o = nn.Sequential(nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, 6, 3, padding=1))
        beta = torch.linspace(1e-4, 0.02, 1000)
        self.register_buffer("ab", torch.cumprod(1 - beta, 0))
        self.c = c

    def forward(self, x, noise, t, y):
        ab = self.ab[t].view(-1, 1, 1, 1)
        xt = ab.sqrt() * x + (1 - ab).sqrt() * noise
        drop = torch.rand(y.shape[0]) < 0.1
        y = torch.where(drop, torch.full_like(y, 10), y)
        e = self.t(timestep_embedding(t, self.c)) + self.y(y)
        h0 = self.d1(self.i(xt), e)
        h1 = self.a(self.d2(self.down(h0), e))
        h = self.m(h1, e)
        h = self.u2(torch.cat([h, h1], 1), e)
        h = self.up(F.interpolate(h, scale_factor=2, mode="nearest"))
        eps, var = self.o(self.u1(torch.cat([h, h0], 1), e)).chunk(2, 1)
        snr = (ab / (1 - ab)).view(-1)
        weight = torch.minimum(snr, torch.full_like(snr, 5.0)) / snr
        return (weight * (eps - noise).pow(2).mean((1, 2, 3))).mean() + 0.001 * (var**2).mean()


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


@network(lambda: {"x": randn(BATCH, 4, 16, 16), "t": torch.randint(0, 1000, (BATCH,)), "y": torch.randint(0, 10, (BATCH,))})
class DiT(nn.Module):
    """Patches, adaptive layer norm with gates, unpatchify."""

    def __init__(self, d=64, h=4):
        super().__init__()
        self.p = nn.Conv2d(4, d, 2, 2)
        self.pos = nn.Parameter(torch.zeros(1, 64, d), requires_grad=False)
        self.t, self.y = nn.Sequential(nn.Linear(64, d), nn.SiLU(), nn.Linear(d, d)), nn.Embedding(10, d)
        self.n = nn.ModuleList([nn.LayerNorm(d, elementwise_affine=False, eps=1e-6) for _ in range(3)])
        self.ada, self.last = nn.Sequential(nn.SiLU(), nn.Linear(d, 6 * d)), nn.Sequential(nn.SiLU(), nn.Linear(d, 2 * d))
        self.qkv, self.proj, self.h = nn.Linear(d, 3 * d), nn.Linear(d, d), h
        self.m = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(approximate="tanh"), nn.Linear(4 * d, d))
        self.o = nn.Linear(d, 2 * 2 * 4)

    def forward(self, x, t, y):
        x = self.p(x).flatten(2).transpose(1, 2) + self.pos
        c = self.t(timestep_embedding(t, 64)) + self.y(y)
        sa, ca, ga, sm, cm, gm = self.ada(c).chunk(6, dim=1)
        b, n, d = x.shape
        q, k, v = self.qkv(modulate(self.n[0](x), sa, ca)).reshape(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
        x = x + ga.unsqueeze(1) * self.proj(a)
        x = x + gm.unsqueeze(1) * self.m(modulate(self.n[1](x), sm, cm))
        s, k = self.last(c).chunk(2, dim=1)
        x = self.o(modulate(self.n[2](x), s, k)).reshape(b, 8, 8, 2, 2, 4)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(b, 4, 16, 16)


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class GumbelVAE(nn.Module):
    """A discrete autoencoder by Gumbel softmax, with a divergence from uniform."""

    def __init__(self, k=64, d=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, d, 4, 2, 1), nn.ReLU(), nn.Conv2d(d, d, 4, 2, 1), nn.ReLU(), nn.Conv2d(d, k, 1))
        self.code = nn.Embedding(k, d)
        self.dec = nn.Sequential(nn.ConvTranspose2d(d, d, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(d, d, 4, 2, 1), nn.ReLU(), nn.Conv2d(d, 3, 1))
        self.k = k

    def forward(self, x):
        logits = self.enc(x)
        soft = F.gumbel_softmax(logits, tau=0.9, dim=1, hard=False)
        y = self.dec(torch.einsum("bnhw,nd->bdhw", soft, self.code.weight))
        logq = F.log_softmax(logits.flatten(2).transpose(1, 2), -1)
        uniform = torch.log(torch.tensor([1.0 / self.k]))
        kl = F.kl_div(uniform, logq, None, None, "batchmean", log_target=True)
        return F.smooth_l1_loss(x, y) + 0.01 * kl


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class FSQ(nn.Module):
    """Finite scalar quantization: bounded, rounded straight through."""

    def __init__(self, d=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, d, 4, 4), nn.GELU(), nn.Conv2d(d, 4, 1))
        self.dec = nn.Sequential(nn.Conv2d(4, d, 1), nn.GELU(), nn.ConvTranspose2d(d, 3, 4, 4))
        self.register_buffer("levels", torch.tensor([8.0, 5.0, 5.0, 5.0]).view(1, 4, 1, 1))

    def forward(self, x):
        z = self.enc(x)
        half = (self.levels - 1) * 0.999 / 2
        offset = torch.where(self.levels % 2 == 1, 0.0, 0.5)
        bounded = torch.tanh(z + torch.tan(offset / half)) * half - offset
        q = bounded + (torch.round(bounded) - bounded).detach()
        return F.mse_loss(self.dec(q / (self.levels // 2)), x)


@network(lambda: {"w": randn(BATCH, 32), "noise": randn(BATCH, 1, 16, 16)})
class StyleConv(nn.Module):
    """Modulated and demodulated filters of each sample, in groups."""

    def __init__(self, c=16):
        super().__init__()
        self.map = nn.Sequential(nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2))
        self.const = nn.Parameter(randn(1, c, 8, 8))
        self.w1, self.s1 = nn.Parameter(randn(1, c, c, 3, 3)), nn.Linear(32, c)
        self.w2, self.s2 = nn.Parameter(randn(1, 3, c, 1, 1)), nn.Linear(32, c)
        self.k, self.b = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1, c, 1, 1))

    def conv(self, x, weight, style, demodulate):
        b, i, h, w = x.shape
        o, k = weight.shape[1], weight.shape[-1]
        weight = 1 / math.sqrt(i * k * k) * weight * style.view(b, 1, i, 1, 1)
        if demodulate:
            weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8).view(b, o, 1, 1, 1)
        y = F.conv2d(x.reshape(1, b * i, h, w), weight.view(b * o, i, k, k), padding=k // 2, groups=b)
        return y.view(b, o, h, w)

    def forward(self, w, noise):
        w = self.map(w * torch.rsqrt(w.pow(2).mean(1, keepdim=True) + 1e-8))
        x = F.interpolate(self.const.repeat(w.shape[0], 1, 1, 1), scale_factor=2, mode="bilinear", align_corners=False)
        x = self.conv(x, self.w1, self.s1(w), True) + self.k * noise
        x = F.leaky_relu(x + self.b, 0.2) * math.sqrt(2)
        return self.conv(x, self.w2, self.s2(w), False)


@network(lambda: {"x": randn(4, 3, 32, 32), "y": torch.randint(0, 10, (4,))})
class ProjectionCritic(nn.Module):
    """A spectrally normalised critic with projected labels and minibatch deviation."""

    def __init__(self, c=16):
        super().__init__()
        sn = spectral_norm
        self.c1, self.c2, self.sc = sn(nn.Conv2d(3, c, 3, padding=1)), sn(nn.Conv2d(c, c, 3, padding=1)), sn(nn.Conv2d(3, c, 1))
        self.c3 = sn(nn.Conv2d(c + 1, 2 * c, 3, 2, 1))
        self.l, self.e = sn(nn.Linear(2 * c, 1)), sn(nn.Embedding(10, 2 * c))

    def forward(self, x, y):
        h = F.avg_pool2d(self.c2(F.relu(self.c1(x))), 2) + self.sc(F.avg_pool2d(x, 2))
        std = torch.sqrt(h.var(0, unbiased=False) + 1e-8).mean().view(1, 1, 1, 1).expand(h.size(0), 1, h.size(2), h.size(3))
        h = F.relu(self.c3(F.relu(torch.cat([h, std], 1)))).sum(dim=(2, 3))
        out = self.l(h) + (self.e(y) * h).sum(1, keepdim=True)
        return F.relu(1 - out).mean()


# Sequences


@network(lambda: {"x": randn(BATCH, 24, 32)})
class Hyena(nn.Module):
    """Long convolutions by FFT, with filters that a network makes of positions."""

    def __init__(self, d=32, L=24):
        super().__init__()
        self.i, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.short = nn.Conv1d(3 * d, 3 * d, 3, padding=2, groups=3 * d)
        self.f = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, d, bias=False))
        t = torch.linspace(0, 1, L)[:, None]
        w = 2 * math.pi * torch.arange(L)[:, None] / L
        z = torch.exp(-1j * torch.linspace(1e-4, 1, 2)[None] * w)
        self.register_buffer("z", torch.cat([t, z.real, z.imag], -1))
        self.register_buffer("decay", torch.exp(-t * torch.linspace(3, 30, d)[None]))
        self.D = nn.Parameter(randn(d))
        self.L = L

    def forward(self, x):
        u = self.short(self.i(x).transpose(1, 2))[..., : self.L]
        a, b, v = u.chunk(3, 1)
        k = (self.f(self.z) * self.decay).t()
        n = 2 * self.L
        v = v * a
        y = torch.fft.irfft(torch.fft.rfft(v, n=n) * torch.fft.rfft(k, n=n) / 1.0, n=n)[..., : self.L]
        y = (y + v * self.D.unsqueeze(-1)) * b
        return self.o(y.transpose(1, 2))


def log_g(x):
    return torch.where(x >= 0, (F.relu(x) + 0.5).log(), -F.softplus(-x))


@network(lambda: {"x": tokens(BATCH, 16)})
class MinGRU(nn.Module):
    """A recurrence in parallel, by sums of logarithms."""

    def __init__(self, d=32):
        super().__init__()
        self.e, self.n = nn.Embedding(100, d), nn.RMSNorm(d)
        self.hg, self.o = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, 100, bias=False)

    def forward(self, x):
        x = self.e(x)
        h, gate = self.hg(self.n(x)).chunk(2, -1)
        log_c, log_z = -F.softplus(gate), -F.softplus(-gate)
        log_v = log_z + log_g(h)
        a = log_c.cumsum(1)
        y = (a + (log_v - a).logcumsumexp(1)).exp()
        return self.o(x + y)


@network(lambda: {"x": randn(BATCH, 16, 32)})
class CumsumScan(nn.Module):
    """State-space duality: segment sums and einsums over chunks."""

    def __init__(self, d=32, h=4, n=8, chunk=8):
        super().__init__()
        self.h, self.n, self.chunk, self.p = h, n, chunk, d // h
        self.i, self.o = nn.Linear(d, 2 * d + 2 * n + h, bias=False), nn.Linear(d, d, bias=False)
        self.A, self.dt, self.D = nn.Parameter(torch.log(torch.arange(1, h + 1).float())), nn.Parameter(torch.zeros(h)), nn.Parameter(torch.ones(h))
        self.norm = nn.RMSNorm(d)

    def segsum(self, x):
        t = x.size(-1)
        x = x[..., None].repeat(*[1] * x.dim(), t)
        x = x.masked_fill(~torch.tril(torch.ones(t, t, dtype=torch.bool), diagonal=-1), 0)
        return torch.cumsum(x, -2).masked_fill(~torch.tril(torch.ones(t, t, dtype=torch.bool)), -torch.inf)

    def forward(self, u):
        b, l, d = u.shape
        z, x, B, C, dt = self.i(u).split([d, d, self.n, self.n, self.h], -1)
        dt = F.softplus(dt + self.dt)
        A = -torch.exp(self.A) * dt
        x = x.view(b, l, self.h, self.p)
        c = l // self.chunk
        X = (x * dt.unsqueeze(-1)).view(b, c, self.chunk, self.h, self.p)
        A = A.view(b, c, self.chunk, self.h).permute(0, 3, 1, 2)
        B, C = B.view(b, c, self.chunk, self.n), C.view(b, c, self.chunk, self.n)
        acc = torch.cumsum(A, -1)
        L = torch.exp(self.segsum(A))
        y = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", C, B, L, X)
        states = torch.einsum("bcln,bhcl,bclhp->bchpn", B, torch.exp(acc[..., -1:] - acc), X)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
        decay = torch.exp(self.segsum(F.pad(acc[..., -1], (1, 0))))
        states = torch.einsum("bhzc,bchpn->bzhpn", decay, states)[:, :-1]
        y = y + torch.einsum("bcln,bchpn,bhcl->bclhp", C, states, torch.exp(acc))
        y = y.reshape(b, l, self.h, self.p) + x * self.D.view(-1, 1)
        return self.o(self.norm(y.reshape(b, l, d) * F.silu(z)))


@network(lambda: {"x": tokens(BATCH, 12), "y": tokens(BATCH, 12)})
class MoS(nn.Module):
    """A mixture of softmaxes over an LSTM with locked dropout and tied output."""

    def __init__(self, d=32, k=5):
        super().__init__()
        self.e = nn.Embedding(100, d)
        self.q = nn.Linear(d, d)
        self.prior, self.latent = nn.Linear(d, k, bias=False), nn.Sequential(nn.Linear(d, k * d), nn.Tanh())
        self.out = nn.Linear(d, 100)
        self.out.weight = self.e.weight
        self.k, self.d = k, d

    def locked(self, x, p=0.3):
        m = x.new_empty(1, x.size(1), x.size(2)).bernoulli_(1 - p) / (1 - p)
        return m * x

    def forward(self, x, y):
        h = self.locked(self.e(x).transpose(0, 1))
        h = torch.tanh(self.q(h))
        l = self.locked(self.latent(h))
        logit = self.out(l.view(-1, self.d))
        prior = F.softmax(self.prior(h).view(-1, self.k), -1)
        prob = F.softmax(logit.view(-1, 100), -1).view(-1, self.k, 100)
        prob = (prob * prior.unsqueeze(2).expand_as(prob)).sum(1)
        return F.nll_loss(torch.log(prob + 1e-8), y.t().reshape(-1))


@network(lambda: {"x": tokens(BATCH, 12), "y": tokens(BATCH, 12)})
class AdaptiveLM(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.e, self.l = nn.Embedding(100, d), nn.Linear(d, d)
        self.o = nn.AdaptiveLogSoftmaxWithLoss(d, 100, cutoffs=[20, 60])

    def forward(self, x, y):
        return self.o.log_prob(torch.relu(self.l(self.e(x))).view(-1, 32)).gather(1, y.view(-1, 1)).mean()


@network(lambda: {"x": tokens(BATCH, 16), "mems": randn(BATCH, 8, 32)})
class SegmentMemory(nn.Module):
    """Attention over a memory without gradients, with linear biases of distances (ALiBi) and one head of keys."""

    def __init__(self, d=32, h=4):
        super().__init__()
        self.e, self.h = nn.Embedding(100, d), h
        self.q, self.kv, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * d // h, bias=False), nn.Linear(d, d, bias=False)
        self.n, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.wi, self.wg, self.wo = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False)
        self.register_buffer("slopes", torch.tensor([2 ** (-8 * (i + 1) / h) for i in range(h)]).view(1, h, 1, 1))

    def forward(self, x, mems):
        x = self.e(x)
        b, n, d = x.shape
        c = torch.cat([mems.detach(), self.n(x)], 1)
        q = self.q(self.n(x)).view(b, n, self.h, -1)
        k, v = self.kv(c).chunk(2, -1)
        s = torch.einsum("bihd,bjd->bhij", q, k) / math.sqrt(d / self.h)
        at = torch.arange(n)[:, None] + 8 - torch.arange(n + 8)[None]
        s = s - self.slopes * at.clamp(min=0)
        s = s.masked_fill((at < 0)[None, None], torch.finfo(s.dtype).min)
        x = x + self.o(torch.einsum("bhij,bjd->bihd", s.softmax(-1), v).reshape(b, n, d))
        h = self.n2(x)
        x = x + self.wo(F.gelu(self.wi(h)) * self.wg(h))
        return x @ self.e.weight.t(), x.detach()


@network(lambda: {"x": tokens(BATCH, 16)})
class BucketBias(nn.Module):
    """Buckets of relative positions, RMS norm written out, attention without scale."""

    def __init__(self, d=32, h=4):
        super().__init__()
        self.h = h
        self.e, self.bias = nn.Embedding(100, d), nn.Embedding(8, h)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.g, self.g2 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        self.wi, self.wo = nn.Linear(d, 64, bias=False), nn.Linear(64, d, bias=False)

    def norm(self, x, g):
        v = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return g * (x * torch.rsqrt(v + 1e-6))

    def buckets(self, n):
        r = torch.arange(n)[None] - torch.arange(n)[:, None]
        out = (r > 0).long() * 4
        r = r.abs()
        large = 2 + (torch.log(r.float().clamp(min=1) / 2) / math.log(8) * 2).long()
        return out + torch.where(r < 2, r, large.clamp(max=3))

    def forward(self, x):
        x = self.e(x)
        b, n, d = x.shape
        h = self.norm(x, self.g)
        q, k, v = (l(h).view(b, n, self.h, -1).transpose(1, 2) for l in (self.q, self.k, self.v))
        s = torch.matmul(q, k.transpose(3, 2)) + self.bias(self.buckets(n)).permute(2, 0, 1).unsqueeze(0)
        a = F.dropout(F.softmax(s.float(), -1).type_as(s), 0.1, self.training)
        x = x + F.dropout(self.o((a @ v).transpose(1, 2).contiguous().view(b, n, d)), 0.1, self.training)
        return x + self.wo(F.dropout(F.relu(self.wi(self.norm(x, self.g2))), 0.1, self.training))


@network(lambda: {"x": randn(BATCH, 32, 32)})
class SlidingWindow(nn.Module):
    """Chunks that attend to their neighbours, cut out by `unfold`."""

    def __init__(self, d=32, h=4, w=8):
        super().__init__()
        self.h, self.w = h, w
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        c = n // self.w
        q = q.reshape(b, self.h, c, self.w, -1)
        around = lambda t: F.pad(t, (0, 0, self.w, self.w)).unfold(2, 3 * self.w, self.w).transpose(-1, -2)  # noqa: E731
        s = torch.einsum("bhcid,bhcjd->bhcij", q, around(k)) * (d // self.h) ** -0.5
        i, j = torch.arange(self.w)[:, None], torch.arange(3 * self.w)[None] - self.w
        s = s.masked_fill((i - j).abs() > self.w, float("-inf"))
        y = torch.einsum("bhcij,bhcjd->bhcid", torch.softmax(s, -1), around(v))
        return self.o(y.reshape(b, self.h, n, -1).transpose(1, 2).reshape(b, n, d))


@network(lambda: {"x": tokens(BATCH, 16)})
class PairedRotary(nn.Module):
    """Rotary positions as complex numbers, grouped queries with repeated keys, normed heads."""

    def __init__(self, d=64, h=4, kv=2):
        super().__init__()
        self.h, self.kv, self.hd = h, kv, d // h
        self.e = nn.Embedding(100, d)
        self.q, self.k, self.v, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, kv * self.hd, bias=False), nn.Linear(d, kv * self.hd, bias=False), nn.Linear(d, d, bias=False)
        self.qn, self.kn, self.n = nn.RMSNorm(self.hd), nn.RMSNorm(self.hd), nn.RMSNorm(d)
        freqs = torch.outer(torch.arange(32).float(), 1.0 / (10000 ** (torch.arange(0, self.hd, 2) / self.hd)))
        self.register_buffer("cis", torch.polar(torch.ones_like(freqs), freqs))

    def rotate(self, x):
        c = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(c * self.cis[: x.shape[1]].view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)

    def forward(self, x):
        x = self.e(x)
        b, n, d = x.shape
        h = self.n(x)
        q, k, v = self.q(h).view(b, n, self.h, -1), self.k(h).view(b, n, self.kv, -1), self.v(h).view(b, n, self.kv, -1)
        q, k = self.rotate(self.qn(q)), self.rotate(self.kn(k))
        k, v = (t[:, :, :, None, :].expand(b, n, self.kv, self.h // self.kv, self.hd).reshape(b, n, self.h, self.hd) for t in (k, v))
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return x + self.o(y.transpose(1, 2).contiguous().view(b, n, d))


@network(lambda: {"x": randn(BATCH, 48)})
class NBeats(nn.Module):
    """Blocks that explain part of the series and hand on the rest."""

    def __init__(self, d=64):
        super().__init__()
        self.b = nn.ModuleList([nn.Sequential(nn.Linear(48, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 8, bias=False)) for _ in range(3)])
        t = torch.arange(60) / 60
        self.register_buffer("basis", torch.stack([t**i for i in range(4)]))

    def forward(self, x):
        forecast = 0
        for block in self.b:
            theta = block(x)
            x = x - theta[:, :4] @ self.basis[:, :48]
            forecast = forecast + theta[:, 4:] @ self.basis[:, 48:]
        return forecast


class GRN(nn.Module):
    def __init__(self, i, d, o):
        super().__init__()
        self.a, self.b, self.g, self.n = nn.Linear(i, d), nn.Linear(d, d), nn.Linear(d, 2 * o), nn.LayerNorm(o)
        self.s = nn.Linear(i, o) if i != o else None

    def forward(self, x):
        r = x if self.s is None else self.s(x)
        return self.n(r + F.glu(self.g(F.dropout(self.b(F.elu(self.a(x))), 0.1, self.training)), dim=-1))


@network(lambda: {"x": randn(BATCH, 20, 6)})
class FusionTransformer(nn.Module):
    """Variable selection, gated residuals and quantile losses."""

    def __init__(self, d=16):
        super().__init__()
        self.e = nn.ModuleList([nn.Linear(1, d) for _ in range(6)])
        self.v = nn.ModuleList([GRN(d, d, d) for _ in range(6)])
        self.w, self.g = GRN(6 * d, d, 6), GRN(d, d, d)
        self.att = nn.MultiheadAttention(d, 4, dropout=0.1, batch_first=True)
        self.o = nn.Linear(d, 3)

    def forward(self, x):
        e = [l(x[..., i : i + 1]) for i, l in enumerate(self.e)]
        w = F.softmax(self.w(torch.cat(e, -1)), -1).unsqueeze(-2)
        v = torch.stack([g(t) for g, t in zip(self.v, e)], -1)
        h = (w * v).sum(-1)
        a, _ = self.att(h, h, h, attn_mask=torch.triu(torch.full((20, 20), float("-inf")), 1))
        y = self.o(self.g(h + a))
        q = torch.tensor([0.1, 0.5, 0.9])
        error = x[..., :1] - y
        return torch.max((q - 1) * error, q * error).mean()


# Frozen weights, teachers and reinforcement


class LoRALinear(nn.Module):
    def __init__(self, a, b, r=4):
        super().__init__()
        self.base = nn.Linear(a, b)
        self.base.requires_grad_(False)
        self.A, self.B = nn.Parameter(0.01 * randn(r, a)), nn.Parameter(torch.zeros(b, r))
        self.drop = nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + (self.drop(x) @ self.A.t() @ self.B.t()) * 2.0


@network(lambda: {"x": tokens(BATCH, 12), "y": tokens(BATCH, 12)})
class LoRATransformer(nn.Module):
    """Only low-rank pairs beside frozen projections are trained."""

    def __init__(self, d=64, h=4):
        super().__init__()
        self.h = h
        self.e, self.n1, self.n2 = nn.Embedding(100, d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.k, self.o, self.up, self.down, self.head = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.Linear(d, 100, bias=False)
        self.requires_grad_(False)
        self.q, self.v = LoRALinear(d, d), LoRALinear(d, d)

    def forward(self, x, y):
        x = self.e(x)
        b, n, d = x.shape
        h = self.n1(x)
        q, k, v = (l(h).view(b, n, self.h, -1).transpose(1, 2) for l in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, n, d))
        x = x + self.down(F.gelu(self.up(self.n2(x))))
        return F.cross_entropy(self.head(x).flatten(0, 1), y.flatten())


class Adapter(nn.Module):
    def __init__(self, d, r=8):
        super().__init__()
        self.down, self.up = nn.Linear(d, r), nn.Linear(r, d)

    def forward(self, x):
        return x + self.up(F.relu(self.down(x)))


@network(lambda: {"x": randn(BATCH, 12, 64)})
class Adapters(nn.Module):
    """Bottlenecks in a frozen encoder."""

    def __init__(self, d=64):
        super().__init__()
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(d, 4, 128, batch_first=True) for _ in range(2)])
        self.layers.requires_grad_(False)
        self.adapters = nn.ModuleList([Adapter(d) for _ in range(2)])
        self.head = nn.Linear(d, 5)

    def forward(self, x):
        for layer, adapter in zip(self.layers, self.adapters):
            x = adapter(layer(x))
        return self.head(x[:, 0])


@network(lambda: {"x": tokens(BATCH, 12)})
class PrefixTuning(nn.Module):
    """Learned keys and values before those of a frozen layer."""

    def __init__(self, d=64, h=4, p=5):
        super().__init__()
        self.h = h
        self.e, self.qkv, self.o, self.n = nn.Embedding(100, d), nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d)
        self.requires_grad_(False)
        self.p = nn.Embedding(p, d)
        self.m = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, 2 * d))
        self.head = nn.Linear(d, 2)

    def forward(self, x):
        x = self.e(x)
        b, n, d = x.shape
        split = lambda t: t.view(b, -1, self.h, d // self.h).transpose(1, 2)  # noqa: E731
        q, k, v = (split(t) for t in self.qkv(self.n(x)).chunk(3, -1))
        pk, pv = (split(t) for t in self.m(self.p(torch.arange(5).unsqueeze(0).expand(b, -1))).chunk(2, -1))
        a = F.scaled_dot_product_attention(q, torch.cat([pk, k], 2), torch.cat([pv, v], 2))
        x = x + self.o(a.transpose(1, 2).reshape(b, n, d))
        return self.head(x.mean(1))


@network(lambda: {"x": randn(BATCH, 16, 32), "at": torch.randperm(16)[:10]})
class Data2Vec(nn.Module):
    """A teacher's layers, averaged, are what a student predicts at masked places."""

    def __init__(self, d=32):
        super().__init__()
        self.s = nn.ModuleList([nn.TransformerEncoderLayer(d, 4, 64, batch_first=True, norm_first=True, activation="gelu") for _ in range(2)])
        self.t = copy.deepcopy(self.s)
        self.t.requires_grad_(False)
        self.mask, self.o = nn.Parameter(torch.zeros(d)), nn.Linear(d, d)

    def forward(self, x, at):
        with torch.no_grad():
            h, all_ = x, []
            for layer in self.t:
                h = layer(h)
                all_.append(F.layer_norm(h, h.shape[-1:]))
            y = F.layer_norm(sum(all_) / len(all_), h.shape[-1:])[:, at]
        h = x.clone()
        h[:, at] = self.mask
        for layer in self.s:
            h = layer(h)
        return F.smooth_l1_loss(self.o(h)[:, at], y, beta=0.5)


@network(lambda: {"x": randn(BATCH, 3, 32, 32), "noise": torch.rand(BATCH, 16)})
class SimMIM(nn.Module):
    """Pixels under a random mask that the network draws itself by sorting noise."""

    def __init__(self, d=48):
        super().__init__()
        self.p, self.mask, self.pos = nn.Conv2d(3, d, 8, 8), nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.zeros(1, 16, d))
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, dropout=0.0), 1)
        self.dec = nn.Sequential(nn.Conv2d(d, 8 * 8 * 3, 1), nn.PixelShuffle(8))

    def forward(self, x, noise):
        z = self.p(x).flatten(2).transpose(1, 2)
        rank = torch.argsort(torch.argsort(noise, 1), 1)
        w = (rank < 9).unsqueeze(-1).type_as(z)
        z = z * (1 - w) + self.mask.expand(z.shape[0], 16, -1) * w + self.pos
        y = self.dec(self.enc(z).transpose(1, 2).reshape(x.shape[0], -1, 4, 4))
        m = w.view(-1, 4, 4).repeat_interleave(8, 1).repeat_interleave(8, 2).unsqueeze(1)
        return ((F.l1_loss(x, y, reduction="none") * m).sum() / (m.sum() + 1e-5)) / 3


@network(lambda: {"x": randn(BATCH, 6, 12), "a": torch.randint(0, 4, (BATCH, 6)), "r": randn(BATCH, 6), "done": torch.zeros(BATCH, 6)})
class RecurrentA2C(nn.Module):
    """Advantages by a backward recurrence without gradients, entropy, and a critic."""

    def __init__(self, d=32):
        super().__init__()
        self.f, self.cell = nn.Sequential(nn.Linear(12, d), nn.Tanh()), nn.GRUCell(d, d)
        self.pi, self.v = nn.Linear(d, 4), nn.Linear(d, 1)

    def forward(self, x, a, r, done):
        h, hs = x.new_zeros(x.size(0), 32), []
        for t in range(x.size(1)):
            h = self.cell(self.f(x[:, t]), h * (1 - done[:, t]).unsqueeze(-1))
            hs.append(h)
        h = torch.stack(hs, 1)
        v, logp = self.v(h).squeeze(-1), F.log_softmax(self.pi(h), -1)
        with torch.no_grad():
            last, advantages = 0, []
            for t in reversed(range(x.size(1) - 1)):
                delta = r[:, t] + 0.99 * v[:, t + 1] * (1 - done[:, t]) - v[:, t]
                last = delta + 0.99 * 0.95 * (1 - done[:, t]) * last
                advantages.append(last)
            adv = torch.stack(advantages[::-1], 1)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        chosen = logp[:, :-1].gather(-1, a[:, :-1].unsqueeze(-1)).squeeze(-1)
        entropy = -(logp.exp() * logp).sum(-1).mean()
        return -(chosen * adv).mean() + 0.5 * (v[:, :-1] - (adv + v[:, :-1].detach())).pow(2).mean() - 0.01 * entropy


@network(lambda: {"x": randn(BATCH, 5, 24), "a": randn(BATCH, 5, 3)})
class WorldModel(nn.Module):
    """A recurrent state space with straight-through categories and balanced divergences."""

    def __init__(self, d=32, k=4, c=8):
        super().__init__()
        self.k, self.c = k, c
        self.enc, self.i = nn.Sequential(nn.Linear(24, d), nn.ELU()), nn.Linear(k * c + 3, d)
        self.cell = nn.GRUCell(d, d)
        self.prior, self.post = nn.Linear(d, k * c), nn.Linear(2 * d, k * c)
        self.dec, self.rew = nn.Sequential(nn.Linear(d + k * c, d), nn.ELU(), nn.Linear(d, 24)), nn.Linear(d + k * c, 1)

    def kl(self, p, q):
        return (p.softmax(-1) * (p.log_softmax(-1) - q.log_softmax(-1))).sum((-1, -2)).mean()

    def forward(self, x, a):
        e = self.enc(x)
        h, z = x.new_zeros(x.size(0), 32), x.new_zeros(x.size(0), self.k * self.c)
        states, priors, posts = [], [], []
        for t in range(x.size(1)):
            h = self.cell(F.elu(self.i(torch.cat([z, a[:, t]], -1))), h)
            prior = self.prior(h).view(-1, self.k, self.c)
            post = self.post(torch.cat([h, e[:, t]], -1)).view(-1, self.k, self.c)
            p = post.softmax(-1)
            hard = F.one_hot(p.argmax(-1), self.c).float()
            z = (hard + p - p.detach()).flatten(1)
            states.append(torch.cat([h, z], -1))
            priors.append(prior)
            posts.append(post)
        s, p, q = torch.stack(states, 1), torch.stack(priors, 1), torch.stack(posts, 1)
        kl = 0.8 * self.kl(q.detach(), p) + 0.2 * self.kl(q, p.detach())
        return 0.5 * (self.dec(s) - x).pow(2).sum(-1).mean() + kl, self.rew(s)


@network(lambda: {"r": randn(BATCH, 6, 1), "s": randn(BATCH, 6, 10), "a": randn(BATCH, 6, 3), "t": torch.arange(6).expand(BATCH, 6)})
class DecisionTransformer(nn.Module):
    """Returns, states and actions, interleaved."""

    def __init__(self, d=32):
        super().__init__()
        self.er, self.es, self.ea, self.et = nn.Linear(1, d), nn.Linear(10, d), nn.Linear(3, d), nn.Embedding(20, d)
        self.ln = nn.LayerNorm(d)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, 0.1, batch_first=True, norm_first=True), 1)
        self.o = nn.Sequential(nn.Linear(d, 3), nn.Tanh())

    def forward(self, r, s, a, t):
        b, n = s.shape[:2]
        e = self.et(t)
        x = torch.stack((self.er(r) + e, self.es(s) + e, self.ea(a) + e), 1).permute(0, 2, 1, 3).reshape(b, 3 * n, -1)
        x = self.enc(self.ln(x), mask=nn.Transformer.generate_square_subsequent_mask(3 * n), is_causal=True)
        x = x.reshape(b, n, 3, -1).permute(0, 2, 1, 3)
        return F.mse_loss(self.o(x[:, 1]), a)


# Contrast, matching, sets and experts


@network(lambda: {"a": randn(16, 64), "b": randn(16, 64)})
class SigLIP(nn.Module):
    """A sigmoid for each pair."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 32)), nn.Linear(64, 32)
        self.t, self.c = nn.Parameter(torch.tensor(math.log(10.0))), nn.Parameter(torch.tensor(-10.0))

    def forward(self, a, b):
        a, b = F.normalize(self.a(a), dim=-1), F.normalize(self.b(b), dim=-1)
        logits = a @ b.t() * self.t.exp() + self.c
        labels = 2 * torch.eye(a.size(0)) - 1
        return -F.logsigmoid(labels * logits).sum() / a.size(0)


@network(lambda: {"x": randn(16, 3, 16, 16), "y": torch.randint(0, 4, (16,))})
class SupCon(nn.Module):
    """Supervised contrast over two halves of a batch."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 32))

    def forward(self, x, y):
        z = F.normalize(self.f(x), dim=1)
        mask = torch.eq(y[:, None], y[None]).float()
        logits = torch.div(torch.matmul(z, z.T), 0.07)
        m, _ = torch.max(logits, dim=1, keepdim=True)
        logits = logits - m.detach()
        eye = torch.scatter(torch.ones_like(mask), 1, torch.arange(16).view(-1, 1), 0)
        mask = mask * eye
        logp = logits - torch.log((torch.exp(logits) * eye).sum(1, keepdim=True) + 1e-12)
        return -((mask * logp).sum(1) / mask.sum(1).clamp(min=1)).mean()


@network(lambda: {"a": randn(BATCH, 24, 32), "b": randn(BATCH, 20, 32)})
class Matcher(nn.Module):
    """Cross attention and optimal transport with a dustbin, in logarithms."""

    def __init__(self, d=32, h=4):
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.m = (nn.Conv1d(d, d, 1) for _ in range(4))
        self.f = nn.Sequential(nn.Conv1d(2 * d, 2 * d, 1), nn.BatchNorm1d(2 * d), nn.ReLU(), nn.Conv1d(2 * d, d, 1))
        self.bin = nn.Parameter(torch.tensor(1.0))

    def message(self, x, source):
        b, d, n = x.shape
        q, k, v = (l(t).view(b, d // self.h, self.h, -1) for l, t in ((self.q, x), (self.k, source), (self.v, source)))
        p = F.softmax(torch.einsum("bdhn,bdhm->bhnm", q, k) / (d // self.h) ** 0.5, -1)
        out = self.m(torch.einsum("bhnm,bdhm->bdhn", p, v).contiguous().view(b, d, -1))
        return x + self.f(torch.cat([x, out], 1))

    def forward(self, a, b):
        a, b = a.transpose(1, 2), b.transpose(1, 2)
        a, b = self.message(a, b), self.message(b, a)
        s = torch.einsum("bdn,bdm->bnm", a, b) / 32**0.5
        n, m = s.shape[1:]
        s = torch.cat([torch.cat([s, self.bin.expand(BATCH, n, 1)], -1), torch.cat([self.bin.expand(BATCH, 1, m), self.bin.expand(BATCH, 1, 1)], -1)], 1)
        norm = -math.log(n + m)
        mu = torch.cat([torch.full((n,), norm), torch.tensor([math.log(m) + norm])])[None].expand(BATCH, -1)
        nu = torch.cat([torch.full((m,), norm), torch.tensor([math.log(n) + norm])])[None].expand(BATCH, -1)
        u, v = torch.zeros_like(mu), torch.zeros_like(nu)
        for _ in range(5):
            u = mu - torch.logsumexp(s + v.unsqueeze(1), dim=2)
            v = nu - torch.logsumexp(s + u.unsqueeze(2), dim=1)
        return s + u.unsqueeze(2) + v.unsqueeze(1) - norm


@network(lambda: {"x": randn(BATCH, 24, 16)})
class SetTransformer(nn.Module):
    """Induced attention and pooling by seeds."""

    def __init__(self, d=32, m=4):
        super().__init__()
        self.i, self.I, self.S = nn.Linear(16, d), nn.Parameter(randn(1, m, d)), nn.Parameter(randn(1, 1, d))
        self.a = nn.ModuleList([nn.MultiheadAttention(d, 4, batch_first=True) for _ in range(3)])
        self.n = nn.ModuleList([nn.LayerNorm(d) for _ in range(6)])
        self.f = nn.ModuleList([nn.Linear(d, d) for _ in range(3)])
        self.o = nn.Linear(d, 5)

    def mab(self, i, q, k):
        h = self.n[2 * i](q + self.a[i](q, k, k)[0])
        return self.n[2 * i + 1](h + F.relu(self.f[i](h)))

    def forward(self, x):
        x = self.i(x)
        h = self.mab(0, self.I.expand(x.size(0), -1, -1), x)
        x = self.mab(1, x, h)
        return self.o(self.mab(2, self.S.repeat(x.size(0), 1, 1), x).squeeze(1))


@network(lambda: {"image": randn(BATCH, 10, 48), "text": tokens(BATCH, 8)})
class Flamingo(nn.Module):
    """A resampler of images and gated cross attention in a frozen language model."""

    def __init__(self, d=48, h=4):
        super().__init__()
        self.h = h
        self.e, self.lm, self.head = nn.Embedding(100, d), nn.TransformerEncoderLayer(d, h, 96, batch_first=True, norm_first=True), nn.Linear(d, 100, bias=False)
        self.requires_grad_(False)
        self.latents, self.at = nn.Parameter(randn(4, d)), nn.Parameter(torch.tensor([0.0]))
        self.gate, self.n1, self.n2, self.n3 = nn.Parameter(torch.tensor([0.0])), nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.kv, self.o = nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(2)]), nn.ModuleList([nn.Linear(d, 2 * d, bias=False) for _ in range(2)]), nn.ModuleList([nn.Linear(d, d, bias=False) for _ in range(2)])
        self.ff = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d, bias=False), nn.GELU(), nn.Linear(2 * d, d, bias=False))

    def attend(self, i, x, c):
        b, n, d = x.shape
        q = self.q[i](x).view(b, n, self.h, -1).transpose(1, 2) * (d // self.h) ** -0.5
        k, v = (t.view(b, c.shape[1], self.h, -1).transpose(1, 2) for t in self.kv[i](c).chunk(2, -1))
        s = torch.einsum("bhid,bhjd->bhij", q, k)
        s = s - s.amax(-1, keepdim=True).detach()
        return self.o[i](torch.einsum("bhij,bhjd->bhid", s.softmax(-1), v).transpose(1, 2).reshape(b, n, d))

    def forward(self, image, text):
        l = self.latents.unsqueeze(0).repeat(image.size(0), 1, 1)
        z = self.n1(image)
        l = l + self.attend(0, self.n2(l), torch.cat([z, self.n2(l)], 1))
        x = self.e(text)
        x = x + torch.tanh(self.at) * self.attend(1, self.n3(x), l)
        x = x + torch.tanh(self.gate) * self.ff(x)
        x = self.lm(x, src_mask=torch.triu(torch.ones(8, 8, dtype=torch.bool), 1))
        return self.head(x)


@network(lambda: {"x": randn(BATCH, 16, 32)})
class GShard(nn.Module):
    """Experts of fixed capacity, by one-hot dispatch, with a balancing loss."""

    def __init__(self, d=32, e=4, c=12):
        super().__init__()
        self.g, self.e, self.c = nn.Linear(d, e, bias=False), e, c
        self.w1, self.w2 = nn.Parameter(randn(e, d, 4 * d) * 0.02), nn.Parameter(randn(e, 4 * d, d) * 0.02)

    def forward(self, x):
        b, n, d = x.shape
        x = x.reshape(-1, d)
        p = F.softmax(self.g(x), dim=1)
        top = torch.argmax(p, 1)
        mask = F.one_hot(top, self.e).float()
        at = torch.cumsum(mask, 0) - mask
        mask = mask * (at < self.c).float()
        loss = (p.mean(0) * mask.mean(0)).sum() * self.e
        place = (at * mask).sum(1).long()
        gate = (p * mask).sum(1)
        combine = gate[:, None, None] * mask.unsqueeze(-1) * F.one_hot(place, self.c).float().unsqueeze(1)
        dispatch = combine.bool().type_as(x)
        h = torch.einsum("sec,sm->ecm", dispatch, x)
        h = torch.bmm(F.relu(torch.bmm(h, self.w1)), self.w2)
        return torch.einsum("sec,ecm->sm", combine, h).view(b, n, d), loss


@network(lambda: {"x": randn(BATCH, 16, 32)})
class SoftMoE(nn.Module):
    """Slots that mix all tokens, both ways."""

    def __init__(self, d=32, e=4, s=4):
        super().__init__()
        self.phi, self.scale = nn.Parameter(randn(d, e, s)), nn.Parameter(torch.ones(1))
        self.e = nn.ModuleList([nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(e)])

    def forward(self, x):
        logits = torch.einsum("bnd,des->bnes", F.normalize(x, dim=-1), self.scale * F.normalize(self.phi, dim=0))
        dispatch = logits.softmax(dim=1)
        combine = logits.flatten(2).softmax(dim=-1).view_as(logits)
        slots = torch.einsum("bnd,bnes->ebsd", x, dispatch)
        y = torch.stack([f(slots[i]) for i, f in enumerate(self.e)], 1)
        return torch.einsum("besd,bnes->bnd", y, combine)


# Detection, flow, pictures


@network(lambda: {"x": randn(BATCH, 3, 64, 64), "box": torch.rand(BATCH, 8, 8, 3, 4), "obj": (torch.rand(BATCH, 8, 8, 3) > 0.8).float(), "cls": torch.randint(0, 5, (BATCH, 8, 8, 3))})
class YOLO(nn.Module):
    """Anchors decoded on a grid, complete overlap, focal objectness."""

    def __init__(self, c=16):
        super().__init__()
        block = lambda a, b, s: nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU(inplace=True))  # noqa: E731
        self.b = nn.Sequential(block(3, c, 2), block(c, 2 * c, 2), block(2 * c, 4 * c, 2))
        self.pool, self.o = nn.MaxPool2d(5, 1, 2), nn.Conv2d(8 * c, 3 * 10, 1)
        self.spp = block(4 * c, 2 * c, 1)
        self.register_buffer("anchors", torch.tensor([[10.0, 13], [16, 30], [33, 23]]).view(1, 1, 1, 3, 2) / 8)

    def ciou(self, a, b):
        (x1, y1, w1, h1), (x2, y2, w2, h2) = a.chunk(4, -1), b.chunk(4, -1)
        l1, r1, t1, d1 = x1 - w1 / 2, x1 + w1 / 2, y1 - h1 / 2, y1 + h1 / 2
        l2, r2, t2, d2 = x2 - w2 / 2, x2 + w2 / 2, y2 - h2 / 2, y2 + h2 / 2
        inter = (torch.min(r1, r2) - torch.max(l1, l2)).clamp(0) * (torch.min(d1, d2) - torch.max(t1, t2)).clamp(0)
        union = w1 * h1 + w2 * h2 - inter + 1e-7
        iou = inter / union
        cw, ch = torch.max(r1, r2) - torch.min(l1, l2), torch.max(d1, d2) - torch.min(t1, t2)
        c2 = cw**2 + ch**2 + 1e-7
        rho = ((x2 - x1) ** 2 + (y2 - y1) ** 2) / 4
        v = 4 / math.pi**2 * torch.pow(torch.atan(w2 / (h2 + 1e-7)) - torch.atan(w1 / (h1 + 1e-7)), 2)
        with torch.no_grad():
            alpha = v / (v - iou + 1 + 1e-7)
        return (iou - rho / c2 - v * alpha).squeeze(-1)

    def forward(self, x, box, obj, cls):
        h = self.spp(self.b(x))
        p1 = self.pool(h)
        p2 = self.pool(p1)
        y = self.o(torch.cat([h, p1, p2, self.pool(p2)], 1))
        b, _, ny, nx = y.shape
        y = y.view(b, 3, 10, ny, nx).permute(0, 3, 4, 1, 2).contiguous()
        gy, gx = torch.meshgrid(torch.arange(ny), torch.arange(nx), indexing="ij")
        grid = torch.stack([gx, gy], -1).view(1, ny, nx, 1, 2).float()
        xy = y[..., :2].sigmoid() * 2 - 0.5 + grid
        wh = (y[..., 2:4].sigmoid() * 2) ** 2 * self.anchors
        iou = self.ciou(torch.cat([xy, wh], -1), box)
        target = obj * iou.detach().clamp(0)
        lobj = F.binary_cross_entropy_with_logits(y[..., 4], target, reduction="none")
        pt = torch.exp(-lobj)
        lcls = F.cross_entropy(y[..., 5:].reshape(-1, 5), cls.reshape(-1), reduction="none").view_as(obj)
        n = obj.sum().clamp(min=1)
        return ((1 - iou) * obj).sum() / n + ((1 - pt) ** 1.5 * lobj).mean() + (lcls * obj).sum() / n


@network(lambda: {"x": randn(BATCH, 3, 32, 32), "labels": torch.randint(0, 5, (BATCH, 6)), "boxes": torch.rand(BATCH, 6, 4), "match": torch.randint(0, 6, (BATCH, 6))})
class SetLoss(nn.Module):
    """A detector of queries with losses of matched boxes after every decoder layer."""

    def __init__(self, d=32):
        super().__init__()
        self.b, self.q, self.pos = nn.Conv2d(3, d, 8, 8), nn.Embedding(6, d), nn.Parameter(randn(1, 16, d))
        self.l = nn.ModuleList([nn.TransformerDecoderLayer(d, 4, 64, 0.1, batch_first=True) for _ in range(2)])
        self.n, self.c = nn.LayerNorm(d), nn.Linear(d, 6)
        self.box = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4))
        weight = torch.ones(6)
        weight[-1] = 0.1
        self.register_buffer("weight", weight)

    def giou(self, a, b):
        corners = lambda t: torch.cat([t[..., :2] - t[..., 2:] / 2, t[..., :2] + t[..., 2:] / 2], -1)  # noqa: E731
        a, b = corners(a), corners(b)
        area = lambda t: (t[..., 2] - t[..., 0]) * (t[..., 3] - t[..., 1])  # noqa: E731
        wh = (torch.min(a[..., 2:], b[..., 2:]) - torch.max(a[..., :2], b[..., :2])).clamp(min=0)
        inter = wh[..., 0] * wh[..., 1]
        union = area(a) + area(b) - inter
        hull = (torch.max(a[..., 2:], b[..., 2:]) - torch.min(a[..., :2], b[..., :2])).clamp(min=0)
        hull = hull[..., 0] * hull[..., 1]
        return inter / union - (hull - union) / hull

    def forward(self, x, labels, boxes, match):
        m = self.b(x).flatten(2).transpose(1, 2) + self.pos
        t = torch.zeros(x.size(0), 6, 32) + self.q.weight
        loss = 0
        for layer in self.l:
            t = layer(t, m)
            h = self.n(t)
            logits, box = self.c(h), self.box(h).sigmoid()
            picked = box.gather(1, match.unsqueeze(-1).expand(-1, -1, 4))
            loss = loss + F.cross_entropy(logits.transpose(1, 2), labels, self.weight)
            loss = loss + 5 * F.l1_loss(picked, boxes, reduction="none").sum() / 12 + 2 * (1 - self.giou(picked, boxes)).sum() / 12
        return loss


class SepConvGRU(nn.Module):
    def __init__(self, h, i):
        super().__init__()
        self.z, self.r, self.q = (nn.Conv2d(h + i, h, 3, padding=1) for _ in range(3))

    def forward(self, h, x):
        hx = torch.cat([h, x], 1)
        z, r = torch.sigmoid(self.z(hx)), torch.sigmoid(self.r(hx))
        q = torch.tanh(self.q(torch.cat([r * h, x], 1)))
        return (1 - z) * h + z * q


@network(lambda: {"a": randn(BATCH, 3, 64, 64), "b": randn(BATCH, 3, 64, 64), "flow": randn(BATCH, 2, 64, 64)})
class RAFT(nn.Module):
    """All-pairs correlation, looked up and refined step by step, with convex upsampling."""

    def __init__(self, d=32, r=2):
        super().__init__()
        self.r = r
        self.f = nn.Sequential(nn.Conv2d(3, d, 7, 4, 3), nn.InstanceNorm2d(d), nn.ReLU(inplace=True), nn.Conv2d(d, d, 3, 2, 1))
        self.c = nn.Sequential(nn.Conv2d(3, d, 7, 4, 3), nn.BatchNorm2d(d), nn.ReLU(inplace=True), nn.Conv2d(d, 2 * d, 3, 2, 1))
        self.m = nn.Conv2d(2 * (2 * r + 1) ** 2 + 2, d, 3, padding=1)
        self.gru, self.head = SepConvGRU(d, 2 * d), nn.Conv2d(d, 2, 3, padding=1)
        self.mask = nn.Conv2d(d, 64 * 9, 1)

    def grid(self, b, h, w):
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        return torch.stack([x, y], 0).float()[None].repeat(b, 1, 1, 1)

    def sample(self, image, coords):
        h, w = image.shape[-2:]
        x, y = coords.split([1, 1], -1)
        return F.grid_sample(image, torch.cat([2 * x / (w - 1) - 1, 2 * y / (h - 1) - 1], -1), align_corners=True)

    def lookup(self, pyramid, coords):
        b, _, h, w = coords.shape
        c = coords.permute(0, 2, 3, 1).reshape(b * h * w, 1, 1, 2)
        d = torch.linspace(-self.r, self.r, 2 * self.r + 1)
        delta = torch.stack(torch.meshgrid(d, d, indexing="ij"), -1)[None]
        out = [self.sample(p, c / 2**i + delta).view(b, h, w, -1) for i, p in enumerate(pyramid)]
        return torch.cat(out, -1).permute(0, 3, 1, 2).contiguous()

    def upsample(self, flow, mask):
        b, _, h, w = flow.shape
        mask = torch.softmax(mask.view(b, 1, 9, 8, 8, h, w), 2)
        up = F.unfold(8 * flow, [3, 3], padding=1).view(b, 2, 9, 1, 1, h, w)
        return torch.sum(mask * up, 2).permute(0, 1, 4, 2, 5, 3).reshape(b, 2, 8 * h, 8 * w)

    def forward(self, a, b, flow):
        fa, fb = self.f(torch.cat([a, b], 0)).split([a.size(0), b.size(0)], 0)
        n, d, h, w = fa.shape
        corr = torch.matmul(fa.view(n, d, -1).transpose(1, 2), fb.view(n, d, -1)).view(n * h * w, 1, h, w) / math.sqrt(d)
        pyramid = [corr, F.avg_pool2d(corr, 2, 2)]
        net, inp = self.c(a).chunk(2, 1)
        net, inp = torch.tanh(net), torch.relu(inp)
        start = self.grid(n, h, w)
        coords, loss = start, 0
        for i in range(3):
            coords = coords.detach()
            motion = F.relu(self.m(torch.cat([self.lookup(pyramid, coords), coords - start], 1)))
            net = self.gru(net, torch.cat([inp, motion], 1))
            coords = coords + self.head(net)
            loss = loss + 0.8 ** (2 - i) * (self.upsample(coords - start, 0.25 * self.mask(net)) - flow).abs().mean()
        return loss


@network(lambda: {"x": randn(BATCH, 16, 16, 16)})
class Deformable(nn.Module):
    """Sampling points with learned offsets and weights over a feature map."""

    def __init__(self, d=16, h=2, p=4):
        super().__init__()
        self.h, self.p = h, p
        self.v, self.off, self.w, self.o = nn.Linear(d, d), nn.Linear(d, h * p * 2), nn.Linear(d, h * p), nn.Linear(d, d)

    def forward(self, x):
        b, c, hh, ww = x.shape
        q = x.flatten(2).transpose(1, 2)
        n = q.shape[1]
        v = self.v(q).view(b, n, self.h, -1).permute(0, 2, 3, 1).reshape(b * self.h, -1, hh, ww)
        ys, xs = torch.meshgrid(torch.linspace(0.5, hh - 0.5, hh) / hh, torch.linspace(0.5, ww - 0.5, ww) / ww, indexing="ij")
        ref = torch.stack([xs, ys], -1).view(1, n, 1, 1, 2)
        at = ref + self.off(q).view(b, n, self.h, self.p, 2) / torch.tensor([ww, hh])
        w = self.w(q).view(b, n, self.h, self.p).softmax(-1).transpose(1, 2).reshape(b * self.h, 1, n, self.p)
        grid = (2 * at - 1).transpose(1, 2).flatten(0, 1)
        s = F.grid_sample(v, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        y = (s * w).sum(-1).view(b, c, n).transpose(1, 2)
        return self.o(y) + q


class RCAB(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.b = nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(True), nn.Conv2d(c, c, 3, padding=1))
        self.a = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(c, c // 4, 1), nn.ReLU(True), nn.Conv2d(c // 4, c, 1), nn.Sigmoid())

    def forward(self, x):
        r = self.b(x)
        return x + r * self.a(r)


@network(lambda: {"x": torch.rand(BATCH, 3, 16, 16), "y": torch.rand(BATCH, 3, 64, 64)})
class RCAN(nn.Module):
    """Residual channel attention, pixel shuffle, and a loss of edges and spectra."""

    def __init__(self, c=16):
        super().__init__()
        self.h, self.b = nn.Conv2d(3, c, 3, padding=1), nn.Sequential(RCAB(c), RCAB(c), nn.Conv2d(c, c, 3, padding=1))
        self.u = nn.Sequential(nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(c, 4 * c, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(c, 3, 3, padding=1))
        self.register_buffer("k", torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]).view(1, 1, 3, 3).repeat(3, 1, 1, 1))

    def forward(self, x, y):
        h = self.h(x)
        out = self.u(h + self.b(h)) + F.interpolate(x, scale_factor=4, mode="bicubic", align_corners=False)
        edge = F.l1_loss(F.conv2d(out, self.k, padding=1, groups=3), F.conv2d(y, self.k, padding=1, groups=3))
        spectrum = F.l1_loss(torch.view_as_real(torch.fft.rfft2(out)), torch.view_as_real(torch.fft.rfft2(y)))
        return F.l1_loss(out, y) + 0.1 * edge + 0.01 * spectrum


@network(lambda: {"x": randn(BATCH, 2, 16, 16)})
class ComplexNet(nn.Module):
    """Complex convolutions of a spectrogram, with a mask in polar form."""

    def __init__(self, c=8):
        super().__init__()
        self.r, self.i = nn.Conv2d(1, c, 3, padding=1), nn.Conv2d(1, c, 3, padding=1)
        self.r2, self.i2 = nn.Conv2d(c, 1, 3, padding=1), nn.Conv2d(c, 1, 3, padding=1)

    def conv(self, a, b, x):
        return torch.complex(a(x.real) - b(x.imag), a(x.imag) + b(x.real))

    def forward(self, x):
        z = torch.complex(x[:, :1], x[:, 1:])
        h = self.conv(self.r, self.i, z)
        h = torch.complex(F.relu(h.real), F.relu(h.imag))
        m = self.conv(self.r2, self.i2, h)
        mask = torch.tanh(m.abs()) * torch.exp(1j * torch.angle(m))
        y = z * mask
        return (y.abs() - z.abs()).pow(2).mean() + torch.view_as_real(y).pow(2).mean()


class GlobalResponse(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g, self.b = nn.Parameter(torch.zeros(1, 1, 1, d)), nn.Parameter(torch.zeros(1, 1, 1, d))

    def forward(self, x):
        gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        return self.g * (x * (gx / (gx.mean(dim=-1, keepdim=True) + 1e-6))) + self.b + x


class ChannelsFirstNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        return self.w[:, None, None] * ((x - u) / torch.sqrt(s + 1e-6)) + self.b[:, None, None]


@network(lambda: {"x": randn(BATCH, 3, 32, 32)})
class ConvNeXt2(nn.Module):
    """Depthwise blocks with global response normalization and dropped paths."""

    def __init__(self, d=32):
        super().__init__()
        self.s, self.sn = nn.Conv2d(3, d, 4, 4), ChannelsFirstNorm(d)
        self.dw, self.n, self.a, self.g, self.b = nn.Conv2d(d, d, 7, padding=3, groups=d), nn.LayerNorm(d, eps=1e-6), nn.Linear(d, 4 * d), GlobalResponse(4 * d), nn.Linear(4 * d, d)
        self.h = nn.Linear(d, 10)

    def drop(self, x, p=0.1):
        return x * x.new_empty(x.shape[0], 1, 1, 1).bernoulli_(1 - p).div_(1 - p)

    def forward(self, x):
        x = self.sn(self.s(x))
        h = self.n(self.dw(x).permute(0, 2, 3, 1))
        h = self.b(self.g(F.gelu(self.a(h)))).permute(0, 3, 1, 2)
        x = x + self.drop(h)
        return self.h(x.mean([-2, -1]))


@network(lambda: {"a": randn(BATCH, 16, 8, 8), "b": randn(BATCH, 16, 16, 16), "c": randn(BATCH, 16, 32, 32)})
class BiFPN(nn.Module):
    """Levels fused by positive weights, up and down."""

    def __init__(self, c=16):
        super().__init__()
        conv = lambda: nn.Sequential(nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False), nn.Conv2d(c, c, 1), nn.BatchNorm2d(c, eps=1e-3, momentum=0.01))  # noqa: E731
        self.f = nn.ModuleList([conv() for _ in range(4)])
        self.w = nn.ParameterList([nn.Parameter(torch.ones(k)) for k in (2, 2, 3, 2)])

    def mix(self, i, *xs):
        w = F.relu(self.w[i])
        w = w / (torch.sum(w) + 1e-4)
        x = sum(w[k] * x for k, x in enumerate(xs))
        return self.f[i](x * torch.sigmoid(x))

    def forward(self, a, b, c):
        up = lambda x: F.interpolate(x, scale_factor=2, mode="nearest")  # noqa: E731
        m = self.mix(0, b, up(a))
        o = self.mix(1, c, up(m))
        n = self.mix(2, b, m, F.max_pool2d(o, 3, 2, 1))
        return o, n, self.mix(3, a, F.max_pool2d(n, 3, 2, 1))


@network(lambda: {"x": tokens(40), "offsets": torch.arange(0, 40, 10), "w": torch.rand(40)})
class WeightedBag(nn.Module):
    """Bags with offsets and a weight for each word."""

    def __init__(self, d=32):
        super().__init__()
        self.e, self.m = nn.EmbeddingBag(100, d, mode="sum"), nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.BatchNorm1d(d), nn.Linear(d, 4))

    def forward(self, x, offsets, w):
        return self.m(self.e(x, offsets, per_sample_weights=w))


@network(lambda: {"words": tokens(BATCH, 12), "tags": torch.randint(0, 5, (BATCH, 12)), "mask": torch.ones(BATCH, 12)})
class CRF(nn.Module):
    """A linear chain: the partition function by a loop, the score of gathered tags."""

    def __init__(self, d=32, k=5):
        super().__init__()
        self.e, self.c, self.o = nn.Embedding(100, d), nn.Conv1d(d, d, 3, padding=1), nn.Linear(d, k)
        self.t, self.s, self.f = nn.Parameter(randn(k, k)), nn.Parameter(randn(k)), nn.Parameter(randn(k))

    def forward(self, words, tags, mask):
        x = self.o(F.relu(self.c(self.e(words).transpose(1, 2))).transpose(1, 2))
        a = self.s + x[:, 0]
        score = self.s[tags[:, 0]] + x[:, 0].gather(1, tags[:, :1]).squeeze(1)
        for i in range(1, words.size(1)):
            n = torch.logsumexp(a.unsqueeze(2) + self.t + x[:, i].unsqueeze(1), 1)
            a = torch.where(mask[:, i].unsqueeze(1).bool(), n, a)
            score = score + (self.t[tags[:, i - 1], tags[:, i]] + x[:, i].gather(1, tags[:, i : i + 1]).squeeze(1)) * mask[:, i]
        return (torch.logsumexp(a + self.f, 1) - score - self.f[tags[:, -1]]).mean()


@network(lambda: {"u": tokens(16), "i": tokens(16), "hist": tokens(16, 6)})
class DIN(nn.Module):
    """Attention of a candidate over a user's history, cross layers, and in-batch softmax."""

    def __init__(self, d=16):
        super().__init__()
        self.u, self.i = nn.Embedding(100, d), nn.Embedding(100, d, padding_idx=0)
        self.a = nn.Sequential(nn.Linear(4 * d, 32), nn.PReLU(), nn.Linear(32, 1))
        self.cw, self.cb = nn.ParameterList([nn.Parameter(randn(3 * d, 3 * d) * 0.1) for _ in range(2)]), nn.ParameterList([nn.Parameter(torch.zeros(3 * d)) for _ in range(2)])
        self.o = nn.Linear(3 * d, 1)

    def forward(self, u, i, hist):
        q, h = self.i(i), self.i(hist)
        k = q.unsqueeze(1).expand_as(h)
        w = self.a(torch.cat([k, h, k - h, k * h], -1)).squeeze(-1)
        w = w.masked_fill(hist == 0, -(2**31)).softmax(-1)
        p = torch.bmm(w.unsqueeze(1), h).squeeze(1)
        x0 = x = torch.cat([self.u(u), q, p], -1)
        for w, b in zip(self.cw, self.cb):
            x = x0 * (x @ w + b) + x
        logits = p @ q.t() / 0.05
        return F.binary_cross_entropy_with_logits(self.o(x).squeeze(-1), torch.ones(16)) + F.cross_entropy(logits, torch.arange(16))


@network(lambda: {"x": tokens(BATCH, 12)})
class LockedLSTM(nn.Module):
    """Stacked LSTMs with one mask for all steps and activation penalties."""

    def __init__(self, d=32):
        super().__init__()
        self.e = nn.Embedding(100, d)
        self.l = nn.ModuleList([nn.LSTM(d, 48), nn.LSTM(48, d)])
        self.o = nn.Linear(d, 100)
        self.o.weight = self.e.weight

    def forward(self, x):
        h = self.e(x.t())
        for l in self.l:
            h, _ = l(h)
            m = h.new_empty(1, h.size(1), h.size(2)).bernoulli_(0.7).div_(0.7).expand_as(h)
            d = m * h
            h, raw = d, h
        return self.o(h), 2 * d.pow(2).mean() + (raw[1:] - raw[:-1]).pow(2).mean()


@network(lambda: {"x": torch.rand(BATCH, 1, 32, 64), "y": tokens(BATCH, 5, vocabulary=20)})
class CRNN(nn.Module):
    """Text lines: convolutions, bidirectional LSTMs, and the CTC loss."""

    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1), nn.ReLU(True), nn.MaxPool2d(2, 2), nn.Conv2d(16, 32, 3, 1, 1), nn.BatchNorm2d(32), nn.ReLU(True), nn.MaxPool2d((2, 2), (2, 1), (0, 1)), nn.Conv2d(32, 32, (8, 2)))
        self.r, self.o = nn.LSTM(32, 24, bidirectional=True), nn.Linear(48, 20)

    def forward(self, x, y):
        h = self.c(x).squeeze(2).permute(2, 0, 1)
        h, _ = self.r(h)
        t, b, n = h.size()
        logp = self.o(h.view(t * b, n)).view(t, b, -1).log_softmax(2)
        return F.ctc_loss(logp, y, torch.full((b,), t, dtype=torch.long), torch.full((b,), 5, dtype=torch.long))
