"""The exporter's parts on `torch.device("meta")`: what a target names, what a model is called with, what stays open."""

from __future__ import annotations

import json
import pathlib
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "server/src/export/python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402

if tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < (2, 5):
    raise unittest.SkipTest(f"torch {torch.__version__} writes archives that are not read")

from layercost_export.inputs import inputs_of  # noqa: E402
from layercost_export.refusal import Refusal  # noqa: E402
from layercost_export.target import build_model  # noqa: E402

SOURCE = textwrap.dedent(
    """
    import torch
    from torch import nn

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)
        def forward(self, left, right):
            return self.a(left) + right

    class Sized(nn.Module):
        def __init__(self, width):
            super().__init__()

    class Group:
        @staticmethod
        def make():
            return Pair()

    def broken():
        raise ValueError("no such checkpoint")

    made = nn.Linear(4, 4)
    number = 3
    """
)


class Targets(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = str(pathlib.Path(folder.name) / "train.py")
        pathlib.Path(self.file).write_text(SOURCE)

    def test_names_a_class_a_function_or_a_module_of_a_file(self) -> None:
        for name in ("Pair", "Group.make", "made"):
            with self.subTest(name):
                model, module = build_model(f"{self.file}:{name}")
                self.assertTrue(model.training)
                self.assertTrue(all(each.is_meta for each in model.parameters()))
                self.assertIsNotNone(module)

    def test_says_what_is_wrong(self) -> None:
        for name, words in {
            "Pairs": "has no Pairs; it has Pair, Sized",
            "Sized": "needs width: write a function without arguments",
            "number": "neither a module of torch nor a function that makes one",
        }.items():
            with self.subTest(name), self.assertRaises(Refusal) as refused:
                build_model(f"{self.file}:{name}")
            self.assertIn(words, str(refused.exception))
        for target, words in {
            "nothing.py:Net": "there is no file nothing.py",
            "train.py": "names no model",
            "no_such_module:Net": "there is no module no_such_module",
        }.items():
            with self.subTest(target), self.assertRaises(Refusal) as refused:
                build_model(target)
            self.assertIn(words, str(refused.exception))
        with self.assertRaisesRegex(ValueError, "no such checkpoint"):
            build_model(f"{self.file}:broken")


class Wrapped(nn.Module):
    """A layer first, behind a tensor of its own."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Strange(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 5))

    def forward(self, x):
        return x @ self.weight


class Generator(nn.Module):
    """As nanoGPT: a longest sequence, and without labels the logits of the last token alone."""

    def __init__(self, per_sample: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.places = nn.Embedding(256, 8)
        self.head = nn.Linear(8, 50)
        self.per_sample = per_sample

    def forward(self, tokens, targets=None):
        length = tokens.shape[1]
        assert length <= 256, "too long"
        x = self.embed(tokens) + self.places(torch.arange(length, device=tokens.device))
        if targets is None:
            return self.head(x[:, [-1], :])
        scores = self.head(x.mean(1)) if self.per_sample else self.head(x).flatten(0, 1)
        return nn.functional.cross_entropy(scores, targets.reshape(-1))


class Inputs(unittest.TestCase):
    def test_gives_labels_that_may_be_left_out(self) -> None:
        inputs = inputs_of(Generator(), None, {})
        self.assertEqual(list(inputs.tensors), ["tokens"])
        by_token, by_sample = inputs.with_labels(Generator())
        self.assertEqual([tuple(each.tensors["targets"].shape) for each in (by_token, by_sample)], [(2, 128), (2,)])
        self.assertEqual(by_token.open["targets"], {0: "batch", 1: "seq"})
        self.assertEqual(by_sample.texts(), {"tokens": "int64[batch, seq]", "targets": "int64[batch]"})
        self.assertEqual(inputs_of(Wrapped(nn.Linear(6, 2)), None, {}).with_labels(Wrapped(nn.Linear(6, 2))), [])

    def test_follows_the_first_layer(self) -> None:
        for layer, shape, dtype, names in (
            (nn.Embedding(10, 4), (2, 128), torch.int64, {0: "batch", 1: "seq"}),
            (nn.Conv2d(4, 8, 3), (2, 4, 224, 224), torch.float32, {0: "batch"}),
            (nn.Conv1d(4, 8, 3), (2, 4, 1024), torch.float32, {0: "batch"}),
            (nn.Linear(6, 2), (2, 6), torch.float32, {0: "batch"}),
            (nn.LSTM(6, 2, batch_first=True), (2, 128, 6), torch.float32, {0: "batch", 1: "seq"}),
            (nn.GRU(6, 2), (128, 2, 6), torch.float32, {1: "batch", 0: "seq"}),
        ):
            with self.subTest(type(layer).__name__):
                inputs = inputs_of(Wrapped(layer), None, {})
                self.assertEqual(tuple(inputs.tensors["x"].shape), shape)
                self.assertEqual(inputs.tensors["x"].dtype, dtype)
                self.assertEqual(inputs.open["x"], names)

    def test_finds_the_size_of_images_that_the_layers_fit(self) -> None:
        def classifier(features: int) -> nn.Module:
            return Wrapped(nn.Sequential(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(features, 10)))

        for features, side in ((4 * 13 * 13, 28), (4 * 15 * 15, 32), (4 * 111 * 111, 224), (7, 224)):
            with self.subTest(side), torch.device("meta"):
                self.assertEqual(inputs_of(classifier(features), None, {}).texts(), {"x": f"float32[batch, 3, {side}, {side}]"})

    def test_takes_two_sequences_by_their_names(self) -> None:
        class Translator(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(10, 4)

            def forward(self, src, tgt):
                return self.embed(src).mean(1) + self.embed(tgt).mean(1)

        self.assertEqual(inputs_of(Translator(), None, {}).texts(), {"src": "int64[batch, seq]", "tgt": "int64[batch, seq]"})

    def test_asks_where_nothing_decides(self) -> None:
        for model in (Strange(), nn.Bilinear(2, 2, 2)):
            with self.subTest(type(model).__name__), self.assertRaisesRegex(Refusal, r"layercost_inputs\(\)"):
                inputs_of(model, None, {})

    def test_reads_what_is_given(self) -> None:
        inputs = inputs_of(Wrapped(nn.Linear(6, 2)), None, {"x": "bfloat16[batch, tokens, 6]"})
        self.assertEqual(inputs.tensors["x"].dtype, torch.bfloat16)
        self.assertEqual(inputs.open, {"x": {0: "batch", 1: "tokens"}})
        self.assertNotEqual(inputs.tensors["x"].shape[0], inputs.tensors["x"].shape[1])
        for given, words in {
            "y": "forward takes no y; it takes x",
            "x": "is no type with sizes",
        }.items():
            with self.subTest(given), self.assertRaises(Refusal) as refused:
                inputs_of(Wrapped(nn.Linear(6, 2)), None, {given: "float[2"})
            self.assertIn(words, str(refused.exception))

    def test_takes_inputs_beside_the_model(self) -> None:
        class Module:
            def __init__(self, value) -> None:
                self.layercost_inputs = lambda: value

        pair = nn.Bilinear(3, 5, 2)
        for value in ((torch.zeros(4, 3), torch.zeros(4, 5)), {"input1": torch.zeros(4, 3), "input2": torch.zeros(4, 5)}):
            inputs = inputs_of(pair, Module(value), {})
            self.assertTrue(inputs.tensors["input2"].is_meta)
            self.assertEqual(inputs.open, {"input1": {0: "batch"}, "input2": {0: "batch"}})
        uneven = inputs_of(pair, Module((torch.zeros(4, 3), torch.zeros(2, 5))), {})
        self.assertEqual((uneven.open, len(uneven.notes)), ({}, 1))


class Programs(unittest.TestCase):
    def test_leaves_open_what_the_model_allows(self) -> None:
        from layercost_export.program import export_program

        class Fixed(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(10, 4)
                self.places = nn.Parameter(torch.ones(128, 4))

            def forward(self, tokens):
                return self.embed(tokens) + self.places

        with torch.device("meta"):
            model = Fixed()
        program, names, notes, inputs = export_program(model, None, {})
        self.assertEqual(sorted(names.values()), ["batch"])
        self.assertEqual(notes, ["seq is fixed, because the model does not export with it open"])
        self.assertEqual(len(program.range_constraints), 1)

    def test_computes_the_loss_of_labels_up_to_the_longest_sequence(self) -> None:
        from layercost_export.program import export_program

        for per_sample, shape in ((False, "batch, seq"), (True, "batch")):
            with self.subTest(shape):
                with torch.device("meta"):
                    model = Generator(per_sample)
                program, names, notes, inputs = export_program(model, None, {})
                self.assertEqual(sorted(names.values()), ["batch", "seq"])
                self.assertEqual(notes, ["targets is given, so that the program has its loss"])
                self.assertEqual(inputs["targets"], f"int64[{shape}]")
                self.assertEqual(sorted(each.upper for each in program.range_constraints.values())[0], 256)

    def test_leaves_labels_out_where_a_person_gave_the_inputs(self) -> None:
        from layercost_export.program import export_program

        with torch.device("meta"):
            model = Generator()
        program, _, notes, _ = export_program(model, None, {"tokens": "int64[batch, 64]"})
        self.assertEqual(notes, [])
        self.assertNotIn("targets", [node.name for node in program.graph.nodes if node.op == "placeholder"])

    def test_takes_square_masks_for_causal(self) -> None:
        from layercost_export.program import export_program

        class Causal(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(10, 16)
                self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 1)

            def forward(self, tokens):
                mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
                return self.layers(self.embed(tokens), mask=mask)

        with torch.device("meta"):
            model = Causal()
        program, names, notes, _ = export_program(model, None, {})
        self.assertEqual(sorted(names.values()), ["batch", "seq"])
        self.assertEqual(notes, ["square masks of nn.Transformer are taken for causal"])
        self.assertIn("scaled_dot_product_attention", str(program.graph))

    def test_names_the_line_that_cannot_be_followed(self) -> None:
        from layercost_export.program import export_program

        class Deciding(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.fc = nn.Linear(4, 4)

            def forward(self, x):
                return self.fc(x) if x.sum() > 0 else x

        with torch.device("meta"):
            model = Deciding()
        with self.assertRaisesRegex(Refusal, r"contents of a tensor at test_export.py:\d+, `return self.fc\(x\) if x.sum\(\) > 0"):
            export_program(model, None, {})

    def test_fetches_no_weights_of_a_backbone(self) -> None:
        try:
            import torchvision  # noqa: F401
        except Exception as error:
            self.skipTest(f"torchvision cannot be loaded: {error}")
        model, _ = build_model("torchvision:fcn_resnet50")
        self.assertTrue(all(each.is_meta for each in model.parameters()))

    def test_exports_the_model_of_a_config(self) -> None:
        try:
            import transformers  # noqa: F401
        except Exception as error:
            self.skipTest(f"transformers cannot be loaded: {error}")
        from layercost_export.program import export_program

        sizes = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, vocab_size=100)
        with tempfile.TemporaryDirectory() as folder:
            config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **sizes}
            (pathlib.Path(folder) / "config.json").write_text(json.dumps(config))
            model, _ = build_model(f"hf:{folder}")
        # Embedding and head, q and o, k and v, gate, up and down, three norms.
        self.assertEqual(
            sum(each.numel() for each in model.parameters()), 2 * 6400 + 2 * 4096 + 2 * 2048 + 3 * 8192 + 3 * 64
        )
        _, names, notes, _ = export_program(model, None, {})
        labels = "labels is given, so that the program has its loss"
        self.assertEqual((sorted(names.values()), notes), (["batch", "seq"], [labels]))


if __name__ == "__main__":
    unittest.main()
