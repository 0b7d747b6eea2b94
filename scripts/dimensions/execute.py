"""Proves dimension maps by execution, and records what was proved in test/operators/dimensions.jsonl.

Every factor of every case's map is divided into two parts: inputs that have it are cut, sizes that state it are made
smaller, the operator is applied to each part, and the results are put together as the map says. They must be those of
the operator applied to the whole. Cases are ONNX's own conformance tests, with their data, executed by ONNX's reference
implementation, and those of moreCases.py, executed by ONNX Runtime where the reference does not have the operator.

    python3 scripts/dimensions/execute.py        (needs onnx 1.16 or later; onnxruntime for its own operators)
"""

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

warnings.simplefilter("ignore")
root = Path(__file__).parents[2]
random_types = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
# Its local response normalization takes the number of samples for that of channels; it has no Scatter.
amiss_in_reference = {"LRN", "Scatter"}
names = {"float": "float32", "double": "float64"}
most_per_definition = 3


def type_name(array):
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    name = TensorProto.DataType.Name(number).lower()
    return names.get(name, name)


class Case:
    """One node with its inputs; `run` applies it to other inputs and attributes."""

    def __init__(self, name, node, inputs, opsets, ir_version, runtime="reference"):
        self.name, self.node, self.inputs, self.opsets = name, node, inputs, opsets
        self.ir_version, self.runtime = ir_version, runtime

    def record(self):
        attributes = {}
        for attribute in self.node.attribute:
            value = helper.get_attribute_value(attribute)
            if attribute.type in (AttributeProto.INT, AttributeProto.FLOAT):
                attributes[attribute.name] = value
            elif attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
                attributes[attribute.name] = list(value)
            elif attribute.type == AttributeProto.STRING:
                attributes[attribute.name] = value.decode()
            elif attribute.type == AttributeProto.STRINGS:
                attributes[attribute.name] = [text.decode() for text in value]
        version = next((v for d, v in self.opsets if (d or "ai.onnx") == (self.node.domain or "ai.onnx")), 1)
        return {
            "name": self.name,
            "domain": "" if self.node.domain == "ai.onnx" else self.node.domain,
            "type": self.node.op_type,
            "opset": version,
            "inputs": [None if array is None else self.recorded(array) for array in self.inputs],
            "attributes": attributes,
            "outputs": len(self.node.output),
        }

    @staticmethod
    def recorded(array):
        described = {"type": type_name(array), "shape": list(array.shape)}
        if array.dtype.kind in "iub" and array.size <= 16 and array.ndim <= 1:
            described["content"] = [int(element) for element in array.reshape(-1)]
        elif array.dtype == np.float32 and array.ndim == 1 and array.size <= 8 and np.isfinite(array).all():
            described["content"] = [float(element) for element in array]
        return described

    def run(self, inputs, attributes=None):
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        for attribute in node.attribute:
            if attributes and attribute.name in attributes:
                value = attributes[attribute.name]
                if attribute.type == AttributeProto.INT:
                    attribute.i = value
                else:
                    del attribute.ints[:]
                    attribute.ints.extend(value)
        given = [(name, array) for name, array in zip(node.input, inputs) if array is not None]
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), None)
            for name, array in given
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "part", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in self.opsets])
        model.ir_version = self.ir_version
        feeds = dict(given)
        if self.runtime == "reference" and node.op_type not in amiss_in_reference:
            results = ReferenceEvaluator(model).run(None, feeds)
        else:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            results = session.run(None, feeds)
        found = iter(results)
        return [next(found) if name else None for name in node.output]


def conformance_cases():
    from onnx.backend.test.case.node import collect_testcases

    for test in collect_testcases():
        graph = test.model.graph
        if len(graph.node) != 1 or test.model.functions or graph.initializer:
            continue
        [node] = graph.node
        if any(attribute.type in (AttributeProto.GRAPH, AttributeProto.TYPE_PROTO) for attribute in node.attribute):
            continue
        given = dict(zip((info.name for info in graph.input), test.data_sets[0][0]))
        inputs = [given.get(name) if name else None for name in node.input]
        inputs = [np.asarray(array) if np.isscalar(array) else array for array in inputs]
        if any(array is not None and not isinstance(array, np.ndarray) for array in inputs):
            continue
        opsets = [(opset.domain, opset.version) for opset in test.model.opset_import]
        yield Case(test.name, node, inputs, opsets, test.model.ir_version)


def cut(array, place, size, begin, end):
    axis, outer = place["axis"], place.get("outer", 1)
    inner = array.shape[axis] // (outer * size)
    shape = array.shape
    parted = array.reshape(*shape[:axis], outer, size, inner, *shape[axis + 1 :])
    index = [slice(None)] * parted.ndim
    index[axis + 1] = slice(begin, end)
    return parted[tuple(index)].reshape(*shape[:axis], outer * (end - begin) * inner, *shape[axis + 1 :])


def joined(parts, place, sizes):
    axis, outer = place["axis"], place.get("outer", 1)
    opened = []
    for part, size in zip(parts, sizes):
        shape = part.shape
        inner = shape[axis] // (outer * size)
        opened.append(part.reshape(*shape[:axis], outer, size, inner, *shape[axis + 1 :]))
    whole = np.concatenate(opened, axis=axis + 1)
    size = whole.shape[axis] * whole.shape[axis + 1] * whole.shape[axis + 2]
    return whole.reshape(*whole.shape[:axis], size, *whole.shape[axis + 3 :])


def combined(parts, by, sizes):
    if by == "mean":
        total = sum(part.astype(np.float64) * size for part, size in zip(parts, sizes)) / sum(sizes)
        return total.astype(parts[0].dtype)
    operation = {"sum": np.add, "product": np.multiply, "max": np.maximum, "min": np.minimum}[by]
    return operation.reduce(parts).astype(parts[0].dtype)


def scaled(value, part, size):
    if (value * part) % size != 0:
        raise ValueError(f"{value} cannot be divided as {part} of {size}")
    return value * part // size


def part_of(case, factor, begin, end):
    size = factor["size"]
    inputs = list(case.inputs)
    for place in factor["inputs"]:
        inputs[place["tensor"]] = cut(inputs[place["tensor"]], place, size, begin, end)
    for index in factor.get("partial", {}).get("once", []):
        if begin > 0:
            inputs[index] = np.zeros_like(inputs[index])
    attributes = {}
    for stated in factor.get("sizes", []):
        if stated["kind"] == "content":
            array = inputs[stated["input"]].copy()
            flat = array.reshape(-1)
            flat[stated["element"]] = scaled(int(flat[stated["element"]]), end - begin, size)
            inputs[stated["input"]] = flat.reshape(array.shape)
            continue
        own = next((a for a in case.node.attribute if a.name == stated["name"]), None)
        if own is None:
            continue
        if own.type == AttributeProto.INT:
            attributes[own.name] = scaled(own.i, end - begin, size)
        else:
            values = attributes.setdefault(own.name, list(own.ints))
            values[stated["element"]] = scaled(values[stated["element"]], end - begin, size)
    return case.run(inputs, attributes)


def same(left, right, kind):
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape:
        return False
    if kind == "shape":
        return True
    if left.dtype.kind in "OUSb":
        return np.array_equal(left, right)
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    tolerance = 2e-2 if left.dtype.itemsize < 4 and left.dtype.kind not in "iu" else 1e-4
    return np.allclose(wide_left, wide_right, rtol=tolerance, atol=tolerance * 0.1, equal_nan=True)


def proved(case, factor, whole):
    """'equal', or why not."""
    size = factor["size"]
    if not isinstance(size, int) or size < 2:
        return "single"
    sizes = [size // 2, size - size // 2]
    drops = case.node.op_type == "Dropout" and len(case.inputs) > 2 and bool(case.inputs[2])
    kind = "shape" if drops or case.node.op_type in random_types else "values"
    try:
        parts = [part_of(case, factor, begin, end) for begin, end in [(0, sizes[0]), (sizes[0], size)]]
        for index, output in enumerate(whole):
            if output is None:
                continue
            own = [np.asarray(part[index]) for part in parts]
            places = [place for place in factor["outputs"] if place["tensor"] == index]
            partial = factor.get("partial", {})
            if places:
                together = joined(own, places[0], sizes)
            elif index in partial.get("outputs", []):
                together = combined(own, partial["by"], sizes)
            else:
                if not same(own[0], output, kind):
                    return f"output {index} differs on a worker"
                together = own[1]
            if not same(together, output, kind):
                return f"output {index} differs"
    except Exception as error:  # noqa: BLE001 - whatever an implementation raises is a finding
        return f"{type(error).__name__}: {str(error)[:160]}"
    return "equal"


def signature(record, factors):
    places = [
        [[(p["tensor"], p["axis"], "outer" in p) for p in f["inputs"]], [(p["tensor"], p["axis"], "outer" in p) for p in f["outputs"]], f.get("partial", {}).get("by"), "coupled" in f]
        for f in factors
    ]
    return json.dumps([record["domain"], record["type"], places])


def main():
    cases = list(conformance_cases())
    sys.path.insert(0, str(Path(__file__).parent))
    from moreCases import more_cases

    cases += more_cases(Case)
    records = [case.record() for case in cases]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cases.json").write_text(json.dumps(records))
        subprocess.run(["node", root / "scripts/dimensions/maps.mjs", f"{folder}/cases.json", f"{folder}/maps.json"], check=True)
        maps = json.loads(Path(folder, "maps.json").read_text())
    kept, seen, counts, wrong = [], {}, {"equal": 0, "single": 0, "coupled": 0}, []
    for case, record, found in zip(cases, records, maps):
        if found is None or found["kind"] == "unknown":
            continue
        factors = found["factors"]
        try:
            whole = case.run(case.inputs)
        except Exception as error:  # noqa: BLE001
            wrong.append((case.name, "whole", f"{type(error).__name__}: {str(error)[:160]}"))
            continue
        results = []
        for factor in factors:
            result = proved(case, factor, whole)
            if result not in ("equal", "single") and "coupled" in factor:
                result = "coupled"
            results.append(result)
            if result in counts:
                counts[result] += 1
            else:
                wrong.append((case.name, json.dumps(factor), result))
        key = signature(record, factors)
        definition = record["domain"], record["type"]
        if key in seen.setdefault(definition, set()) or len(seen[definition]) >= most_per_definition:
            continue
        seen[definition].add(key)
        kept.append({**record, "factors": factors, "results": results})
    lines = "\n".join(json.dumps(record, separators=(",", ":"), ensure_ascii=False) for record in kept)
    (root / "test/operators/dimensions.jsonl").write_text(lines + "\n")
    print(f"{len(cases)} cases, {counts}; {len(kept)} recorded for {len(seen)} operators")
    for name, factor, result in wrong:
        print(f"WRONG {name}: {result}: {factor}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
