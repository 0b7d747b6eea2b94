"""Writes torchLayers.json: what PyTorch says of the layers a spec can call.

    python writeTorchLayers.py > torchLayers.json        # needs torch 2.13.0, on the CPU

Of every call: the shape of its (first) output, its parameters, the FLOPs of forward, of backward where only parameters
need a gradient, and of backward where inputs of floating point do too, as torch.utils.flop_counter counts them.
Of every class of torch.nn: its parameters with their defaults, as inspect.signature gives them.
"""

import inspect
import json
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
torch.manual_seed(0)

# Where the spec is written as the class is called, the row is (call, inputs). Where it differs, Python's own words
# follow: an expression over the inputs by name, or a constructor.
rows = []


def module(call, *shapes, torch_call=None, names=None):
    names = names or "xyz"[: len(shapes)]
    rows.append((call, dict(zip(names, shapes)), torch_call or "nn." + call.split(" from ")[0], True))


def function(call, python, **inputs):
    rows.append((call, inputs, python, False))


def both(names, *cases):
    for name in names.split():
        for arguments, *shapes in cases:
            module(f"{name}({arguments})" + (" from " + ", ".join("xyz"[: len(shapes)]) if len(shapes) > 1 else ""), *shapes)


f = "float32"
vector, words, image, volume = f"{f}[4, 64]", f"{f}[4, 16, 64]", f"{f}[2, 8, 24, 20]", f"{f}[2, 8, 10, 12, 9]"
line = f"{f}[2, 8, 50]"
of_axes = {1: line, 2: image, 3: volume}

# Linear layers and tables.
both("Linear", ("64, 10", vector), ("64, 10, bias=False", words), ("64, 33", f"{f}[2, 3, 4, 64]"))
both("LazyLinear", ("10", vector), ("10, bias=False", words))
both("Bilinear", ("64, 64, 7", vector, vector), ("64, 32, 5, bias=False", words, f"{f}[4, 16, 32]"))
both("Identity", ("", words), ("", image))
both("Embedding", ("100, 8", "int64[4, 16]"), ("50, 12, padding_idx=3", "int64[4]"))
both("EmbeddingBag", ("100, 8", "int64[4, 16]"), ("100, 8, mode='sum'", "int64[4, 5]"), ("100, 8, mode='max'", "int64[2, 3]"))
for arguments in ("100, 8", "100, 8, mode='sum'", "100, 8, mode='max'"):
    module(f"EmbeddingBag({arguments}) from x, y", "int64[40]", "int64[5]")
module("EmbeddingBag(100, 8, mode='sum', include_last_offset=True) from x, y", "int64[40]", "int64[5]")

# Convolution.
for n, x in of_axes.items():
    both(
        f"Conv{n}d",
        ("8, 16, 3", x),
        ("8, 12, 3, stride=2, padding=1, bias=False", x),
        ("8, 16, 3, padding=2, dilation=2, groups=4", x),
        ("8, 8, 3, padding='same', groups=8", x),
        ("8, 6, 5, padding=2, padding_mode='circular'", x),
        ("8, 6, 4, padding='same', padding_mode='reflect'", x),
        ("8, 4, 2, padding='valid'", x),
    )
    both(f"LazyConv{n}d", ("16, 3", x), ("12, 3, stride=2, groups=2", x))
    both(
        f"ConvTranspose{n}d",
        ("8, 16, 3", x),
        ("8, 16, 2, stride=2, bias=False", x),
        ("8, 12, 3, stride=2, padding=1, output_padding=1, groups=4", x),
        ("8, 4, 3, 1, 0, 0, 1, True, 2", x),
    )
    both(f"LazyConvTranspose{n}d", ("16, 3", x), ("12, 3, stride=2", x))
both("Conv2d", ("8, 16, (3, 5), stride=(2, 1), padding=(1, 2)", image), ("8, 5, kernel_size=(1, 7), padding='same'", image))

# Pooling.
for n, x in of_axes.items():
    both(f"MaxPool{n}d", ("2", x), ("3, 2, padding=1", x), ("3, stride=2, ceil_mode=True", x), ("2, dilation=2, stride=1", x))
    both(f"AvgPool{n}d", ("2", x), ("3, stride=2, padding=1, count_include_pad=False", x), ("3, 2, ceil_mode=True", x))
    both(f"LPPool{n}d", ("2, 3", x), ("2, 2, stride=1", x))
    both(f"AdaptiveAvgPool{n}d", ("1", x), ("2", x), ("3", x), ("13", x))
    both(f"AdaptiveMaxPool{n}d", ("1", x), ("2", x), ("4", x))
both("AdaptiveAvgPool2d", ("(4, None)", image), ("(None, 5)", image), ("(6, 10)", image))
for n, size in {1: "[2, 8, 25]", 2: "[2, 8, 12, 10]", 3: "[2, 8, 5, 6, 4]"}.items():
    for arguments in ("2", "3, stride=2"):
        module(f"MaxUnpool{n}d({arguments}) from x, y", f"{f}{size}", f"int64{size}")

# Padding.
for n, x in of_axes.items():
    uneven = ", ".join(str(1 + i % 3) for i in range(2 * n))
    both(f"ZeroPad{n}d ReflectionPad{n}d ReplicationPad{n}d CircularPad{n}d", ("2", x), (f"({uneven})", x))
    both(f"ConstantPad{n}d", ("2, 0.5", x), (f"({uneven}), 3.5", x))

# Normalisation.
for n, x in of_axes.items():
    both(f"BatchNorm{n}d", ("8", x), ("8, eps=0.001, momentum=0.2, affine=False", x), ("8, bias=False", x))
    both(f"LazyBatchNorm{n}d", ("", x), ("affine=False", x))
    both(f"InstanceNorm{n}d", ("8", x), ("8, affine=True", x))
    both(f"LazyInstanceNorm{n}d", ("", x), ("affine=True", x))
both("BatchNorm1d", ("64", vector))
# SyncBatchNorm runs on GPUs only; its parameters are those of BatchNorm.
module("SyncBatchNorm(8)", image, torch_call="nn.BatchNorm2d(8)")
module("SyncBatchNorm(8, affine=False)", line, torch_call="nn.BatchNorm1d(8, affine=False)")
both("LayerNorm", ("64", words), ("(16, 64)", words), ("64, bias=False", words), ("64, elementwise_affine=False", vector))
both("RMSNorm", ("64", words), ("(16, 64), eps=1e-6", words), ("64, elementwise_affine=False", vector))
both("GroupNorm", ("2, 8", image), ("4, 8, affine=False", line), ("8, 8, bias=False", volume))
both("LocalResponseNorm CrossMapLRN2d", ("5", image), ("3, alpha=0.001, beta=0.5, k=2", image))

# Dropout.
both("Dropout AlphaDropout", ("", words), ("0.1", image))
both("Dropout1d", ("", line), ("0.2", line))
both("Dropout2d FeatureAlphaDropout", ("", image), ("0.2", image))
both("Dropout3d", ("", volume), ("0.2", volume))
function("dropout(0.1)", "F.dropout(x, 0.1)", x=words)
function("dropout(x, training=False)", "F.dropout(x, training=False)", x=words)

# Activations.
plain = "ReLU ReLU6 SELU SiLU Mish Hardswish Hardsigmoid Tanhshrink Softsign Sigmoid LogSigmoid Tanh"
both(plain, ("", words), ("", image))
both("LeakyReLU", ("", words), ("0.2", image))
both("PReLU", ("", words), ("8", image), ("64", vector))
both("RReLU", ("", words), ("0.1, 0.2", image))
both("ELU CELU", ("", words), ("0.5", image))
both("GELU", ("", words), ("'tanh'", image), ("approximate='none'", vector))
both("Hardtanh", ("", words), ("-2, 2", image))
both("Hardshrink Softshrink", ("", words), ("0.1", image))
both("Softplus", ("", words), ("2, 10", image))
both("Threshold", ("0.1, 20", words), ("0, 0", image))
both("GLU", ("", words), ("1", image))
both("Softmax Softmin LogSoftmax", ("dim=-1", words), ("1", image), ("", vector), ("", words))
both("Softmax2d", ("", image), ("", f"{f}[8, 24, 20]"))
names = "relu relu6 selu silu mish hardswish hardsigmoid tanhshrink softsign sigmoid logsigmoid tanh leaky_relu rrelu elu celu gelu hardtanh hardshrink softshrink softplus"
for name in names.split():
    function(f"{name}()", f"F.{name}(x)", x=words)
    function(f"{name}(x)", f"F.{name}(x)", x=image)
function("threshold(0.1, 20)", "F.threshold(x, 0.1, 20)", x=words)
function("threshold(x, 0, 0)", "F.threshold(x, 0, 0)", x=words)
for name in ("softmax", "softmin", "log_softmax"):
    function(f"{name}(dim=-1)", f"F.{name}(x, dim=-1)", x=words)
    function(f"{name}(x, 1)", f"F.{name}(x, 1)", x=image)
function("glu()", "F.glu(x)", x=words)
function("glu(x, 1)", "F.glu(x, 1)", x=image)

# Recurrent layers.
for name in ("RNN", "LSTM", "GRU"):
    module(f"{name}(64, 32)", f"{f}[16, 4, 64]")
    module(f"{name}(64, 32, batch_first=True)", words)
    module(f"{name}(64, 24, num_layers=3, bias=False, dropout=0.1, batch_first=True)", words)
    module(f"{name}(64, 24, 2, bidirectional=True)", f"{f}[16, 4, 64]")
    module(f"{name}Cell(64, 32)", vector)
    module(f"{name}Cell(64, 16, bias=False)", vector)
module("RNN(64, 32, nonlinearity='relu')", f"{f}[16, 4, 64]")
module("GRU(64, 32, batch_first=True) from x, y", words, f"{f}[1, 4, 32]")
module("GRU(64, 32, 2) from x, y", f"{f}[16, 4, 64]", f"{f}[2, 4, 32]")
module("LSTM(64, 32, proj_size=12)", f"{f}[16, 4, 64]")
module("LSTM(64, 24, num_layers=3, bias=False, dropout=0.1, batch_first=True, proj_size=7)", words)
module("LSTM(64, 24, 2, bidirectional=True, proj_size=8)", f"{f}[16, 4, 64]")
module("GRUCell(64, 32) from x, y", vector, f"{f}[4, 32]")

# Attention, written out as bmm and softmax: the counter knows no fused kernel of the CPU.
def attention(arguments, *shapes, more=""):
    names = "xyz"[: len(shapes)]
    tail = " from " + ", ".join(names) if len(shapes) > 1 else ""
    module(
        f"MultiheadAttention({arguments}, fused=False{more}){tail}",
        *shapes,
        torch_call=f"nn.MultiheadAttention({arguments})" if "batch_first" in arguments else f"nn.MultiheadAttention({arguments}, batch_first=True)",
    )


attention("64, 4", words)
attention("64, 8, bias=False", words)
attention("64, 4, add_bias_kv=True", words)
attention("64, 4, add_bias_kv=True, add_zero_attn=True", words, words)
attention("64, 4, dropout=0.1, batch_first=False", f"{f}[16, 4, 64]")
attention("64, 4", words, f"{f}[4, 24, 64]")
attention("64, 4", words, f"{f}[4, 24, 64]", f"{f}[4, 24, 64]")
attention("64, 4, kdim=32, vdim=48", words, f"{f}[4, 24, 32]", f"{f}[4, 24, 48]")
heads = f"{f}[2, 8, 16, 12]"
function("scaled_dot_product_attention(q, k, v)", "F.scaled_dot_product_attention(q, k, v)", q=heads, k=heads, v=heads)
function("scaled_dot_product_attention(q, k, v, is_causal=True)", "F.scaled_dot_product_attention(q, k, v, is_causal=True)", q=heads, k=heads, v=heads)
function("scaled_dot_product_attention(q, k, v, attn_mask=m)", "F.scaled_dot_product_attention(q, k, v, attn_mask=m)", q=heads, k=heads, v=heads, m=f"{f}[16, 16]")
few = f"{f}[2, 2, 20, 12]"
function("scaled_dot_product_attention(q, k, v, enable_gqa=True)", "F.scaled_dot_product_attention(q, k, v, enable_gqa=True)", q=heads, k=few, v=few)

# Transformers.
for arguments in ("64, 4, batch_first=True", "64, 8, 128, 0.0, 'gelu', norm_first=True, batch_first=True", "64, 4, bias=False, batch_first=True"):
    for name, shapes in {"TransformerEncoderLayer": [words], "TransformerDecoderLayer": [words, f"{f}[4, 24, 64]"]}.items():
        tail = " from x, y" if len(shapes) > 1 else ""
        module(f"{name}({arguments}, fused=False){tail}", *shapes, torch_call=f"nn.{name}({arguments})")
module("TransformerEncoderLayer(64, 4, fused=False)", f"{f}[16, 4, 64]", torch_call="nn.TransformerEncoderLayer(64, 4)")
for arguments in ("64, 4, 2, 3, 96, batch_first=True", "64, 8, num_encoder_layers=1, num_decoder_layers=1, batch_first=True, bias=False"):
    module(f"Transformer({arguments}, fused=False) from x, y", words, f"{f}[4, 24, 64]", torch_call=f"nn.Transformer({arguments})")

# Images.
both("PixelShuffle PixelUnshuffle", ("2", f"{f}[2, 16, 8, 12]"), ("4", f"{f}[2, 32, 8, 12]"))
both("ChannelShuffle", ("2", image), ("4", image))
both("Upsample", ("scale_factor=2", image), ("(7, 9), mode='bilinear'", image), ("scale_factor=2, mode='linear'", line), ("scale_factor=(2, 1, 3), mode='trilinear'", volume), ("scale_factor=1.5, mode='bicubic', align_corners=True", image), ("30", image), ("scale_factor=2, mode='nearest-exact'", line))
both("UpsamplingNearest2d UpsamplingBilinear2d", ("scale_factor=3", image), ("(10, 12)", image))
both("Unfold", ("3", image), ("(2, 3), stride=2, padding=1, dilation=2", image))
both("Fold", ("(8, 10), 2", f"{f}[2, 12, 63]"), ("(8, 10), (2, 3), stride=2, padding=1", f"{f}[2, 18, 25]"))
function("interpolate(scale_factor=2)", "F.interpolate(x, scale_factor=2)", x=image)
function("interpolate(x, (5, 7), mode='bilinear')", "F.interpolate(x, (5, 7), mode='bilinear')", x=image)
function("pad((1, 2))", "F.pad(x, (1, 2))", x=words)
function("pad(x, (1, 2, 3, 0), 'reflect')", "F.pad(x, (1, 2, 3, 0), 'reflect')", x=image)
function("pad(x, (-1, 2), value=4)", "F.pad(x, (-1, 2), value=4)", x=words)

# Functions.
b = f"{f}[16, 64]"
for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow"):
    function(f"{name}(x, y)", f"torch.{name}(x, y)", x=words, y=words)
    function(f"{name}(x, y)", f"torch.{name}(x, y)", x=words, y=b)
for name in ("add", "sub", "mul", "div", "pow"):
    function(f"{name}(x, 2)", f"torch.{name}(x, 2)", x=words)
    function(f"{name}(2, x)", f"torch.{name}(torch.tensor(2.0), x)", x=words)
for name in "abs neg exp log sqrt rsqrt reciprocal sin cos tan erf sign floor ceil round square".split():
    function(f"{name}()", f"torch.{name}(x)", x=words)
    function(f"{name}(x)", f"torch.{name}(x)", x=image)
function("clamp(0, 1)", "torch.clamp(x, 0, 1)", x=words)
function("clamp(x, max=3)", "torch.clamp(x, max=3)", x=words)
function("where(m, x, y)", "torch.where(m, x, y)", m="bool[16, 1]", x=words, y=words)
function("where(m, x, 0)", "torch.where(m, x, 0)", m="bool[4, 16, 64]", x=words)
function("masked_fill(x, m, 0)", "x.masked_fill(m, 0)", x=words, m="bool[16, 64]")
function("masked_fill(x, m, value=1)", "x.masked_fill(m, value=1)", x=words, m="bool[4, 1, 64]")
function("matmul(x, y)", "torch.matmul(x, y)", x=words, y=f"{f}[64, 10]")
function("matmul(x, y)", "torch.matmul(x, y)", x=f"{f}[2, 3, 16, 8]", y=f"{f}[3, 8, 5]")
function("bmm(x, y)", "torch.bmm(x, y)", x=words, y=f"{f}[4, 64, 10]")
function("bmm(x, y)", "torch.bmm(x, y)", x=f"{f}[7, 1, 3]", y=f"{f}[7, 3, 2]")
function("mm(x, y)", "torch.mm(x, y)", x=vector, y=f"{f}[64, 10]")
function("mm(x, y)", "torch.mm(x, y)", x=f"{f}[3, 3]", y=f"{f}[3, 3]")
function("einsum('bij,bjk->bik', x, y)", "torch.einsum('bij,bjk->bik', x, y)", x=words, y=f"{f}[4, 64, 10]")
function("einsum('bhqd,bhkd->bhqk', x, y)", "torch.einsum('bhqd,bhkd->bhqk', x, y)", x=heads, y=heads)
function("einsum('bij->bji', x)", "torch.einsum('bij->bji', x)", x=words)
function("outer(x, y)", "torch.outer(x, y)", x=f"{f}[5]", y=f"{f}[7]")
function("outer(x, x)", "torch.outer(x, x)", x=f"{f}[5]")
for name in ("mean", "sum", "amax", "amin", "var", "std", "norm", "logsumexp"):
    function(f"{name}(dim=1)", f"torch.{name}(x, dim=1)", x=words)
    function(f"{name}(x, dim=(0, 2), keepdim=True)", f"torch.{name}(x, dim=(0, 2), keepdim=True)", x=words)
for name in ("mean", "sum", "amax", "std", "norm"):
    function(f"{name}()", f"torch.{name}(x)", x=words)
function("norm(x, 1, -1)", "torch.norm(x, 1, -1)", x=words)
function("normalize()", "F.normalize(x)", x=words)
function("normalize(x, p=1, dim=-1)", "F.normalize(x, p=1, dim=-1)", x=words)
function("cumsum(1)", "torch.cumsum(x, 1)", x=words)
function("cumsum(x, dim=-1)", "torch.cumsum(x, dim=-1)", x=image)
for name in ("argmax", "argmin"):
    function(f"{name}(dim=-1)", f"torch.{name}(x, dim=-1)", x=words)
    function(f"{name}(x, 0, keepdim=True)", f"torch.{name}(x, 0, keepdim=True)", x=words)
    function(f"{name}()", f"torch.{name}(x)", x=words)
function("topk(5)", "torch.topk(x, 5)", x=words)
function("topk(x, 3, dim=1, largest=False)", "torch.topk(x, 3, dim=1, largest=False)", x=words)
both("CosineSimilarity", ("", vector, vector), ("dim=2", words, words))
function("cosine_similarity(x, y)", "F.cosine_similarity(x, y)", x=vector, y=vector)
function("cosine_similarity(x, y, dim=-1)", "F.cosine_similarity(x, y, dim=-1)", x=words, y=words)
both("PairwiseDistance", ("", vector, vector), ("1, keepdim=True", words, words))
for name in ("reshape", "view"):
    function(f"{name}(4, 16, 8, 8)", "x.reshape(4, 16, 8, 8)", x=words)
    function(f"{name}(x, -1, 64)", "x.reshape(-1, 64)", x=words)
both("Flatten", ("", image), ("0, 1", image), ("2", volume))
function("flatten()", "torch.flatten(x)", x=image)
function("flatten(x, 1, 2)", "torch.flatten(x, 1, 2)", x=image)
both("Unflatten", ("2, (8, 8)", words), ("1, (4, -1)", words))
function("unflatten(-1, (8, 8))", "torch.unflatten(x, -1, (8, 8))", x=words)
function("unflatten(x, 1, (2, -1))", "torch.unflatten(x, 1, (2, -1))", x=words)
function("squeeze()", "torch.squeeze(x)", x=f"{f}[4, 1, 6, 1]")
function("squeeze(x, 1)", "torch.squeeze(x, 1)", x=f"{f}[4, 1, 6, 1]")
function("squeeze(x, 0)", "torch.squeeze(x, 0)", x=f"{f}[4, 1, 6, 1]")
function("unsqueeze(1)", "torch.unsqueeze(x, 1)", x=words)
function("unsqueeze(x, -1)", "torch.unsqueeze(x, -1)", x=words)
function("expand(4, -1, 7)", "x.expand(4, -1, 7)", x=f"{f}[1, 5, 1]")
function("expand(x, 3, 4, 5, 6)", "x.expand(3, 4, 5, 6)", x=f"{f}[5, 6]")
function("permute(0, 2, 1)", "torch.permute(x, (0, 2, 1))", x=words)
function("permute(x, (3, -2, 0, 1))", "torch.permute(x, (3, -2, 0, 1))", x=image)
function("transpose(1, 2)", "torch.transpose(x, 1, 2)", x=words)
function("transpose(x, 0, -1)", "torch.transpose(x, 0, -1)", x=image)
function("tile(1, 2)", "torch.tile(x, (1, 2))", x=words)
function("tile(x, 2, 1, 1, 3)", "torch.tile(x, (2, 1, 1, 3))", x=words)
function("repeat(1, 2, 1)", "x.repeat(1, 2, 1)", x=words)
function("repeat(x, 2, 1, 1, 3)", "x.repeat(2, 1, 1, 3)", x=words)
function("repeat_interleave(3, dim=1)", "torch.repeat_interleave(x, 3, dim=1)", x=words)
function("repeat_interleave(x, 2, -1)", "torch.repeat_interleave(x, 2, -1)", x=image)
for name in ("cat", "concat"):
    function(f"{name}((x, y), dim=1)", "torch.cat((x, y), dim=1)", x=words, y=f"{f}[4, 3, 64]")
    function(f"{name}((x, x, x))", "torch.cat((x, x, x))", x=words)
function("stack((x, x))", "torch.stack((x, x))", x=words)
function("stack((x, x, x), dim=-1)", "torch.stack((x, x, x), dim=-1)", x=words)
function("flip(1)", "torch.flip(x, (1,))", x=words)
function("flip(x, (0, -1))", "torch.flip(x, (0, -1))", x=words)
function("roll((2, -3), (1, 2))", "torch.roll(x, (2, -3), (1, 2))", x=words)
function("roll(x, 1, 0)", "torch.roll(x, 1, 0)", x=words)
function("select(1, 0)", "torch.select(x, 1, 0)", x=words)
function("select(x, -1, -1)", "torch.select(x, -1, -1)", x=words)
function("narrow(1, 2, 5)", "torch.narrow(x, 1, 2, 5)", x=words)
function("narrow(x, -1, 0, 64)", "torch.narrow(x, -1, 0, 64)", x=words)
function("slice(1, 1)", "x[:, 1:]", x=words)
function("slice(x, -1, 0, -4, 3)", "x[..., 0:-4:3]", x=words)
function("split(5, dim=1)", "torch.split(x, 5, dim=1)", x=words)
function("split(x, (10, 54), -1)", "torch.split(x, (10, 54), -1)", x=words)
function("chunk(3, dim=1)", "torch.chunk(x, 3, dim=1)", x=words)
function("chunk(x, 2)", "torch.chunk(x, 2)", x=words)
function("unbind()", "torch.unbind(x)", x=words)
function("unbind(x, -1)", "torch.unbind(x, -1)", x=words)
function("gather(x, 1, i)", "torch.gather(x, 1, i)", x=words, i="int64[4, 3, 64]")
function("gather(x, -1, index=i)", "torch.gather(x, -1, index=i)", x=words, i="int64[4, 16, 2]")
function("scatter(x, 1, i, value=0)", "torch.scatter(x, 1, i, 0)", x=words, i="int64[4, 3, 64]")
function("scatter(x, -1, i, y)", "torch.scatter(x, -1, i, y)", x=words, i="int64[4, 16, 2]", y="float32[4, 16, 2]")
function("index_select(x, 1, i)", "torch.index_select(x, 1, i)", x=words, i="int64[3]")
function("index_select(x, dim=0, index=i)", "torch.index_select(x, dim=0, index=i)", x=words, i="int64[9]")
function("one_hot(10)", "F.one_hot(i, 10)", i="int64[4, 3]")
function("one_hot(i, num_classes=5)", "F.one_hot(i, num_classes=5)", i="int64[7]")
for name in ("tril", "triu"):
    function(f"{name}()", f"torch.{name}(x)", x=words)
    function(f"{name}(x, 1)", f"torch.{name}(x, 1)", x=words)

# Losses.
both("MSELoss L1Loss SmoothL1Loss HuberLoss BCEWithLogitsLoss KLDivLoss PoissonNLLLoss SoftMarginLoss HingeEmbeddingLoss MultiLabelSoftMarginLoss", ("", vector, vector), ("reduction='none'", vector, vector))
both("SmoothL1Loss", ("beta=0.5, reduction='sum'", vector, vector))
both("HuberLoss", ("delta=2", vector, vector))
both("KLDivLoss", ("reduction='batchmean', log_target=True", vector, vector))
both("BCELoss", ("", "unit[4, 64]", "unit[4, 64]"), ("reduction='sum'", "unit[4, 64]", "unit[4, 64]"))
both("CrossEntropyLoss NLLLoss", ("", vector, "int64[4]"), ("reduction='none'", image, "int64[2, 24, 20]"), ("ignore_index=1, reduction='sum'", image, "int64[2, 24, 20]"))
both("CrossEntropyLoss", ("label_smoothing=0.1", vector, "unit[4, 64]"))
both("MultiMarginLoss", ("", vector, "int64[4]"), ("2, reduction='none'", vector, "int64[4]"))
both("GaussianNLLLoss", ("", vector, vector, "unit[4, 64]"), ("reduction='none'", vector, vector, "unit[4, 64]"))
both("MarginRankingLoss", ("", f"{f}[5]", f"{f}[5]", f"{f}[5]"), ("0.5, reduction='none'", f"{f}[5]", f"{f}[5]", f"{f}[5]"))
both("CosineEmbeddingLoss", ("", vector, vector, f"{f}[4]"), ("0.5, reduction='none'", vector, vector, f"{f}[4]"))
both("TripletMarginLoss", ("", vector, vector, vector), ("reduction='none', p=1", vector, vector, vector))


def tensor(declared):
    element, sizes = declared[:-1].split("[")
    shape = [int(size) for size in sizes.split(",")]
    if element == "int64":
        return torch.zeros(shape, dtype=torch.int64)
    if element == "bool":
        return torch.ones(shape, dtype=torch.bool)
    return torch.rand(shape) * 0.8 + 0.1


def first(value):
    return first(value[0]) if isinstance(value, (tuple, list)) else value


def floats(value):
    if isinstance(value, (tuple, list)):
        return [found for item in value for found in floats(item)]
    return [value] if isinstance(value, torch.Tensor) and value.is_floating_point() and value.requires_grad else []


def measure(call, inputs, python, is_module):
    tensors = {name: tensor(declared) for name, declared in inputs.items()}
    layer = None
    if is_module:
        layer = eval(python)
        layer.train()
        order = list(tensors)
        if python.startswith("nn.MultiheadAttention"):
            def run():
                q, k, v = ([tensors[name] for name in order] + [tensors[order[-1]]] * 2)[:3]
                return layer(q, k, v)
        else:
            def run():
                return layer(*(tensors[name] for name in order))
    else:
        def run():
            return eval(python, {"torch": torch, "F": F, **tensors})
    with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
        if "Lazy" in python:
            run()
        with FlopCounterMode(display=False) as counter:
            output = run()
        forward = counter.get_total_flops()
        backward = []
        for inputs_too in (False, True):
            if inputs_too:
                # Targets of losses have no gradient.
                for name, value in list(tensors.items())[: 1 if "Loss" in call else None]:
                    if value.is_floating_point():
                        tensors[name] = value.clone().requires_grad_()
            total = sum((value.sum() for value in floats(run())), torch.zeros(()))
            with FlopCounterMode(display=False) as counter:
                if total.requires_grad:
                    total.backward()
            backward.append(counter.get_total_flops())
    return {
        "call": call,
        "inputs": {name: declared.replace("unit[", "float32[") for name, declared in inputs.items()},
        "shape": list(first(output).shape),
        "parameters": sum(p.numel() for p in layer.parameters()) if layer else 0,
        "forward": forward,
        "backward": backward,
    }


def signatures():
    found = {}
    for name in sorted(dir(nn)):
        kind = getattr(nn, name)
        if not (inspect.isclass(kind) and issubclass(kind, nn.Module)):
            continue
        parameters = []
        for parameter in inspect.signature(kind.__init__).parameters.values():
            if parameter.name == "self" or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            default = parameter.default
            if default is parameter.empty:
                parameters.append([parameter.name])
            else:
                parameters.append([parameter.name, "relu" if default is F.relu else default])
        found[name] = parameters
    # RNN, LSTM and GRU hand their arguments on to RNNBase; RNN has `nonlinearity` of its own (rnn.py).
    base = [p for p in found.pop("RNNBase") if p[0] != "mode"]
    without_projection = [p for p in base if p[0] != "proj_size"]
    found["LSTM"] = base
    found["GRU"] = without_projection
    found["RNN"] = without_projection[:3] + [["nonlinearity", "tanh"]] + without_projection[3:]
    return found


measured = [measure(*row) for row in rows]
print('{"source": "torch ' + torch.__version__.split("+")[0] + '",')
print('"signatures": {')
print(",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in signatures().items()))
print('},\n"rows": [')
print(",\n".join(json.dumps(row) for row in measured))
print("]}")
