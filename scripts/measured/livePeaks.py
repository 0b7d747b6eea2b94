"""Writes measured/live-peaks.csv: the most bytes that tensors hold at once in a step of mixed precision, network by network.

    python scripts/measured/livePeaks.py [--only NAME ...]     (torch, torchvision, timm)

PyTorch and its autograd engine run as they are, on tensors without contents (FakeTensorMode): two steps of timm's
networks in training mode, autocast to fp16, SGD with momentum, with the batch that timm measured on an RTX 3090
(measured/steps-timm.csv). Counted are storages from the call that makes them to the moment nobody holds them; the peak
is that of the second step. Attention is written out, as in the version that timm measured (TIMM_FUSED_ATTN=0).

Tensors lie on the CPU, whose autocast is that of CUDA for products; what CUDA's runs in fp32 (PyTorch documentation,
"CUDA Ops that can autocast to float32") is cast here by hand, and what the CPU's alone does (padding by reflection) is not
cast. What a kernel of cuDNN or cuBLAS takes for itself, and
what the caching allocator rounds or cannot use, is not in it.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ["TIMM_FUSED_ATTN"] = "0"

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._pytree import tree_map  # noqa: E402

from liveStorages import LiveStorages  # noqa: E402

MEASURED = Path(__file__).resolve().parents[2] / "measured"
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "samples" / "scripts"))
from export import torchvision_models  # noqa: E402

HEADER = (
    "# The most bytes that tensors hold at once in a training step of mixed precision, by PyTorch's own autograd engine on "
    "tensors without contents: scripts/measured/livePeaks.py."
)
functional = torch.nn.functional
IN_FULL_PRECISION = {
    functional.layer_norm, functional.group_norm, functional.softmax, functional.log_softmax, functional.softplus,
    functional.cross_entropy, functional.nll_loss, torch.addcmul, torch.softmax, torch.log_softmax, torch.exp,
    torch.log, torch.pow, torch.sum, torch.prod, torch.cumsum, torch.rsqrt, torch.reciprocal, torch.expm1,
    torch.Tensor.softmax, torch.Tensor.log_softmax, torch.Tensor.exp, torch.Tensor.log, torch.Tensor.pow,
    torch.Tensor.__pow__, torch.Tensor.sum, torch.Tensor.rsqrt, torch.Tensor.addcmul,
}  # fmt: skip


NOT_CAST = {functional.pad, torch._C._nn.pad, torch._C._nn.reflection_pad2d}


class CastAsOnCuda(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in IN_FULL_PRECISION:
            def widen(value):
                is_half = isinstance(value, torch.Tensor) and value.dtype == torch.float16
                return value.float() if is_half else value

            args, kwargs = tree_map(widen, args), tree_map(widen, kwargs)
        if function in NOT_CAST:
            with torch.autocast("cpu", enabled=False):
                return function(*args, **kwargs)
        return function(*args, **kwargs)


def live_peak(name: str, batch: int) -> int:
    import timm

    model = timm.create_model(name).train()
    size = timm.data.resolve_data_config({}, model=model)["input_size"]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        for module in model.modules():
            for key, parameter in module._parameters.items():
                if parameter is not None:
                    fake = mode.from_tensor(parameter.detach())
                    module._parameters[key] = torch.nn.Parameter(fake, requires_grad=parameter.requires_grad)
            for key, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[key] = mode.from_tensor(buffer)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        storages = LiveStorages()
        for tensor in [*model.parameters(), *model.buffers()]:
            storages.add(tensor)
        with storages:
            images = torch.empty((batch, *size))
            labels = torch.empty((batch,), dtype=torch.long)
            for _ in range(2):
                storages.peak = 0
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", dtype=torch.float16):
                    with CastAsOnCuda():
                        output = model(images)
                    output = output[0] if isinstance(output, (tuple, list)) else output
                    loss = functional.cross_entropy(output.float(), labels)
                loss.backward()
                optimizer.step()
    return storages.peak


def largest_batches() -> dict[str, int]:
    batches: dict[str, int] = {}
    with open(MEASURED / "steps-timm.csv", newline="") as file:
        for row in csv.reader(file):
            if len(row) > 3 and row[:2] == ["timm", "rtx-3090"]:
                batches[row[2]] = max(batches.get(row[2], 0), int(row[3]))
    return batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="networks to count; their rows alone are written")
    arguments = parser.parse_args()
    torchvision_models()
    table = MEASURED / "live-peaks.csv"
    rows = {}
    if arguments.only:
        with open(table, newline="") as file:
            rows = {row[0]: row for row in list(csv.reader(file))[2:]}
    for name, batch in largest_batches().items():
        if arguments.only and name not in arguments.only:
            continue
        rows[name] = (name, batch, live_peak(name, batch), torch.__version__.split("+")[0])
        print(*rows[name])
    with open(table, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        file.write(HEADER + "\n")
        writer.writerow(("model", "batch", "bytes", "torch"))
        writer.writerows(rows.values())


if __name__ == "__main__":
    main()
