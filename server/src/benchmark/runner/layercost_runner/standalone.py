"""The step of a program as a file that a person can read and run alone: its tensors, forward, backward and update."""

from __future__ import annotations

from typing import Mapping

import torch
from torch import Tensor

from .plan import Plan
from .program import Program

#: Elements that are written out; longer tensors are drawn.
LONGEST = 64


def write_standalone(program: Program, plan: Plan, precision: str, tensors: Mapping[str, Tensor]) -> str:
    head = f'"""One training step of {_quoted(plan.model)}, batch {plan.batch}, {precision}, as Layercost measures it."""\n\n'
    if not plan.training:
        head = head.replace("training step", "forward pass")
    lines = [f"        {_written(plan, name, tensors[name])},  # {_quoted(name)}" for name in program.inputs]
    made = "\n".join(["def tensors(device):", "    return [", *lines, "    ]"])
    half = {"bf16": "torch.bfloat16", "fp16": "torch.float16"}.get(precision)
    context = "contextlib.nullcontext()"
    if half is not None and plan.weights == "fp32":
        context = f"torch.autocast(device, dtype={half})"
    main = _training if plan.training else _inference
    return (
        head
        + "import contextlib\nimport time\n\n"
        + program.source
        + _makers
        + f"\n\n{made}\n\n\n"
        + main.replace("CONTEXT", context).replace("OPTIMIZER", _optimizers[plan.optimizer])
    )


def _written(plan: Plan, name: str, tensor: Tensor) -> str:
    shape = ", ".join(str(size) for size in tensor.shape)
    value = plan.values[name]
    if value.elements is not None and len(value.elements) <= LONGEST:
        elements = tensor.detach().cpu().flatten().tolist()
        return f"torch.tensor({elements}, dtype={tensor.dtype}, device=device).reshape([{shape}])"
    if tensor.is_floating_point():
        trained = ", trained=True" if tensor.requires_grad else ""
        images = ", images=True" if plan.channels_last and tensor.dim() == 4 else ""
        return f"normal(device, [{shape}], {tensor.dtype}{trained}{images})"
    if value.limit is not None:
        return f"torch.randint(0, {value.limit}, [{shape}], device=device).to({tensor.dtype})"
    return f"torch.ones([{shape}], dtype={tensor.dtype}, device=device)"


def _quoted(text: str) -> str:
    """A name that is not Python's business to read."""
    return "".join(letter for letter in text if letter.isprintable() and letter not in '"\\')


_makers = '''

def normal(device, shape, dtype, trained=False, images=False):
    """Numbers that keep their size through the layers."""
    rows = max(1, torch.Size(shape[1:]).numel()) if trained else 1
    tensor = torch.randn(shape, device=device).div_(rows ** 0.5)
    if len(shape) < 2:
        tensor = 1 + 0.01 * tensor
    tensor = tensor.to(dtype)
    if images:
        tensor = tensor.contiguous(memory_format=torch.channels_last)
    return tensor.requires_grad_() if trained else tensor
'''

_optimizers = {
    "sgd": "torch.optim.SGD(trained, lr=1e-9)",
    "momentum": "torch.optim.SGD(trained, lr=1e-9, momentum=0.9)",
    "adam": "torch.optim.Adam(trained, lr=1e-9)",
    "adamw": "torch.optim.AdamW(trained, lr=1e-9)",
    "adagrad": "torch.optim.Adagrad(trained, lr=1e-9)",
    "rmsprop": "torch.optim.RMSprop(trained, lr=1e-9)",
    "adafactor": "torch.optim.Adafactor(trained, lr=1e-9)",
    "none": "None",
}

_training = '''if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = tensors(device)
    trained = [tensor for tensor in given if tensor.requires_grad]
    optimizer = OPTIMIZER
    for step in range(10):
        begin = time.perf_counter()
        with CONTEXT:
            outputs = [output for output in forward(*given) if output.requires_grad]
        torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])
        if optimizer is not None:
            optimizer.step()
        for tensor in trained:
            tensor.grad = None
        if device == "cuda":
            torch.cuda.synchronize()
        print(f"step {step + 1}: {1e3 * (time.perf_counter() - begin):.2f} ms")
'''

_inference = '''if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = tensors(device)
    for step in range(10):
        begin = time.perf_counter()
        with torch.no_grad(), CONTEXT:
            forward(*given)
        if device == "cuda":
            torch.cuda.synchronize()
        print(f"pass {step + 1}: {1e3 * (time.perf_counter() - begin):.2f} ms")
'''
