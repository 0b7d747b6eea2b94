"""Runs plans, one JSON object a line on standard input, forward and backward on tensors without contents (PyTorch's fake
tensors), and prints one a line: why one cannot run, and where shapes or gradients differ from the plan."""

from __future__ import annotations

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "server/src/benchmark/runner"))

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from layercost_runner.device import Device  # noqa: E402
from layercost_runner.network import Network, OperatorFailure  # noqa: E402
from layercost_runner.operators import Unsupported  # noqa: E402
from layercost_runner.plan import Plan  # noqa: E402

# Without contents there is nothing to compare: a call stands for its operators where the shapes agree.
Network._alike = lambda self, expected, found: expected.shape == found.shape


def examine(plan):
    problems = []
    network = Network(plan, torch.device("cpu"))
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            with Device("cpu", "none", plan.precision).autocast():
                outputs = network.forward(after=lambda operator, found: problems.extend(network.look(operator, found)))
            wanted = [output for output in outputs if output.requires_grad]
            if plan.training and wanted:
                torch.autograd.backward(wanted, [torch.ones_like(output) for output in wanted])
                problems.extend("a parameter has no gradient" for each in network.parameters() if each.grad is None)
    except (OperatorFailure, Unsupported, RuntimeError) as error:
        return {"failed": str(error).splitlines()[0], "problems": problems}
    return {"failed": None, "problems": problems}


old = int(torch.__version__.split(".")[0]) < 2
for line in sys.stdin:
    if old:
        print(json.dumps({"failed": "PyTorch 2 is needed", "problems": []}), flush=True)
        continue
    print(json.dumps(examine(Plan.from_json(json.loads(line)))), flush=True)
