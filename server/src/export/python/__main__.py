"""Writes a model as an archive of `torch.export`: a request on standard input, events on standard output, the log on
standard error.

    python3 python < request.json

The request is `{"target": "train.py:Model", "output": "model.pt2", "inputs": {"tokens": "int64[batch, 128]"}}`. The model is
built and exported on `torch.device("meta")`: no weights are downloaded or allocated. Needs Python 3.9 and torch 2.5 or newer;
for `hf:` and `timm:` also transformers and timm. It installs nothing and reaches for no network.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

from layercost_export.events import claim_standard_output
from layercost_export.refusal import Refusal


def main() -> int:
    stream = claim_standard_output()

    def send(event: str, **fields: object) -> None:
        stream.write(json.dumps({"event": event, **fields}) + "\n")
        stream.flush()

    request = json.load(sys.stdin)
    # What the libraries would fetch: an export says what is missing instead.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    send("progress", message="loading torch")
    try:
        import torch
    except ImportError as error:
        missing = error.name == "torch"
        send("refused", kind="torch-missing", message="no module named torch" if missing else str(error))
        return 1
    if torch_version(torch) < (2, 5):
        send("refused", kind="torch-old", message=f"torch {torch.__version__} writes archives that are not read: 2.5 or newer is needed")
        return 1

    from layercost_export.program import export_program, write_program
    from layercost_export.target import build_model

    try:
        send("progress", message="building the model")
        model, module = build_model(request["target"])
        send("progress", message="exporting")
        program, names, notes, inputs = export_program(model, module, request.get("inputs") or {})
        send("progress", message="writing")
        write_program(program, names, request["output"])
        send("done", notes=notes, inputs=inputs, torch=torch.__version__)
        return 0
    except Refusal as refusal:
        send("refused", kind=refusal.kind, message=str(refusal))
    except Exception as error:  # noqa: BLE001 - the model is a stranger's code: whatever it raises is told
        traceback.print_exc()
        if "CUDA" in str(error):
            send("refused", kind="export", message=f"the model asks for a GPU, and is built without one: leave `.cuda()` and `.to('cuda')` to the loop of training ({first_line(error)})")
        else:
            send("refused", kind="model", message=first_line(error))
    return 1


def torch_version(torch) -> tuple[int, int]:
    major, minor = torch.__version__.split("+")[0].split(".")[:2]
    return int(major), int(minor)


def first_line(error: Exception) -> str:
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
