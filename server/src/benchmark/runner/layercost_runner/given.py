"""What was given on standard input, run: a plan on one device or shared by several, or collectives."""

from __future__ import annotations

import json
import sys

from .benchmark import benchmark, benchmark_traced
from .collectives import measure_collectives
from .device import Device, open_device
from .events import Events
from .other_work import OtherWork
from .plan import BadPlan, Plan
from .ranks import Ranks, end_with_parent, is_rank_of_many, join_ranks, leave_ranks, own_gpu, shared_input
from .shared_step import measure_shared_step
from .state import watched


def run_given(wanted: str, events: Events, others: OtherWork) -> None:
    """`wanted`: auto, or a device. Raises `BadPlan` and `json.JSONDecodeError` for what is no plan."""
    if not is_rank_of_many():
        given = json.load(sys.stdin)
        plan = Plan.from_json(given)
        measure = benchmark_traced if given.get("traced") else benchmark
        device = _open(wanted, plan, events)
        with watched(device, events, others):
            measure(plan, device, events)
        return
    end_with_parent()
    own_gpu(wanted)
    ranks = join_ranks(wanted)
    try:
        _run_shared(wanted, ranks, events, others)
    finally:
        leave_ranks()


def _run_shared(wanted: str, ranks: Ranks, events: Events, others: OtherWork) -> None:
    given = shared_input(ranks)
    if "collectives" in given:
        device = open_device(wanted, "fp32")
        events.send("device", **device.facts())
        with watched(device, events, others):
            measure_collectives(given["collectives"], device, ranks, events)
        return
    plan, shared = Plan.from_json(given), given.get("shared")
    if shared is None:
        raise BadPlan("it does not say how several processes share the step")
    device = _open(wanted, plan, events)
    with watched(device, events, others):
        measure_shared_step(shared, plan, device, ranks, events)


def _open(wanted: str, plan: Plan, events: Events) -> Device:
    device = open_device(wanted, plan.precision, plan.conv_tf32)
    device.half_weights = plan.weights != "fp32" and device.half is not None
    events.send("device", **device.facts())
    return device
