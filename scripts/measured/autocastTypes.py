"""In which number type autocast gives the result of each function of `functionsOfTorch.py`, by PyTorch's own table for CUDA.

    python scripts/measured/autocastTypes.py > test/composites/autocast.csv        (torch 2.13; no GPU)

Tensors are fakes on a CUDA device: they have a type and no contents, and go through the dispatcher, where autocast casts
(aten/src/ATen/autocast_mode.h). `bytes` is of one element of what the function gives for an input in bf16, as the layer before it
gives. A function that a build without CUDA cannot describe is left out.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402
from functionsOfTorch import builders  # noqa: E402
from torch import nn  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

logging.disable(logging.CRITICAL)


def on_cuda(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="cuda")


def result_bytes(name: str) -> int | None:
    build, given = builders()[name]
    network = build().train()
    inputs = given()
    widths: list[int] = []

    def note(*seen: object) -> None:
        result = seen[-1][0] if isinstance(seen[-1], tuple) else seen[-1]
        widths.append(result.element_size())

    if isinstance(getattr(network, "module", None), nn.Module):
        network.module.register_forward_hook(note)
    elif hasattr(network, "loss"):
        loss = network.loss

        def noted(*arguments: torch.Tensor, **options: str) -> torch.Tensor:
            result = loss(*arguments, **options)
            note(result)
            return result

        network.loss = noted
    else:
        return None
    with FakeTensorMode(allow_non_fake_inputs=True) :
        for module in network.modules():
            for key, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is not None:
                    fake = on_cuda(tensor)
                    (module._parameters if key in module._parameters else module._buffers)[key] = (
                        nn.Parameter(fake, requires_grad=False) if key in module._parameters else fake
                    )
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            network(*map(on_cuda, inputs))
        finally:
            torch.set_autocast_enabled("cuda", False)
    return widths[-1]


def main() -> None:
    print("name,bytes")
    for name in builders():
        try:
            width = result_bytes(name)
        except Exception as error:  # what needs CUDA itself has no row
            print(name, type(error).__name__, str(error).strip().splitlines()[:1], file=sys.stderr)
            continue
        if width is not None:
            print(f"{name},{width}")


if __name__ == "__main__":
    main()
