"""In which number type autocast gives the result of operators of ONNX, by PyTorch's own table for CUDA.

    python scripts/measured/autocastOperators.py > test/operators/autocast.csv        (torch 2.13; no GPU)

Each operator is called as its PyTorch function, on tensors without contents on a CUDA device. `half` is the type of the result
for arguments in bf16, `full` for arguments in fp32, `mixed` where the first of two is in bf16 and the second in fp32; empty
where PyTorch refuses.
"""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

HALF, FULL = torch.bfloat16, torch.float32
IMAGE, MATRIX = (2, 4, 8, 8), (4, 4)

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh,
    "Atan": torch.atan, "Atanh": torch.atanh, "Ceil": torch.ceil, "Celu": F.celu, "Clip": lambda x: x.clamp(0, 1),
    "Cos": torch.cos, "Cosh": torch.cosh, "CumSum": lambda x: x.cumsum(0), "Elu": F.elu, "Erf": torch.erf, "Exp": torch.exp,
    "Expand": lambda x: x[None].expand(3, 4, 4), "Flatten": torch.flatten, "Floor": torch.floor, "Gelu": F.gelu,
    "Dropout": F.dropout, "EyeLike": torch.eye, "HardSigmoid": F.hardsigmoid, "HardSwish": F.hardswish,
    "Identity": lambda x: x.clone(), "LeakyRelu": F.leaky_relu, "Log": torch.log, "LogSoftmax": lambda x: F.log_softmax(x, -1),
    "LpNormalization": F.normalize, "Mish": F.mish, "Neg": torch.neg, "Pad": lambda x: F.pad(x, (1, 1)),
    "Reciprocal": torch.reciprocal, "ReduceL1": lambda x: x.norm(1, -1), "ReduceL2": lambda x: x.norm(2, -1),
    "ReduceLogSumExp": lambda x: x.logsumexp(-1), "ReduceMax": lambda x: x.amax(-1), "ReduceMean": lambda x: x.mean(-1),
    "ReduceMin": lambda x: x.amin(-1), "ReduceProd": lambda x: x.prod(-1), "ReduceSum": lambda x: x.sum(-1),
    "Relu": F.relu, "Reshape": lambda x: x.reshape(2, 8), "Round": torch.round, "Selu": F.selu, "Sigmoid": torch.sigmoid,
    "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Slice": lambda x: x[1:], "Softmax": lambda x: F.softmax(x, -1),
    "Softplus": F.softplus, "Softsign": F.softsign, "Sqrt": torch.sqrt, "Squeeze": lambda x: x[None].squeeze(0),
    "Tan": torch.tan, "Tanh": torch.tanh, "ThresholdedRelu": lambda x: F.threshold(x, 1.0, 0.0),
    "Tile": lambda x: x.repeat(2, 2), "TopK": lambda x: x.topk(2).values, "Transpose": lambda x: x.t(),
    "Trilu": torch.triu, "Unsqueeze": lambda x: x[None], "Swish": F.silu,
    "LayerNormalization": lambda x: F.layer_norm(x, (4,)), "RMSNormalization": lambda x: F.rms_norm(x, (4,)),
}
IMAGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "AveragePool": lambda x: F.avg_pool2d(x, 2), "DepthToSpace": lambda x: F.pixel_shuffle(x, 2),
    "GlobalAveragePool": lambda x: F.adaptive_avg_pool2d(x, 1), "GlobalMaxPool": lambda x: F.adaptive_max_pool2d(x, 1),
    "GroupNormalization": lambda x: F.group_norm(x, 2), "InstanceNormalization": F.instance_norm,
    "LRN": lambda x: F.local_response_norm(x, 3), "MaxPool": lambda x: F.max_pool2d(x, 2),
    "BatchNormalization": lambda x: F.batch_norm(x, None, None, training=True),
    "SpaceToDepth": lambda x: F.pixel_unshuffle(x, 2), "Resize": lambda x: F.interpolate(x, scale_factor=2),
}
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Add": torch.add, "Concat": lambda x, y: torch.cat([x, y]), "Div": torch.div, "Einsum": lambda x, y: torch.einsum("ij,jk->ik", x, y),
    "Gemm": F.linear, "MatMul": torch.matmul, "Max": torch.maximum, "Min": torch.minimum, "Mod": torch.remainder,
    "Mul": torch.mul, "PRelu": lambda x, y: torch.prelu(x, y.flatten()[:1]), "Pow": torch.pow, "Sub": torch.sub,
    "Where": lambda x, y: torch.where(torch.empty(4, 4, dtype=torch.bool, device=x.device), x, y),
    "BitShift": torch.bitwise_left_shift, "Sum": torch.add,
}
IMAGES_AND_WEIGHTS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Attention": lambda x, y: F.scaled_dot_product_attention(x, y, y), "Conv": lambda x, y: F.conv2d(x, y[..., :3, :3]),
    "ConvTranspose": lambda x, y: F.conv_transpose2d(x.repeat(1, 1, 1, 1), y.repeat(2, 1, 1, 1)[..., :3, :3]),
}


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cuda")


def result(call: Callable[..., torch.Tensor], *given: torch.Tensor) -> str:
    try:
        return str(call(*given).dtype).removeprefix("torch.")
    except (RuntimeError, TypeError, NotImplementedError, AssertionError):
        return ""


def main() -> None:
    rows: list[tuple[str, str, str, str]] = []
    with FakeTensorMode():
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", HALF)
        for table, shape in ((UNARY, MATRIX), (IMAGES, IMAGE)):
            for name, one in table.items():
                rows.append((name, result(one, empty(shape, HALF)), result(one, empty(shape, FULL)), ""))
        for pairs, shape in ((BINARY, MATRIX), (IMAGES_AND_WEIGHTS, IMAGE)):
            for name, two in pairs.items():
                both = [result(two, empty(shape, a), empty(shape, b)) for a, b in ((HALF, HALF), (FULL, FULL), (HALF, FULL))]
                rows.append((name, both[0], both[1], both[2]))
        torch.set_autocast_enabled("cuda", False)
    print("operator,half,full,mixed")
    for row in sorted(rows):
        if row[1] and row[2]:
            print(",".join(row))


if __name__ == "__main__":
    main()
