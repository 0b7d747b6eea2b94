"""Writes the sample models as ONNX files: `python samples/scripts/export.py [NAME ...]`.

Each network is built by the library people use (torchvision, transformers) from its configuration alone: nothing
is downloaded and no weights are made. The TorchScript exporter is used because it records the module of every
operator in its name (`/layer1/layer1.0/conv1/Conv`). Training mode keeps batch normalisation and dropout.

The files hold no weights: every parameter is an initializer whose data would lie in `NAME.weights`, which is not
shipped. Costs need only shapes. The same versions give the same bytes.
"""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import onnx
import onnx_ir
import torch
from onnx_ir.passes.common import CommonSubexpressionEliminationPass

SAMPLES = Path(__file__).resolve().parent.parent
OPSET = 17
# The batch the network is traced with: 2, because tracers treat dimensions of 1 as broadcast.
BATCH = 2


@dataclass(frozen=True)
class Sample:
    name: str
    parameters: int
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[], dict[str, torch.Tensor]]
    output: str


def vision(name: str, **options: object) -> Callable[[], torch.nn.Module]:
    return lambda: getattr(torchvision_models(), name)(weights=None, **options)


def image(size: int) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: {"image": torch.zeros(BATCH, 3, size, size)}


def tokens(length: int) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: {"tokens": torch.zeros(BATCH, length, dtype=torch.int64)}


class Logits(torch.nn.Module):
    """A language model that takes tokens and gives its first output only, with module names unchanged."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens, return_dict=False)[0]


class Pooled(Logits):
    """An encoder with its pooler: gives the pooled output."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens, return_dict=False)[1]


def no_mask(*_: object, **__: object) -> None:
    """Replaces the mask of a causal model fed without padding: attention is then causal by itself, and the
    detection of packed sequences, which the exporter cannot write, is not traced."""


def bert_base() -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    return Pooled(BertModel(BertConfig(attn_implementation="sdpa")))


def gpt2() -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.models.gpt2 import modeling_gpt2

    modeling_gpt2.create_causal_mask = no_mask
    return Logits(GPT2LMHeadModel(GPT2Config(use_cache=False, attn_implementation="sdpa")))


def tinyllama() -> torch.nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.integrations import sdpa_attention
    from transformers.models.llama import modeling_llama

    modeling_llama.create_causal_mask = no_mask
    # The exporter cannot write grouped-query attention; key and value heads are repeated instead.
    sdpa_attention.use_gqa_in_sdpa = lambda *_: False
    # config.json of TinyLlama/TinyLlama-1.1B-Chat-v1.0.
    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
        use_cache=False,
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config)
    # The angles of the rotary embedding are constants; as buffers they could not be told from parameters in the file.
    rotary = model.model.rotary_emb
    rotary._buffers.clear()
    head = config.hidden_size // config.num_attention_heads
    rotary.inv_freq = 1.0 / 10000.0 ** (torch.arange(0, head, 2, device="cpu").float() / head)
    return Logits(model)


SAMPLES_TABLE = [
    Sample("alexnet", 61_100_840, vision("alexnet"), image(224), "logits"),
    Sample("vgg16", 138_357_544, vision("vgg16"), image(224), "logits"),
    # Without the two auxiliary classifiers, which training of the original paper adds (6,379,984 more parameters).
    Sample("googlenet", 6_624_904, vision("googlenet", aux_logits=False, init_weights=False), image(224), "logits"),
    Sample("resnet50", 25_557_032, vision("resnet50"), image(224), "logits"),
    Sample("mobilenet_v2", 3_504_872, vision("mobilenet_v2"), image(224), "logits"),
    Sample("bert-base", 109_482_240, bert_base, tokens(512), "pooled"),
    Sample("gpt2", 124_439_808, gpt2, tokens(1024), "logits"),
    Sample("tinyllama", 1_100_048_384, tinyllama, tokens(2048), "logits"),
]


def torchvision_models():
    """torchvision's models. Its compiled operators are not needed; a wheel built for another torch cannot load
    them, and then refuses to import unless the operators it describes are at least declared."""
    try:
        import torchvision.models
    except RuntimeError:
        for module in [module for module in sys.modules if module.split(".")[0] == "torchvision"]:
            del sys.modules[module]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        torchvision_models.library = library
        import torchvision.models
    return torchvision.models


def export(sample: Sample) -> onnx.ModelProto:
    torch.manual_seed(0)
    with torch.device("meta"):
        model = sample.build()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if parameters != sample.parameters:
        raise SystemExit(f"{sample.name}: {parameters:,} parameters instead of {sample.parameters:,}")
    hollow(model)
    inputs = sample.inputs()
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.train(),
            tuple(inputs.values()),
            buffer,
            dynamo=False,
            export_params=False,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            opset_version=OPSET,
            input_names=list(inputs),
            output_names=[sample.output],
            dynamic_axes={name: {0: "batch"} for name in [*inputs, sample.output]},
        )
    exported = onnx.load_from_string(buffer.getvalue())
    # Checked while parameters are still inputs: for initializers the checker opens the file of weights.
    onnx.checker.check_model(exported)
    # The exporter writes the same constant and the same shape arithmetic again for every layer.
    compact = onnx_ir.from_proto(exported)
    CommonSubexpressionEliminationPass()(compact)
    return without_weights(onnx_ir.to_proto(compact), sample, list(inputs))


def hollow(model: torch.nn.Module) -> None:
    """Gives every parameter and buffer one stored element, seen through strides of 0: shapes without memory.
    Buffers that were computed on the meta device have no contents either; the models here only trace them."""
    # A parameter that two modules share stays shared.
    hollowed: dict[torch.nn.Parameter, torch.nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is None:
                continue
            if parameter not in hollowed:
                element = torch.zeros((), dtype=parameter.dtype)
                hollowed[parameter] = torch.nn.Parameter(element.expand(parameter.shape), requires_grad=False)
            module._parameters[name] = hollowed[parameter]
        for name, held in module._buffers.items():
            if held is not None:
                module._buffers[name] = torch.zeros((), dtype=held.dtype).expand(held.shape).clone()


def without_weights(model: onnx.ModelProto, sample: Sample, inputs: list[str]) -> onnx.ModelProto:
    """Turns the graph inputs that are parameters into initializers whose data lies elsewhere, and drops what
    would tell on which machine the file was made."""
    graph = model.graph
    graph.name = sample.name
    kept = [value for value in graph.input if value.name in inputs]
    offset = 0
    for value in graph.input:
        if value.name in inputs:
            continue
        kind = value.type.tensor_type
        tensor = graph.initializer.add(name=value.name, data_type=kind.elem_type)
        tensor.dims.extend(dimension.dim_value for dimension in kind.shape.dim)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        length = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).itemsize
        for dimension in tensor.dims:
            length *= dimension
        for key, entry in (("location", f"{sample.name}.weights"), ("offset", offset), ("length", length)):
            tensor.external_data.add(key=key, value=str(entry))
        offset += length
    del graph.input[:]
    graph.input.extend(kept)
    # Sizes of the output the exporter did not know are left open, not named after a temporary value.
    for dimension in graph.output[0].type.tensor_type.shape.dim:
        if dimension.dim_param not in ("", "batch"):
            dimension.Clear()
    del graph.value_info[:]
    for node in graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    model.ClearField("doc_string")
    graph.ClearField("doc_string")
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="samples to write; all without a name")
    parser.add_argument("--output", type=Path, default=SAMPLES)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {sample.name for sample in SAMPLES_TABLE}
    if unknown:
        parser.error(f"no sample is named {', '.join(sorted(unknown))}")
    # Also before transformers, which imports torchvision where it is installed.
    torchvision_models()
    for sample in SAMPLES_TABLE:
        if arguments.names and sample.name not in arguments.names:
            continue
        model = export(sample)
        content = model.SerializeToString(deterministic=True)
        path = arguments.output / f"{sample.name}.onnx"
        path.write_bytes(content)
        print(f"{sample.name}: {sample.parameters:,} parameters, {len(model.graph.node)} operators, {len(content):,} bytes")


if __name__ == "__main__":
    main()
