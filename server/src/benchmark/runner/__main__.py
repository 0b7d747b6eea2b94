"""Layercost's benchmark runner: a plan on standard input, events on standard output, the log on standard error.

    python3 runner [--device auto|cpu|cuda|cuda:N|mps|xpu] < plan.json
    torchrun --standalone --nproc-per-node 8 runner [--device auto|cpu|cuda|cuda:N|mps|xpu] < plan.json

Needs Python 3.9 and torch 1.13 or newer, nothing else. It installs nothing and writes no file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback

from layercost_runner.events import PROTOCOL, Events, claim_standard_output, log, speaks
from layercost_runner.other_work import OtherWork
from layercost_runner.plan import BadPlan


def main() -> int:
    parser = argparse.ArgumentParser(prog="runner", description="Times the training step described by a plan.")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, mps or xpu")
    device = parser.parse_args().device

    started = time.monotonic()
    others = OtherWork()
    claimed = claim_standard_output()
    events = Events(claimed if speaks() else open(os.devnull, "w", encoding="utf-8"))
    events.send("hello", protocol=PROTOCOL, python=platform.python_version())
    events.start_beating()
    try:
        return run(device, events, started, others)
    finally:
        events.stop_beating()


def run(device: str, events: Events, started: float, others: OtherWork) -> int:
    events.progress("loading torch", 0, 1)
    try:
        import torch
    except ImportError as error:
        missing = error.name == "torch"
        events.send(
            "error",
            kind="torch-missing",
            message="no module named torch" if missing else f"torch is there but cannot be loaded: {error}",
        )
        return 1
    log(f"torch {torch.__version__}, Python {platform.python_version()}")

    # These import torch, so they are loaded only once it is known to be there.
    from layercost_runner.device import NoDevice, is_out_of_memory
    from layercost_runner.given import run_given
    from layercost_runner.operators import Unsupported

    try:
        run_given(device, events, others)
        events.send("done", seconds=time.monotonic() - started)
        return 0
    except (BadPlan, json.JSONDecodeError) as error:
        events.send("error", kind="bad-plan", message=str(error))
    except NoDevice as error:
        events.send("error", kind="no-gpu", message=str(error))
    except Unsupported as error:
        events.send("error", kind="not-shared", message=str(error))
    except Exception as error:  # noqa: BLE001 - the last line of defence: said, logged, exit status 1
        traceback.print_exc(file=sys.stderr)
        kind = "out-of-memory" if is_out_of_memory(error) else "crash"
        events.send("error", kind=kind, message=first_line(error))
    return 1


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
