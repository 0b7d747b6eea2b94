"""What PyTorch says of the calls that composites stand for: the class, what backward keeps, and what autocast does.

    python scripts/measured/compositeCalls.py > test/composites/calls.csv        (torch 2.13; no GPU)

`trained` are positions of the arguments whose gradient is asked for, all but targets; `kept` those that autograd saves, and
`result` where it saves that. `autocast` is the type of the result for arguments in bf16, by the dispatcher's table for CUDA, on
tensors without contents; `refused` where it refuses the call.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

SHAPE = (4, 6)


def tensor(trained: bool = True, shape: tuple[int, ...] = SHAPE) -> torch.Tensor:
    return torch.rand(shape).requires_grad_(trained)


def binary(call):
    return call, lambda: (tensor(), tensor())


def loss(call):
    return call, lambda: (tensor(), tensor(trained=False))


def unary(call):
    return call, lambda: (tensor(),)


# Composite, class of torch.nn, call and arguments.
CALLS = [
    ("GroupNorm", nn.GroupNorm, (lambda x: F.group_norm(x, 2), lambda: (tensor(),))),
    ("LayerNorm", nn.LayerNorm, unary(lambda x: F.layer_norm(x, (6,)))),
    ("RMSNorm", nn.RMSNorm, unary(lambda x: F.rms_norm(x, (6,)))),
    ("GELU", nn.GELU, unary(F.gelu)),
    ("GLU", nn.GLU, unary(F.glu)),
    ("SiLU", nn.SiLU, unary(F.silu)),
    ("Mish", nn.Mish, unary(F.mish)),
    ("Softplus", nn.Softplus, unary(F.softplus)),
    ("BinaryCrossEntropy", None, loss(F.binary_cross_entropy)),
    ("BinaryCrossEntropy", None, loss(F.binary_cross_entropy_with_logits)),
    ("LogSigmoid", nn.LogSigmoid, unary(F.logsigmoid)),
    ("Hardswish", nn.Hardswish, unary(F.hardswish)),
    ("Hardshrink", nn.Hardshrink, unary(F.hardshrink)),
    ("Softshrink", nn.Softshrink, unary(F.softshrink)),
    ("Threshold", nn.Threshold, unary(lambda x: F.threshold(x, 0.5, 0.0))),
    ("HuberLoss", nn.HuberLoss, loss(F.huber_loss)),
    ("HuberLoss", nn.SmoothL1Loss, loss(F.smooth_l1_loss)),
    ("KLDivLoss", None, loss(lambda x, y: F.kl_div(x, y, reduction="batchmean"))),
    ("CosineSimilarity", None, binary(F.cosine_similarity)),
    ("CosineSimilarity", None, loss(F.cosine_similarity)),
    ("Lerp", None, (torch.lerp, lambda: (tensor(), tensor(), tensor()))),
    ("Lerp", None, (torch.lerp, lambda: (tensor(trained=False), tensor(trained=False), tensor()))),
    ("CDist", None, binary(torch.cdist)),
    ("MseLoss", None, loss(F.mse_loss)),
    ("AffineGrid", None, (lambda t: F.affine_grid(t, [4, 1, 5, 5], align_corners=False), lambda: (tensor(shape=(4, 2, 3)),))),
    ("Bernoulli", None, unary(torch.bernoulli)),
    ("Roll", None, unary(lambda x: torch.roll(x, 1, 1))),
    ("Diagonal", None, unary(torch.diagonal)),
    ("Var", None, unary(lambda x: torch.var(x, -1))),
    ("Rsqrt", None, unary(torch.rsqrt)),
]


def kept(call, given) -> list[str]:
    """Positions of arguments, and `result`, that autograd saves, by storage."""
    arguments = given()
    storages = {argument.untyped_storage()._cdata: str(index) for index, argument in enumerate(arguments)}
    seen: list[torch.Tensor] = []

    def keep(saved: torch.Tensor) -> torch.Tensor:
        seen.append(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        result = call(*arguments)
    storages.setdefault(result.untyped_storage()._cdata, "result")
    return sorted({storages[each.untyped_storage()._cdata] for each in seen if each.untyped_storage()._cdata in storages})


def autocast(call, given) -> str:
    arguments = [torch.empty(each.shape, dtype=torch.bfloat16) for each in given()]
    with FakeTensorMode(allow_non_fake_inputs=True):
        arguments = [torch.empty(each.shape, dtype=each.dtype, device="cuda") for each in arguments]
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            return str(call(*arguments).dtype).removeprefix("torch.")
        except RuntimeError as error:
            return "refused" if "unsafe to autocast" in str(error) else type(error).__name__
        finally:
            torch.set_autocast_enabled("cuda", False)


def main() -> None:
    print("composite,class,trained,kept,autocast")
    for name, module, (call, given) in CALLS:
        owner = f"{module.__module__}.{module.__qualname__}" if module else ""
        trained = [str(index) for index, argument in enumerate(given()) if argument.requires_grad]
        columns = [" ".join(trained), " ".join(kept(call, given)), autocast(call, given)]
        print(",".join([name, owner, *columns]))


if __name__ == "__main__":
    main()
