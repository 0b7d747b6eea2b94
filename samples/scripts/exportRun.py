"""How a script that exports models is run: a folder, some of the models, and a row of JSON a line on standard output."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Callable, Iterable

import torch


def arguments_of(documentation: str, names: Iterable[str], kind: str, add: Callable[[argparse.ArgumentParser], None] = lambda _: None) -> argparse.Namespace:
    """The folder, which is made, and `only`: names of what is exported, all where it is empty. `kind`: model or network."""
    parser = argparse.ArgumentParser(description=documentation.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help=f"{kind}s; all without a name")
    add(parser)
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(names)
    if unknown:
        parser.error(f"no {kind} is named {', '.join(sorted(unknown))}")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    return arguments


def teller() -> Callable[[dict], None]:
    """Writes a row. Exporters print, also past Python: what they print goes to standard error."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return lambda row: print(json.dumps(row), file=output, flush=True)
