"""Matrix products, convolutions, pooling, normalisation: where the time goes."""

from __future__ import annotations

from typing import Optional, Sequence, Union

import torch
import torch.nn.functional as F
from torch import Tensor

from .call import Call, Outputs, Unsupported, operator


@operator("MatMul")
def matmul(call: Call) -> Tensor:
    return torch.matmul(call[0], call[1])


@operator("Linear", domain="layercost")
def linear(call: Call) -> Tensor:
    """`torch.nn.functional.linear`; `transposed`: the weight is [outputs, inputs], as PyTorch stores it."""
    weight = call[1] if call.attribute("transposed") else call[1].t()
    return F.linear(call[0], weight, call.get(2))


@operator("Gemm")
def gemm(call: Call) -> Tensor:
    a = call[0].t() if call.attribute("transA", 0) else call[0]
    b, c = call[1], call.get(2)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    transposed = bool(call.attribute("transB", 0))
    if alpha == 1 and transposed and (c is None or (beta == 1 and c.dim() == 1)):
        return F.linear(a, b, c)
    product = b.t() if transposed else b
    if c is None:
        return alpha * torch.mm(a, product) if alpha != 1 else torch.mm(a, product)
    return torch.addmm(c, a, product, beta=beta, alpha=alpha)


@operator("Einsum")
def einsum(call: Call) -> Tensor:
    return torch.einsum(call.attribute("equation"), *call.present())


_convolutions = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_transposed = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@operator("Conv")
def convolution(call: Call) -> Tensor:
    x, weight = call[0], call[1]
    rank = weight.dim() - 2
    function = _of_rank(_convolutions, rank, "Conv")
    strides = _ints(call, "strides", rank, 1)
    dilations = _ints(call, "dilations", rank, 1)
    begin, end = _pads(call, x.shape[2:], weight.shape[2:], strides, dilations)
    if begin != end:
        x, begin = F.pad(x, _torch_pads(begin, end)), [0] * rank
    return function(x, weight, call.get(2), strides, begin, dilations, call.attribute("group", 1))


@operator("ConvTranspose")
def transposed_convolution(call: Call) -> Tensor:
    x, weight = call[0], call[1]
    rank = weight.dim() - 2
    function = _of_rank(_transposed, rank, "ConvTranspose")
    strides = _ints(call, "strides", rank, 1)
    dilations = _ints(call, "dilations", rank, 1)
    pads = call.attribute("pads", [0] * 2 * rank)
    extra = _ints(call, "output_padding", rank, 0)
    if pads[:rank] != pads[rank:] or call.attribute("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise Unsupported("ConvTranspose with one-sided padding")
    return function(
        x, weight, call.get(2), strides, pads[:rank], extra, call.attribute("group", 1), dilations
    )


_maximum_pools = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_average_pools = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


@operator("MaxPool")
def maximum_pool(call: Call) -> Outputs:
    x = call[0]
    kernel = call.attribute("kernel_shape")
    rank = len(kernel)
    function = _of_rank(_maximum_pools, rank, "MaxPool")
    strides = _ints(call, "strides", rank, 1)
    dilations = _ints(call, "dilations", rank, 1)
    begin, end = _pads(call, x.shape[2:], kernel, strides, dilations)
    ceil = bool(call.attribute("ceil_mode", 0))
    if begin != end or any(2 * pad > size for pad, size in zip(begin, kernel)):
        x, begin = F.pad(x, _torch_pads(begin, end), value=float("-inf")), [0] * rank
    found = function(
        x, kernel, strides, begin, dilations, ceil_mode=ceil, return_indices=call.wants(1)
    )
    return found


@operator("AveragePool")
def average_pool(call: Call) -> Tensor:
    x = call[0]
    kernel = call.attribute("kernel_shape")
    rank = len(kernel)
    function = _of_rank(_average_pools, rank, "AveragePool")
    strides = _ints(call, "strides", rank, 1)
    if any(entry != 1 for entry in _ints(call, "dilations", rank, 1)):
        raise Unsupported("AveragePool with dilations")
    begin, end = _pads(call, x.shape[2:], kernel, strides, [1] * rank)
    include = bool(call.attribute("count_include_pad", 0))
    if begin != end:
        x, begin = F.pad(x, _torch_pads(begin, end)), [0] * rank
    return function(x, kernel, strides, begin, bool(call.attribute("ceil_mode", 0)), include)


@operator("GlobalAveragePool")
def global_average_pool(call: Call) -> Tensor:
    x = call[0]
    if x.dim() == 4:
        return F.adaptive_avg_pool2d(x, 1)
    return x.mean(dim=tuple(range(2, x.dim())), keepdim=True)


@operator("GlobalMaxPool")
def global_maximum_pool(call: Call) -> Tensor:
    x = call[0]
    return torch.amax(x, dim=tuple(range(2, x.dim())), keepdim=True)


@operator("LRN")
def local_response_normalization(call: Call) -> Tensor:
    return F.local_response_norm(
        call[0],
        call.attribute("size"),
        call.attribute("alpha", 1e-4),
        call.attribute("beta", 0.75),
        call.attribute("bias", 1.0),
    )


@operator("BatchNormalization")
def batch_normalization(call: Call) -> Outputs:
    """In training mode the batch's own statistics are used, also where the model was exported for inference."""
    x, scale, bias = call[0], call[1], call[2]
    mean, variance = (each.detach() if each.requires_grad else each for each in (call[3], call[4]))
    training = call.plan.training or bool(call.attribute("training_mode", 0))
    # torch refuses statistics over a single value, which a batch of 1 gives after global pooling.
    if x.numel() == x.shape[1]:
        training = False
    momentum = 1 - call.attribute("momentum", 0.9)
    y = F.batch_norm(x, mean, variance, scale, bias, training, momentum, call.attribute("epsilon", 1e-5))
    return (y, mean, variance) if call.wants(1) else y


@operator("InstanceNormalization")
def instance_normalization(call: Call) -> Tensor:
    return F.instance_norm(call[0], weight=call.get(1), bias=call.get(2), eps=call.attribute("epsilon", 1e-5))


@operator("GroupNormalization")
def group_normalization(call: Call) -> Tensor:
    x, scale, bias = call[0], call[1], call[2]
    groups = call.attribute("num_groups")
    if scale.numel() == groups and groups != x.shape[1]:
        # Before opset 21 there is one scale per group.
        repeats = x.shape[1] // groups
        scale, bias = scale.repeat_interleave(repeats), bias.repeat_interleave(repeats)
    return F.group_norm(x, groups, scale, bias, call.attribute("epsilon", 1e-5))


@operator("GroupNorm", domain="layercost")
def group_norm(call: Call) -> Tensor:
    """`torch.nn.functional.group_norm` of what was brought into the shape [images, groups, rest]."""
    x, shape = call[0], call.shape()
    if shape is None:
        raise Unsupported("the shape of a group normalization is not known")
    scale, bias = call.get(1), call.get(2)
    return F.group_norm(
        x.reshape(shape),
        x.shape[1],
        _for_channels(scale),
        _for_channels(bias),
        call.attribute("epsilon", 1e-5),
    )


def _for_channels(affine: Optional[Tensor]) -> Optional[Tensor]:
    """One number for all channels is what exporters write where a layer has none."""
    return None if affine is None or affine.numel() == 1 else affine.flatten()


@operator("LayerNormalization")
def layer_normalization(call: Call) -> Outputs:
    if call.wants(1):
        raise Unsupported("LayerNormalization with its statistics as outputs")
    x = call[0]
    axis = call.attribute("axis", -1) % x.dim()
    return F.layer_norm(x, x.shape[axis:], call.get(1), call.get(2), call.attribute("epsilon", 1e-5))


@operator("RMSNormalization")
def root_mean_square_normalization(call: Call) -> Tensor:
    x, scale = call[0], call.get(1)
    axis = call.attribute("axis", -1) % x.dim()
    epsilon = call.attribute("epsilon", 1e-5)
    fused = getattr(F, "rms_norm", None)
    if fused is not None and (scale is None or scale.shape == x.shape[axis:]):
        return fused(x, x.shape[axis:], scale, epsilon)
    if fused is not None:
        # ONNX lets a scale be broadcast; PyTorch's kernel takes one number for each element.
        return fused(x, x.shape[axis:], None, epsilon) * scale
    wide = x.float()
    normalized = wide * torch.rsqrt(wide.pow(2).mean(dim=tuple(range(axis, x.dim())), keepdim=True) + epsilon)
    return normalized.to(x.dtype) if scale is None else normalized.to(x.dtype) * scale


@operator("LpNormalization")
def lp_normalization(call: Call) -> Tensor:
    return F.normalize(call[0], p=call.attribute("p", 2), dim=call.attribute("axis", -1))


@operator("Softmax")
def softmax(call: Call) -> Tensor:
    return _softmax(call, F.softmax)


@operator("LogSoftmax")
def log_softmax(call: Call) -> Tensor:
    return _softmax(call, F.log_softmax)


@operator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(call: Call) -> Outputs:
    scores, labels = call[0], call[1].long()
    # ONNX has classes on axis 1. A loss that was added to a language model has them last, with a label for each token.
    # Caffe's score images of one pixel, with a label for each image.
    if labels.dim() == 1 and scores.dim() > 2 and scores.shape[2:].numel() == 1:
        scores = scores.flatten(1)
    if labels.shape != scores.shape[:1] + scores.shape[2:]:
        scores, labels = scores.flatten(0, -2), labels.flatten()
    options = {
        "weight": call[2] if call.has(2) else None,
        "ignore_index": call.attribute("ignore_index", -100),
        "reduction": call.attribute("reduction", "mean"),
    }
    if not call.wants(1):
        return F.cross_entropy(scores, labels, **options)
    logarithms = F.log_softmax(scores, dim=1)
    return F.nll_loss(logarithms, labels, **options), logarithms


@operator("Dropout")
def dropout(call: Call) -> Outputs:
    x = call[0]
    ratio = call.host(1)
    share = float(ratio[0]) if ratio else call.attribute("ratio", 0.5)
    mode = call.host(2)
    training = call.plan.training if mode is None else call.plan.training and bool(mode[0])
    y = F.dropout(x, share, training)
    return (y, torch.ones_like(x, dtype=torch.bool)) if call.wants(1) else y


def _softmax(call: Call, function) -> Tensor:  # type: ignore[no-untyped-def]
    x = call[0]
    if call.plan.opset >= 13:
        return function(x, dim=call.attribute("axis", -1))
    # Before opset 13 the input is flattened to a matrix at `axis`.
    axis = call.attribute("axis", 1) % max(1, x.dim())
    if axis == x.dim() - 1:
        return function(x, dim=-1)
    return function(x.flatten(axis), dim=-1).reshape(x.shape)


def _of_rank(functions, rank: int, name: str):  # type: ignore[no-untyped-def]
    if rank not in functions:
        raise Unsupported(f"{name} over {rank} spatial dimensions")
    return functions[rank]


def _ints(call: Call, name: str, rank: int, otherwise: int) -> list[int]:
    given: Optional[Union[int, list[int]]] = call.attribute(name)
    return [otherwise] * rank if not given else list(given)  # type: ignore[arg-type]


def _pads(
    call: Call, size: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Padding before and after each spatial dimension (ONNX Operators, Conv: `auto_pad`, `pads`)."""
    rank = len(kernel)
    mode = call.attribute("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max(0, (-(-extent // stride) - 1) * stride + (window - 1) * dilation + 1 - extent)
            for extent, window, stride, dilation in zip(size, kernel, strides, dilations)
        ]
        small = [total // 2 for total in totals]
        large = [total - half for total, half in zip(totals, small)]
        return (small, large) if mode == "SAME_UPPER" else (large, small)
    if mode == "VALID":
        return [0] * rank, [0] * rank
    pads = call.attribute("pads") or [0] * 2 * rank
    return list(pads[:rank]), list(pads[rank:])


def _torch_pads(begin: Sequence[int], end: Sequence[int]) -> list[int]:
    """ONNX lists all begins, then all ends; torch lists pairs, last dimension first."""
    return [entry for pair in reversed(list(zip(begin, end))) for entry in pair]
