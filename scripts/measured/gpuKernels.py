"""
Times of single kernels on the GPU there is, as rows of the tables in `measured/`:

    python scripts/measured/gpuKernels.py OUT.jsonl [SECONDS] [TABLE,TABLE…]

Each line is one kernel, or the few kernels of one call of PyTorch: what ran, and the median of its microseconds. Caches are as a
step leaves them: flushed, then what the layer before has just written is read once. The GPU is kept busy until all of a call is
launched, so that no time is the host's. Needs torch with CUDA, and no other work on the GPU.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any, Callable, Iterator, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = "cuda"
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FLUSHED_BYTES = 256 * 2**20
#: Seconds for the timed runs of one kernel.
ENOUGH = 0.012

Row = dict[str, Any]


class Timer:
    def __init__(self) -> None:
        self._flushed = torch.empty(FLUSHED_BYTES // 4, dtype=torch.int32, device=DEVICE)

    def microseconds(self, run: Callable[[], Any], just_written: Sequence[Tensor] = ()) -> float:
        """The median over at least seven runs, after three that choose kernels and raise the clock."""
        host = []
        for _ in range(3):
            begin = time.perf_counter()
            run()
            host.append(time.perf_counter() - begin)
            torch.cuda.synchronize()
        hold = int(min(0.005, 1.5 * min(host) + 20e-6) * 2e9)
        begin, times = time.perf_counter(), []
        while len(times) < 7 or (time.perf_counter() - begin < ENOUGH and len(times) < 50):
            self._flushed.zero_()
            for tensor in just_written:
                tensor.amax()
            torch.cuda._sleep(hold)
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            run()
            last.record()
            torch.cuda.synchronize()
            times.append(first.elapsed_time(last) * 1e3)
        return statistics.median(times)


def drawn(*shape: int, type: str = "bf16", grad: bool = False, last: bool = False) -> Tensor:
    tensor = torch.randn(shape, device=DEVICE).to(TYPES[type])
    if last:
        tensor = tensor.to(memory_format=torch.channels_last)
    return tensor.requires_grad_(grad)


def allow_tf32(type: str) -> None:
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = type == "tf32"


def passes(timer: Timer, head: Row, call: Callable[..., Tensor], *inputs: Tensor) -> Iterator[Row]:
    """Forward, and backward for all inputs that take a gradient."""
    leaves = [each for each in inputs if each.requires_grad]
    with torch.no_grad():
        output = call(*inputs)
    gradient = torch.randn_like(output) if output.is_floating_point() else None
    fresh = [each.detach() for each in inputs if each.is_floating_point()][:1]
    forward = timer.microseconds(lambda: call(*inputs), fresh)
    yield {**head, "pass": "forward", "microseconds": forward}
    if leaves and gradient is not None:
        result = call(*inputs)
        backward = timer.microseconds(
            lambda: torch.autograd.grad(result, leaves, gradient, retain_graph=True, allow_unused=True), [gradient]
        )
        yield {**head, "pass": "backward", "microseconds": backward}


# Channels, filters, side of the image, kernel, stride, padding, groups.
CONVOLUTIONS = [
    *[(3, 64, 224, 7, 2, 3, 1), (3, 32, 224, 3, 2, 1, 1), (3, 64, 224, 3, 1, 1, 1), (3, 96, 224, 4, 4, 0, 1), (3, 768, 224, 16, 16, 0, 1), (3, 64, 224, 11, 4, 2, 1)],
    *[(64, 64, 56, 1, 1, 0, 1), (64, 64, 56, 3, 1, 1, 1), (64, 256, 56, 1, 1, 0, 1), (256, 64, 56, 1, 1, 0, 1), (256, 128, 56, 1, 1, 0, 1)],
    *[(128, 128, 56, 3, 2, 1, 1), (128, 512, 28, 1, 1, 0, 1), (256, 512, 56, 1, 2, 0, 1), (512, 128, 28, 1, 1, 0, 1), (128, 128, 28, 3, 1, 1, 1)],
    *[(512, 256, 28, 1, 1, 0, 1), (256, 256, 28, 3, 2, 1, 1), (256, 1024, 14, 1, 1, 0, 1), (512, 1024, 28, 1, 2, 0, 1), (1024, 256, 14, 1, 1, 0, 1), (256, 256, 14, 3, 1, 1, 1)],
    *[(1024, 512, 14, 1, 1, 0, 1), (512, 512, 14, 3, 2, 1, 1), (512, 2048, 7, 1, 1, 0, 1), (1024, 2048, 14, 1, 2, 0, 1), (2048, 512, 7, 1, 1, 0, 1), (512, 512, 7, 3, 1, 1, 1)],
    *[(64, 64, 224, 3, 1, 1, 1), (64, 128, 112, 3, 1, 1, 1), (128, 128, 112, 3, 1, 1, 1), (256, 256, 56, 3, 1, 1, 1), (512, 512, 28, 3, 1, 1, 1), (512, 512, 14, 3, 1, 1, 1)],
    *[(16, 96, 112, 1, 1, 0, 1), (96, 24, 56, 1, 1, 0, 1), (24, 144, 56, 1, 1, 0, 1), (144, 32, 28, 1, 1, 0, 1), (192, 64, 14, 1, 1, 0, 1), (64, 384, 14, 1, 1, 0, 1), (384, 96, 14, 1, 1, 0, 1), (960, 320, 7, 1, 1, 0, 1), (320, 1280, 7, 1, 1, 0, 1)],
    *[(64, 192, 27, 5, 1, 2, 1), (192, 384, 13, 3, 1, 1, 1), (384, 256, 13, 3, 1, 1, 1), (192, 96, 28, 1, 1, 0, 1), (96, 208, 14, 3, 1, 1, 1), (16, 48, 14, 5, 1, 2, 1), (832, 384, 7, 1, 1, 0, 1), (160, 320, 7, 3, 1, 1, 1)],
    *[(128, 32, 56, 3, 1, 1, 1), (128, 32, 28, 3, 1, 1, 1), (128, 32, 14, 3, 1, 1, 1), (608, 128, 14, 1, 1, 0, 1), (1000, 128, 7, 1, 1, 0, 1)],
    *[(96, 192, 56, 2, 2, 0, 1), (192, 384, 28, 2, 2, 0, 1), (58, 58, 28, 1, 1, 0, 1), (116, 116, 14, 1, 1, 0, 1), (1024, 1024, 32, 3, 1, 1, 1), (320, 320, 64, 3, 1, 1, 1)],
]  # fmt: skip
DEPTHWISE = [
    *[(32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1), (384, 14, 3, 1), (576, 14, 3, 2), (960, 7, 3, 1)],
    *[(240, 28, 5, 2), (672, 14, 5, 1), (1152, 7, 5, 1), (96, 56, 7, 1), (192, 28, 7, 1), (384, 14, 7, 1), (768, 7, 7, 1), (116, 14, 3, 1)],
]  # fmt: skip
DEPTHWISE_SHAPES = [(c, c, side, k, stride, k // 2, c) for c, side, k, stride in DEPTHWISE]
GROUPED = [
    *[(256, 256, 56, 3, 1, 1, 32), (512, 512, 28, 3, 1, 1, 32), (1024, 1024, 14, 3, 1, 1, 32), (2048, 2048, 7, 3, 1, 1, 32)],
    *[(224, 224, 56, 3, 2, 1, 4), (448, 448, 28, 3, 1, 1, 8), (896, 896, 14, 3, 1, 1, 16), (48, 48, 56, 3, 1, 1, 6), (120, 120, 28, 3, 1, 1, 15), (336, 336, 14, 3, 1, 1, 42)],
]  # fmt: skip


def convolutions(timer: Timer) -> Iterator[Row]:
    for last in (False, True):
        yield from convolutions_of(timer, ("bf16", last, 64, CONVOLUTIONS), ("bf16", last, 64, [*DEPTHWISE_SHAPES, *GROUPED]))


def other_convolutions(timer: Timer) -> Iterator[Row]:
    """In other precisions, and other numbers of images."""
    precisions = [("fp16", False, 64, CONVOLUTIONS[::4]), ("tf32", False, 64, CONVOLUTIONS[::3]), ("fp32", False, 32, CONVOLUTIONS[1::5])]
    sizes = [("bf16", False, 16, CONVOLUTIONS[::4]), ("bf16", True, 256, CONVOLUTIONS[1:34:4]), ("tf32", True, 64, CONVOLUTIONS[1::4])]
    grouped = [("fp16", False, 64, GROUPED[::2]), ("tf32", False, 64, GROUPED[::2]), ("fp32", False, 32, [*DEPTHWISE_SHAPES, *GROUPED][::3])]
    yield from convolutions_of(timer, *grouped, *precisions, *sizes)


def grouped_convolutions(timer: Timer) -> Iterator[Row]:
    yield from convolutions_of(timer, ("bf16", True, 64, GROUPED), ("bf16", False, 64, GROUPED), ("bf16", True, 64, DEPTHWISE_SHAPES[::3]))


Shapes = tuple[str, bool, int, Sequence[Sequence[int]]]


def convolutions_of(timer: Timer, *lists: Shapes) -> Iterator[Row]:
    for type, last, images, shapes in lists:
        for shape in shapes:
            yield from convolution(timer, type, last, images, shape)


def convolution(timer: Timer, type: str, last: bool, images: int, shape: Sequence[int]) -> Iterator[Row]:
    channels, filters, side, kernel, stride, padding, groups = shape
    allow_tf32(type)
    x = drawn(images, channels, side, side, type=type, last=last)
    w = drawn(filters, channels // groups, kernel, kernel, type=type, last=last)
    y = F.conv2d(x, w, None, stride, padding, 1, groups)
    gradient = torch.randn_like(y)
    head: Row = {"table": "convolutions", "type": type, "layout": "channels-last" if last else "channels-first"}
    head.update(images=images, channels=channels, height=side, width=side, filters=filters, kernel_h=kernel, kernel_w=kernel)
    head.update(stride_h=stride, stride_w=stride, pad_h=padding, pad_w=padding, groups=groups)

    def backward(data: bool, weight: bool) -> Any:
        arguments = (gradient, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, [data, weight, False])
        return torch.ops.aten.convolution_backward(*arguments)

    runs: list[tuple[str, Callable[[], Any], Tensor]] = [
        ("forward", lambda: F.conv2d(x, w, None, stride, padding, 1, groups), x),
        *([] if channels == 3 else [("data", lambda: backward(True, False), gradient)]),
        ("weight", lambda: backward(False, True), gradient),
    ]
    for name, run, fresh in runs:
        yield {**head, "pass": name, "microseconds": timer.microseconds(run, [fresh])}


def batch_norms(timer: Timer) -> Iterator[Row]:
    shapes = [
        *[(64, 64, 112), (64, 64, 56), (64, 256, 56), (64, 128, 28), (64, 512, 28), (64, 256, 14), (64, 1024, 14), (64, 512, 7), (64, 2048, 7)],
        *[(256, 64, 112), (256, 256, 56), (256, 512, 14), (16, 64, 112), (16, 256, 56), (16, 1024, 14), (16, 2048, 7), (128, 16, 112), (128, 96, 112)],
        *[(128, 144, 56), (128, 32, 28), (128, 384, 14), (128, 960, 7), (64, 1280, 7), (64, 58, 28), (32, 64, 224)],
    ]  # fmt: skip
    for type, last in (("bf16", False), ("bf16", True), ("fp16", False), ("fp16", True), ("fp32", False), ("fp32", True)):
        for index, (images, channels, side) in enumerate(shapes):
            if type == "fp16" and index % 2:
                continue
            x = drawn(images, channels, side, side, type=type, last=last, grad=True)
            w, b = drawn(channels, type="fp32", grad=True), drawn(channels, type="fp32", grad=True)
            mean, variance = torch.zeros(channels, device=DEVICE), torch.ones(channels, device=DEVICE)
            head = {"table": "batch-norm", "type": type, "layout": "channels-last" if last else "channels-first"}
            head.update(images=images, channels=channels, positions=side * side)
            yield from passes(timer, head, lambda x, w, b: F.batch_norm(x, mean, variance, w, b, True), x, w, b)


def pools(timer: Timer) -> Iterator[Row]:
    shapes = [(64, 64, 112, 3, 2, 1), (64, 64, 112, 2, 2, 0), (64, 256, 56, 2, 2, 0), (64, 192, 27, 3, 2, 0), (64, 480, 28, 3, 2, 1), (64, 512, 14, 3, 1, 1), (64, 512, 28, 2, 2, 0)]
    for type, last in (("bf16", False), ("bf16", True), ("fp32", False)):
        for images, channels, side, kernel, stride, padding in shapes:
            x = drawn(images, channels, side, side, type=type, last=last, grad=True)
            head = {"table": "pooling", "type": type, "layout": "channels-last" if last else "channels-first"}
            head.update(images=images, channels=channels, side=side, kernel=kernel, stride=stride, padding=padding)
            yield from passes(timer, {**head, "operation": "max"}, lambda x: F.max_pool2d(x, kernel, stride, padding), x)
            yield from passes(timer, {**head, "operation": "average"}, lambda x: F.avg_pool2d(x, kernel, stride, padding), x)
            yield from passes(timer, {**head, "operation": "global-average"}, lambda x: F.adaptive_avg_pool2d(x, 1), x)


def products(timer: Timer) -> Iterator[Row]:
    """Sizes that are no multiple of 8, by which tensor cores load; each beside its neighbour that is."""
    odd = [1, 2, 4, 8]
    sizes = [
        *[(8192, 50256 + each, 768) for each in odd], *[(4096, 32000 + each, 2048) for each in odd], *[(8192, 4096, 1024 + each) for each in odd],
        *[(8192 + each, 4096, 1024) for each in odd], *[(16384, 768, 768 + each) for each in odd], *[(2048, 1000 + each, 2048) for each in odd],
        *[(65536, 256 + each, 256) for each in odd], *[(256, 1000 + each, 2048) for each in (0, 1, 2)], (8192, 3072, 768), (8192, 768, 3072), (8192, 2048, 5632), (4096, 151936, 1024),
    ]  # fmt: skip
    for type in ("bf16", "tf32", "fp32"):
        allow_tf32(type)
        for m, n, k in sizes if type == "bf16" else sizes[::3]:
            x, w, g = drawn(m, k, type=type), drawn(n, k, type=type), drawn(m, n, type=type)
            head = {"table": "products", "type": type, "batch": 1}
            yield {**head, "layout": "tn", "m": m, "n": n, "k": k, "microseconds": timer.microseconds(lambda: F.linear(x, w), [x])}
            yield {**head, "layout": "nn", "m": m, "n": k, "k": n, "microseconds": timer.microseconds(lambda: g @ w, [g])}
            yield {**head, "layout": "nt", "m": n, "n": k, "k": m, "microseconds": timer.microseconds(lambda: g.t() @ x, [g])}


def rows(timer: Timer) -> Iterator[Row]:
    sizes = [(8192, 768), (8192, 4096), (32768, 1024), (65536, 4096), (1024, 16384), (131072, 320)]
    for r, c in sizes:
        for type in ("bf16", "fp32"):
            head = {"table": "rows", "type": type, "rows": r, "columns": c}
            x, y = drawn(r, c, type=type, grad=True), drawn(r, c, type=type, grad=True)
            unary: dict[str, Callable[[Tensor], Tensor]] = {
                "relu": F.relu, "gelu": F.gelu, "gelu-tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
                "hardswish": F.hardswish, "dropout": lambda x: F.dropout(x, 0.1), "softmax": lambda x: F.softmax(x, -1), "mulu": lambda x: x * 1.5,
                "cast": lambda x: x.to(torch.float32 if type == "bf16" else torch.bfloat16), "sum": lambda x: x.sum(-1), "pow3": lambda x: torch.pow(x, 3.0),
                "transpose": lambda x: x.view(r // 64, 64, c).transpose(1, 2).contiguous(),
            }  # fmt: skip
            for name, call in unary.items():
                yield from passes(timer, {**head, "operation": name}, call, x)
            yield from passes(timer, {**head, "operation": "add"}, lambda x, y: x + y, x, y)
            yield from passes(timer, {**head, "operation": "mul"}, lambda x, y: x * y, x, y)
            w, b = drawn(c, type="fp32", grad=True), drawn(c, type="fp32", grad=True)
            wide = drawn(r, c, type="fp32", grad=True)
            if type == "fp32":
                yield from passes(timer, {**head, "operation": "layer-norm"}, lambda x, w, b: F.layer_norm(x, (c,), w, b), wide, w, b)
                yield from passes(timer, {**head, "operation": "rms-norm"}, lambda x, w: F.rms_norm(x, (c,), w), wide, w)
            else:
                h, k = drawn(c, grad=True), drawn(c, grad=True)
                yield from passes(timer, {**head, "operation": "layer-norm"}, lambda x, w, b: F.layer_norm(x, (c,), w, b), x, h, k)
                yield from passes(timer, {**head, "operation": "add-mixed"}, lambda x, y: x + y, wide, x)
                yield from passes(timer, {**head, "operation": "bias"}, lambda x, b: x + b, x, k)
    for tokens, classes in ((8192, 50257), (8192, 32000), (2048, 151936), (256, 1000), (16384, 30522)):
        x, target = drawn(tokens, classes, type="fp32", grad=True), torch.randint(0, classes, (tokens,), device=DEVICE)
        head = {"table": "rows", "type": "fp32", "rows": tokens, "columns": classes, "operation": "cross-entropy"}
        yield from passes(timer, head, lambda x: F.cross_entropy(x, target), x)
    for tokens, entries, width in ((8192, 50257, 768), (8192, 32000, 2048), (4096, 30522, 768), (16384, 151936, 1024)):
        table, ids = drawn(entries, width, type="fp32", grad=True), torch.randint(0, entries, (tokens,), device=DEVICE)
        head = {"table": "rows", "type": "fp32", "rows": tokens, "columns": width, "entries": entries, "operation": "embedding"}
        yield from passes(timer, head, lambda table: F.embedding(ids, table), table)


def attentions(timer: Timer) -> Iterator[Row]:
    for type, batch, heads, tokens, size, causal, dropout in [
        *[("bf16", 8, 12, 1024, 64, True, 0.0), ("bf16", 8, 12, 1024, 64, True, 0.1), ("bf16", 32, 12, 512, 64, False, 0.0), ("bf16", 32, 12, 512, 64, False, 0.1)],
        *[("bf16", 128, 12, 197, 64, False, 0.0), ("bf16", 4, 32, 2048, 64, True, 0.0), ("bf16", 2, 32, 4096, 128, True, 0.0), ("bf16", 1, 32, 8192, 128, True, 0.0)],
        *[("bf16", 64, 12, 128, 64, False, 0.1), ("bf16", 16, 16, 512, 64, False, 0.0), ("bf16", 8, 16, 1024, 96, False, 0.0), ("bf16", 4, 8, 1024, 256, True, 0.0)],
        *[("fp32", 8, 12, 1024, 64, True, 0.0), ("fp32", 32, 12, 512, 64, False, 0.0), ("fp32", 32, 12, 512, 64, False, 0.1), ("fp32", 4, 32, 2048, 64, True, 0.0), ("fp16", 4, 32, 2048, 64, True, 0.0)],
    ]:  # fmt: skip
        q, k, v = (drawn(batch, tokens, heads, size, type=type).transpose(1, 2).requires_grad_(True) for _ in range(3))
        head = {"table": "attention", "type": type, "sequences": batch * heads, "tokens": tokens, "size": size, "causal": int(causal), "dropout": dropout}
        yield from passes(timer, head, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, dropout, causal), q, k, v)


BACKENDS = {"flash-attention-2": SDPBackend.FLASH_ATTENTION, "vendor": SDPBackend.CUDNN_ATTENTION}


def attention_backends(timer: Timer) -> Iterator[Row]:
    """Attention of language models by each kernel that PyTorch has: a `vendor` kernel is cuDNN's."""
    for batch, heads, tokens, size, causal in [
        *[(1, 32, 8192, 128, True), (1, 8, 8192, 128, True), (1, 12, 2048, 128, True), (2, 12, 2048, 128, True), (1, 32, 4096, 128, True), (4, 8, 4096, 128, True)],
        *[(8, 12, 1024, 64, True), (4, 32, 2048, 64, True), (32, 12, 512, 64, False), (128, 12, 197, 64, False), (1, 4, 32768, 128, True), (1, 32, 2048, 96, True)],
        *[(1, 16, 4096, 128, False), (1, 16, 16384, 64, True)],
    ]:  # fmt: skip
        q, k, v = (drawn(batch, tokens, heads, size).transpose(1, 2).requires_grad_(True) for _ in range(3))
        for name, backend in BACKENDS.items():
            head = {"table": "attention", "type": "bf16", "kernel": name, "sequences": batch * heads, "tokens": tokens, "size": size, "causal": int(causal), "dropout": 0.0}
            with sdpa_kernel(backend):
                yield from passes(timer, head, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, 0.0, causal), q, k, v)


# Tokens, outputs and inputs of linear layers of language models, whole and parted by tensor parallelism.
LAYERS = [
    *[(8192, 4096, 4096), (8192, 14336, 4096), (8192, 4096, 14336), (8192, 8192, 8192), (8192, 3584, 8192), (8192, 8192, 3584)],
    *[(4096, 12288, 12288), (2048, 4608, 12288), (2048, 12288, 1536), (2048, 6144, 12288), (2048, 12288, 6144)],
    *[(8192, 2048, 2048), (8192, 5632, 2048), (16384, 768, 768), (8192, 3072, 768)],
]  # fmt: skip
#: Seconds of one product after the other, in which the clock comes to rest.
AT_REST = 0.35


def sustained(timer: Timer) -> Iterator[Row]:
    """Products one after the other for a third of a second, as a long step runs them, beside the same products alone."""
    for type in ("bf16", "fp8"):
        for m, n, k in LAYERS if type == "bf16" else LAYERS[:11:2]:
            x, w, g = drawn(m, k), drawn(n, k), drawn(m, n)
            runs: dict[str, Callable[[], Any]] = {"tn": lambda: F.linear(x, w), "nn": lambda: g @ w, "nt": lambda: g.t() @ x}
            if type == "fp8":
                runs = {"tn": scaled_product(m, n, k)}
            for layout, run in runs.items():
                alone = timer.microseconds(run)
                begin, times = time.perf_counter(), []
                while time.perf_counter() - begin < AT_REST:
                    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    first.record()
                    for _ in range(20):
                        run()
                    last.record()
                    last.synchronize()
                    times.append(first.elapsed_time(last) / 20 * 1e3)
                sizes = {"tn": (m, n, k), "nn": (m, k, n), "nt": (n, k, m)}[layout]
                row = {"table": "sustained", "type": type, "batch": 1, "layout": layout, **dict(zip("mnk", sizes)), "alone": alone}
                yield {**row, "microseconds": statistics.median(times[len(times) // 2 :]), "megahertz": torch.cuda.clock_rate(), "watts": torch.cuda.power_draw() / 1e3}


def scaled_product(m: int, n: int, k: int) -> Callable[[], Tensor]:
    """A product of two tensors in FP8 with one scale each, into bf16."""
    x, w = (drawn(rows, k).to(torch.float8_e4m3fn) for rows in (m, n))
    one = torch.ones((), device=DEVICE)
    return lambda: torch._scaled_mm(x, w.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)


def fp8_products(timer: Timer) -> Iterator[Row]:
    squares = [(side, side, side) for side in (512, 1024, 2048, 4096, 8192, 16384)]
    thin = [(64, 4096, 4096), (256, 4096, 4096), (1024, 4096, 4096), (4096, 1024, 8192), (16384, 4096, 1024), (4096, 32000, 2048)]
    for m, n, k in [*squares, *thin, *LAYERS, *[(m, k, n) for m, n, k in LAYERS[1:11:2]], *[(n, k, m) for m, n, k in LAYERS[1:11:2]]]:
        head = {"table": "products", "type": "fp8", "batch": 1, "layout": "tn", "m": m, "n": n, "k": k}
        yield {**head, "microseconds": timer.microseconds(scaled_product(m, n, k))}


def fp8_casts(timer: Timer) -> Iterator[Row]:
    """What FP8 needs besides its products: the largest element, a cast by a scale, and a transposed copy."""
    for r, c in [(8192, 4096), (8192, 14336), (2048, 12288), (14336, 4096), (8192, 768)]:
        x = drawn(r, c)
        scale = torch.full((), 2.0, device=DEVICE)
        small = x.to(torch.float8_e4m3fn)
        calls: dict[str, Callable[[], Any]] = {
            "largest": lambda: x.abs().amax(),
            "cast-fp8": lambda: x.to(torch.float8_e4m3fn),
            "scaled-cast-fp8": lambda: (x * scale).to(torch.float8_e4m3fn),
            "transpose-fp8": lambda: small.t().contiguous(),
        }
        for name, run in calls.items():
            row = {"table": "rows", "type": "bf16", "rows": r, "columns": c, "operation": name, "pass": "forward"}
            yield {**row, "microseconds": timer.microseconds(run, [x])}


def grouped_products(timer: Timer) -> Iterator[Row]:
    """Products of tokens that are sorted by expert, each expert with its own weight: evenly, and as a router leaves them."""
    for experts, tokens, n, k in [(8, 8192, 14336, 4096), (8, 8192, 4096, 14336), (8, 16384, 3584, 1024), (64, 32768, 1408, 2048), (64, 32768, 2048, 1408), (128, 65536, 768, 2048), (256, 8192, 2048, 1024), (16, 4096, 8192, 5120)]:  # fmt: skip
        x, w, g = drawn(tokens, k), drawn(experts, n, k), drawn(tokens, n)
        for spread in ("even", "uneven"):
            share = torch.ones(experts) if spread == "even" else torch.linspace(0.25, 1.75, experts)
            ends = (share.cumsum(0) / share.sum() * tokens).round().to(torch.int32).to(DEVICE)
            head = {"table": "grouped", "type": "bf16", "experts": experts, "tokens": tokens, "n": n, "k": k, "spread": spread}
            runs: dict[str, Callable[[], Any]] = {
                "forward": lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=ends, out_dtype=torch.bfloat16),
                "data": lambda: torch._grouped_mm(g, w, offs=ends, out_dtype=torch.bfloat16),
                "weight": lambda: torch._grouped_mm(g.t(), x, offs=ends, out_dtype=torch.bfloat16),
            }
            for name, run in runs.items():
                yield {**head, "pass": name, "microseconds": timer.microseconds(run)}


def updates(timer: Timer) -> Iterator[Row]:
    layers = {"transformer": [(50257, 768), *[(2304, 768), (768, 768), (3072, 768), (768, 3072), (768,), (768,)] * 12], "small": [(256, 256), (256,)] * 80, "large": [(8192, 8192)] * 6}
    for name, shapes in layers.items():
        parameters = [drawn(*shape, type="fp32") for shape in shapes]
        for each in parameters:
            each.grad = torch.randn_like(each)
        for kind, kernels in (("momentum", {"foreach": True}), ("adamw", {"foreach": True}), ("adamw", {"fused": True})):
            optimizer = torch.optim.AdamW(parameters, lr=1e-9, **kernels) if kind == "adamw" else torch.optim.SGD(parameters, lr=1e-9, momentum=0.9, **kernels)
            head = {"table": "updates", "parameters": name, "elements": sum(each.numel() for each in parameters), "tensors": len(parameters), "optimizer": kind}
            yield {**head, "kernels": next(iter(kernels)), "microseconds": timer.microseconds(optimizer.step)}
        for each in parameters:
            each.grad = None


TABLES: dict[str, Callable[[Timer], Iterator[Row]]] = {
    each.__name__: each
    for each in (
        *(batch_norms, pools, products, rows, attentions, updates, convolutions, other_convolutions, grouped_convolutions),
        *(attention_backends, sustained, fp8_products, fp8_casts, grouped_products),
    )
}


def main() -> None:
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    path, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    tables = sys.argv[3].split(",") if len(sys.argv) > 3 else list(TABLES)
    begin, timer = time.monotonic(), Timer()
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    with open(path, "w", encoding="utf-8") as out:
        out.write(json.dumps({"gpu": torch.cuda.get_device_name(), **versions}) + "\n")
        for table in tables:
            failed: Optional[BaseException] = None
            started = time.monotonic()
            try:
                for row in TABLES[table](timer):
                    row["microseconds"] = float(f"{row['microseconds']:.5g}")
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    if time.monotonic() - begin > seconds:
                        print(f"out of time in {table}")
                        return
            except RuntimeError as error:
                failed = error
            torch.cuda.empty_cache()
            print(f"{table}: {time.monotonic() - started:.1f} s{'' if failed is None else f', ended by {failed}'}", flush=True)


if __name__ == "__main__":
    main()
