"""Writes pipelineGolden.json: the order of actions of each rank, as PyTorch's pipeline schedules have it.

Run with PyTorch 2.13: python3 test/schedule/pipelineGolden.py
"""

import json
import pathlib

import torch.distributed.pipelining.schedules as schedules

LETTERS = {
    schedules._ComputationType.FORWARD: "F",
    schedules._ComputationType.FULL_BACKWARD: "B",
    schedules._ComputationType.BACKWARD_INPUT: "I",
    schedules._ComputationType.BACKWARD_WEIGHT: "W",
}


def written(actions):
    """2F3 is the forward of micro-batch 3 on stage 2. An overlapped forward and backward are written one after the other."""
    row = []
    for action in actions:
        if action is None:
            continue
        for part in action.sub_actions or (action,):
            if part.computation_type in LETTERS:
                row.append(f"{part.stage_index}{LETTERS[part.computation_type]}{part.microbatch_index}")
    return row


def single(cls, ranks, micro_batches):
    # Only these two are read; a schedule is otherwise made of stages in a process group.
    schedule = cls.__new__(cls)
    schedule._num_stages = ranks
    schedule._n_microbatches = micro_batches
    rows = []
    for rank, actions in schedule._get_pipeline_order().items():
        row = written(actions)
        if cls is schedules.Schedule1F1B and rank == ranks - 1:
            # PyTorch 2.13 numbers the forwards of the last rank from 1 here, and from 0 where it runs them.
            row = [f"{rank}F{int(text.split('F')[1]) - 1}" if "F" in text else text for text in row]
        rows.append(row)
    return rows


def several(cls, ranks, micro_batches, chunks):
    schedule = cls.__new__(cls)
    schedule.pp_group_size = ranks
    schedule._n_microbatches = micro_batches
    schedule._stages = [None] * chunks
    schedule.n_local_stages = chunks
    schedule.num_stages = ranks * chunks
    schedule.microbatches_per_round = micro_batches // max(1, micro_batches // ranks)
    return [written(schedule._calculate_single_rank_operations(rank)) for rank in range(ranks)]


def rows():
    for name, cls in (("gpipe", schedules.ScheduleGPipe), ("1f1b", schedules.Schedule1F1B)):
        for ranks, micro_batches in ((2, 2), (2, 5), (3, 7), (4, 4), (4, 8), (8, 9)):
            yield name, ranks, micro_batches, 1, single(cls, ranks, micro_batches)
    looped = (
        ("interleaved-1f1b", schedules.ScheduleInterleaved1F1B),
        ("looped-bfs", schedules.ScheduleLoopedBFS),
    )
    for name, cls in looped:
        for ranks, micro_batches, chunks in ((2, 2, 2), (2, 6, 3), (4, 3, 2), (4, 8, 2), (4, 10, 3)):
            yield name, ranks, micro_batches, chunks, several(cls, ranks, micro_batches, chunks)
    for ranks, micro_batches, chunks in ((2, 2, 1), (3, 6, 1), (4, 8, 1), (4, 3, 1), (2, 6, 3), (4, 8, 2)):
        cls = schedules.ScheduleInterleavedZeroBubble
        yield "zb-h1", ranks, micro_batches, chunks, several(cls, ranks, micro_batches, chunks)
    for ranks, micro_batches in ((2, 2), (2, 5), (3, 4), (4, 7), (4, 10)):
        yield "zb-v", ranks, micro_batches, 2, several(schedules.ScheduleZBVZeroBubble, ranks, micro_batches, 2)
    for ranks, micro_batches in ((1, 2), (2, 4), (2, 5), (3, 6), (4, 8), (4, 11)):
        yield "dualpipe-v", ranks, micro_batches, 2, several(schedules.ScheduleDualPipeV, ranks, micro_batches, 2)


golden = [
    {"schedule": name, "ranks": ranks, "microBatches": micro_batches, "chunks": chunks, "order": order}
    for name, ranks, micro_batches, chunks, order in rows()
]
path = pathlib.Path(__file__).with_name("pipelineGolden.json")
path.write_text("[\n" + ",\n".join("  " + json.dumps(row) for row in golden) + "\n]\n")
