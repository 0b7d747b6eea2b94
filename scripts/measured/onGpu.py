"""Functions of PyTorch that keep something else on a GPU than on the CPU, where these scripts measure.

Dropout keeps a mask of one byte, RMS normalization its input and one number per row
(aten/src/ATen/native/cuda/layer_norm_kernel.cu, `_fused_rms_norm`), `logsigmoid` its input alone
(aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu has no buffer). Cells have one kernel for their gates, which keeps
both products, the states and what it calls its workspace (tools/autograd/derivatives.yaml, `_thnn_fused_lstm_cell` and
`_thnn_fused_gru_cell`; aten/src/ATen/native/cuda/RNN.cu).
"""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F


class LogSigmoidOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(context, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return x.sigmoid().log()


class RmsNormOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(context, x, shape, weight, eps):
        axes = tuple(range(-len(shape), 0))
        deviation = torch.rsqrt(x.pow(2).mean(axes, keepdim=True) + (eps or 1e-6))
        context.save_for_backward(x, deviation, *([] if weight is None else [weight]))
        return x * deviation * (1 if weight is None else weight)


class LstmGatesOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(context, of_input, of_state, cell, *biases):
        taken, kept, added, given = (of_input + of_state + sum(biases)).chunk(4, 1)
        after = kept.sigmoid() * cell + taken.sigmoid() * added.tanh()
        context.save_for_backward(of_input, of_state, cell, *biases, after, torch.empty_like(of_input))
        return given.sigmoid() * after.tanh(), after


class GruGatesOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(context, of_input, of_state, state, *biases):
        workspace = state.new_empty(state.shape[0], 5 * state.shape[1])
        context.save_for_backward(of_input, of_state, state, *biases, workspace)
        first, second = biases or (0, 0)
        reset, update, new = (of_input + first).chunk(3, 1)
        reset_of_state, update_of_state, new_of_state = (of_state + second).chunk(3, 1)
        fresh = (new + (reset + reset_of_state).sigmoid() * new_of_state).tanh()
        return (state - fresh) * (update + update_of_state).sigmoid() + fresh


def lstm_cell_on_gpu(x, states, first, second, *biases):
    state, cell = states
    return LstmGatesOnGpu.apply(x @ first.t(), state @ second.t(), cell, *(b for b in biases if b is not None))


def gru_cell_on_gpu(x, state, first, second, *biases):
    return GruGatesOnGpu.apply(x @ first.t(), state @ second.t(), state, *(b for b in biases if b is not None))


def cells_on_gpu() -> Callable[[], None]:
    """Has cells of recurrent layers keep what they keep on a GPU, until what is given back is called."""
    torch._VF.lstm_cell, torch._VF.gru_cell = lstm_cell_on_gpu, gru_cell_on_gpu

    def undo() -> None:
        del torch._VF.lstm_cell, torch._VF.gru_cell

    return undo


def on_gpu() -> Callable[[], None]:
    """Has functions keep what they keep on a GPU, until what is given back is called."""
    before = F.dropout, F.logsigmoid, F.rms_norm
    undo_cells = cells_on_gpu()
    F.dropout = lambda x, p=0.5, training=True, inplace=False: torch.native_dropout(x, p, True)[0] if training and p > 0 else x
    F.logsigmoid = LogSigmoidOnGpu.apply
    F.rms_norm = lambda x, shape, weight=None, eps=None: RmsNormOnGpu.apply(x, shape, weight, eps)

    def undo() -> None:
        F.dropout, F.logsigmoid, F.rms_norm = before
        undo_cells()

    return undo
