"""Runs plans, one JSON object a line on standard input, and prints one a line: what ran as its parts, and whether the
program that is written of the network computes what the network does, forward and backward."""

from __future__ import annotations

import io
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "server/src/benchmark/runner"))

import torch  # noqa: E402

# Tests run beside each other.
torch.set_num_threads(1)

from layercost_runner.device import open_device  # noqa: E402
from layercost_runner.events import Events  # noqa: E402
from layercost_runner.network import Network, OperatorFailure  # noqa: E402
from layercost_runner.operators import Unsupported  # noqa: E402
from layercost_runner.plan import Plan  # noqa: E402
from layercost_runner.step import written_step  # noqa: E402


def gradients(network, outputs):
    trained = network.parameters()
    wanted = [output for output in outputs if output.requires_grad]
    if not wanted or not trained:
        return []
    torch.manual_seed(1)
    torch.autograd.backward(wanted, [torch.randn_like(each) for each in wanted])
    found = [parameter.grad for parameter in trained if parameter.grad is not None]
    for parameter in trained:
        parameter.grad = None
    return found


def same(left, right):
    pairs = list(zip(left, right))
    return len(left) == len(right) and all(torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in pairs)


def examine(plan):
    torch.manual_seed(0)
    network = Network(plan, torch.device("cpu"))
    try:
        network.forward()
    except OperatorFailure as error:
        return {"failed": str(error)}
    said = io.StringIO()
    try:
        program = written_step(network, open_device("cpu", "fp32"), Events(said))
    except Unsupported as error:
        return {"failed": str(error)}
    notes = [event["message"] for event in map(json.loads, said.getvalue().splitlines()) if event["event"] == "note"]
    runs = []
    for run in (network.forward, program):
        torch.manual_seed(0)
        outputs = run()
        runs.append([*[output.detach() for output in outputs], *gradients(network, outputs)])
    return {"writtenOut": [each.type for each in network.written_out], "same": same(*runs), "notes": notes}


for line in sys.stdin:
    print(json.dumps(examine(Plan.from_json(json.loads(line)))), flush=True)
