"""Starts the runner where there are no files of Layercost: on the machine that a launcher reaches.

This text goes to `python3 -` on standard input, behind a line that sets `SENT`: the runner's sources and its input, as JSON
in base64. One process imports the sources from memory and writes no file. For several, `torchrun` needs a script to start:
it lies in a temporary folder that is removed at the end. On several machines each starts its own, and they meet at one address.
"""

import argparse
import base64
import importlib.abc
import importlib.util
import io
import json
import os
import runpy
import sys
import tempfile
from typing import Any, Optional

given = json.loads(base64.b64decode(SENT))  # noqa: F821 - set by the line before


class SentModules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules from texts by their paths, such as `layercost_runner/plan.py`."""

    def __init__(self, files: "dict[str, str]") -> None:
        self._files = files

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        file = self._file_of(fullname)
        return None if file is None else importlib.util.spec_from_loader(fullname, self, origin=file)

    def is_package(self, fullname: str) -> bool:
        return (self._file_of(fullname) or "").endswith("/__init__.py")

    def get_source(self, fullname: str) -> str:
        return self._files[self._file_of(fullname) or ""]

    def get_code(self, fullname: str) -> Any:
        return compile(self.get_source(fullname), self._file_of(fullname) or fullname, "exec")

    def _file_of(self, fullname: str) -> Optional[str]:
        path = fullname.replace(".", "/")
        return next((file for file in (f"{path}/__init__.py", f"{path}.py") if file in self._files), None)


def run_here() -> None:
    sys.meta_path.insert(0, SentModules(given["files"]))
    sys.stdin = io.StringIO(given["input"])
    exec(compile(given["files"]["__main__.py"], "__main__.py", "exec"), {"__name__": "__main__"})


def run_ranks(count: int, device: str, nodes: int, rendezvous: str) -> None:
    with tempfile.TemporaryDirectory(prefix="layercost-") as folder:
        for name, source in given["files"].items():
            path = os.path.join(folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
        path = os.path.join(folder, "input.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(given["input"])
        # The processes inherit standard input, of which this text is read to the end.
        os.dup2(os.open(path, os.O_RDONLY), 0)
        meet = ["--rdzv-id", "layercost", "--rdzv-backend", "c10d", "--rdzv-endpoint", rendezvous, "--nnodes", str(nodes)]
        sys.argv = ["torchrun", *(["--standalone"] if nodes == 1 else meet), "--nproc-per-node", str(count), folder]
        sys.argv += ["--device", device]
        runpy.run_module("torch.distributed.run", run_name="__main__")


parser = argparse.ArgumentParser(prog="runner")
parser.add_argument("--device", default="auto")
parser.add_argument("--ranks", type=int)
parser.add_argument("--nodes", type=int, default=1)
parser.add_argument("--rendezvous", default="")
asked = parser.parse_args()
if asked.ranks is None:
    run_here()
else:
    run_ranks(asked.ranks, asked.device, asked.nodes, asked.rendezvous)
