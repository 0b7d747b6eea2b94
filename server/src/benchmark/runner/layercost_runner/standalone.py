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
    main = _training(plan, precision) if plan.training else _inference
    return (
        head
        + "import contextlib\nimport time\n\n"
        + program.source
        + _makers
        + f"\n\n{made}\n\n\n"
        + main.replace("CONTEXT", context).replace("COMPILED", _compiled(plan))
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
    "sgd": ("SGD", ""),
    "momentum": ("SGD", ", momentum=0.9"),
    "adam": ("Adam", ""),
    "adamw": ("AdamW", ""),
    "adagrad": ("Adagrad", ""),
    "rmsprop": ("RMSprop", ""),
    "adafactor": ("Adafactor", ""),
}


def _compiled(plan: Plan) -> str:
    """As `compiled` of step.py compiles the step that is measured."""
    if plan.compile is None:
        return ""
    mode = "" if plan.compile == "default" else f", mode={plan.compile!r}"
    return f"    forward = torch.compile(forward{mode})\n"


def _training(plan: Plan, precision: str) -> str:
    """The loop of `Step` and `Update`, with what the plan takes of them."""
    half = precision in ("bf16", "fp16")
    copies = half and plan.weights == "half-with-copy"
    updates = plan.optimizer != "none"
    scales = updates and precision == "fp16" and plan.weights != "half"
    updated = "copies" if copies else "trained"
    lines = [
        'if __name__ == "__main__":',
        '    device = "cuda" if torch.cuda.is_available() else "cpu"',
        "    given = tensors(device)",
        "    trained = [tensor for tensor in given if tensor.requires_grad]",
    ]
    if copies and updates:
        lines.append("    copies = [tensor.detach().float() for tensor in trained]")
    if updates:
        lines.append(f"    optimizer = {_optimizer(plan, updated)}")
    if scales:
        lines.append("    scaler = torch.amp.GradScaler(device, init_scale=64.0)")
    outputs = "scaler.scale(outputs)" if scales else "outputs"
    one_pass = [
        "with CONTEXT:",
        "    outputs = [output for output in forward(*given) if output.requires_grad]",
        f"torch.autograd.backward({outputs}, [torch.ones_like(output) for output in outputs])",
    ]
    loop = ["begin = time.perf_counter()"]
    if plan.accumulate > 1:
        loop += [f"for _ in range({plan.accumulate}):", *(f"    {line}" for line in one_pass)]
    else:
        loop += one_pass
    if updates:
        if copies:
            loop += [
                "for copy, tensor in zip(copies, trained):",
                "    copy.grad = None if tensor.grad is None else tensor.grad.float()",
            ]
        if plan.clips_norm:
            loop += ["scaler.unscale_(optimizer)"] if scales else []
            loop += [f"torch.nn.utils.clip_grad_norm_({updated}, 1.0)"]
        loop += ["scaler.step(optimizer)", "scaler.update()"] if scales else ["optimizer.step()"]
        if copies:
            loop += [
                "with torch.no_grad():",
                "    for copy, tensor in zip(copies, trained):",
                "        tensor.copy_(copy)",
            ]
    loop += ["for tensor in trained:"]
    if plan.adds_gradients:
        loop += ["    if tensor.grad is not None:", "        tensor.grad.zero_()"]
    else:
        loop += ["    tensor.grad = None"]
    loop += [
        'if device == "cuda":',
        "    torch.cuda.synchronize()",
        'print(f"step {step + 1}: {1e3 * (time.perf_counter() - begin):.2f} ms")',
    ]
    lines = [*lines, "COMPILED    for step in range(10):", *(f"        {line}" for line in loop)]
    return "\n".join(lines) + "\n"


def _optimizer(plan: Plan, updated: str) -> str:
    name, more = _optimizers[plan.optimizer]
    # As `optimizer_of` starts it, so that it launches the same kernels.
    kernels = "fused=True" if plan.optimizer_kernels == "fused" else None
    if kernels is None:
        kernels = f"foreach={plan.optimizer_kernels == 'foreach' and name != 'Adafactor'}"
    return f"torch.optim.{name}({updated}, lr=1e-9, {kernels}{more})"


_inference = '''if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = tensors(device)
COMPILED    for step in range(10):
        begin = time.perf_counter()
        with torch.no_grad(), CONTEXT:
            forward(*given)
        if device == "cuda":
            torch.cuda.synchronize()
        print(f"pass {step + 1}: {1e3 * (time.perf_counter() - begin):.2f} ms")
'''
