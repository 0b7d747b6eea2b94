"""
The factors of kernels that instructions bound, as `server/src/hardware/efficiency.json` has them, from `measured/kernels-h200.jsonl`:

    python scripts/measured/instructionFactors.py

Non-negative least squares of relative errors (Franc, Hlaváč, Navara, CAIP 2005), a time for each call, memory at the nominal
bandwidth, and cycles of one multiprocessor for what a kernel counts. Prints each fit with its mean error. Needs numpy.
"""

from __future__ import annotations

import json
import math
import pathlib
from typing import Any, Callable, Sequence

import numpy as np

BANDWIDTH = 4.8e12
CLOCK = 1.98e9
MULTIPROCESSORS = 132
CYCLES = MULTIPROCESSORS * CLOCK
BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}
#: Rounds of the descent, far more than it needs.
ROUNDS = 20_000

Row = dict[str, Any]


def fit(name: str, labels: Sequence[str], features: Callable[[Row], Sequence[float]], rows: Sequence[Row]) -> None:
    measured = np.array([row["microseconds"] * 1e-6 for row in rows])
    relative = np.array([features(row) for row in rows]) / measured[:, None]
    squares, target = relative.T @ relative, relative.T @ np.ones(len(rows))
    found = np.zeros(len(labels))
    for _ in range(ROUNDS):
        for index in range(len(labels)):
            if squares[index, index] > 0:
                step = (target[index] - squares[index] @ found) / squares[index, index]
                found[index] = max(0.0, found[index] + step)
    errors = np.abs(relative @ found - 1)
    printed = ", ".join(f"{label} {value:.3g}" for label, value in zip(labels, found))
    print(f"{name}: {printed} ({len(rows)} rows, mean error {errors.mean():.1%})")


def batch_norms(rows: Sequence[Row]) -> None:
    for layout in ("channels-first", "channels-last"):
        for direction, tensors, reads in (("forward", 3, 2), ("backward", 5, 4)):

            def features(row: Row) -> list[float]:
                images, channels, positions = row["images"], row["channels"], row["positions"]
                elements = images * channels * positions
                rounds = math.ceil(channels / (4 * MULTIPROCESSORS))
                own = [1e-6, tensors * elements * 2 / BANDWIDTH]
                if layout == "channels-last":
                    return own
                return [*own, rounds * reads * images * positions / CLOCK, images * channels / CYCLES]

            labels = ["microseconds", "memory", "loads", "planes"][: 4 if layout == "channels-first" else 2]
            chosen = [each for each in rows if each["type"] == "bf16" and each["layout"] == layout and each["pass"] == direction]
            fit(f"own batch normalization {layout} {direction}", labels, features, chosen)


def sizes(row: Row) -> tuple[int, int, int, int]:
    """Elements that go in and come out, entries of the window, and those of the filter."""
    side = (row["height"] + 2 * row["pad_h"] - row["kernel_h"]) // row["stride_h"] + 1
    window = row["kernel_h"] ** 2
    inputs = row["images"] * row["channels"] * row["height"] ** 2
    return inputs, row["images"] * row["filters"] * side**2, window, row["filters"] * row["channels"] // row["groups"] * window


def depthwise(rows: Sequence[Row]) -> None:
    def features(row: Row) -> list[float]:
        inputs, outputs, window, weights = sizes(row)
        memory = 2 * (inputs + outputs) / BANDWIDTH
        if row["pass"] == "forward":
            return [1e-6, memory, outputs * window / CYCLES, outputs / CYCLES]
        if row["pass"] == "data":
            return [1e-6, memory, inputs * window / CYCLES, inputs / CYCLES]
        return [1e-6, memory, outputs * window / CYCLES, weights * MULTIPROCESSORS / CYCLES]

    last = {"forward": "outputs", "data": "inputs", "weight": "weights"}
    for layout in ("channels-first", "channels-last"):
        for direction, label in last.items():
            chosen = [
                each
                for each in rows
                if each["groups"] == each["channels"] > 1 and each["layout"] == layout and each["pass"] == direction
            ]
            fit(f"depthwise {layout} {direction}", ["microseconds", "memory", "multiplyAdds", label], features, chosen)


def padded(rows: Sequence[Row]) -> None:
    """All images are of one size, so that what a call and what an input takes cannot be told apart: it is the input's."""

    def features(row: Row) -> list[float]:
        inputs, outputs, window, _ = sizes(row)
        return [outputs * window * 3 / CYCLES, outputs / CYCLES, inputs / CYCLES]

    for layout in ("channels-first", "channels-last"):
        for direction in ("forward", "weight"):
            chosen = [
                each
                for each in rows
                if each["channels"] == 3 and each["images"] == 64 and each["layout"] == layout and each["pass"] == direction
            ]
            fit(f"padded {layout} {direction}", ["multiplyAdds", "outputs", "inputs"], features, chosen)


def pools(rows: Sequence[Row]) -> None:
    def features(row: Row) -> list[float]:
        planes = row["images"] * row["channels"]
        side = (row["side"] + 2 * row["padding"] - row["kernel"]) // row["stride"] + 1
        inputs, outputs = planes * row["side"] ** 2, planes * side**2
        indices = 8 * outputs if row["operation"] == "max" else 0
        memory = ((inputs + outputs) * BYTES[row["type"]] + indices) / BANDWIDTH
        return [1e-6, memory, outputs * row["kernel"] ** 2 / CYCLES, inputs / CYCLES]

    for kind in ("max", "average"):
        for layout in ("channels-first", "channels-last"):
            for direction in ("forward", "backward"):
                chosen = [
                    each
                    for each in rows
                    if each["operation"] == kind and each["layout"] == layout and each["pass"] == direction
                ]
                fit(f"{kind} pooling {layout} {direction}", ["microseconds", "memory", "entries", "inputs"], features, chosen)


def single_elements(rows: Sequence[Row]) -> None:
    def features(row: Row) -> list[float]:
        return [1e-6, row["rows"] * row["columns"] / CYCLES]

    for name, operation, type in (
        ("widened", "cast", "bf16"),
        ("mixed", "add-mixed", "bf16"),
        ("strided", "bias", "bf16"),
        ("transposed", "transpose", "bf16"),
    ):
        chosen = [
            each
            for each in rows
            if each["operation"] == operation and each["type"] == type and each["pass"] == "forward"
        ]
        fit(f"elements one at a time, {name}", ["microseconds", "cycles"], features, chosen)


def activations(rows: Sequence[Row]) -> None:
    """Also what draws numbers; each where its elements are narrow enough that memory does not decide."""

    def features(row: Row) -> list[float]:
        return [1e-6, row["rows"] * row["columns"] / CYCLES]

    for operation, type, directions in (
        ("gelu", "bf16", ("forward", "backward")),
        ("gelu-tanh", "bf16", ("forward", "backward")),
        ("silu", "bf16", ("forward", "backward")),
        ("dropout", "bf16", ("forward",)),
        ("dropout", "fp32", ("forward",)),
    ):
        for direction in directions:
            chosen = [
                each
                for each in rows
                if each["operation"] == operation and each["type"] == type and each["pass"] == direction
            ]
            fit(f"{operation} {type} {direction}", ["microseconds", "cycles"], features, chosen)


def main() -> None:
    path = pathlib.Path(__file__).parents[2] / "measured" / "kernels-h200.jsonl"
    with open(path, encoding="utf-8") as lines:
        _, *rows = (json.loads(line) for line in lines)
    for table, fits in (
        ("batch-norm", batch_norms),
        ("convolutions", depthwise),
        ("convolutions", padded),
        ("pooling", pools),
        ("rows", single_elements),
        ("rows", activations),
    ):
        fits([row for row in rows if row["table"] == table])


if __name__ == "__main__":
    main()
