"""Writes pipelineGolden.json: the order of actions of each rank, as PyTorch's pipeline schedules have it.

Run with PyTorch 2.x: python3 test/schedule/pipelineGolden.py
"""

import json
import pathlib

import torch.distributed.pipelining.schedules as schedules

FORWARD = schedules._ComputationType.FORWARD
BACKWARD = schedules._ComputationType.FULL_BACKWARD
SCHEDULES = {"gpipe": schedules.ScheduleGPipe, "1f1b": schedules.Schedule1F1B}


def written(action):
    """2F3 is the forward of micro-batch 3 on stage 2."""
    letter = "F" if action.computation_type == FORWARD else "B"
    return f"{action.stage_index}{letter}{action.microbatch_index}"


def order(name, ranks, micro_batches):
    # Only these two are read; a schedule is otherwise made of stages in a process group.
    schedule = SCHEDULES[name].__new__(SCHEDULES[name])
    schedule._num_stages = ranks
    schedule._n_microbatches = micro_batches
    rows = []
    for rank, actions in schedule._get_pipeline_order().items():
        row = [written(a) for a in actions if a is not None and a.computation_type in (FORWARD, BACKWARD)]
        if name == "1f1b" and rank == ranks - 1:
            # PyTorch 2.13 numbers the forwards of the last rank from 1 here, and from 0 where it runs them.
            row = [f"{rank}F{int(text.split('F')[1]) - 1}" if "F" in text else text for text in row]
        rows.append(row)
    return rows


golden = [
    {"schedule": name, "ranks": ranks, "microBatches": micro_batches, "order": order(name, ranks, micro_batches)}
    for name in SCHEDULES
    for ranks, micro_batches in ((2, 2), (2, 5), (3, 7), (4, 4), (4, 8), (8, 9))
]
path = pathlib.Path(__file__).with_name("pipelineGolden.json")
path.write_text("[\n" + ",\n".join("  " + json.dumps(row) for row in golden) + "\n]\n")
