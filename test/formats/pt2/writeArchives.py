"""Writes the archives beside it and beside the tests of their lowering. PyTorch 2.13 exported those that are here.

- small.pt2: a small network in training with an open batch.
- words.pt2: attention written out.
- ../../lowering/aten/calls.pt2: one call of each operator with a counterpart, on tensors of odd sizes.
- ../../lowering/aten/coreCalls.pt2: the same after `run_decompositions()`, in operators of core ATen.
- ../../lowering/aten/regions.pt2: regions without gradient, of autocast, and control flow.
- ../../lowering/aten/loops.pt2: calls of `scan`, `map`, `while_loop` and `cond`.
- ../../lowering/aten/core.json: the names of core ATen.

Run it where PyTorch is: python3 test/formats/pt2/writeArchives.py
Stack traces are removed, because they hold paths of the machine.
"""

import json
from pathlib import Path

import torch
import torch.utils.flop_counter
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.drop = torch.nn.Dropout(0.1)
        self.fc = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = self.drop(x.mean((2, 3)))
        return self.fc(x).view(x.shape[0], -1)


class Words(torch.nn.Module):
    """Masked attention as products, over words of which 0 is padding."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(100, 16)
        self.merged = torch.nn.Linear(16, 48, bias=False)
        self.drop = torch.nn.Dropout(0.1, inplace=True)

    def forward(self, words):
        query, key, value = self.merged(self.embed(words)).chunk(3, -1)
        scores = torch.bmm(query, key.transpose(1, 2)) / 4
        order = (words != 0).cumsum(1)
        seen = (order.unsqueeze(2) >= order.unsqueeze(1)) & (words != 0).unsqueeze(1)
        return self.drop(torch.bmm(torch.softmax(scores.masked_fill(~seen, -1e4), -1), value))


LOWERING = Path(__file__).resolve().parents[2] / "lowering" / "aten"
F = torch.nn.functional


class Calls(torch.nn.Module):
    """Each entry is one call or a few, on images, rows, words and a mask."""

    def __init__(self):
        super().__init__()
        lstm = torch.nn.LSTM(6, 5, 2, dropout=0.5)
        both = torch.nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        gru = torch.nn.GRU(6, 5, 2, batch_first=True, bias=False)
        self.sequences = torch.nn.ModuleList([lstm, both, gru, torch.nn.RNN(6, 5, nonlinearity="relu"), torch.nn.RNN(6, 5)])
        self.cells = torch.nn.ModuleList([torch.nn.LSTMCell(6, 5), torch.nn.GRUCell(6, 5), *(torch.nn.RNNCell(6, 5, nonlinearity=name) for name in ("tanh", "relu"))])
        self.algebra = ["det", "slogdet", "logdet", "inv"]
        self.slope = torch.nn.Parameter(torch.ones(4))
        self.table = torch.nn.Embedding(11, 6)
        self.bag = torch.nn.EmbeddingBag(11, 6)
        self.normed = torch.nn.utils.weight_norm(torch.nn.Conv1d(6, 4, 2))
        for axes in (1, 2, 3):
            kind = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)[axes - 1]
            back = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)[axes - 1]
            setattr(self, f"conv{axes}", kind(4, 6, 3, stride=2, padding=1, groups=2))
            setattr(self, f"same{axes}", kind(4, 6, 3, padding="same"))
            setattr(self, f"back{axes}", back(4, 6, 3, stride=2, padding=1, output_padding=1))
        self.batch = torch.nn.BatchNorm2d(4)
        self.unkept = torch.nn.BatchNorm2d(4, affine=False, track_running_stats=False)
        self.group = torch.nn.GroupNorm(2, 4)
        self.instance = torch.nn.InstanceNorm2d(4, affine=True)
        self.layer = torch.nn.LayerNorm(6)
        self.plain = torch.nn.LayerNorm(6, elementwise_affine=False)
        self.rms = torch.nn.RMSNorm(6)

    def forward(self, image, rows, words, mask, volume):
        """image [2, 4, 8, 10], rows [3, 5, 6], words [3, 5] below 6, mask [3, 5] of booleans, volume [2, 4, 4, 6, 8]."""
        x, count, t = rows, words, torch
        first, pair = x[0], (x, x.transpose(1, 2))
        heads = image.reshape(2, 4, 10, 8)
        results = [
            *(getattr(t, name)(x) for name in UNARY),
            x + 2, x - count.unsqueeze(-1), 3 - x, x * 0.5, x / 3, t.add(x, x, alpha=2), t.sub(x, x, alpha=3),
            count // 2, t.div(x, 2, rounding_mode="floor"), t.remainder(x, 2), t.fmod(x, 2), t.maximum(x, x + 1),
            t.minimum(x, x - 1), t.atan2(x, x), x**2, x**x, 2**x, t.square(x), t.rsqrt(x), x.clamp(0, 1), x.clamp(min=x),
            x.clamp_min(0), x.clamp_max(1), t.addcmul(x, x, x), t.addcdiv(x, x, x), t.lerp(x, x, 0.3), t.lerp(x, x, x),
            t.nan_to_num(x), x.to(t.float16), x.to(t.int32), x.type_as(count), count.float(), x.clone(), x.half() + x.half(),
            x.detach(), count * 0.5, count + x[..., 0], count / 2,
            # Activations.
            F.relu(x), F.relu6(x), F.hardtanh(x), F.hardswish(x), F.hardsigmoid(x), F.leaky_relu(x, 0.1), F.elu(x),
            F.celu(x), F.selu(x), F.mish(x), F.softsign(x), t.erfinv(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.hardshrink(x),
            F.softshrink(x), F.threshold(x, 0.1, 0.0), F.silu(x), F.logsigmoid(x), F.softplus(x), F.softplus(x, 2.0),
            F.glu(x), F.prelu(image, self.slope), F.prelu(image, self.slope[:1]), F.softmax(x, 1),
            F.softmax(x.half(), -1, dtype=t.float32), F.log_softmax(x, -1), F.dropout(x, 0.2), F.dropout2d(image, 0.2),
            # Comparisons and choices.
            x == 1, x != x, x < 0, x <= x, x > 0, x >= x, count < 2.5, mask & mask, mask | mask, mask ^ mask, ~mask, ~count,
            count & 3, count | count, t.logical_and(count, mask), t.logical_or(mask, mask), t.logical_xor(mask, mask), t.logical_not(count),
            t.where(mask, count, 0), t.where(mask, 1.0, 0.0), t.where(mask.unsqueeze(-1), x, x),
            x.masked_fill(mask.unsqueeze(-1), 0), x.masked_fill(mask.unsqueeze(-1), first[0, 0]),
            # Reductions and orders.
            x.mean(), x.mean(1), x.mean((0, 2), keepdim=True), x.sum(), x.sum(-1), count.sum(1), mask.sum(1), x.prod(1),
            x.prod(), x.amax(1), x.amin((0, 1)), x.max(), x.min(), x.logsumexp(1), x.logcumsumexp(1), mask.any(), mask.any(1), mask.all(1),
            *x.max(1), *x.min(2, keepdim=True), x.argmax(1), x.argmin(), x.var(1), x.var((1, 2), correction=0), x.std(1),
            *t.var_mean(x, 1), *t.std_mean(x, 1, keepdim=True), x.norm(dim=1), t.linalg.vector_norm(x, 1, dim=2),
            x.cumsum(1), count.cumsum(1), mask.cumsum(1), x.cumprod(1), *x.topk(2), *x.topk(2, 1, largest=False),
            *x.sort(1), *x.sort(descending=True), x.argsort(1),
            # Shapes and orders of axes.
            x.view(15, 6), x.reshape(-1), x.flatten(1), x.unflatten(2, (2, 3)), x.unsqueeze(1), x[:1].squeeze(0), x.squeeze(),
            x.view_as(x), x.reshape_as(x), x.permute(2, 0, 1), x.transpose(-1, 0), x.swapaxes(0, 1), first.t(), x.mT,
            x.movedim(0, 2), image.movedim((1, 2), (-1, -2)), t.cat(pair[:1] * 2, 1), t.cat([count, mask], 1),
            t.stack([x, x], -1), x[:, :1].expand(3, 5, 6), first.expand_as(x), t.broadcast_to(first, (3, 5, 6)),
            first.repeat(2, 3), first.repeat(2, 1, 1), x.tile(2), x.repeat_interleave(2, 1), x.flip(1, 2), x.roll(1, 1),
            x.roll((-2, 7), (0, 2)), x.roll(4), F.pad(x, (1, 2)), F.pad(image, (1, 1, 2, 2), value=1.5), F.pad(image, (1, 2, 3, 1), mode="reflect"),
            F.pad(image, (1, 2, 3, 1), mode="replicate"), F.pad(x, (0, -1)), F.pad(image, (1, 1, 1, 1), mode="circular"),
            F.pixel_shuffle(image, 2), F.pixel_unshuffle(image, 2), *t.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
            *t.meshgrid(x[0, 0], x[0, :, 0], indexing="xy"),
            # Parts.
            *x.split(2, 1), *x.split((1, 4), 1), *x.chunk(4, 2), *t.tensor_split(x, 4, 2), *x.unbind(1), x.select(1, 2), x[:, -1],
            x[:, 1:3], x[:, ::2], x[..., :-1], x.narrow(1, 1, 2), x.diff(), count.diff(prepend=count[:, :1]), x[count[:, 0] % 3],
            x[:, count[:, 0]], x[count % 3, count % 5], x[count[:, :1] % 3, count[0] % 5], first.index_put((count[0] % 5,), x[0] * 2),
            x.index_put((mask,), first[0, 0]), first.index_put((count[0] % 5,), x[0], accumulate=True), x.index_select(1, count[0]),
            first.index_add(0, count[0] % 5, x[0]), first.index_copy(0, count[0] % 5, x[0]), x.gather(1, count.unsqueeze(-1) % 5),
            x.scatter(1, count.unsqueeze(-1) % 5, x), x.scatter(1, count.unsqueeze(-1) % 5, 2.0), x.scatter_add(1, count.unsqueeze(-1) % 5, x),
            x.scatter_reduce(1, count.unsqueeze(-1) % 5, x, "amax"), x.scatter_reduce(1, count.unsqueeze(-1) % 5, x, "mean"), x.masked_scatter(mask.unsqueeze(-1).expand(3, 5, 6), x), t.select_scatter(x, x[:, 0], 1, 3), mask.nonzero(), x.tril(), x.triu(1), torch.tril_indices(5, 4, -1, device=x.device), torch.triu_indices(4, 5, device=x.device), torch.vdot(x.flatten(), x.flatten()), F.one_hot(count, 6), x.unfold(1, 3, 2), x.unfold(2, 2, 2),
            # New tensors.
            t.zeros(2, 3), t.zeros_like(x), x.new_zeros(2), t.ones(2), t.ones_like(count), x.new_ones(3, dtype=t.int32), t.full((2,), 1.5),
            t.eye(3), t.eye(2, 4), t.full_like(x, 2), x.new_full((2, 3), 7), t.arange(5), t.arange(1, 9, 2), t.arange(2.0, 5.0), t.arange(0, 1, 0.25), t.linspace(0, 1, 7),
            t.rand(2, 3), t.rand_like(x), t.randn(4), t.randn_like(x), t.bernoulli(x), t.empty_like(x).bernoulli_(0.5), t.scalar_tensor(3), t.fill(x, 2),
            # Windows.
            F.max_pool1d(x, 2), F.max_pool2d(image, 3, 2, 1), F.max_pool2d(image, 3, 2, ceil_mode=True), F.max_pool3d(volume, 2),
            *F.max_pool2d(image, 2, return_indices=True), F.avg_pool1d(x, 2), F.avg_pool2d(image, 3, 2, 1, count_include_pad=False),
            F.avg_pool3d(volume, 2), F.adaptive_avg_pool1d(x, 3), F.adaptive_avg_pool2d(image, 1), F.adaptive_avg_pool2d(image, (4, 5)),
            F.adaptive_avg_pool2d(image, (3, 3)), F.adaptive_avg_pool2d(image, 16), F.adaptive_avg_pool3d(volume, 2),
            F.adaptive_max_pool2d(image, 2), F.adaptive_max_pool1d(x, 2), F.adaptive_max_pool3d(volume, 2), F.interpolate(image, scale_factor=2), F.interpolate(image, (5, 7), mode="bilinear"),
            F.interpolate(image, scale_factor=0.5, mode="bicubic"), F.interpolate(x, 9, mode="linear"), F.interpolate(volume, scale_factor=2),
            F.interpolate(image, (4, 4), mode="bilinear", antialias=True), F.grid_sample(image, heads[:, :1, :6, :2].expand(2, 5, 6, 2)),
            F.unfold(image, 3, padding=1, stride=2), F.fold(F.unfold(image, 2, stride=2), (8, 10), 2, stride=2),
            # Products, lookups, attention.
            x @ x.mT, x @ first.T, first @ x[0, 0], t.bmm(*pair), t.mm(first, first.T), t.mv(first, x[0, 0]), t.dot(x[0, 0], x[0, 0]),
            t.addmm(x[0, 0], first[:, :6].T @ first, first.T @ first), t.baddbmm(x[:, :5, :5], *pair, beta=0.5, alpha=2.0),
            t.einsum("bij, bkj -> bik", x, x), t.einsum("bhlc,bhlc->bhl", image, image), t.outer(x[0, 0], x[0, 1]),
            F.linear(x, first), F.linear(first, first, x[0, :, 0]), F.linear(x, first, x[0, :, 0]), self.table(count), self.bag(count),
            F.scaled_dot_product_attention(heads, heads, heads), F.scaled_dot_product_attention(x, x, x, dropout_p=0.1, is_causal=True),
            F.scaled_dot_product_attention(heads, heads[:, :2], heads[:, :2], enable_gqa=True, scale=0.3),
            F.scaled_dot_product_attention(heads, heads, heads, heads[:, :1, :, :1].expand(2, 1, 10, 10)),
            F.scaled_dot_product_attention(volume, volume, volume, is_causal=True), F.scaled_dot_product_attention(volume, volume, volume, volume[..., :6]),
            # Layers with weights.
            *(getattr(self, f"{name}1")(x[:, :4]) for name in ("conv", "same", "back")),
            *(getattr(self, f"{name}2")(image) for name in ("conv", "same", "back")),
            *(getattr(self, f"{name}3")(volume) for name in ("conv", "same", "back")),
            self.conv2(image[0]), self.normed(x.transpose(1, 2)), self.batch(image), self.unkept(image), self.group(image), self.instance(image), self.layer(x), self.plain(x),
            self.rms(x), *self.cells[0](first), *(cell(first, first[:, :5]) for cell in self.cells[1:]), *(each for layer in self.sequences for each in flat(layer(x))),
            # Losses.
            F.cross_entropy(x.mT, count), F.cross_entropy(first, first), F.cross_entropy(first, count[0], label_smoothing=0.1, reduction="sum"),
            F.nll_loss(x.mT, count), F.mse_loss(x, x * 2), F.l1_loss(x, x, reduction="none"), F.smooth_l1_loss(x, x), F.huber_loss(x, x, delta=0.5),
            F.binary_cross_entropy(x.sigmoid(), x.sigmoid()), F.binary_cross_entropy_with_logits(x, x), F.kl_div(x, x, reduction="sum"),
            F.kl_div(x, x, log_target=True), F.soft_margin_loss(x, x),
            F.triplet_margin_loss(x, x * 2, x * 3), F.margin_ranking_loss(x, x * 2, x.sign(), 0.1), F.hinge_embedding_loss(x, x.sign()),
            F.cosine_embedding_loss(first, first * 2, first[:, 0].sign(), 0.1), F.poisson_nll_loss(x, x.abs()), F.poisson_nll_loss(x.abs(), x.abs(), log_input=False),
            # Functions that become several operators, and places that are found.
            t.lgamma(x), t.digamma(x), t.special.entr(x.sigmoid()), t.special.gammaln(x), t.hypot(x, x + 1), t.logaddexp(x, x * 2), t.xlogy(x, x.abs()), t.logit(x.sigmoid()), t.sinc(x),
            t.heaviside(x, x), t.bucketize(x, first[0]), t.searchsorted(first[0], x), x.median(-1).values, x.kthvalue(2, 1).values, x.mode(-1).values,
            t.fmax(x, x * 2), t.fmin(x, x * 2), F.pairwise_distance(x, x * 2), t.randint(3, (2, 5)), t.hann_window(5), t.hamming_window(5),
            t.multinomial(first.sigmoid(), 3), F.affine_grid(x[:2, :2, :3], [2, 1, 4, 5]),
            # Complex numbers, and what ONNX has no operator for.
            t.complex(x, x), t.view_as_real(t.complex(x, x)), t.view_as_complex(x.unflatten(2, (3, 2))), t.polar(x, x), t.complex(x, x).abs(),
            t.complex(x, x).real, t.complex(x, x).angle(), t.complex(x, x).conj(), t.fft.rfft(x), t.fft.irfft(t.complex(x, x)), t.fft.fft2(t.complex(x, x)), t.fft.fft(x), t.fft.fftn(x), t.fft.rfft2(x), x * 1j,
            t.fft.rfftn(x), t.stft(x.flatten(1), 4, 2, window=first[0, :4], return_complex=True), t.diagonal(x, 1, 0, 2), first.diagonal(), t.diag_embed(x), x.as_strided((2, 3), (1, 2), 4),
            t.randperm(5), F.cosine_similarity(x, x[:1], -1), t.cdist(x, x), t.cdist(image.flatten(1, 2), image.flatten(1, 2)), F.pdist(first), t.histc(first, 5), F.bilinear(x, x, volume[0, 0, :, :, :6]),
            x.transpose(0, 1).contiguous(), mask.clone().__ior__(mask), mask.clone().__iand__(mask), mask.clone().__ixor__(mask), x.index_put((mask,), first[0]), *(each for name in self.algebra for each in listed((getattr(t.linalg, name, None) or getattr(t, name))(x[:, :, :5]))), t.diag(first[0]), t.diag(first), t.diag(first, 1), t.logspace(0, 1, 7), first.index_reduce(0, count[0] % 5, x[0], "amax"), x.index_reduce(1, count[0] % 5, x, "prod"), t._is_all_true(x > 0), t._is_any_true(x > 0), t.fill(x, first[0, 0]), t.empty_like(x).fill_(first[0, 0]),
        ]
        return tuple(results)


def listed(results):
    return [results] if isinstance(results, torch.Tensor) else results


def flat(results):
    output, states = results
    return [output, *(states if isinstance(states, tuple) else [states])]


UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log neg reciprocal round sign sin sinh sqrt tan tanh
sigmoid isnan isinf log2 log10 log1p exp2 expm1 trunc""".split()


class Regions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(6, 6)
        self.head = torch.nn.Linear(6, 6)
        self.teacher = torch.nn.Linear(6, 6)

    def forward(self, x):
        with torch.no_grad():
            scale = self.teacher(x).cos()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.fc(x)
        return torch.cond(y.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (self.head(y.float().detach()) * scale,))


class Loops(torch.nn.Module):
    """Six steps along an axis, six entries, five rounds by a counter, and a choice. `plain` writes the same as loops of Python."""

    def __init__(self):
        super().__init__()
        self.give, self.keep, self.each, self.round = (torch.nn.Linear(32, 32) for _ in range(4))
        self.wide, self.low = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32)), torch.nn.Linear(32, 32)

    def step(self, state, entry):
        state = torch.tanh(self.give(entry) + self.keep(state))
        return state, state.clone()

    def forward(self, x):
        _, x = scan(self.step, x.new_zeros(x.shape[1], 32), x, dim=0)
        x = map_over(lambda entry: F.gelu(self.each(entry)), x)
        x = torch.cond(x.sum() > 0, lambda x: torch.tanh(self.low(x)), lambda x: self.wide(x), (x,))
        return while_loop(lambda count, x: count < 5, lambda count, x: (count + 1, torch.tanh(self.round(x))), (torch.zeros((), dtype=torch.long), x))[1]

    def plain(self, x):
        state, states = x.new_zeros(x.shape[1], 32), []
        for entry in x:
            state, kept = self.step(state, entry)
            states.append(kept)
        x = torch.stack([F.gelu(self.each(entry)) for entry in torch.stack(states)])
        x = self.wide(x)
        for _ in range(5):
            x = torch.tanh(self.round(x))
        return x


def loops_in_python():
    """FLOPs of forward and backward of `Loops.plain`, and bytes that it keeps."""
    loops, x = Loops(), torch.randn(6, 2, 32)
    counter = torch.utils.flop_counter.FlopCounterMode
    kept, own = {}, {each.untyped_storage()._cdata for each in loops.parameters()}

    def pack(tensor):
        kept[tensor.untyped_storage()._cdata] = tensor.untyped_storage().nbytes()
        return tensor

    with counter(display=False) as forward, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = loops.plain(x)
    with counter(display=False) as backward:
        result.sum().backward()
    return forward.get_total_flops(), backward.get_total_flops(), sum(size for at, size in kept.items() if at not in own)


def write(name, model, inputs, **sizes):
    save(torch.export.export(model, inputs, strict=False, **sizes), Path(__file__).with_name(name))


def save(program, path):
    for module in program.graph_module.modules():
        for node in module.graph.nodes:
            node.meta.pop("stack_trace", None)
            if path.parent == LOWERING:
                for name in set(node.meta) - {"val"}:
                    del node.meta[name]
    torch.export.save(program, path)


def core_names():
    packets = (getattr(torch.ops.aten, name) for name in dir(torch.ops.aten))
    packets = [packet for packet in packets if isinstance(packet, torch._ops.OpOverloadPacket)]
    overloads = [getattr(packet, name) for packet in packets for name in packet.overloads()]
    return sorted(str(each).removeprefix("aten.") for each in overloads if torch.Tag.core in each.tags)


with torch.device("meta"):
    small, image = Small().train(), torch.randn(4, 3, 16, 16)
    words, tokens = Words().train(), torch.zeros(2, 8, dtype=torch.long)
    calls, regions = Calls().train(), Regions()
    inputs = (
        torch.rand(2, 4, 8, 10), torch.rand(3, 5, 6), torch.zeros(3, 5, dtype=torch.long),
        torch.zeros(3, 5, dtype=torch.bool), torch.rand(2, 4, 4, 6, 8),
    )
small.fc.bias.requires_grad_(False)
write("small.pt2", small, (image,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},))
write("words.pt2", words, (tokens,))
save(torch.export.export(calls, inputs, strict=False), LOWERING / "calls.pt2")
calls.sequences = torch.nn.ModuleList()  # which become all their steps
calls.algebra = []  # which become factorizations
save(torch.export.export(calls, inputs, strict=False).run_decompositions(), LOWERING / "coreCalls.pt2")
save(torch.export.export(regions, (torch.zeros(2, 6, device="meta"),), strict=False), LOWERING / "regions.pt2")
save(torch.export.export(Loops(), (torch.zeros(6, 2, 32),), strict=False), LOWERING / "loops.pt2")
print(loops_in_python())
(LOWERING / "core.json").write_text(json.dumps(core_names(), indent=1) + "\n")
