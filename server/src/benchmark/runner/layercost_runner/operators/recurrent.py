"""
Recurrent layers by PyTorch's own, which cuDNN computes on a GPU (ONNX Operators, LSTM-22, GRU-22, RNN-22).

ONNX orders the gates of an LSTM input, output, forget, cell; PyTorch input, forget, cell, output. Of a GRU: update, reset,
new against reset, update, new.
"""

from __future__ import annotations

from typing import Optional, Sequence

import torch
from torch import Tensor

from .call import Call, Outputs, Unsupported, operator

_usual = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}


@operator("LSTM")
def lstm(call: Call) -> Outputs:
    x, weights, state = _given(call, [0, 2, 3, 1])
    if call.get(7) is not None:
        raise Unsupported("LSTM with peepholes")
    if call.attribute("input_forget", 0):
        raise Unsupported("LSTM with coupled gates")
    cell = _state(call, 6, state)
    y, hidden, last = torch.lstm(x, (state, cell), weights, call.has(3), 1, 0.0, *_directions(call))
    return _results(call, y, hidden, last)


@operator("GRU")
def gru(call: Call) -> Outputs:
    if not call.attribute("linear_before_reset", 0):
        raise Unsupported("GRU that resets before its matmul: PyTorch's resets behind it")
    x, weights, state = _given(call, [1, 0, 2])
    y, hidden = torch.gru(x, state, weights, call.has(3), 1, 0.0, *_directions(call))
    return _results(call, y, hidden)


@operator("RNN")
def rnn(call: Call) -> Outputs:
    x, weights, state = _given(call, [0])
    kinds = {str(name).lower() for name in call.attribute("activations", ["tanh"])}
    if len(kinds) > 1:
        raise Unsupported("RNN with an activation for each direction")
    run = torch.rnn_relu if kinds == {"relu"} else torch.rnn_tanh
    y, hidden = run(x, state, weights, call.has(3), 1, 0.0, *_directions(call))
    return _results(call, y, hidden)


def _given(call: Call, gates: Sequence[int]) -> tuple[Tensor, list[Tensor], Tensor]:
    """Input [steps, batch, size], weights as PyTorch takes them, and the state that the layer starts with."""
    kind = call.operator.type
    activations = [str(name).lower() for name in call.attribute("activations", [])]
    usual = _usual[kind] * len(_directions_of(call))
    if activations and activations != usual and not (kind == "RNN" and set(activations) <= {"tanh", "relu"}):
        raise Unsupported(f"{kind} with activations {', '.join(activations)}")
    if call.attribute("clip") is not None:
        raise Unsupported(f"{kind} with clip")
    x = call[0].transpose(0, 1) if call.attribute("layout", 0) else call[0]
    lengths = call.host(4)
    if lengths is not None and any(length != x.shape[0] for length in lengths):
        raise Unsupported(f"{kind} over sequences of different lengths")
    weights: list[Tensor] = []
    for index in range(len(_directions_of(call))):
        weights += [_ordered(call[1].select(0, index), gates), _ordered(call[2].select(0, index), gates)]
        if call.has(3):
            weights += [_ordered(half, gates) for half in call[3].select(0, index).chunk(2)]
    size = call.attribute("hidden_size") or call[2].shape[-1]
    blank = x.new_zeros((len(_directions_of(call)), x.shape[1], size))
    return x, weights, _state(call, 5, blank)


def _state(call: Call, index: int, otherwise: Tensor) -> Tensor:
    state = call.get(index)
    if state is None:
        return torch.zeros_like(otherwise)
    return state.transpose(0, 1).contiguous() if call.attribute("layout", 0) else state


def _ordered(stacked: Tensor, gates: Sequence[int]) -> Tensor:
    if list(gates) == sorted(gates):
        return stacked
    parts = stacked.chunk(len(gates))
    return torch.cat([parts[gate] for gate in gates])


def _directions_of(call: Call) -> Sequence[str]:
    direction = call.attribute("direction", "forward")
    if direction == "reverse":
        raise Unsupported(f"{call.operator.type} in reverse alone")
    return ["forward", "reverse"] if direction == "bidirectional" else ["forward"]


def _directions(call: Call) -> tuple[bool, bool, bool]:
    """Whether it trains, runs in both directions, and has the batch first."""
    return call.plan.training, len(_directions_of(call)) == 2, False


def _results(call: Call, y: Tensor, hidden: Tensor, cell: Optional[Tensor] = None) -> Outputs:
    """PyTorch joins the directions in the last dimension; ONNX has a dimension for them."""
    y = y.unflatten(-1, (len(_directions_of(call)), -1)).transpose(1, 2)
    if call.attribute("layout", 0):
        y = y.permute(2, 0, 1, 3)
        hidden, cell = hidden.transpose(0, 1), None if cell is None else cell.transpose(0, 1)
    results: list[Optional[Tensor]] = [y, hidden, cell]
    return results[: len(call.operator.outputs)]
