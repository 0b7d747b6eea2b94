"""
Activation checkpointing in a program: each run of calls that backward recomputes becomes a function, which
`torch.utils.checkpoint.checkpoint` calls.

Sources: torch/utils/checkpoint.py of PyTorch 2.x; `create_selective_checkpoint_contexts` since 2.4. Every second matmul:
torchtitan's `selective` with option `op`.
"""

from __future__ import annotations

from itertools import groupby
from typing import Collection, Mapping, Sequence

import torch.utils.checkpoint

from .operators import Unsupported
from .source import Region, Statement, lines_of, written_function


def checkpointed(
    statements: Sequence[Statement], results: Collection[str], given: Mapping[str, str]
) -> tuple[list[str], list[Statement]]:
    """
    Functions of what is recomputed, and the statements with calls of them. `given` are the variables that are there
    before, by which a function is bound: PyTorch's modules hold their weights the same way.
    """
    runs = [(region, list(members)) for region, members in groupby(statements, lambda each: each.region)]
    functions: list[str] = []
    called: list[Statement] = []
    read_after: set[str] = set(results)
    for region, members in reversed(runs):
        reads = list(dict.fromkeys(name for member in members for name in member.reads))
        made = list(dict.fromkeys(name for member in members for name in member.writes if name in read_after))
        read_after.update(reads)
        if region is None or not made:
            called[:0] = members
            continue
        written = {name for member in members for name in member.writes}
        taken = [name for name in reads if name not in written]
        bound = [] if region.reentrant else [name for name in taken if name in given]
        passed = [name for name in taken if name not in bound]
        name = f"block_{sum(other is not None for other, _ in runs) - len(functions)}"
        function = written_function(name, [*bound, *passed], lines_of(members, made, ()), _tuple(made))
        functions.insert(0, f"\n\n{function.rstrip()}")
        call = _call(region, name, bound, passed)
        called.insert(0, Statement(f"{_tuple(made)} = {call}", tuple(taken), tuple(made)))
    if functions:
        functions[:0] = _preamble({region.keeping for region, _ in runs if region is not None})
    return functions, called


def _tuple(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _call(region: Region, name: str, bound: Sequence[str], passed: Sequence[str]) -> str:
    function = f"partial({', '.join([name, *bound])})" if bound else name
    selective = "" if region.keeping == "nothing" else f", context_fn={_contexts[region.keeping]}"
    return f"checkpoint({', '.join([function, *passed])}, use_reentrant={region.reentrant}{selective})"


_contexts = {"matmuls": "keep_matmuls", "alternate matmuls": "keep_alternate_matmuls"}


def _preamble(keeping: Collection[str]) -> list[str]:
    lines = ["from functools import partial", "from torch.utils.checkpoint import checkpoint"]
    if not any(each in _contexts for each in keeping):
        return lines
    if not hasattr(torch.utils.checkpoint, "create_selective_checkpoint_contexts"):
        raise Unsupported(
            f"torch {torch.__version__} has no selective checkpointing, which came with 2.4: choose checkpoint block"
        )
    return [*lines, _selective.rstrip()]


_selective = '''
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

aten = torch.ops.aten
matmuls = {getattr(aten, name).default for name in ("mm", "addmm", "bmm", "baddbmm", "convolution")}
attention = {
    getattr(aten, f"_scaled_dot_product_{name}").default
    for name in ("flash_attention", "flash_attention_for_cpu", "efficient_attention", "cudnn_attention")
    if hasattr(aten, f"_scaled_dot_product_{name}")
}


def keep_matmuls():
    return create_selective_checkpoint_contexts([*matmuls, *attention])


def keep_alternate_matmuls():
    counts = {}

    def policy(context, operator, *_, **__):
        if operator in matmuls:
            counts[context.is_recompute] = counts.get(context.is_recompute, 0) + 1
        kept = operator in attention or (operator in matmuls and counts[context.is_recompute] % 2 == 1)
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)
'''
