"""What files of networks have in common: a list by name, and what networks are called with."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn as nn
from exports import Inputs, Model

BATCH = 2
randn = torch.randn

Network = type[nn.Module]


def tokens(*shape: int, vocabulary: int = 100) -> torch.Tensor:
    return torch.randint(1, vocabulary, shape)


def listing(networks: dict[str, Model]) -> Callable[[Callable[[], Inputs]], Callable[[Network], Network]]:
    """Decorates a class of networks with what it is called with, and lists it."""

    def network(inputs: Callable[[], Inputs]) -> Callable[[Network], Network]:
        def add(build: Network) -> Network:
            name = build.__name__.lower()
            networks[name] = Model(name, "torch", build, inputs)
            return build

        return add

    return network
