"""Exports models in every way that people export them: `python samples/scripts/exports.py FOLDER [--only NAME ...]`.

Thirty models of torchvision, timm and transformers, built from their configuration (nothing is downloaded, layers have
their real sizes, there are few of them), by five exports, in eval and in training mode. Standard output has one JSON
object per line: versions, then for each model what PyTorch counts of it, then each export with its file in FOLDER, or
why the exporter refused it. `npm run samples -- --exports` costs each file and writes `measured/exports.jsonl`.

What PyTorch counts: elements of `named_parameters()`; FLOPs of forward (`FlopCounterMode`, attention written out, which
is what the counter knows on a CPU); bytes that autograd keeps in training mode (see `scripts/measured/savedActivations.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "samples" / "scripts"), str(ROOT / "scripts" / "measured")]

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from exportRun import arguments_of, teller  # noqa: E402
from export import torchvision_models  # noqa: E402
from onGpu import on_gpu  # noqa: E402
from savedActivations import Kept, with_fused_norms  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

BATCH = 2
Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Model:
    """A network as its library builds it, and the inputs that it is exported with, by the names of its arguments."""

    name: str
    library: str
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[], Inputs]


def torchvision(name: str, size: int = 64, **options: Any) -> Model:
    def build() -> torch.nn.Module:
        models = torchvision_models()
        constructor = getattr(models, name, None) or getattr(models.segmentation, name)
        weights = {"weights_backbone": None} if hasattr(models.segmentation, name) else {}
        return constructor(weights=None, **weights, **options)

    return Model(name, "torchvision", build, lambda: {"image": torch.randn(BATCH, 3, size, size)})


def torchvision_class(name: str, constructor: str, size: int, **options: Any) -> Model:
    def build() -> torch.nn.Module:
        models = torchvision_models()
        if constructor == "ConvNeXt":
            from torchvision.models.convnext import CNBlockConfig

            return models.ConvNeXt([CNBlockConfig(*block) for block in options["blocks"]], 0.1)
        if constructor == "SwinTransformer":
            from torchvision.models.swin_transformer import SwinTransformer

            return SwinTransformer(**options)
        return getattr(models, constructor)(**options)

    return Model(name, "torchvision", build, lambda: {"image": torch.randn(BATCH, 3, size, size)})


def timm(name: str, size: int = 64, **options: Any) -> Model:
    def build() -> torch.nn.Module:
        torchvision_models()
        import timm

        return timm.create_model(name, pretrained=False, **options)

    return Model(name, "timm", build, lambda: {"image": torch.randn(BATCH, 3, size, size)})


class Tuple(torch.nn.Module):
    """A model of transformers that takes its inputs in order and gives a tuple, as exporters need."""

    def __init__(self, network: torch.nn.Module, names: list[str]):
        super().__init__()
        self.network = network
        self.names = names

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.network(**dict(zip(self.names, inputs)), return_dict=False)


def tokens(length: int, vocabulary: int = 1000) -> torch.Tensor:
    return torch.randint(1, vocabulary, (BATCH, length))


def transformers(name: str, model: str, config: str, inputs: Callable[[], Inputs], **options: Any) -> Model:
    def build() -> torch.nn.Module:
        torchvision_models()
        import transformers

        settings = getattr(transformers, config)(**options)
        if "use_cache" in settings.to_dict():
            settings.use_cache = False
        return Tuple(getattr(transformers, model)(settings), list(inputs()))

    return Model(name, "transformers", build, inputs)


# The mask is given, as by a tokenizer: without it transformers looks for packed sequences, which no exporter can write.
text = lambda length=64: lambda: {  # noqa: E731
    "input_ids": tokens(length),
    "attention_mask": torch.ones(BATCH, length, dtype=torch.int64),
}
pixels = lambda size: lambda: {"pixel_values": torch.randn(BATCH, 3, size, size)}  # noqa: E731
llama = dict(vocab_size=8000, hidden_size=512, intermediate_size=1376, num_hidden_layers=2, num_attention_heads=8)

MODELS = [
    torchvision("resnet18"),
    torchvision("mobilenet_v3_small"),
    torchvision("efficientnet_b0"),
    torchvision("densenet121"),
    torchvision("regnet_y_400mf"),
    torchvision("inception_v3", 96, aux_logits=False, init_weights=False),
    torchvision("deeplabv3_mobilenet_v3_large", 96),
    torchvision_class(
        "vit_b_16",
        "VisionTransformer",
        64,
        image_size=64,
        patch_size=16,
        num_layers=2,
        num_heads=12,
        hidden_dim=768,
        mlp_dim=3072,
    ),
    torchvision_class(
        "swin_t",
        "SwinTransformer",
        112,
        patch_size=[4, 4],
        embed_dim=96,
        depths=[1, 2],
        num_heads=[3, 6],
        window_size=[7, 7],
        stochastic_depth_prob=0.1,
    ),
    torchvision_class("convnext_tiny", "ConvNeXt", 64, blocks=[(96, 192, 1), (192, 384, 1), (384, None, 2)]),
    timm("resnet26d"),
    timm("cspdarknet53"),
    timm("ghostnet_100"),
    timm("repvgg_a0"),
    timm("ese_vovnet19b_dw"),
    timm("mobilevitv2_050"),
    timm("poolformer_s12"),
    timm("deit_tiny_patch16_224", 224, depth=2),
    timm("mixer_s32_224", 224),
    timm("levit_128s", 224),
    transformers("gpt2", "GPT2LMHeadModel", "GPT2Config", text(), n_layer=2),
    transformers(
        "bert", "BertForMaskedLM", "BertConfig", text(), num_hidden_layers=2, vocab_size=8000
    ),
    transformers(
        "distilbert", "DistilBertForSequenceClassification", "DistilBertConfig", text(), n_layers=2, vocab_size=8000
    ),
    transformers(
        "t5",
        "T5ForConditionalGeneration",
        "T5Config",
        lambda: {**text()(), "decoder_input_ids": tokens(32)},
        num_layers=2,
        vocab_size=8000,
        decoder_start_token_id=0,
    ),
    transformers(
        "llama", "LlamaForCausalLM", "LlamaConfig", text(), num_key_value_heads=2, tie_word_embeddings=False, **llama
    ),
    transformers(
        "mixtral",
        "MixtralForCausalLM",
        "MixtralConfig",
        text(),
        num_key_value_heads=2,
        num_local_experts=8,
        num_experts_per_tok=2,
        # The loop over experts and the grouped kernel cannot be exported by both exporters.
        experts_implementation="batched_mm",
        **llama,
    ),
    transformers(
        "whisper",
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        lambda: {
            "input_features": torch.randn(BATCH, 80, 200),
            "decoder_input_ids": tokens(32),
            "decoder_attention_mask": torch.ones(BATCH, 32, dtype=torch.int64),
        },
        encoder_layers=2,
        decoder_layers=2,
        max_source_positions=100,
        vocab_size=8000,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        d_model=384,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
    ),
    transformers(
        "clip",
        "CLIPModel",
        "CLIPConfig",
        lambda: {**text(32)(), **pixels(64)()},
        text_config=dict(num_hidden_layers=2, vocab_size=8000, eos_token_id=2),
        vision_config=dict(num_hidden_layers=2, image_size=64, patch_size=16),
    ),
    transformers("vit", "ViTForImageClassification", "ViTConfig", pixels(64), num_hidden_layers=2, image_size=64),
    transformers("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", pixels(64)),
]


# --- What PyTorch counts ---


@contextlib.contextmanager
def as_on_a_gpu():
    """What functions keep on a GPU; fused attention has no mask of dropout on a CPU."""
    sdpa = F.scaled_dot_product_attention

    def without_dropout(query, key, value, attn_mask=None, dropout_p=0.0, *rest, **more):
        return sdpa(query, key, value, attn_mask, 0.0, *rest, **more)

    torch.nn.functional.scaled_dot_product_attention = without_dropout
    undo = on_gpu()
    try:
        yield
    finally:
        torch.nn.functional.scaled_dot_product_attention = sdpa
        undo()


def truth(model: Model) -> dict[str, int]:
    torch.manual_seed(0)
    network = model.build().train()
    parameters = sum(parameter.numel() for _, parameter in network.named_parameters())
    inputs = model.inputs()
    counter = FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH), counter, torch.no_grad():
        network(*inputs.values())
    kept = Kept({held.untyped_storage()._cdata for held in [*network.parameters(), *network.buffers()]})
    network = with_fused_norms(network)
    with as_on_a_gpu(), torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor):
        network(*inputs.values())
    return {"parameters": parameters, "flops": counter.get_total_flops(), "saved": kept.bytes}


# --- Exports ---

PLAIN: dict[str, Any] = {}
EXPORTS: dict[str, dict[str, Any]] = {
    "default": PLAIN,
    "unoptimized": {"optimize": False},
    "opset18": {"opset_version": 18},
    "opset23": {"opset_version": 23},
    "legacy": {"dynamo": False},
}


@dataclass
class Mode:
    """A model in eval or training mode; the default exporter traces it once for all its exports."""

    model: Model
    name: str
    program: Any = field(default=None)

    def network(self) -> torch.nn.Module:
        torch.manual_seed(0)
        return self.model.build().train(self.name == "train")

    def export(self, options: dict[str, Any], path: Path) -> None:
        inputs = self.model.inputs()
        names = list(inputs)
        if options.get("dynamo") is False:
            training = torch.onnx.TrainingMode.TRAINING if self.name == "train" else torch.onnx.TrainingMode.EVAL
            torch.onnx.export(self.network(), tuple(inputs.values()), str(path), input_names=names, training=training, **options)
            return
        if self.program is None:
            self.program = torch.export.export(self.network(), tuple(inputs.values()), strict=False)
        torch.onnx.export(self.program, (), str(path), input_names=names, external_data=False, **options)


def export_all(model: Model, folder: Path, exports: list[str], modes: list[str], tell: Callable[[dict], None]) -> None:
    tell({"model": model.name, "library": model.library, "truth": truth(model)})
    for name in modes:
        mode = Mode(model, name)
        for export in exports:
            row = {"model": model.name, "export": export, "mode": name}
            path = folder / f"{model.name}-{export}-{name}.onnx"
            try:
                mode.export(EXPORTS[export], path)
            except Exception as error:  # what an exporter cannot write is a row of the table
                tell({**row, "refused": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"})
            else:
                tell({**row, "file": str(path)})
        mode.program = None
        gc.collect()


def main() -> None:
    def more(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--exports", nargs="*", default=list(EXPORTS), choices=list(EXPORTS))
        parser.add_argument("--modes", nargs="*", default=["eval", "train"], choices=["eval", "train"])

    arguments = arguments_of(__doc__, [model.name for model in MODELS], "model", more)
    tell = teller()
    torchvision_models()
    import onnx
    import onnxscript
    import timm as timm_library
    import transformers as transformers_library
    from importlib.metadata import version

    tell(
        {
            "versions": {
                "torch": torch.__version__,
                "torchvision": version("torchvision"),
                "timm": timm_library.__version__,
                "transformers": transformers_library.__version__,
                "onnx": onnx.__version__,
                "onnxscript": onnxscript.__version__,
            }
        }
    )
    for model in MODELS:
        if arguments.only and model.name not in arguments.only:
            continue
        export_all(model, arguments.folder, arguments.exports, arguments.modes, tell)


if __name__ == "__main__":
    main()
