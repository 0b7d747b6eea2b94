"""The runner on the CPU: rules against torch's own results, a whole run, and the GPU clock by a stand-in."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "server/src/benchmark/runner"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch.utils.checkpoint  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from layercost_runner.benchmark import benchmark  # noqa: E402
from layercost_runner.caches import Caches  # noqa: E402
from layercost_runner.device import Device, EventClock, NoDevice, _library, has_gpu, is_out_of_memory, open_device  # noqa: E402
from layercost_runner.events import Events  # noqa: E402
from layercost_runner.layers import layer_key  # noqa: E402
from layercost_runner.host_lead import HostLead  # noqa: E402
from layercost_runner.measure import intervals, repeats_for, summarise  # noqa: E402
from layercost_runner.network import Network, OperatorFailure  # noqa: E402
from layercost_runner.other_work import OtherWork  # noqa: E402
from layercost_runner.plan import BadPlan, Plan  # noqa: E402
from layercost_runner.program import CannotWrite, record  # noqa: E402
from layercost_runner.standalone import write_standalone  # noqa: E402
from layercost_runner.state import Look, _cudnn_text, watched  # noqa: E402
from layercost_runner.step import written_step  # noqa: E402
from layercost_runner.trace_kernels import kernels_of_step  # noqa: E402
from layercost_runner.update import Update, optimizer_of  # noqa: E402

has_selective = hasattr(torch.utils.checkpoint, "create_selective_checkpoint_contexts")
has_early_stop = hasattr(torch.utils.checkpoint, "set_checkpoint_early_stop")

VALUES = "name role elementType shape gradient".split()


def value(name, role, shape, kind="float32", gradient=None, **more):
    trains = role in ("parameter", "activation") if gradient is None else gradient
    return {**dict(zip(VALUES, (name, role, kind, shape, trains))), **more}


def operator(type_, inputs, outputs, domain="", **attributes):
    return dict(name=outputs[0], type=type_, domain=domain, inputs=inputs, outputs=outputs, attributes=attributes)


def plan(values, operators, outputs, **changes):
    layers = [{"name": entry["name"], "type": entry["type"], "operators": [i]} for i, entry in enumerate(operators)]
    given = dict(
        version=3, caches="hot", recomputed=[], reentrant=False, model="test", batch=2, mode="training", precision="fp32", optimizer="adamw", channelsLast=False,
        accumulate=1, compile=None, optimizerKernels="foreach", clipsNorm=False, addsGradients=False, weights="fp32",
        convTf32=True,
        budgetSeconds=0.2, opset=17, values=values, operators=operators, layers=layers, outputs=outputs,
    )
    return Plan.from_json({**given, **changes})


def small_plan(**changes):
    return plan(
        [value("x", "input", [2, 16]), value("w", "parameter", [16, 8]), value("y", "activation", [2, 8]),
         value("z", "activation", [2, 8])],
        [operator("MatMul", ["x", "w"], ["y"]), operator("Relu", ["y"], ["z"])],
        ["z"],
        **changes,
    )


def events_of(given, device="cpu"):
    stream = io.StringIO()
    benchmark(given, open_device(device, given.precision), Events(stream))
    return [json.loads(line) for line in stream.getvalue().splitlines()]


class TooLarge(unittest.TestCase):
    """A step that no memory has room for: 2^50 floats."""

    def huge_plan(self, **changes):
        values = [
            value("x", "input", [2, 4]),
            value("w", "parameter", [4, 3]),
            value("shape", "constant", [3], "int64", False, elements=[2**40, 2, 4]),
            value("y", "activation", [2, 3]),
            value("z", "activation", [2**40, 2, 4]),
            value("loss", "activation", [2**40, 2, 4]),
        ]
        operators = [
            operator("MatMul", ["x", "w"], ["y"]),
            operator("Expand", ["x", "shape"], ["z"]),
            operator("Exp", ["z"], ["loss"]),
        ]
        return plan(values, operators, ["y", "loss"], **changes)

    def test_its_layers_are_measured_alone(self):
        events = events_of(self.huge_plan())
        step = next(event for event in events if event["event"] == "step")
        self.assertEqual(step["reason"], "the whole step does not fit into memory at batch 2: lower the batch")
        measured = [event["name"] for event in events if event["event"] == "layer" and event["forward"] is not None]
        self.assertIn("y", measured)

    def test_it_ends_the_run_where_the_plan_says_so(self):
        with self.assertRaises(RuntimeError) as raised:
            events_of(self.huge_plan(endsWhereTooLarge=True))
        self.assertTrue(is_out_of_memory(raised.exception))


class WholeRun(unittest.TestCase):
    def test_every_layer_and_the_step_are_measured(self):
        for optimizer in ("sgd", "momentum", "adam", "adamw", "adagrad", "rmsprop", "none"):
            with self.subTest(optimizer):
                events = events_of(small_plan(optimizer=optimizer))
                step = next(event for event in events if event["event"] == "step")
                layers = [event for event in events if event["event"] == "layer"]
                self.assertGreater(step["whole"]["median"], 0)
                self.assertGreaterEqual(step["whole"]["repeats"], 3)
                self.assertEqual(step["update"] is None, optimizer == "none")
                self.assertEqual([layer["name"] for layer in layers], ["y", "z"])
                self.assertTrue(all(layer["forward"] and layer["backward"] for layer in layers))

    def test_an_optimizer_that_this_torch_lacks_is_named(self):
        plan = small_plan(optimizer="adafactor")
        if hasattr(torch.optim, "Adafactor"):
            self.assertIsNotNone(next(event for event in events_of(plan) if event["event"] == "step")["update"])
        else:
            with self.assertRaisesRegex(Exception, "has no Adafactor: install a newer one"):
                events_of(plan)

    def test_inference_has_no_backward(self):
        events = events_of(small_plan(mode="inference"))
        self.assertTrue(all(event["backward"] is None for event in events if event["event"] == "layer"))

    def test_bf16_runs_in_mixed_precision(self):
        given = small_plan(precision="bf16")
        network = Network(given, torch.device("cpu"))
        with open_device("cpu", "bf16").autocast():
            (output,) = network.forward(after=network.look)
        self.assertEqual(output.dtype, torch.bfloat16)
        self.assertEqual(network.stored("w").dtype, torch.float32)
        self.assertEqual(network.activation("y").dtype, torch.bfloat16)

    def test_an_unknown_operator_costs_its_layer_and_the_step_only(self):
        given = plan(
            [value("x", "input", [2, 8]), *(value(name, "activation", [2, 8], gradient=False) for name in "abc")],
            [operator("Relu", ["x"], ["a"]), operator("Mystery", ["a"], ["b"], domain="acme"),
             operator("Tanh", ["b"], ["c"])],
            ["c"],
        )
        events = {event.get("name", event["event"]): event for event in events_of(given)}
        self.assertIn("the runner does not know the operator Mystery of domain acme", events["step"]["reason"])
        self.assertIsNotNone(events["a"]["forward"])
        self.assertIn("Mystery", events["b"]["reason"])
        self.assertIsNotNone(events["c"]["forward"])

    def test_a_shape_that_differs_is_noted_not_fatal(self):
        given = plan([value("x", "input", [2, 8]), value("y", "activation", [2, 9])],
                     [operator("Relu", ["x"], ["y"])], ["y"])
        notes = [event["message"] for event in events_of(given) if event["event"] == "note"]
        self.assertEqual(notes, ["Relu gave y the shape [2, 8], predicted was [2, 9]; what ran was measured"])

    def test_indices_stay_inside_their_table(self):
        given = plan(
            [value("ids", "input", [2, 50], "int64", False, limit=3), value("table", "parameter", [3, 4]),
             value("y", "activation", [2, 50, 4])],
            [operator("Gather", ["table", "ids"], ["y"])], ["y"],
        )
        self.assertTrue(any(e["event"] == "layer" and e["backward"] for e in events_of(given)))

    def test_another_version_is_refused(self):
        with self.assertRaisesRegex(BadPlan, "version 1"):
            Plan.from_json({"version": 1})


GELU_PARTS = [
    operator("Div", ["x", "root"], ["a"]),
    operator("Erf", ["a"], ["b"]),
    operator("Add", ["b", "one"], ["c"]),
    operator("Mul", ["x", "c"], ["d"]),
    operator("Mul", ["d", "half"], ["y"]),
]


def gelu_plan(half=0.5, **changes):
    """GELU as one call, with the five operators that it stands for."""
    numbers = {"root": 2**0.5, "one": 1.0, "half": half}
    values = [value("x", "parameter", [4, 8])]
    values += [value(name, "constant", [], elements=[number]) for name, number in numbers.items()]
    values += [value(name, "activation", [4, 8]) for name in "abcdy"]
    whole = {**operator("Gelu", ["x"], ["y"]), "parts": GELU_PARTS}
    return plan(values, [whole], ["y"], **changes)


class Programs(unittest.TestCase):
    def recorded(self, given):
        network = Network(given, torch.device("cpu"))
        network.forward()
        program = record(lambda recorder: network.forward(before=lambda each: recorder.comment(each.type)), network.tensors())
        return network, program, [network.tensors()[name] for name in program.inputs]

    def test_a_program_computes_what_the_plan_does(self):
        network, program, given = self.recorded(small_plan())
        expected, found = network.forward(), program.run(*given)
        self.assertTrue(torch.equal(expected[0], found[0]))
        weight = network.parameters()
        gradients = [torch.autograd.grad(result[0].sum(), weight)[0] for result in (expected, found)]
        self.assertTrue(torch.equal(*gradients))
        self.assertIn("# MatMul", program.source)
        self.assertIn("return [v2]", program.source)

    def test_what_nobody_reads_is_let_go_of(self):
        _, program, _ = self.recorded(small_plan())
        self.assertIn("    del v1\n", program.source)

    def test_several_results_and_indices_are_written(self):
        def run(_):
            first, second = torch.split(x, [1, 3], dim=1)
            return [first * 2.0, second[:, 1:], x[..., -1], torch.full([2], float("inf"))]

        x = torch.randn(2, 4)
        program = record(run, {"x": x})
        for expected, found in zip(run(None), program.run(x)):
            self.assertTrue(torch.equal(expected, found))

    def test_a_tensor_from_elsewhere_cannot_be_written(self):
        hidden = torch.ones(2)
        with self.assertRaises(CannotWrite):
            record(lambda _: [torch.ones(2) + hidden], {})

    def test_the_step_is_a_file_that_runs_alone(self):
        for changes in ({}, {"mode": "inference"}, {"precision": "bf16"}):
            [event] = [each for each in events_of(small_plan(**changes)) if each["event"] == "program"]
            printed = subprocess.run([sys.executable, "-c", event["source"]], capture_output=True, text=True, check=True)
            self.assertRegex(printed.stdout, r"(step|pass) 10: [0-9.]+ ms")

    def test_the_file_has_every_option_of_the_step(self):
        for changes, line in (
            ({"accumulate": 3}, "for _ in range(3):"),
            ({"clipsNorm": True}, "clip_grad_norm_(trained, 1.0)"),
            ({"addsGradients": True}, "tensor.grad.zero_()"),
            ({"optimizer": "adamw", "optimizerKernels": "loop"}, "AdamW(trained, lr=1e-9, foreach=False)"),
            ({"optimizer": "momentum", "optimizerKernels": "fused"}, "SGD(trained, lr=1e-9, fused=True, momentum=0.9)"),
            ({"optimizer": "adafactor"}, "Adafactor(trained, lr=1e-9, foreach=False)"),
            ({"optimizer": "none"}, "for tensor in trained:"),
            ({"precision": "bf16", "weights": "half-with-copy"}, "tensor.copy_(copy)"),
        ):
            with self.subTest(changes):
                network, program, _ = self.recorded(small_plan(**changes))
                source = write_standalone(program, network.plan, network.plan.precision, network.tensors())
                self.assertIn(line, source)
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(source, {"__name__": "__main__"})
                self.assertRegex(printed.getvalue(), r"step 10: [0-9.]+ ms")

    def test_the_file_compiles_as_the_step_does(self):
        network, program, _ = self.recorded(small_plan(compile="max-autotune"))
        source = write_standalone(program, network.plan, "fp32", network.tensors())
        self.assertIn("torch.compile(forward, mode='max-autotune')", source)

    def test_one_call_runs_where_it_computes_what_its_parts_do(self):
        network, program, _ = self.recorded(gelu_plan())
        self.assertEqual(network.written_out, [])
        self.assertIn("gelu(", program.source)
        self.assertNotIn("erf", program.source)

    def test_a_number_of_the_plan_is_a_number_of_the_program(self):
        _, program, _ = self.recorded(gelu_plan(half=0.75))
        self.assertRegex(program.source, r"mul\(v\d+, 0\.75\)")
        self.assertNotIn("half", program.source)

    def test_parts_run_where_one_call_gives_other_numbers(self):
        network, program, _ = self.recorded(gelu_plan(half=0.75))
        self.assertEqual([each.type for each in network.written_out], ["Gelu"])
        self.assertIn("erf(", program.source)
        [note] = [each["message"] for each in events_of(gelu_plan(half=0.75)) if each["event"] == "note"]
        self.assertRegex(note, "one call of Gelu gives other numbers")


def blocks_plan(keeping=None, reentrant=False, **changes):
    """Two blocks of two matmuls and a GELU each, between two matmuls, the blocks recomputed as `keeping` says."""
    names = [f"h{index}" for index in range(8)]
    values = [value("x", "input", [3, 8]), *(value(f"w{index}", "parameter", [8, 8]) for index in range(6))]
    values += [value(name, "activation", [3, 8]) for name in names]
    operators, inside, weight = [], "x", 0
    for index, name in enumerate(names):
        if index in (2, 5):
            operators.append(operator("Gelu", [inside], [name]))
        else:
            operators.append(operator("MatMul", [inside, f"w{weight}"], [name]))
            weight += 1
        inside = name
    recomputed = [{"operators": part, "keeping": keeping} for part in ([1, 2, 3], [4, 5, 6])] if keeping else []
    return plan(values, operators, [names[-1]], recomputed=recomputed, reentrant=reentrant, **changes)


class CountMatmuls(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func == torch.ops.aten.mm.default
        return func(*args, **(kwargs or {}))


class CountOperators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def step_of_blocks(**changes):
    """Gradients of a step as its program computes them, the matmuls of its backward, and what a log of it says."""
    torch.manual_seed(0)
    given = blocks_plan(**changes)
    network, stream = Network(given, torch.device("cpu")), io.StringIO()
    network.forward()
    forward = written_step(network, open_device("cpu", "fp32"), Events(stream))
    [output] = forward()
    with CountMatmuls() as counted:
        torch.autograd.backward([output], [torch.ones_like(output)])
    return [weight.grad for weight in network.parameters()], counted.count, stream.getvalue()


class Checkpointing(unittest.TestCase):
    # Backward of six matmuls behind an input that needs no gradient is eleven. Each block ends with a matmul: recomputed
    # to the end, both are; else what it gives is not needed, and only the first is.
    cases = [("nothing", False, 13), ("nothing", True, 15), ("matmuls", False, 11), ("alternate matmuls", False, 11)]

    def test_gradients_are_the_same_and_what_is_not_kept_runs_again(self):
        expected, count, _ = step_of_blocks()
        self.assertEqual(count, 11)
        for keeping, reentrant, count in self.cases:
            if keeping != "nothing" and not has_selective:
                continue
            with self.subTest(keeping, reentrant=reentrant):
                found, counted, said = step_of_blocks(keeping=keeping, reentrant=reentrant)
                for one, other in zip(expected, found):
                    self.assertTrue(torch.allclose(one, other, rtol=1e-5, atol=1e-6))
                self.assertEqual(counted, count if has_early_stop or keeping != "nothing" else 15)
                self.assertNotIn('"note"', said)

    def test_the_program_has_a_function_for_each_block(self):
        events = events_of(blocks_plan(keeping="nothing"))
        [source] = [each["source"] for each in events if each["event"] == "program"]
        self.assertIn("v4 = checkpoint(partial(block_1, w1, w2), v1, use_reentrant=False)", source)
        self.assertIn("def block_2(w3, w4, v4):", source)
        printed = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
        self.assertRegex(printed.stdout, r"step 10: [0-9.]+ ms")

    def test_a_block_with_others_between_its_operators_is_noted(self):
        given = plan([value("x", "input", [2, 4]), value("w", "parameter", [4, 4]),
                      *(value(name, "activation", [2, 4]) for name in "abc")],
                     [operator("MatMul", ["x", "w"], ["a"]), operator("Relu", ["a"], ["b"]), operator("Tanh", ["b"], ["c"])],
                     ["c"], recomputed=[{"operators": [0, 2], "keeping": "nothing"}])
        notes = [event["message"] for event in events_of(given) if event["event"] == "note"]
        self.assertEqual(notes, ["1 checkpointed blocks ran in 2 parts: other operators run between theirs"])

    def test_selective_checkpointing_is_refused_where_torch_lacks_it(self):
        with mock.patch("layercost_runner.checkpoint.hasattr", return_value=False, create=True):
            [step] = [each for each in events_of(blocks_plan(keeping="matmuls")) if each["event"] == "step"]
        self.assertRegex(step["reason"], "has no selective checkpointing, which came with 2.4: choose checkpoint block")


def sends(given, event):
    return [each for each in events_of(given) if each["event"] == event]


class Layers(unittest.TestCase):
    def test_gradients_of_data_and_weights_are_timed_apart(self):
        first, second = sends(
            plan([value("x", "input", [4, 8]), value("w", "parameter", [8, 8]), value("v", "parameter", [8, 8]),
                  value("y", "activation", [4, 8]), value("z", "activation", [4, 8])],
                 [operator("MatMul", ["x", "w"], ["y"]), operator("MatMul", ["y", "v"], ["z"])], ["z"]),
            "layer",
        )
        # The input of the network takes no gradient: all backward of the first layer is of its weights.
        self.assertEqual(first["weightGradient"], first["backward"])
        self.assertNotIn("dataGradient", first)
        self.assertTrue(all(second[part]["median"] > 0 for part in ("backward", "dataGradient", "weightGradient")))
        self.assertTrue(all(layer["forwardInStep"] > 0 for layer in (first, second)))

    def test_layers_alike_are_measured_once(self):
        layers = sends(blocks_plan(), "layer")
        # The first reads the input, which takes no gradient.
        self.assertEqual([layer.get("sameAs") for layer in layers], [None, None, None, "h1", "h1", "h2", "h1", "h1"])
        self.assertEqual(layers[3]["forward"], layers[1]["forward"])

    def test_layers_of_other_shapes_layouts_or_contents_are_not_alike(self):
        def keys(*shapes, elements=(1.0, 1.0), **changes):
            values = [value(f"x{i}", "input", shape) for i, shape in enumerate(shapes)]
            values += [value(f"c{i}", "constant", [], elements=[number]) for i, number in enumerate(elements)]
            values += [value(f"y{i}", "activation", shape) for i, shape in enumerate(shapes)]
            adds = [operator("Add", [f"x{i}", f"c{i}"], [f"y{i}"]) for i in range(2)]
            given = plan(values, adds, ["y0", "y1"], **changes)
            network = Network(given, torch.device("cpu"))
            network.forward(after=network.look)
            return [layer_key(network, layer) for layer in given.layers]

        self.assertEqual(*keys([2, 3], [2, 3]))
        self.assertNotEqual(*keys([2, 3], [2, 4]))
        self.assertNotEqual(*keys([2, 3], [2, 3], elements=(1.0, 2.0)))

    def test_sums_of_gradients_that_several_layers_make_are_measured(self):
        values = [value("x", "input", [4, 8]), value("w", "parameter", [8, 8])]
        values += [value(name, "activation", [4, 8]) for name in "yzs"]
        operators = [operator("MatMul", ["x", "w"], ["y"]), operator("MatMul", ["y", "w"], ["z"]),
                     operator("Add", ["y", "z"], ["s"])]
        [sums] = sends(plan(values, operators, ["s"]), "gradientSums")
        # Of the weight, and of what goes around the second product.
        self.assertEqual(sums["count"], 2)
        self.assertGreater(sums["seconds"], 0)

    def test_caches_are_flushed_and_what_was_just_written_is_read(self):
        device = open_device("cpu", "fp32")
        caches = Caches(device, "cold")
        with CountOperators() as counted:
            caches.settle([torch.ones(4), torch.ones(4, dtype=torch.bool), torch.ones(0)])
        self.assertEqual(counted.names[-3:], ["amax", "clone", "clone"])
        self.assertIn("zero_", counted.names)
        with CountOperators() as counted:
            Caches(device, "hot").settle([torch.ones(4)])
        self.assertEqual(counted.names, ["ones"])

    def test_the_step_is_measured_again_behind_the_layers(self):
        names = [each["event"] for each in events_of(small_plan()) if each["event"] not in ("progress", "note")]
        self.assertEqual(names, ["program", "step", "layer", "layer", "gradientSums", "stepAgain"])


class Options(unittest.TestCase):
    def step_of(self, **changes):
        [step] = [event for event in events_of(small_plan(**changes)) if event["event"] == "step"]
        return step

    def test_every_pass_of_an_accumulated_step_runs(self):
        calls = []
        with mock.patch("torch.autograd.backward", side_effect=lambda *_: calls.append(1)):
            step = self.step_of(accumulate=3)
        # A warm-up before each measurement of the step, and three runs of the second.
        runs = 1 + step["whole"]["repeats"] + 1 + 3
        self.assertEqual(len(calls), 3 * runs)

    def test_gradients_are_clipped(self):
        with mock.patch("torch.nn.utils.clip_grad_norm_") as clip:
            self.step_of(clipsNorm=True)
            self.assertGreater(clip.call_count, 1)

    def test_weights_in_half_precision_are_not_cast(self):
        given = small_plan(precision="bf16", weights="half")
        device = open_device("cpu", "bf16")
        device.half_weights = True
        network = Network(given, device.torch_device, device.half)
        with device.autocast():
            [result] = network.forward()
        self.assertEqual(network.stored("w").dtype, torch.bfloat16)
        self.assertEqual(result.dtype, torch.bfloat16)

    def test_the_optimizer_updates_an_fp32_copy_of_half_weights(self):
        given = small_plan(precision="bf16", weights="half-with-copy", optimizer="sgd")
        device = open_device("cpu", "bf16")
        device.half_weights = True
        weight = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
        update = Update(given, device, [weight])
        weight.grad = torch.full([4], 2.0**20, dtype=torch.bfloat16)
        for _ in range(4):
            update.step()
        # Four steps of 2^20 · 1e-9, each too small for bf16 to see.
        self.assertLess(weight[0].item(), 1.0)
        self.assertEqual(weight.dtype, torch.bfloat16)

    def test_the_optimizer_has_the_kernels_that_are_asked_for(self):
        for kernels, options in (("foreach", {"foreach": True}), ("loop", {"foreach": False})):
            made = optimizer_of(small_plan(optimizerKernels=kernels), [torch.ones(2, requires_grad=True)])
            self.assertLessEqual(options.items(), made.defaults.items())

    def test_kernels_that_this_torch_lacks_are_named(self):
        with mock.patch("inspect.signature") as signature:
            signature.return_value.parameters = {}
            step = self.step_of(optimizerKernels="fused")
        self.assertRegex(step["reason"], "has no fused AdamW")


class Rules(unittest.TestCase):
    def check(self, type_, arrays, expected, opset=17, elements=None, **attributes):
        names = [f"i{index}" for index in range(len(arrays))]
        values = [
            value(name, "constant", list(array.shape), str(array.dtype).split(".")[1], False,
                  elements=array.flatten().tolist())
            for name, array in zip(names, arrays)
        ]
        given = plan([*values, value("y", "activation", list(expected.shape), gradient=False)],
                     [operator(type_, names, ["y"], **attributes)], ["y"], opset=opset, mode="inference")
        (found,) = Network(given, torch.device("cpu")).forward()
        self.assertEqual(found.shape, expected.shape)
        self.assertTrue(torch.allclose(found.double(), expected.double(), atol=1e-5), f"{found} is not {expected}")

    def test_rules_compute_what_onnx_says(self):
        x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) - 7
        ints = lambda *entries: torch.tensor(entries)  # noqa: E731
        image = torch.randn(1, 2, 5, 5)
        kernel = torch.randn(3, 2, 3, 3)
        cases = [
            ("SoftmaxCrossEntropyLoss", [x[:, :, 0], ints(0, 2)], F.cross_entropy(x[:, :, 0], ints(0, 2)), {}),
            ("SoftmaxCrossEntropyLoss", [x, ints([0, 1, 2, 0], [1, 1, 0, 2])],
             F.cross_entropy(x, ints([0, 1, 2, 0], [1, 1, 0, 2]), reduction="sum"), {"reduction": "sum"}),
            # Classes last, with a label for each token.
            ("SoftmaxCrossEntropyLoss", [x, ints([0, 1, 3], [1, 1, 0])],
             F.cross_entropy(x.flatten(0, 1), ints(0, 1, 3, 1, 1, 0)), {}),
            ("Slice", [x, ints(3), ints(-(2**53)), ints(2), ints(-2)], x.flip(2)[:, :, ::2], {}),
            ("Slice", [x, ints(1), ints(2**53), ints(1)], x[:, 1:], {}),
            ("Reshape", [x, ints(0, -1)], x.reshape(2, 12), {}),
            ("Squeeze", [x[:1], ints(0)], x[0], {}),
            ("Unsqueeze", [x, ints(0, -1)], x[None, ..., None], {}),
            ("Gather", [x, ints(-1, 0)], x[:, :, [3, 0]], {"axis": 2}),
            ("Gather", [x, torch.tensor(1)], x[:, 1], {"axis": 1}),
            ("Pad", [x, ints(0, 0, 1, 0, 0, 2)], torch.nn.functional.pad(x, (1, 2)), {}),
            ("Div", [ints(-7), ints(2)], ints(-3), {}),
            ("Div", [ints(-7, 5), torch.tensor(2)], ints(-3, 2), {}),
            # A number on either side, also of one element as exporters write it.
            ("Add", [torch.tensor(0.5), x], x + 0.5, {}),
            ("Sub", [x, torch.tensor(0.5)], x - 0.5, {}),
            ("Sub", [torch.tensor(0.5), x], 0.5 - x, {}),
            ("Mul", [x, torch.tensor([0.5])], x * 0.5, {}),
            ("Mul", [x[0, 0], torch.tensor([[0.5]])], x[:1, 0] * 0.5, {}),
            ("Div", [x, torch.tensor(0.5)], x / 0.5, {}),
            ("Div", [torch.tensor(0.5), x + 0.25], 0.5 / (x + 0.25), {}),
            ("Less", [torch.tensor(2.0), x], x > 2, {}),
            ("GreaterOrEqual", [torch.tensor(2.0), x], x <= 2, {}),
            ("Greater", [x, torch.tensor(2.0)], x > 2, {}),
            ("Mod", [ints(-7, 5), torch.tensor(3)], ints(2, 2), {}),
            ("Softmax", [x], torch.softmax(x, -1), {}),
            ("ReduceMean", [x], x.mean((0, 2), keepdim=True), {"axes": [0, 2]}),
            ("Flatten", [x], x.reshape(6, 4), {"axis": 2}),
            ("Clip", [x, torch.tensor(0.0), torch.tensor(6.0)], x.clamp(0, 6), {}),
            ("Gemm", [x[0], x[1], x[0, :, 0]], x[0] @ x[1].t() + x[0, :, 0], {"transB": 1}),
            ("Conv", [image, kernel], torch.nn.functional.conv2d(torch.nn.functional.pad(image, (0, 1, 0, 1)), kernel),
             {"pads": [0, 0, 1, 1]}),
            ("Conv", [image, kernel], torch.nn.functional.conv2d(image, kernel, padding=1), {"auto_pad": "SAME_UPPER"}),
        ]
        for type_, arrays, expected, attributes in cases:
            with self.subTest(type_, **attributes):
                self.check(type_, arrays, expected, **attributes)

    def test_attention_agrees_with_itself_written_out(self):
        q = torch.randn(1, 2, 3, 4)
        causal = torch.ones(3, 3, dtype=torch.bool).triu(1)
        scores = (q @ q.transpose(-2, -1) / 2).masked_fill(causal, float("-inf"))
        self.check("Attention", [q, q, q], torch.softmax(scores, -1) @ q, opset=23, is_causal=1)

    def test_a_loss_takes_caffes_images_of_one_pixel(self):
        scores, labels = torch.randn(2, 5, 1, 1), torch.tensor([3, 0])
        expected = F.cross_entropy(scores.flatten(1), labels)
        self.check("SoftmaxCrossEntropyLoss", [scores, labels], expected)

    def test_a_table_of_one_sample_serves_a_batch(self):
        table, indices = torch.arange(6.0).reshape(1, 6), torch.tensor([[1, 2], [5, 0]])
        self.check("GatherElements", [table, indices], torch.tensor([[1.0, 2.0], [5.0, 0.0]]), axis=1)

    def test_a_mask_holds_for_as_many_elements_as_there_are(self):
        x, source = torch.zeros(2, 3), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        expected = torch.tensor([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]])
        for held in (True, False):
            mask = torch.full((2, 3), held)
            self.check("MaskedScatter", [x, mask, source], expected, domain="layercost")

    def test_a_rule_that_fails_names_its_operator(self):
        given = plan([value("a", "input", [2, 3]), value("y", "activation", [2, 3])],
                     [operator("MatMul", ["a", "a"], ["y"])], ["y"])
        with self.assertRaisesRegex(OperatorFailure, "MatMul y failed"):
            Network(given, torch.device("cpu")).forward()


def recurrence(kind, x, w, r, b, reverse):
    """The equations of ONNX Operators, LSTM-22, GRU-22 (linear_before_reset) and RNN-22, for one direction."""
    size = r.shape[-1]
    hidden, cell = x.new_zeros(x.shape[1], size), x.new_zeros(x.shape[1], size)
    given, fed = b.split(b.shape[0] // 2)
    steps = []
    for step in reversed(x) if reverse else x:
        into, back = step @ w.t() + given, hidden @ r.t() + fed
        if kind == "LSTM":
            i, o, f, c = (into + back).split(size, dim=1)
            cell = f.sigmoid() * cell + i.sigmoid() * c.tanh()
            hidden = o.sigmoid() * cell.tanh()
        elif kind == "GRU":
            z, reset, _ = (into + back).split(size, dim=1)
            new = (into[:, 2 * size :] + reset.sigmoid() * back[:, 2 * size :]).tanh()
            hidden = (1 - z.sigmoid()) * new + z.sigmoid() * hidden
        else:
            hidden = (into + back).tanh()
        steps.append(hidden)
    return torch.stack(steps[::-1] if reverse else steps), hidden, cell


class Recurrent(unittest.TestCase):
    def plan_of(self, kind, gates, directions, **attributes):
        results = ["y", "h", "c"] if kind == "LSTM" else ["y", "h"]
        shapes = {"w": [directions, gates * 4, 3], "r": [directions, gates * 4, 4], "b": [directions, gates * 8]}
        values = [value("x", "parameter", [5, 2, 3])]
        values += [value(name, "parameter", shape) for name, shape in shapes.items()]
        values += [value(name, "activation", [5, directions, 2, 4] if name == "y" else [directions, 2, 4]) for name in results]
        given = operator(kind, ["x", "w", "r", "b"], results, hidden_size=4, **attributes)
        return plan(values, [given], results)

    def test_outputs_and_gradients_are_those_of_the_equations(self):
        for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            for direction, directions in (("forward", 1), ("bidirectional", 2)):
                with self.subTest(kind, direction=direction):
                    more = {"linear_before_reset": 1} if kind == "GRU" else {}
                    given = self.plan_of(kind, gates, directions, direction=direction, **more)
                    network = Network(given, torch.device("cpu"))
                    found = network.forward(after=network.look)
                    x, w, r, b = (network.stored(name) for name in "xwrb")
                    each = [recurrence(kind, x, w[i], r[i], b[i], i == 1) for i in range(directions)]
                    expected = [torch.stack(parts, dim=1 if at == 0 else 0) for at, parts in enumerate(zip(*each))]
                    expected = expected[: len(found)]
                    for one, other in zip(expected, found):
                        self.assertTrue(torch.allclose(one, other, atol=1e-5))
                    gradients = [
                        torch.autograd.grad(sum(each.square().sum() for each in some), [x, w, r, b])
                        for some in (expected, found)
                    ]
                    for one, other in zip(*gradients):
                        self.assertTrue(torch.allclose(one, other, rtol=1e-3, atol=1e-4))
                    program = record(lambda _: network.forward(), network.tensors())
                    again = program.run(*[network.tensors()[name] for name in program.inputs])
                    self.assertTrue(torch.equal(again[0], found[0]))

    def test_other_forms_are_named(self):
        for kind, gates, attributes, reason in (
            ("GRU", 3, {}, "resets before its matmul"),
            ("LSTM", 4, {"clip": 1.0}, "LSTM with clip"),
            ("LSTM", 4, {"activations": ["Relu", "Tanh", "Tanh"]}, "LSTM with activations relu, tanh, tanh"),
            ("RNN", 1, {"direction": "reverse"}, "RNN in reverse alone"),
        ):
            with self.subTest(reason), self.assertRaisesRegex(OperatorFailure, reason):
                Network(self.plan_of(kind, gates, 1, **attributes), torch.device("cpu")).forward()


class Timing(unittest.TestCase):
    def test_median_and_quartiles(self):
        self.assertEqual(summarise([4, 1, 100, 2, 3]), {"median": 3, "low": 2, "high": 4, "repeats": 5})
        self.assertEqual(summarise([5])["median"], 5)

    def test_repeats_fit_the_budget(self):
        self.assertEqual(repeats_for(1.0, 10.0, 3, 20), 10)
        self.assertEqual(repeats_for(9.0, 10.0, 3, 20), 3)
        self.assertEqual(repeats_for(0.001, 10.0, 3, 20), 20)

    def test_the_gpu_is_waited_for_only_after_warm_up_and_at_the_end(self):
        calls = []

        class Event:
            def __init__(self, enable_timing):
                assert enable_timing
                self.synchronized = False

            def record(self):
                calls.append("record")

            def elapsed_time(self, other):
                # Reading a time before the device is done is an error in CUDA.
                assert calls[-1] in ("synchronize", "read")
                calls.append("read")
                return 2.0

        with mock.patch.object(torch.cuda, "Event", Event), mock.patch.object(
            torch.cuda, "synchronize", lambda: calls.append("synchronize")
        ):
            clock = EventClock(torch.cuda)
            (span,) = intervals(clock, lambda: [clock.mark(), clock.mark()], 0.0, fewest=3, most=9, warm_ups=2)
        self.assertEqual(span, [0.002] * 3)
        warm_up = ["record", "record", "synchronize"]
        self.assertEqual(calls, warm_up * 2 + ["record"] * 6 + ["synchronize"] + ["read"] * 3)


class HostLeads(unittest.TestCase):
    def test_a_gpu_is_kept_busy_until_all_is_launched(self):
        held = []
        with mock.patch.object(torch.cuda, "_sleep", held.append, create=True):
            lead = HostLead(Device("cuda", "fake", "fp32"))
            for _ in range(4):
                with lead.ahead("forward"):
                    time.sleep(0.001)
        # Nothing is known before the first run.
        self.assertEqual(len(held), 3)
        self.assertTrue(all(cycles > 0.001 * 2e9 for cycles in held))
        self.assertGreater(lead.seconds("forward", 1), 0.001)
        self.assertIsNone(lead.seconds("backward", 1))

    def test_a_processor_has_no_queue(self):
        lead = HostLead(Device("cpu", "fake", "fp32"))
        for _ in range(2):
            with lead.ahead("forward"):
                pass
        self.assertIsNone(lead.seconds("forward", 1))


def traced_operator(name, ts, dur, identity, sequence=None, forward_thread=None, tid=1):
    args = {"External id": identity}
    if sequence is not None:
        args.update({"Sequence number": sequence, "Fwd thread id": forward_thread or 0})
    return {"ph": "X", "cat": "cpu_op", "name": name, "tid": tid, "ts": ts, "dur": dur, "args": args}


def annotation(name, ts, dur):
    return {"ph": "X", "cat": "user_annotation", "name": name, "tid": 1, "ts": ts, "dur": dur}


def kernel(name, ts, dur, identity):
    return {"ph": "X", "cat": "kernel", "name": name, "tid": 7, "ts": ts, "dur": dur, "args": {"External id": identity}}


class Traces(unittest.TestCase):
    #: Two layers, each one product; backward on a thread of its own, in which an operator runs inside the node's; an update.
    host = [
        annotation("layercost layer 0", 0, 20),
        traced_operator("aten::linear", 1, 15, 1, 4),
        traced_operator("aten::addmm", 2, 10, 2, 5),
        annotation("layercost layer 1", 20, 20),
        traced_operator("aten::addmm", 22, 10, 3, 6),
        traced_operator("autograd::engine::evaluate_function: AddmmBackward0", 50, 20, 4, 6, 1, tid=2),
        traced_operator("aten::mm", 52, 5, 5, 9, 0, tid=2),
        traced_operator("aten::mm", 60, 5, 6, 9, 0, tid=2),
        traced_operator("autograd::engine::evaluate_function: AddmmBackward0", 70, 10, 7, 5, 1, tid=2),
        traced_operator("aten::mm", 72, 5, 8, 9, 0, tid=2),
        annotation("layercost update", 90, 10),
        traced_operator("aten::_foreach_add_", 91, 8, 9),
    ]

    def test_kernels_belong_to_the_layers_that_launched_them(self):
        found = kernels_of_step(
            [
                *self.host,
                kernel("gemm", 30, 10, 2),
                kernel("gemm", 40, 20, 3),
                kernel("dgrad", 60, 10, 5),
                kernel("wgrad", 70, 30, 6),
                kernel("wgrad", 105, 5, 8),
                kernel("adds", 110, 4, 9),
                kernel("memset", 114, 1, 77),
            ]
        )
        self.assertEqual(
            found.layers,
            {
                0: {
                    "forward": {"seconds": 10e-6, "kernels": 1, "longest": "gemm"},
                    "backward": {"seconds": 5e-6, "kernels": 1, "longest": "wgrad"},
                },
                1: {
                    "forward": {"seconds": 20e-6, "kernels": 1, "longest": "gemm"},
                    "backward": {"seconds": 40e-6, "kernels": 2, "longest": "wgrad"},
                },
            },
        )
        step = {key: value for key, value in found.step.items() if key not in ("span", "busy", "longestGap")}
        self.assertEqual(
            step,
            {
                "onDevice": True,
                "update": {"seconds": 4e-6, "kernels": 1},
                "others": {"seconds": 1e-6, "kernels": 1},
            },
        )
        self.assertAlmostEqual(found.step["span"], 85e-6)
        self.assertAlmostEqual(found.step["busy"], 80e-6)
        self.assertAlmostEqual(found.step["longestGap"], 5e-6)

    def test_without_kernels_operators_count_without_their_callees(self):
        found = kernels_of_step(self.host)
        self.assertFalse(found.step["onDevice"])
        forward = found.layers[0]["forward"]
        self.assertEqual((forward["kernels"], forward["longest"]), (2, "aten::addmm"))
        self.assertAlmostEqual(forward["seconds"], 15e-6)
        self.assertAlmostEqual(found.layers[1]["backward"]["seconds"], 20e-6)
        self.assertAlmostEqual(found.step["update"]["seconds"], 8e-6)

    def test_a_trace_of_nothing(self):
        found = kernels_of_step([])
        self.assertEqual((found.layers, found.step["busy"], found.step["span"]), ({}, 0.0, 0.0))


#: What nvidia-smi 550 answers to the fields that the runner asks for.
IDLE_GPU = "550.54.15, 345, 1980, 70.21, 700.00, 36, 0, 0x0000000000000001"
BUSY_GPU = "550.54.15, 1755, 1980, 645.40, 700.00, 71, 100, 0x0000000000000004"
#: Answers once when asked once, and every few milliseconds when asked to loop; knows the older name of the reasons only.
NVIDIA_SMI = f"""#!{sys.executable}
import sys, time
arguments = sys.argv[1:]
assert "--id=GPU-1234" in arguments, arguments
if not any("throttle_reasons" in each for each in arguments):
    sys.exit(2)
while any(each.startswith("--loop-ms=") for each in arguments):
    print("{BUSY_GPU}", flush=True)
    time.sleep(0.01)
print("{IDLE_GPU}")
"""


class StateOfTheMachine(unittest.TestCase):
    def watch(self, device, inside, folder=None):
        stream = io.StringIO()
        path = os.environ["PATH"] if folder is None else f"{folder}{os.pathsep}{os.environ['PATH']}"
        properties = types.SimpleNamespace(uuid="1234")
        with mock.patch.dict(os.environ, {"PATH": path}), mock.patch.object(torch.version, "cuda", "12.4"), \
                mock.patch.object(torch.cuda, "current_device", lambda: 0), \
                mock.patch.object(torch.cuda, "get_device_properties", lambda index: properties):
            with watched(device, Events(stream), OtherWork()):
                inside()
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    @unittest.skipIf(sys.platform == "win32", "the stand-in is a script")
    def test_of_a_gpu_its_clock_power_and_heat_are_seen_while_it_works(self):
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder, "nvidia-smi")
            command.write_text(NVIDIA_SMI)
            command.chmod(0o755)
            first, last = self.watch(Device("cuda", "NVIDIA H100", "bf16"), lambda: time.sleep(0.5), folder)
        idle = dict(megahertz=345, mostMegahertz=1980, watts=70.21, mostWatts=700, celsius=36, busy=0)
        busy = dict(megahertz=1755, mostMegahertz=1980, watts=645.4, mostWatts=700, celsius=71, busy=1)
        self.assertEqual(first["gpu"]["before"], idle)
        self.assertEqual(last["gpu"], dict(before=idle, during=busy, after=busy, heldBackBy=["the power limit"]))
        self.assertEqual(last["versions"]["driver"], "550.54.15")

    def test_without_nvidia_smi_nothing_is_known_of_a_gpu(self):
        with mock.patch.object(subprocess, "run", side_effect=FileNotFoundError):
            events = self.watch(Device("cuda", "NVIDIA H100", "bf16"), lambda: None)
        self.assertEqual([event["gpu"] for event in events], [None, None])

    def test_what_a_gpu_does_not_tell_is_null(self):
        look = Look.from_line("550.54.15, [N/A], 1980, [Not Supported], 700.00, 36, 0, 0x0000000000000000\n")
        self.assertEqual(look.facts()["megahertz"], None)
        self.assertEqual(look.facts()["watts"], None)
        self.assertIsNone(Look.from_line("No devices were found\n"))

    @unittest.skipUnless(sys.platform == "linux", "Linux alone tells")
    def test_work_of_other_processes_is_seen(self):
        others = OtherWork()
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        time.sleep(0.4)
        beside = others.cores()
        busy.kill()
        busy.wait()
        self.assertGreater(beside, 0.4)

    def test_own_work_does_not_count(self):
        # Of 10 s: the machine was busy for 18, of which this process took 4.
        with mock.patch("layercost_runner.other_work._moment", side_effect=[(0, 100, 10), (10, 118, 14)]):
            self.assertAlmostEqual(OtherWork().cores(), 1.4)

    def test_versions_of_cudnn_are_written_as_nvidia_does(self):
        self.assertEqual([_cudnn_text(8902), _cudnn_text(90100), _cudnn_text(91002)], ["8.9.2", "9.1.0", "9.10.2"])


class Devices(unittest.TestCase):
    @unittest.skipIf(torch.cuda.is_available(), "this machine has a GPU")
    def test_without_a_gpu(self):
        with self.assertRaises(NoDevice):
            open_device("cuda", "fp32")
        fallback = open_device("auto", "tf32")
        self.assertEqual((fallback.kind, fallback.precision), ("cpu", "fp32"))
        self.assertIn("measured on the CPU, which says nothing about a GPU", fallback.notes[0])

    def test_one_of_several_gpus_is_taken_by_its_number(self):
        chosen = []
        with mock.patch.multiple(
            torch.cuda,
            is_available=lambda: True,
            device_count=lambda: 2,
            set_device=chosen.append,
            get_device_name=lambda: "NVIDIA Fake",
            is_bf16_supported=lambda: True,
        ):
            device = open_device("cuda:1", "bf16")
            self.assertEqual((device.kind, device.name, chosen, device.notes), ("cuda", "NVIDIA Fake", [1], []))
            with self.assertRaisesRegex(NoDevice, "there is no cuda:2; 2 are there, counted from 0"):
                open_device("cuda:2", "bf16")
            self.assertIn("2 GPUs are there; one was used", open_device("cuda", "bf16").notes[0])

    @unittest.skipIf(not hasattr(torch, "xpu"), "this torch is older than torch.xpu")
    def test_gpus_of_intel_and_apple(self):
        made = []
        clock = mock.Mock(Event=lambda enable_timing: made.append("event") or mock.Mock(elapsed_time=lambda end: 3.0))
        with mock.patch.object(torch, "xpu", clock):
            clock.is_available.return_value = True
            clock.get_device_name.return_value = "Intel Fake"
            clock.max_memory_allocated.return_value = 7
            device = open_device("auto", "tf32")
            self.assertEqual((device.kind, device.name, device.precision), ("xpu", "Intel Fake", "fp32"))
            self.assertEqual(device.notes, ["tf32 exists on GPUs of NVIDIA only; ran in fp32"])
            self.assertEqual(device.peak_memory(), 7)
            timed = device.clock()
            self.assertEqual(timed.seconds(timed.mark(), timed.mark()), 0.003)
        self.assertEqual(made, ["event", "event"])
        # Apple's names its events otherwise and counts no peak.
        apple = mock.Mock(spec=["event", "synchronize"])
        EventClock(apple).mark()
        apple.event.Event.assert_called_once_with(enable_timing=True)
        self.assertFalse(has_gpu("mps") and _library("mps") is None)

    def test_running_out_of_memory_is_known_by_both_allocators(self):
        self.assertTrue(is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory")))
        self.assertTrue(is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate")))
        self.assertFalse(is_out_of_memory(ValueError("out of memory")))


if __name__ == "__main__":
    unittest.main()
