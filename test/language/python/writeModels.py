"""Writes blocks.pt2 and blocks.onnx, exports of blocks.py by PyTorch 2.13, with the lines of Python that they record.

Run it where PyTorch is: python3 test/language/python/writeModels.py
Paths of the machine are replaced: the file lies in `project`, libraries in `python/dist-packages`.
"""

import re
from pathlib import Path

import onnx
import torch
from blocks import Model

HERE = Path(__file__).resolve().parent
example = torch.zeros(4, 64)
program = torch.export.export(Model(), (example,), dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)


def elsewhere(trace: str) -> str:
    trace = trace.replace(str(HERE), "project")
    return re.sub(r'"/[^"]*/site-packages/', '"python/dist-packages/', trace)


for node in program.graph.nodes:
    if "stack_trace" in node.meta:
        node.meta["stack_trace"] = elsewhere(node.meta["stack_trace"])
model = torch.onnx.export(program, (), optimize=False, external_data=False).model_proto
for tensor in model.graph.initializer:
    tensor.ClearField("raw_data")
onnx.save(model, HERE / "blocks.onnx")
with torch.device("meta"):
    empty = Model()
sample = (torch.zeros(4, 64, device="meta"),)
program = torch.export.export(empty, sample, dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
for node in program.graph.nodes:
    if "stack_trace" in node.meta:
        node.meta["stack_trace"] = elsewhere(node.meta["stack_trace"])
torch.export.save(program, HERE / "blocks.pt2")
