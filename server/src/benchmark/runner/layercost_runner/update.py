"""Backward and optimizer of the step."""

from __future__ import annotations

import inspect
from typing import Any, Optional

import torch
from torch import Tensor

from .device import Device
from .operators import Unsupported
from .plan import Plan


class Update:
    """Backward and optimizer of the step, with loss scaling where fp16 needs it."""

    def __init__(self, plan: Plan, device: Device, parameters: list[Tensor]) -> None:
        self._plan = plan
        self._parameters = parameters
        copies = plan.weights == "half-with-copy" and device.half_weights
        self._copies = [each.detach().float() for each in parameters] if copies else []
        self._optimizer = optimizer_of(plan, self._copies or parameters)
        # It refuses gradients in fp16: where the optimizer updates weights in fp16, programs scale the loss by hand.
        scales = device.precision == "fp16" and (copies or not device.half_weights)
        self._scaler = _scaler() if scales and self._optimizer is not None else None

    def clear_gradients(self) -> None:
        if self._plan.adds_gradients:
            for parameter in self._parameters:
                if parameter.grad is not None:
                    parameter.grad.zero_()
            return
        for parameter in self._parameters:
            parameter.grad = None

    def backward(self, outputs: list[Tensor], gradients: list[Tensor]) -> None:
        if not outputs:
            return
        scaled = outputs if self._scaler is None else self._scaler.scale(outputs)
        torch.autograd.backward(scaled, gradients)

    def step(self) -> None:
        if self._optimizer is None:
            return
        for copy, parameter in zip(self._copies, self._parameters):
            copy.grad = None if parameter.grad is None else parameter.grad.float()
        if self._plan.clips_norm:
            if self._scaler is not None:
                self._scaler.unscale_(self._optimizer)
            torch.nn.utils.clip_grad_norm_(self._copies or self._parameters, 1.0)
        if self._scaler is None:
            self._optimizer.step()
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()
        with torch.no_grad():
            for copy, parameter in zip(self._copies, self._parameters):
                parameter.copy_(copy)


def optimizer_of(plan: Plan, parameters: list[Tensor]) -> Optional[torch.optim.Optimizer]:
    """With a learning rate that moves nothing: the time is the same and no run drifts into infinities."""
    rate = 1e-9
    if plan.optimizer == "none" or not parameters:
        return None
    name = _classes[plan.optimizer]
    kind = getattr(torch.optim, name, None)
    if kind is None:
        raise Unsupported(f"torch {torch.__version__} has no {name}: install a newer one, or choose another optimizer")
    # Adafactor goes tensor after tensor unless it is told otherwise.
    kernels: dict[str, Any] = {"foreach": plan.optimizer_kernels == "foreach" and name != "Adafactor"}
    if plan.optimizer_kernels == "fused":
        kernels = {"fused": True}
        if "fused" not in inspect.signature(kind).parameters:
            raise Unsupported(f"torch {torch.__version__} has no fused {name}: leave out optimizer-kernels=fused")
    if plan.optimizer == "momentum":
        kernels["momentum"] = 0.9
    return kind(parameters, lr=rate, **kernels)


_classes = {
    "sgd": "SGD",
    "momentum": "SGD",
    "adam": "Adam",
    "adamw": "AdamW",
    "adagrad": "Adagrad",
    "rmsprop": "RMSprop",
    "adafactor": "Adafactor",
}


def _scaler() -> Any:
    # The scale that suits gradients of about 1: none overflows, so no update is skipped.
    newer = getattr(torch.amp, "GradScaler", None)
    return torch.cuda.amp.GradScaler(init_scale=64.0) if newer is None else newer("cuda", init_scale=64.0)
