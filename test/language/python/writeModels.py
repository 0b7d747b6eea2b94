"""Writes blocks.pt2 and blocks.onnx, exports of blocks.py by PyTorch 2.13, with the lines of Python that they record, and
cells.pt2, of the same classes in two cells of a notebook, whose files ipykernel names.

Run it where PyTorch is: python3 test/language/python/writeModels.py
Paths of the machine are replaced: the file lies in `project`, libraries in `python/dist-packages`.
"""

import linecache
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


def write_archive(model: type, name: str) -> None:
    with torch.device("meta"):
        empty = model()
    sample = (torch.zeros(4, 64, device="meta"),)
    program = torch.export.export(empty, sample, dynamic_shapes=({0: torch.export.Dim("batch")},), strict=False)
    for node in program.graph.nodes:
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = elsewhere(node.meta["stack_trace"])
    torch.export.save(program, HERE / name)


write_archive(Model, "blocks.pt2")
first, second = (HERE / "blocks.py").read_text().split("\n\n\nclass Model")
names: "dict[str, object]" = {}
for number, cell in ((1234, first), (5678, "class Model" + second)):
    path = f"/tmp/ipykernel_77/{number}.py"
    linecache.cache[path] = (len(cell), None, cell.splitlines(True), path)
    exec(compile(cell, path, "exec"), names)
write_archive(names["Model"], "cells.pt2")
