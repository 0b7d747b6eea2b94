"""
Kernels of a trace by layer and direction. Knows the trace format of torch.profiler (Kineto) and nothing of torch.

- An operator of forward belongs to the layer whose annotation it runs in.
- One of backward belongs to the layer of the forward operator with its sequence number: autograd gives both the same
  (torch/csrc/autograd/profiler, "Sequence number" and "Fwd thread id").
- A kernel belongs to the operator that launched it, by its "External id".
- Without kernels of a device, operators themselves count, each with the time that is not its callees'.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Iterable, Optional, Sequence

#: Names of annotations.
LAYER = "layercost layer "
UPDATE = "layercost update"

DEVICE_KINDS = ("kernel", "gpu_memcpy", "gpu_memset")

#: A layer by its number and a direction, `update`, or None for what has no layer.
Place = Optional[tuple[str, int]]


@dataclass
class Operation:
    """An operator or an annotation on a thread of the host; times in microseconds."""

    name: str
    begin: float
    end: float
    identity: Optional[int]
    sequence: Optional[int]
    is_backward: bool
    is_annotation: bool
    parent: Optional[Operation] = None
    inside: float = 0.0


@dataclass
class Kernels:
    #: By number of the layer: `forward` and `backward`, each with seconds, kernels and the longest kind.
    layers: dict[int, dict[str, Any]] = field(default_factory=dict)
    step: dict[str, Any] = field(default_factory=dict)


def kernels_of_step(events: Sequence[dict[str, Any]]) -> Kernels:
    """`events`: the `traceEvents` of one step. Times of the trace are in microseconds; those returned are in seconds."""
    operations = [operation for thread in _threads(events).values() for operation in thread]
    layer_of_sequence = {
        operation.sequence: layer
        for operation in operations
        if operation.sequence is not None and not operation.is_backward
        for layer in [_layer_around(operation)]
        if layer is not None
    }
    by_identity = {each.identity: each for each in operations if each.identity is not None and not each.is_annotation}
    device = [each for each in events if each.get("cat") in DEVICE_KINDS and each.get("ph") == "X"]
    if device:
        timed = [
            (_place(by_identity.get(each.get("args", {}).get("External id")), layer_of_sequence), each["name"], float(each["dur"]))
            for each in device
        ]
        spans = [(float(each["ts"]), float(each["ts"]) + float(each["dur"])) for each in device]
    else:
        own = [each for each in operations if not each.is_annotation]
        timed = [(_place(each, layer_of_sequence), each.name, each.end - each.begin - each.inside) for each in own]
        spans = [(each.begin, each.end) for each in own if each.parent is None or each.parent.is_annotation]
    return _summed(timed, spans, bool(device))


def _threads(events: Iterable[dict[str, Any]]) -> dict[Any, list[Operation]]:
    """Operators and our annotations of each thread in their order, each with what it runs in."""
    threads: dict[Any, list[Operation]] = defaultdict(list)
    for event in events:
        kind, args = event.get("cat"), event.get("args", {})
        name = str(event.get("name", ""))
        is_annotation = kind == "user_annotation" and name.startswith((LAYER, UPDATE))
        if event.get("ph") != "X" or not (kind == "cpu_op" or is_annotation):
            continue
        begin = float(event["ts"])
        threads[event.get("tid")].append(
            Operation(
                name,
                begin,
                begin + float(event["dur"]),
                args.get("External id"),
                args.get("Sequence number"),
                bool(args.get("Fwd thread id")),
                is_annotation,
            )
        )
    for thread in threads.values():
        # What begins together and ends later is outside.
        thread.sort(key=lambda each: (each.begin, -each.end, not each.is_annotation))
        open_ones: list[Operation] = []
        for each in thread:
            while open_ones and open_ones[-1].end < each.end:
                open_ones.pop()
            if open_ones:
                each.parent = open_ones[-1]
                each.parent.inside += each.end - each.begin
            open_ones.append(each)
    return threads


def _layer_around(operation: Optional[Operation]) -> Optional[int]:
    while operation is not None:
        if operation.is_annotation and operation.name.startswith(LAYER):
            return int(operation.name[len(LAYER) :])
        operation = operation.parent
    return None


def _place(operation: Optional[Operation], layer_of_sequence: dict[int, int]) -> Place:
    each = operation
    while each is not None:
        if each.is_annotation:
            return ("update", -1) if each.name == UPDATE else ("forward", int(each.name[len(LAYER) :]))
        if each.is_backward and each.sequence in layer_of_sequence:
            return ("backward", layer_of_sequence[each.sequence])
        each = each.parent
    return None


def _summed(timed: Iterable[tuple[Place, str, float]], spans: Sequence[tuple[float, float]], on_device: bool) -> Kernels:
    sums: dict[Place, dict[str, Any]] = {}
    names: dict[Place, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for place, name, duration in timed:
        total = sums.setdefault(place, {"seconds": 0.0, "kernels": 0})
        total["seconds"] += max(0.0, duration) / 1e6
        total["kernels"] += 1
        names[place][name] += duration
    nothing = {"seconds": 0.0, "kernels": 0}
    found = Kernels()
    for place, total in sums.items():
        longest = max(names[place].items(), key=lambda item: item[1])[0]
        if place is not None and place[1] >= 0:
            found.layers.setdefault(place[1], {})[place[0]] = {**total, "longest": longest}
    busy, gap = _busy(spans)
    found.step = {
        "onDevice": on_device,
        "span": (max((end for _, end in spans), default=0.0) - min((begin for begin, _ in spans), default=0.0)) / 1e6,
        "busy": busy / 1e6,
        "longestGap": gap / 1e6,
        "update": sums.get(("update", -1), nothing),
        "others": sums.get(None, nothing),
    }
    return found


def _busy(spans: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Time in which anything runs, and the longest in which nothing does."""
    busy = longest = 0.0
    end: Optional[float] = None
    for begin, until in sorted(spans):
        if end is None:
            busy += until - begin
            end = until
            continue
        if begin > end:
            longest = max(longest, begin - end)
        busy += max(0.0, until - max(begin, end))
        end = max(end, until)
    return busy, longest
