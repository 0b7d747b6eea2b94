"""Writes collectives.json: what tensor-parallel plans of PyTorch exchange when they run.

Each model runs forward and backward on 2 and 4 processes with Gloo. Every collective is recorded with its pass, kind and the
elements of the whole tensor. Run with PyTorch 2.x: python3 test/parallel/dtensor/writeCollectives.py
"""

import json
import os
import pathlib
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.utils._python_dispatch import TorchDispatchMode

BATCH, TOKENS, WIDTH, HEADS, HIDDEN, WORDS = 2, 8, 32, 4, 64, 96
KINDS = {
    "all_reduce": "all-reduce",
    "all_gather_into_tensor": "all-gather",
    "reduce_scatter_tensor": "reduce-scatter",
}


class Recorder(TorchDispatchMode):
    """Collectives by pass; elements are those of the whole tensor, as every rank together holds or gets it."""

    def __init__(self, ways):
        super().__init__()
        self.ways = ways
        self.phase = "forward"
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(issubclass(each, DTensor) for each in types):
            # DTensor takes the operator apart first; what it calls comes by here.
            return NotImplemented
        name = func.name().split("::")[-1].split(".")[0]
        if func.namespace == "_c10d_functional" and name in KINDS:
            local = args[0].numel()
            whole = local * self.ways if name == "all_gather_into_tensor" else local
            self.found.append([self.phase, KINDS[name], whole])
        return func(*args, **(kwargs or {}))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class GatedMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias=False)
        self.value = nn.Linear(WIDTH, WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        rows = [part(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for part in (self.query, self.key, self.value)]
        mixed = nn.functional.scaled_dot_product_attention(*rows, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    def __init__(self, mlp):
        super().__init__()
        self.norm_1 = nn.RMSNorm(WIDTH)
        self.attention = Attention()
        self.norm_2 = nn.RMSNorm(WIDTH)
        self.mlp = mlp()

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class Model(nn.Module):
    """Blocks between a table of words and a head."""

    def __init__(self, mlp, blocks):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*(Block(mlp) for _ in range(blocks)))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embed(tokens))))


def plan_of(blocks, gated, sequence):
    """The plan of torchtitan's Llama: every pair once, with or without sequence parallelism."""
    between = Shard(1) if sequence else Replicate()
    whole = {"desired_input_layouts": (Replicate(),), "input_layouts": (between,)}
    plan = {
        "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
        "head": ColwiseParallel(input_layouts=between, output_layouts=Shard(-1), use_local_output=False),
    }
    if sequence:
        plan["norm"] = SequenceParallel()
    for index in range(blocks):
        at = f"blocks.{index}"
        plan[f"{at}.attention"] = PrepareModuleInput(**whole)
        plan[f"{at}.mlp"] = PrepareModuleInput(**whole)
        for name in ("query", "key", "value"):
            plan[f"{at}.attention.{name}"] = ColwiseParallel()
        plan[f"{at}.attention.out"] = RowwiseParallel(output_layouts=between)
        for name in ("gate", "up") if gated else ("up",):
            plan[f"{at}.mlp.{name}"] = ColwiseParallel()
        plan[f"{at}.mlp.down"] = RowwiseParallel(output_layouts=between)
        if sequence:
            plan[f"{at}.norm_1"] = SequenceParallel()
            plan[f"{at}.norm_2"] = SequenceParallel()
    return plan


def run(rank, ways, place):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29511 + ways))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ways)
    mesh = init_device_mesh("cpu", (ways,))
    found = [collectives_of(case, mesh, ways) for case in CASES]
    if rank == 0:
        pathlib.Path(place).write_text(json.dumps(found))
    dist.destroy_process_group()


def collectives_of(case, mesh, ways):
    torch.manual_seed(0)
    model = Model(GatedMlp if case["gated"] else Mlp, case["blocks"])
    parallelize_module(model, mesh, plan_of(case["blocks"], case["gated"], case["sequence"]))
    tokens = torch.randint(WORDS, (BATCH, TOKENS))
    labels = torch.randint(WORDS, (BATCH * TOKENS,))
    with Recorder(ways) as recorder, loss_parallel():
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), labels)
        recorder.phase = "backward"
        loss.backward()
    counts = {}
    for item in recorder.found:
        key = " ".join(map(str, item))
        counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))


CASES = [
    {"gated": gated, "blocks": blocks, "sequence": sequence}
    for gated, blocks in ((False, 1), (True, 2), (True, 3))
    for sequence in (False, True)
]

if __name__ == "__main__":
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for ways in (2, 4):
            place = f"{folder}/found.json"
            mp.spawn(run, args=(ways, place), nprocs=ways)
            found = json.loads(pathlib.Path(place).read_text())
            rows += [{**case, "ways": ways, "collectives": counts} for case, counts in zip(CASES, found)]
    out = pathlib.Path(__file__).with_name("collectives.json")
    out.write_text("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n")
