"""Element-wise operators."""

from __future__ import annotations

from functools import reduce
from typing import Callable, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from ..plan import Number
from .call import Call, Unsupported, element_type_numbers, operator, torch_type

_unary: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "BitwiseNot": torch.bitwise_not,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "HardSwish": F.hardswish,
    "Identity": lambda x: x,
    "IsInf": torch.isinf,
    "IsNaN": torch.isnan,
    "Log": torch.log,
    "Mish": F.mish,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Reciprocal": torch.reciprocal,
    "Relu": F.relu,
    "Round": torch.round,
    "Selu": F.selu,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softplus": F.softplus,
    "Softsign": F.softsign,
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
}


def _register_unary(name: str, function: Callable[[Tensor], Tensor]) -> None:
    operator(name)(lambda call: function(call[0]))


for _name, _function in _unary.items():
    _register_unary(_name, _function)

_binary: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "And": torch.logical_and,
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
    "Or": torch.logical_or,
    "Xor": torch.logical_xor,
}

#: With the function that gives the same where the operands change places.
_numeric: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "Add": (torch.add, torch.add),
    "Equal": (torch.eq, torch.eq),
    "Greater": (torch.gt, torch.lt),
    "GreaterOrEqual": (torch.ge, torch.le),
    "Less": (torch.lt, torch.gt),
    "LessOrEqual": (torch.le, torch.ge),
    "Mul": (torch.mul, torch.mul),
    "Sub": (torch.sub, torch.rsub),
}


def _register_binary(name: str, function: Callable[[Tensor, Tensor], Tensor]) -> None:
    operator(name)(lambda call: function(call[0], call[1]))


def _register_numeric(name: str, function: Callable[..., Tensor], swapped: Callable[..., Tensor]) -> None:
    def rule(call: Call) -> Tensor:
        right = _number(call, 1)
        if right is not None:
            return function(call[0], right)
        left = _number(call, 0)
        return function(call[0], call[1]) if left is None else swapped(call[1], left)

    operator(name)(rule)


def _number(call: Call, index: int) -> Optional[Number]:
    """
    An operand of one element that the plan knows, beside a larger one. Eager code has a Python number there, which goes into
    the kernel. A tensor of one element on the GPU is read by a kernel for any layout and type, which takes several times as long.
    """
    number, other = call[index], call[1 - index]
    if number.numel() != 1 or other.numel() <= 1 or number.dim() > other.dim():
        return None
    elements = call.plan.values[call.operator.inputs[index]].elements
    return None if elements is None else elements[0]


for _name, _pair in _binary.items():
    _register_binary(_name, _pair)
for _name, _pairs in _numeric.items():
    _register_numeric(_name, *_pairs)


@operator("Div")
def divide(call: Call) -> Tensor:
    right = _number(call, 1)
    divisor = call[1] if right is None else right
    if not call[0].is_floating_point():
        return torch.div(call[0], divisor, rounding_mode="trunc")
    left = _number(call, 0)
    # As `number / tensor` does: torch/_tensor.py, `__rdiv__`.
    return torch.div(call[0], divisor) if left is None else torch.reciprocal(call[1]) * left


@operator("Pow")
def power(call: Call) -> Tensor:
    exponent = call.host(1) if call.plan.values[call.operator.inputs[1]].elements is not None else None
    if exponent is not None and len(exponent) == 1:
        # A known exponent is a number in eager code, which has a cheaper kernel and no gradient.
        return torch.pow(call[0], exponent[0])
    return torch.pow(call[0], call[1])


@operator("Mod")
def modulo(call: Call) -> Tensor:
    right = _number(call, 1)
    divisor = call[1] if right is None else right
    return torch.fmod(call[0], divisor) if call.attribute("fmod", 0) else torch.remainder(call[0], divisor)


@operator("Max")
def maximum(call: Call) -> Tensor:
    return reduce(torch.maximum, call.present())


@operator("Min")
def minimum(call: Call) -> Tensor:
    return reduce(torch.minimum, call.present())


@operator("Sum")
def sum_of(call: Call) -> Tensor:
    return reduce(torch.add, call.present())


@operator("Mean")
def mean_of(call: Call) -> Tensor:
    tensors = call.present()
    return reduce(torch.add, tensors) / len(tensors)


@operator("Where")
def where(call: Call) -> Tensor:
    # torch 1.13 does not promote here.
    left, right = call[1], call[2]
    wider = torch.promote_types(left.dtype, right.dtype)
    return torch.where(call[0].bool(), left.to(wider), right.to(wider))


@operator("Clip")
def clip(call: Call) -> Tensor:
    bounds = [call.attribute("min"), call.attribute("max")]
    for index in (1, 2):
        given = call.host(index)
        if given:
            bounds[index - 1] = given[0]
    low, high = bounds
    if low is None and high is None:
        return call[0]
    if low == 0 and high == 6:
        return F.relu6(call[0])
    return torch.clamp(call[0], min=low, max=high)


@operator("Cast")
def cast(call: Call) -> Tensor:
    number = call.attribute("to")
    name = element_type_numbers.get(number)
    if name is None:
        raise Unsupported(f"Cast to ONNX element type {number}")
    return call[0].to(torch_type(name))


@operator("CastLike")
def cast_like(call: Call) -> Tensor:
    return call[0].to(call[1].dtype)


@operator("Gelu")
def gelu(call: Call) -> Tensor:
    return F.gelu(call[0], approximate=call.attribute("approximate", "none"))


@operator("Gelu", domain="com.microsoft")
def microsoft_gelu(call: Call) -> Tensor:
    return F.gelu(call[0])


@operator("FastGelu", domain="com.microsoft")
def microsoft_fast_gelu(call: Call) -> Tensor:
    bias = call.get(1)
    return F.gelu(call[0] if bias is None else call[0] + bias, approximate="tanh")


@operator("Softplus", domain="layercost")
def softplus(call: Call) -> Tensor:
    return F.softplus(call[0], beta=call.attribute("beta", 1.0))


@operator("Glu", domain="layercost")
def gated_linear_unit(call: Call) -> Tensor:
    return F.glu(call[0], dim=call.attribute("axis", -1))


@operator("LogSigmoid", domain="layercost")
def log_sigmoid(call: Call) -> Tensor:
    return F.logsigmoid(call[0])


@operator("Threshold", domain="layercost")
def threshold(call: Call) -> Tensor:
    return F.threshold(call[0], call.attribute("threshold", 0.0), call.attribute("value", 0.0))


@operator("Hardshrink", domain="layercost")
def hardshrink(call: Call) -> Tensor:
    return F.hardshrink(call[0], call.attribute("lambd", 0.5))


@operator("Softshrink", domain="layercost")
def softshrink(call: Call) -> Tensor:
    return F.softshrink(call[0], call.attribute("lambd", 0.5))


@operator("Rsqrt", domain="layercost")
def reciprocal_square_root(call: Call) -> Tensor:
    return torch.rsqrt(call[0])


@operator("Var", domain="layercost")
def variance(call: Call) -> Tensor:
    return torch.var(
        call[0],
        dim=[int(axis) for axis in call.attribute("axes", [])],
        correction=int(call.attribute("correction", 1)),
        keepdim=bool(call.attribute("keepdims", 1)),
    )


@operator("Swish")
def swish(call: Call) -> Tensor:
    alpha = call.attribute("alpha", 1.0)
    return F.silu(call[0]) if alpha == 1 else call[0] * torch.sigmoid(alpha * call[0])


@operator("LeakyRelu")
def leaky_relu(call: Call) -> Tensor:
    return F.leaky_relu(call[0], call.attribute("alpha", 0.01))


@operator("Elu")
def elu(call: Call) -> Tensor:
    return F.elu(call[0], call.attribute("alpha", 1.0))


@operator("Celu")
def celu(call: Call) -> Tensor:
    return F.celu(call[0], call.attribute("alpha", 1.0))


@operator("ThresholdedRelu")
def thresholded_relu(call: Call) -> Tensor:
    return F.threshold(call[0], call.attribute("alpha", 1.0), 0.0)


@operator("HardSigmoid")
def hard_sigmoid(call: Call) -> Tensor:
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    if abs(alpha - 1 / 6) < 1e-4 and beta == 0.5:
        return F.hardsigmoid(call[0])
    return torch.clamp(alpha * call[0] + beta, 0, 1)


@operator("PRelu")
def parametric_relu(call: Call) -> Tensor:
    x, slope = call[0], call[1]
    if slope.numel() == 1 or (x.dim() > 1 and slope.numel() == x.shape[1]):
        return F.prelu(x, slope.reshape(-1))
    return torch.where(x >= 0, x, x * slope)
