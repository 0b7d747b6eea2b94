"""Exports functions and modules of PyTorch one by one, with what PyTorch itself keeps, computes and trains.

    python scripts/measured/functionsOfTorch.py FOLDER [NAME ...]        (torch 2.13, onnx, onnxscript)

Each stands between two linear layers and is followed by a product with 2, which keeps nothing: what is kept besides the
inputs of the two layers is the function's own. Modules with parameters are exported alone, too. Every form is exported by
the default exporter and by the TorchScript one (`dynamo=False`). FOLDER gets the models with their weights left out and
`functions.jsonl`, one line each: bytes that autograd keeps in fp32 (weights and buffers left out), parameters, FLOPs of
forward by `torch.utils.flop_counter`, and the files. A file that an exporter cannot write is absent.

Three functions are measured as CUDA runs them: dropout keeps a mask of one byte, RMS normalization its input and one
number per row, `logsigmoid` its input alone (aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu has no buffer). Bags of
embeddings are measured on the CPU, which keeps no bag of each row for sums (aten/src/ATen/native/EmbeddingBag.cpp).
"""

from __future__ import annotations

import copy
import json
import logging
import math
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Callable

import onnx
import torch
import torch.nn.functional as F
from onGpu import on_gpu
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
torch.set_num_threads(1)

BATCH, FLAT = 4, (64,)
SEQUENCE, IMAGE, VOLUME = (16, 32), (8, 8, 8), (4, 8, 4, 4)


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


class First(nn.Module):
    """A module that gives several results, of which the first is used."""

    def __init__(self, module: nn.Module, call: Callable[[nn.Module, torch.Tensor], torch.Tensor] | None = None):
        super().__init__()
        self.module = module
        self.call = call

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.module(x)[0] if self.call is None else self.call(self.module, x)


class Inside(nn.Module):
    """`module` between two layers, in the shape that it takes; what it gives is doubled before the last layer."""

    def __init__(self, module: nn.Module, shape: tuple[int, ...]):
        super().__init__()
        self.shape = shape
        self.first = nn.Linear(math.prod(shape), math.prod(shape))
        self.module = module
        with torch.no_grad():
            given = copy.deepcopy(module).train()(torch.rand(BATCH, *shape))
        self.last = nn.Linear(given[0].numel(), 8) if given.dim() > 0 and given.shape[0] == BATCH else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.module(self.first(x).reshape(BATCH, *self.shape)) * 2.0
        return y if isinstance(self.last, nn.Identity) else self.last(y.reshape(BATCH, -1))


class Compared(nn.Module):
    """A layer whose result is compared with what the model is given; what a loss gives for each element goes through one more."""

    def __init__(self, loss: Callable[..., torch.Tensor], reduction: str):
        super().__init__()
        self.loss = loss
        self.reduction = reduction
        self.first = nn.Linear(math.prod(FLAT), math.prod(FLAT))
        given = loss(torch.rand(BATCH, *FLAT), torch.rand(BATCH, *FLAT), reduction=reduction)
        self.last = nn.Linear(given[0].numel(), 8) if given.dim() > 0 else nn.Identity()

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        y = self.loss(self.first(x), target, reduction=self.reduction) * 2.0
        return y if isinstance(self.last, nn.Identity) else self.last(y.reshape(BATCH, -1))


ACTIVATIONS = {
    "ReLU": nn.ReLU, "ReLU6": nn.ReLU6, "ELU": nn.ELU, "CELU": lambda: nn.CELU(2.0), "SELU": nn.SELU, "GELU": nn.GELU,
    "GELU tanh": lambda: nn.GELU("tanh"), "SiLU": nn.SiLU, "Mish": nn.Mish, "Hardswish": nn.Hardswish,
    "Hardsigmoid": nn.Hardsigmoid, "Hardtanh": lambda: nn.Hardtanh(-2.0, 3.0), "Hardshrink": nn.Hardshrink,
    "Hardshrink 0.1": lambda: nn.Hardshrink(0.1), "Softshrink": nn.Softshrink, "Softshrink 0.1": lambda: nn.Softshrink(0.1),
    "Tanhshrink": nn.Tanhshrink, "Softplus": nn.Softplus, "Softplus 2": lambda: nn.Softplus(2.0), "Softsign": nn.Softsign,
    "Tanh": nn.Tanh, "Sigmoid": nn.Sigmoid, "LogSigmoid": nn.LogSigmoid, "LeakyReLU": nn.LeakyReLU, "RReLU": nn.RReLU,
    "PReLU": nn.PReLU, "Threshold": lambda: nn.Threshold(0.1, 0.0), "Threshold 20": lambda: nn.Threshold(0.1, 20.0),
    "GLU": nn.GLU, "Softmax": lambda: nn.Softmax(-1), "Softmin": lambda: nn.Softmin(-1),
    "LogSoftmax": lambda: nn.LogSoftmax(-1), "Dropout": lambda: nn.Dropout(0.1), "AlphaDropout": lambda: nn.AlphaDropout(0.1),
}
OF_SEQUENCES = {
    "LayerNorm": lambda: nn.LayerNorm(32), "LayerNorm two axes": lambda: nn.LayerNorm((16, 32)),
    "LayerNorm plain": lambda: nn.LayerNorm(32, elementwise_affine=False), "RMSNorm": lambda: nn.RMSNorm(32),
    "MultiheadAttention": lambda: First(nn.MultiheadAttention(32, 4, batch_first=True), lambda m, x: m(x, x, x, need_weights=False)[0]),
    "MultiheadAttention weights": lambda: First(nn.MultiheadAttention(32, 4, batch_first=True), lambda m, x: m(x, x, x)[0]),
    "TransformerEncoderLayer": lambda: nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True),
    "TransformerDecoderLayer": lambda: First(nn.TransformerDecoderLayer(32, 4, 64, 0.0, batch_first=True), lambda m, x: m(x, x)),
    "LSTM": lambda: First(nn.LSTM(32, 32, batch_first=True)), "GRU": lambda: First(nn.GRU(32, 32, batch_first=True)),
    "RNN": lambda: First(nn.RNN(32, 32, batch_first=True)),
    "LSTM projected": lambda: First(nn.LSTM(32, 32, batch_first=True, proj_size=8)),
    "LSTM both ways": lambda: First(nn.LSTM(32, 16, 2, batch_first=True, bidirectional=True)),
    "LSTM projected both ways": lambda: First(nn.LSTM(32, 16, 2, batch_first=True, bidirectional=True, proj_size=8)),
    "GRU both ways": lambda: First(nn.GRU(32, 16, 2, batch_first=True, bidirectional=True)),
    "Linear weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(32, 32)), "Conv1d weight_norm": lambda: nn.utils.weight_norm(nn.Conv1d(16, 8, 3)),
    "Conv1d": lambda: nn.Conv1d(16, 8, 3), "ConvTranspose1d": lambda: nn.ConvTranspose1d(16, 8, 3),
    "MaxPool1d": lambda: nn.MaxPool1d(2), "AvgPool1d": lambda: nn.AvgPool1d(2), "BatchNorm1d": lambda: nn.BatchNorm1d(16),
    "InstanceNorm1d": lambda: nn.InstanceNorm1d(16), "AdaptiveAvgPool1d": lambda: nn.AdaptiveAvgPool1d(4),
    "AdaptiveMaxPool1d": lambda: nn.AdaptiveMaxPool1d(4), "LPPool1d": lambda: nn.LPPool1d(2, 2), "Bilinear": lambda: First(nn.Bilinear(32, 32, 8), lambda m, x: m(x, x)),
    "ReflectionPad1d": lambda: nn.ReflectionPad1d(1), "ReplicationPad1d": lambda: nn.ReplicationPad1d(1), "Dropout1d": lambda: nn.Dropout1d(0.1),
}
OF_IMAGES = {
    "BatchNorm2d": lambda: nn.BatchNorm2d(8), "GroupNorm": lambda: nn.GroupNorm(4, 8), "InstanceNorm2d": lambda: nn.InstanceNorm2d(8),
    "InstanceNorm2d affine": lambda: nn.InstanceNorm2d(8, affine=True), "LocalResponseNorm": lambda: nn.LocalResponseNorm(3),
    "Conv2d": lambda: nn.Conv2d(8, 8, 3), "Conv2d grouped": lambda: nn.Conv2d(8, 8, 3, groups=4), "ConvTranspose2d": lambda: nn.ConvTranspose2d(8, 4, 2, 2),
    "MaxPool2d": lambda: nn.MaxPool2d(2), "AvgPool2d": lambda: nn.AvgPool2d(2), "LPPool2d": lambda: nn.LPPool2d(2, 2),
    "AdaptiveAvgPool2d": lambda: nn.AdaptiveAvgPool2d(2), "AdaptiveMaxPool2d": lambda: nn.AdaptiveMaxPool2d(2), "global pool": lambda: nn.AdaptiveAvgPool2d(1),
    "FractionalMaxPool2d": lambda: nn.FractionalMaxPool2d(2, output_size=4), "PixelShuffle": lambda: nn.PixelShuffle(2),
    "PixelUnshuffle": lambda: nn.PixelUnshuffle(2), "ChannelShuffle": lambda: nn.ChannelShuffle(2), "Upsample nearest": lambda: nn.Upsample(scale_factor=2),
    "Upsample bilinear": lambda: nn.Upsample(scale_factor=2, mode="bilinear"), "Upsample bicubic": lambda: nn.Upsample(scale_factor=2, mode="bicubic"),
    "Softmax2d": nn.Softmax2d, "Dropout2d": lambda: nn.Dropout2d(0.1), "FeatureAlphaDropout": lambda: nn.FeatureAlphaDropout(0.1), "PReLU channels": lambda: nn.PReLU(8), "ZeroPad2d": lambda: nn.ZeroPad2d(1),
    "ReflectionPad2d": lambda: nn.ReflectionPad2d(1), "ReplicationPad2d": lambda: nn.ReplicationPad2d(1), "CircularPad2d": lambda: nn.CircularPad2d(1), "Unfold": lambda: nn.Unfold(3),
    "grid_sample": lambda: Call(lambda x: F.grid_sample(x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)), align_corners=False)), "Fold": lambda: Call(lambda x: F.fold(x.reshape(BATCH, 8, 64), (16, 16), 2, stride=2)),
}
OF_VOLUMES = {
    "Conv3d": lambda: nn.Conv3d(4, 4, 3, padding=1), "BatchNorm3d": lambda: nn.BatchNorm3d(4), "MaxPool3d": lambda: nn.MaxPool3d(2), "AvgPool3d": lambda: nn.AvgPool3d(2),
    "AdaptiveAvgPool3d": lambda: nn.AdaptiveAvgPool3d(1), "InstanceNorm3d": lambda: nn.InstanceNorm3d(4), "ConvTranspose3d": lambda: nn.ConvTranspose3d(4, 4, 2, 2), "Upsample trilinear": lambda: nn.Upsample(scale_factor=2, mode="trilinear"),
}
LOSSES = {
    "mse_loss": F.mse_loss, "l1_loss": F.l1_loss, "smooth_l1_loss": F.smooth_l1_loss, "huber_loss": F.huber_loss,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits, "soft_margin_loss": F.soft_margin_loss,
    "poisson_nll_loss": F.poisson_nll_loss, "kl_div": lambda x, t, reduction="mean": F.kl_div(F.log_softmax(x, -1), torch.softmax(t, -1), reduction=reduction),
    "binary_cross_entropy": lambda x, t, reduction="mean": F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(t), reduction=reduction),
    "gaussian_nll_loss": lambda x, t, reduction="mean": F.gaussian_nll_loss(x, t, x * x + 1, reduction=reduction),
    "hinge_embedding_loss": lambda x, t, reduction="mean": F.hinge_embedding_loss(x, torch.sign(t), reduction=reduction),
    "multilabel_soft_margin_loss": lambda x, t, reduction="mean": F.multilabel_soft_margin_loss(x, torch.sigmoid(t), reduction=reduction),
    "cosine_embedding_loss": lambda x, t, reduction="mean": F.cosine_embedding_loss(x, t, torch.ones(BATCH), reduction=reduction),
    "triplet_margin_loss": lambda x, t, reduction="mean": F.triplet_margin_loss(x, t, x * 2, reduction=reduction),
    "cross_entropy": lambda x, t, reduction="mean": F.cross_entropy(x, t.argmax(-1), reduction=reduction),
    "cross_entropy smoothed": lambda x, t, reduction="mean": F.cross_entropy(x, t.argmax(-1), label_smoothing=0.1, reduction=reduction),
    "cross_entropy of probabilities": lambda x, t, reduction="mean": F.cross_entropy(x, torch.softmax(t, -1), reduction=reduction),
    "nll_loss of logarithms": lambda x, t, reduction="mean": F.nll_loss(torch.log(x.abs() + 1), t.argmax(-1), reduction=reduction),
    "nll_loss": lambda x, t, reduction="mean": F.nll_loss(F.log_softmax(x, -1), t.argmax(-1), reduction=reduction),
}
FUNCTIONS = {
    "abs": torch.abs, "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": lambda x: torch.log(x.abs() + 1), "log2": lambda x: torch.log2(x.abs() + 1),
    "log10": lambda x: torch.log10(x.abs() + 1), "log1p": lambda x: torch.log1p(x * x), "sqrt": lambda x: torch.sqrt(x.abs() + 1), "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "square": torch.square, "pow 2": lambda x: x**2, "pow 3": lambda x: x**3, "pow 0.5": lambda x: (x.abs() + 1) ** 0.5, "pow -1": lambda x: (x.abs() + 1) ** -1, "pow tensor": lambda x: (x.abs() + 1) ** x,
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 1), "1 / x": lambda x: 1 / (x.abs() + 1), "clamp": lambda x: x.clamp(-1, 1), "clamp min": lambda x: x.clamp(min=0.1), "clamp max": lambda x: x.clamp(max=1),
    "minimum": lambda x: torch.minimum(x, x * 2), "maximum": lambda x: torch.maximum(x, x * 2), "where": lambda x: torch.where(x > 0, x, x * 2), "where zero": lambda x: torch.where(x > 0, x, 0.0),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.0), "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": lambda x: torch.asin(torch.tanh(x)), "acos": lambda x: torch.acos(torch.tanh(x)),
    "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "asinh": torch.asinh, "acosh": lambda x: torch.acosh(x.abs() + 2), "atanh": lambda x: torch.atanh(torch.tanh(x) * 0.5), "erf": torch.erf, "erfc": torch.erfc,
    "sinc": torch.sinc, "logit": lambda x: torch.logit(torch.sigmoid(x)), "xlogy": lambda x: torch.xlogy(x, x.abs() + 1), "hypot": lambda x: torch.hypot(x, x + 1), "atan2": lambda x: torch.atan2(x, x + 1), "fmod": lambda x: torch.fmod(x, 0.3),
    "remainder": lambda x: torch.remainder(x, 0.3), "logaddexp": lambda x: torch.logaddexp(x, x * 2), "logaddexp2": lambda x: torch.logaddexp2(x, x * 2), "lerp": lambda x: torch.lerp(x, x * 2, 0.3), "lerp tensor": lambda x: torch.lerp(x, x * 2, x * 3), "addcmul": lambda x: torch.addcmul(x, x, x * 3), "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1),
    "nan_to_num": torch.nan_to_num, "copysign": lambda x: torch.copysign(x, x * 2), "sign times x": lambda x: torch.sign(x) * x, "x minus floor": lambda x: x - torch.floor(x), "frac": torch.frac, "trunc": lambda x: x - torch.trunc(x), "deg2rad": torch.deg2rad, "heaviside": lambda x: x * (x > 0).float(),
    "x times x": lambda x: x * x, "x plus x": lambda x: x + x, "1 - x": lambda x: 1 - x, "neg": lambda x: -x, "div two": lambda x: x / (x * 2 + 3), "div scalar": lambda x: x / 3, "silu times x": lambda x: F.silu(x) * (x + 1), "gelu times x": lambda x: F.gelu(x) * (x + 1), "quick gelu": lambda x: x * torch.sigmoid(1.702 * x), "squared relu": lambda x: F.relu(x) ** 2, "hard swish by hand": lambda x: x * F.relu6(x + 3) / 6,
    "mean": lambda x: x - x.mean(-1, keepdim=True), "sum": lambda x: x * x.sum(-1, keepdim=True), "prod": lambda x: x * x.prod(-1, keepdim=True), "amax": lambda x: x - x.amax(-1, keepdim=True), "max": lambda x: x - x.max(-1, keepdim=True).values, "max alone": lambda x: x.max(-1).values, "min alone": lambda x: x.min(-1).values, "max of all": lambda x: x - x.max(),
    "var": lambda x: x / (x.var(-1, keepdim=True) + 1), "std": lambda x: x / (x.std(-1, keepdim=True) + 1), "var biased": lambda x: x / (x.var(-1, keepdim=True, unbiased=False) + 1), "var_mean": lambda x: (x - torch.var_mean(x, -1, keepdim=True)[1]) / torch.var_mean(x, -1, keepdim=True)[0], "logsumexp": lambda x: x - torch.logsumexp(x, -1, keepdim=True), "norm": lambda x: x / (x.norm(dim=-1, keepdim=True) + 1), "norm 1": lambda x: x / (x.norm(p=1, dim=-1, keepdim=True) + 1), "norm 3": lambda x: x / (torch.linalg.vector_norm(x, 3, dim=-1, keepdim=True) + 1), "norm max": lambda x: x / (torch.linalg.vector_norm(x, float("inf"), dim=-1, keepdim=True) + 1), "normalize": lambda x: F.normalize(x, dim=-1),
    "cumsum": lambda x: torch.cumsum(x, -1), "cumprod": lambda x: torch.cumprod(x, -1), "sort": lambda x: torch.sort(x, -1).values, "topk": lambda x: torch.topk(x, 32, -1).values, "gather": lambda x: torch.gather(x, -1, x.argsort(-1)), "median": lambda x: x - x.median(-1, keepdim=True).values, "scatter_add": lambda x: torch.zeros_like(x).scatter_add(-1, x.argsort(-1), x),
    "roll": lambda x: torch.roll(x, 3, -1), "flip": lambda x: torch.flip(x, (-1,)), "cat": lambda x: torch.cat([x[:, 16:], x[:, :16]], -1), "stack": lambda x: torch.stack([x, x * 2], 1), "repeat": lambda x: x.repeat(1, 2), "repeat_interleave": lambda x: x.repeat_interleave(2, -1), "expand": lambda x: x[:, None, :].expand(-1, 3, -1) * x[:, None, :], "index": lambda x: x[:, torch.tensor([3, 1, 2])], "index two axes": lambda x: x[torch.arange(BATCH)[:, None], torch.tensor([[3, 1, 2, 5]])], "index_select": lambda x: torch.index_select(x, 1, torch.tensor([3, 1, 2])), "boolean": lambda x: x * (x > 0), "pad": lambda x: F.pad(x, (1, 1)), "tril": lambda x: torch.tril(x[:, :, None] * x[:, None, :]), "diagonal": lambda x: torch.diagonal(x[:, :, None] * x[:, None, :], 0, 1, 2), "diag_embed": lambda x: torch.diag_embed(x),
    "einsum": lambda x: torch.einsum("bi,bj->bij", x, x * 2), "outer": lambda x: (x[:, :, None] * x[:, None, :]).sum(-1), "matmul": lambda x: (x @ x.t()) @ x, "bmm": lambda x: torch.bmm(x.reshape(BATCH, 8, 8), x.reshape(BATCH, 8, 8)), "baddbmm": lambda x: torch.baddbmm(x.reshape(BATCH, 8, 8), x.reshape(BATCH, 8, 8), x.reshape(BATCH, 8, 8)), "addmm": lambda x: torch.addmm(x, x @ x.t(), x), "cdist": lambda x: torch.cdist(x[None], x[None])[0], "cosine_similarity": lambda x: F.cosine_similarity(x[:, None, :32], x[:, None, 32:], dim=-1) * x, "pairwise_distance": lambda x: F.pairwise_distance(x, x * 2 + 1)[:, None] * x, "cross": lambda x: torch.linalg.cross(x[:, :60].reshape(BATCH, 20, 3), x[:, 4:].reshape(BATCH, 20, 3)), "dist": lambda x: (x[:, None] - x[None]).pow(2).sum(-1), "addmv": lambda x: torch.mv(x.t(), x[:, 0])[None].repeat(BATCH, 1),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x), "straight through": lambda x: (x.round() - x).detach() + x, "detach": lambda x: x * x.detach(),
    "dropout": lambda x: F.dropout(x, 0.1, True), "hardtanh": F.hardtanh, "relu in place": lambda x: F.relu(x, inplace=True), "hardshrink": F.hardshrink, "softshrink": F.softshrink, "threshold": lambda x: F.threshold(x, 0.2, 1.0), "softplus": F.softplus, "logsigmoid": lambda x: F.logsigmoid(x), "tanhshrink": F.tanhshrink, "softsign": F.softsign, "glu": F.glu, "rrelu": lambda x: F.rrelu(x, training=True), "prelu": lambda x: F.prelu(x, torch.tensor([0.2])),
    "layer_norm": lambda x: F.layer_norm(x, (64,)), "rms_norm": lambda x: F.rms_norm(x, (64,)), "group_norm": lambda x: F.group_norm(x, 4), "instance_norm": lambda x: F.instance_norm(x.reshape(BATCH, 4, 16)), "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "sdpa": lambda x: F.scaled_dot_product_attention(*(x.reshape(BATCH, 1, 8, 8) * k for k in (1, 2, 3))), "sdpa causal": lambda x: F.scaled_dot_product_attention(*(x.reshape(BATCH, 1, 8, 8) * k for k in (1, 2, 3)), is_causal=True),
    "attention by hand": lambda x: torch.softmax(x.reshape(BATCH, 1, 8, 8) @ (x * 2).reshape(BATCH, 1, 8, 8).transpose(-1, -2) / 8**0.5, -1) @ (x * 3).reshape(BATCH, 1, 8, 8), "unfold": lambda x: x.unfold(-1, 8, 4) * 1.0, "interpolate": lambda x: F.interpolate(x[:, None], scale_factor=2), "softmax by hand": lambda x: (x - x.amax(-1, keepdim=True)).exp() / (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True), "standardize": lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-3), "weight standardization": lambda x: (x - x.mean(0)) / torch.sqrt(x.var(0, unbiased=False) + 1e-3),
}
LOOKUPS = {
    "Embedding": lambda: nn.Embedding(100, 16), "Embedding padded": lambda: nn.Embedding(100, 16, padding_idx=0), "Embedding scaled": lambda: nn.Embedding(100, 16, max_norm=1.0),
    **{f"EmbeddingBag {mode}": (lambda mode=mode: nn.EmbeddingBag(100, 16, mode=mode)) for mode in ("sum", "mean", "max")},
}


class LookedUp(nn.Module):
    """A table, what is looked up in it doubled, and a layer."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module
        self.last = nn.Linear(16, 8)

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return self.last(self.module(indices) * 2.0)


def builders() -> dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[torch.Tensor, ...]]]]:
    """What is exported, by name, with its inputs."""
    every: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[torch.Tensor, ...]]]] = {}

    def add(name: str, build: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
        flat = math.prod(shape)
        every[name] = (lambda: Inside(build(), shape), lambda: (torch.rand(BATCH, flat),))
        if isinstance(build(), Call) or not list(build().parameters()):
            return
        every[f"{name}, alone"] = (build, lambda: (torch.rand(BATCH, *shape),))

    for family, shape in ((ACTIVATIONS, FLAT), (OF_SEQUENCES, SEQUENCE), (OF_IMAGES, IMAGE), (OF_VOLUMES, VOLUME)):
        for name, build in family.items():
            add(name, build, shape)
    for name, function in FUNCTIONS.items():
        add(f"F {name}", lambda function=function: Call(function), FLAT)
    for name, loss in LOSSES.items():
        for suffix, reduction in (("", "mean"), (", none", "none")):
            build = lambda loss=loss, reduction=reduction: Compared(loss, reduction)  # noqa: E731
            every[f"loss {name}{suffix}"] = (build, lambda: (torch.rand(BATCH, *FLAT), torch.rand(BATCH, *FLAT)))
    for name, build in LOOKUPS.items():
        every[name] = (lambda build=build: LookedUp(build()), lambda: (torch.randint(1, 100, (BATCH, 5)),))
    return every


def saved_bytes(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> int:
    own = {tensor.untyped_storage()._cdata for tensor in [*model.parameters(), *model.buffers()]}
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage()._cdata not in own:
            kept.setdefault(tensor.untyped_storage()._cdata, tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(*inputs)
    del output
    return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


def forward_flops(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> int:
    # The fused attention of a CPU is none that the counter knows.
    whole = sdpa_kernel(SDPBackend.MATH)
    with FlopCounterMode(display=False) as counter, torch.backends.mkldnn.flags(enabled=False), whole:
        model(*inputs)
    return counter.get_total_flops()


KEPT = {"pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.fx_node", "pkg.torch.onnx.original_node_name"}


def structure_of(path: Path) -> onnx.ModelProto:
    """The model without the contents of weights, and without what names files of this machine."""
    model = onnx.load(str(path))
    for node in [*model.graph.node, *(node for function in model.functions for node in function.node)]:
        node.doc_string = ""
        entries = [entry for entry in node.metadata_props if entry.key in KEPT]
        del node.metadata_props[:]
        node.metadata_props.extend(entries)
    for part in [model, model.graph, *model.graph.input, *model.graph.output, *model.graph.value_info]:
        part.doc_string = ""
    for tensor in model.graph.initializer:
        if math.prod(tensor.dims) < 32:
            continue
        for field in ("raw_data", "float_data", "int64_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="weights")
    return model


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    lines = folder / "functions.jsonl"
    known = {} if not lines.exists() else {row["name"]: row for row in map(json.loads, lines.read_text().splitlines())}
    for name, (build, given) in builders().items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        if name in known and not sys.argv[2:]:
            continue
        torch.manual_seed(0)
        undo = on_gpu()
        try:
            model = build().train()
            row = {
                "name": name,
                "saved": saved_bytes(model, given()),
                "parameters": sum(parameter.numel() for parameter in model.parameters()),
                "flops": forward_flops(model, given()),
                "files": {},
            }
        finally:
            undo()
        for exporter in ("default", "legacy"):
            with tempfile.TemporaryDirectory() as temporary:
                path = Path(temporary) / "model.onnx"
                options = {} if exporter == "default" else {"training": torch.onnx.TrainingMode.TRAINING, "do_constant_folding": False}
                try:
                    torch.onnx.export(build().train(), given(), str(path), dynamo=exporter == "default", verbose=False, **options)
                    model = structure_of(path)
                except Exception as error:  # what an exporter cannot write is left out
                    print(name, exporter, type(error).__name__, str(error).strip().splitlines()[:1], file=sys.stderr)
                    continue
            file = f"{name.replace(' ', '-').replace(',', '').replace('/', 'over').lower()}.{exporter}.onnx"
            onnx.save(model, str(folder / file))
            row["files"][exporter] = file
        known[name] = row
        lines.write_text("".join(json.dumps(row) + "\n" for row in known.values()))


if __name__ == "__main__":
    main()
