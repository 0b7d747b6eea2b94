"""The processes that share a step, one a GPU, as torch.distributed knows them. `torchrun` starts them."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, Optional

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Ranks:
    #: This process among all of them.
    rank: int
    count: int
    #: NCCL (RCCL) between GPUs, Gloo between processors.
    backend: str

    def agree(self, number: int) -> int:
        """The number of rank 0: processes that wait for each other must run as often."""
        return int(self.broadcast(number))

    def broadcast(self, value: Any) -> Any:
        held = [value]
        dist.broadcast_object_list(held, src=0)
        return held[0]

    def wait(self) -> None:
        dist.barrier()


def is_rank_of_many() -> bool:
    """Whether `torchrun` started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def join_ranks(wanted: str) -> Ranks:
    """Joins the others; returns when all of them have. `wanted`: auto, or a device."""
    backend = "nccl" if wanted != "cpu" and torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend)
    return Ranks(dist.get_rank(), dist.get_world_size(), backend)


def leave_ranks() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def own_gpu(wanted: str) -> None:
    """Each process of a node takes the GPU of its number."""
    if wanted != "cpu" and torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))


def shared_input(ranks: Ranks) -> Any:
    """What stands on standard input, which rank 0 alone reads."""
    text: Optional[str] = sys.stdin.read() if ranks.rank == 0 else None
    return json.loads(ranks.broadcast(text))


def end_with_parent(seconds: float = 1.0) -> None:
    """Ends this process soon after `torchrun` is gone: a rank that waits for others would stay for ever."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(seconds)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
