"""What PyTorch's own reducer and FSDP send, into reducerAndFsdp.json.

python3 writeReducerAndFsdp.py (PyTorch 2.x with Gloo, no GPU)
"""

import json
import os
import random
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

MIB = 2**20


def reducer():
    """Which tensors of fp32 share a bucket, by `compute_bucket_assignment_by_size` of reducer.cpp."""
    rng = random.Random(1)
    cases = [
        # Limits met exactly, missed by one element, passed by one.
        ([8192, 253952, 2500000, 65536, 3988064], [MIB, 25 * MIB]),
        ([262144, 6553600, 1], [MIB, 25 * MIB]),
        ([262143, 1, 6553599, 1, 1], [MIB, 25 * MIB]),
        ([262145, 1, 6553600], [MIB, 25 * MIB]),
    ]
    for limit in [2, 5, 25]:
        sizes = [rng.randint(1, 2_000_000) for _ in range(40)]
        cases.append((sizes, [MIB, limit * MIB]))
    return [
        {
            "elements": sizes,
            "limits": limits,
            "buckets": dist._compute_bucket_assignment_by_size([torch.empty(size) for size in sizes], limits)[0],
        }
        for sizes, limits in cases
    ]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return self.inner(x)


class Model(nn.Module):
    """Blocks between two layers that belong to the root."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 8)
        self.h = nn.ModuleList([Block(8) for _ in range(4)])
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        x = self.embed(x)
        for block in self.h:
            x = block(x)
        return self.head(x)


def fsdp(rank, strategy, prefetch, port, answers):
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = FullyShardedDataParallel(
        Model(),
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        device_id=torch.device("cpu"),
        sharding_strategy=ShardingStrategy[strategy],
        backward_prefetch=BackwardPrefetch[prefetch] if prefetch else None,
    )
    calls = []

    def record(name, kind, whole):
        own = getattr(dist, name)

        def call(*args, **kwargs):
            calls.append([kind, whole(*args, **kwargs)])
            return own(*args, **kwargs)

        setattr(dist, name, call)

    # Of CPU tensors a list is gathered; names as of PyTorch 2.13 (_flat_param.py, _runtime_utils.py).
    record("all_gather", "all-gather", lambda outputs, *_, **__: sum(part.numel() for part in outputs))
    record("reduce_scatter_single", "reduce-scatter", lambda _, gradient, *__, **___: gradient.numel())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        calls.clear()
        model(torch.randn(2, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        answers.put(calls)
    dist.barrier()
    dist.destroy_process_group()


def steps():
    found = []
    for port, (strategy, prefetch) in enumerate(
        [
            ("FULL_SHARD", "BACKWARD_PRE"),
            ("FULL_SHARD", "BACKWARD_POST"),
            ("FULL_SHARD", None),
            ("SHARD_GRAD_OP", "BACKWARD_PRE"),
        ],
        29517,
    ):
        answers = mp.get_context("spawn").SimpleQueue()
        mp.start_processes(fsdp, (strategy, prefetch, port, answers), nprocs=2, start_method="spawn")
        found.append({"strategy": strategy, "prefetch": prefetch, "calls": answers.get()})
    return found


if __name__ == "__main__":
    written = {"torch": torch.__version__, "reducer": reducer(), "fsdp": steps()}
    Path(__file__).with_name("reducerAndFsdp.json").write_text(json.dumps(written) + "\n")
