"""Writes measured/saved-activations.csv: what autograd keeps for backward, in bytes, of networks that have a graph here.

    python scripts/measured/savedActivations.py [--only NAME ...] [--list NAME]     (torch, torchvision, timm, transformers)

Counted are the storages that forward saves, each once and whole, as `torch.autograd.graph.saved_tensors_hooks` sees
them; storages of parameters and buffers are left out. Forward runs in training mode, in fp32, on the CPU, on random
input; no weights are downloaded.

Three calls are made as CUDA makes them. `dropout` is `native_dropout`, which keeps a mask of one byte per element: the
CPU's own keeps a mask in the type of its input (PyTorch aten/src/ATen/native/Dropout.cpp, `is_fused_kernel_acceptable`).
Normalization by the root mean square is one function that keeps its input and one number per row
(aten/src/ATen/native/cuda/layer_norm_kernel.cu, `_fused_rms_norm`), also where transformers writes it out, as its
`kernels` do. Fused attention is measured without dropout, for which the CPU has no fused kernel.
"""

from __future__ import annotations

import argparse
import collections
import csv
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "samples" / "scripts"))
from export import torchvision_models  # noqa: E402

MEASURED = Path(__file__).resolve().parents[2] / "measured" / "saved-activations.csv"


@dataclass(frozen=True)
class Row:
    """A network, the graphs that say the same, and how they are to be read."""

    name: str
    source: str
    graphs: tuple[str, ...]
    build: Callable[[], torch.nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, ...]]
    batch: int = 2
    dimensions: str = ""
    options: str = ""


def vision(name: str, **options: object) -> Callable[[], torch.nn.Module]:
    return lambda: getattr(torchvision_models(), name)(weights=None, **options)


def timm_model(name: str) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        import timm

        return timm.create_model(name, pretrained=False)

    return build


def image(size: int = 224, batch: int = 2) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: (torch.randn(batch, 3, size, size),)


def tokens(*lengths: int, batch: int = 2, vocabulary: int = 1000) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: tuple(torch.randint(vocabulary, (batch, length)) for length in lengths)


class Call(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, call: Callable[..., torch.Tensor]):
        super().__init__()
        self.model = model
        self.call = call

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.call(self.model, *inputs)


def bert() -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(attn_implementation="eager"))
    return Call(model, lambda bert, ids: bert(input_ids=ids, return_dict=False)[1])


def gpt2(attention: str, dropout: float, activation: str = "gelu_new") -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(
            use_cache=False, attn_implementation=attention, attn_pdrop=dropout, activation_function=activation
        )
        model = GPT2LMHeadModel(config)
        return Call(model, lambda gpt, ids: gpt(input_ids=ids, return_dict=False)[0])

    return build


def tinyllama(attention: str) -> Callable[[], torch.nn.Module]:
    def build() -> torch.nn.Module:
        from transformers import LlamaConfig, LlamaForCausalLM

        model = LlamaForCausalLM(
            LlamaConfig(
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
                attn_implementation=attention,
            )
        )
        return Call(with_fused_norms(model), lambda llama, ids: llama(input_ids=ids, return_dict=False)[0])

    return build


class FusedRmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(context, x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
        deviation = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        context.save_for_backward(x, deviation, weight)
        return x * deviation * weight


def with_fused_norms(model: torch.nn.Module) -> torch.nn.Module:
    for module in model.modules():
        if type(module).__name__ in ("LlamaRMSNorm", "T5LayerNorm"):
            module.forward = lambda x, norm=module: FusedRmsNorm.apply(x, norm.weight, norm.variance_epsilon)
    return model


def t5_small() -> torch.nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=32128,
            d_model=512,
            d_kv=64,
            d_ff=2048,
            num_layers=6,
            num_heads=8,
            decoder_start_token_id=0,
            use_cache=False,
            attn_implementation="eager",
        )
    )
    return Call(with_fused_norms(model), lambda t5, a, b: t5(input_ids=a, decoder_input_ids=b, return_dict=False)[0])


class UNet(torch.nn.Module):
    """U-Net as mateuszbuda/brain-segmentation-pytorch arranges it (see samples/more/unet.layers.yaml)."""

    def __init__(self, features: int = 32):
        super().__init__()
        sizes = [features, 2 * features, 4 * features, 8 * features]
        self.down = torch.nn.ModuleList(self.double(a, b) for a, b in zip([3, *sizes], sizes))
        self.bottleneck = self.double(sizes[-1], 2 * sizes[-1])
        self.up = torch.nn.ModuleList(torch.nn.ConvTranspose2d(2 * size, size, 2, 2) for size in reversed(sizes))
        self.join = torch.nn.ModuleList(self.double(2 * size, size) for size in reversed(sizes))
        self.out = torch.nn.Conv2d(features, 1, 1)

    @staticmethod
    def double(channels: int, features: int) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Conv2d(channels, features, 3, padding=1, bias=False),
            torch.nn.BatchNorm2d(features),
            torch.nn.ReLU(inplace=True),
            torch.nn.Conv2d(features, features, 3, padding=1, bias=False),
            torch.nn.BatchNorm2d(features),
            torch.nn.ReLU(inplace=True),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
            x = torch.nn.functional.max_pool2d(x, 2)
        x = self.bottleneck(x)
        for up, join, skip in zip(self.up, self.join, reversed(skips)):
            x = join(torch.cat((up(x), skip), dim=1))
        return torch.sigmoid(self.out(x))


def sample(name: str, model: str, **options: object) -> Row:
    graphs = (f"samples/{name}.onnx", f"samples/{name}.layers.yaml")
    return Row(name, f"torchvision {model}", graphs, vision(model, **options), image())


def more(name: str, source: str, build: Callable[[], torch.nn.Module], inputs, **rest: object) -> Row:
    return Row(name, source, (f"samples/more/{name}.layers.yaml",), build, inputs, **rest)


def timm_row(name: str, size: int = 224, options: str = "") -> Row:
    graph = f"shared/timm-train/{name}.onnx.gz"
    return Row(f"timm {name}", f"timm {name}", (graph,), timm_model(name), image(size), options=options)


ROWS = [
    sample("alexnet", "alexnet"),
    sample("vgg16", "vgg16"),
    sample("googlenet", "googlenet", aux_logits=False, init_weights=False),
    sample("resnet50", "resnet50"),
    sample("mobilenet_v2", "mobilenet_v2"),
    more("resnext50-32x4d", "torchvision resnext50_32x4d", vision("resnext50_32x4d"), image()),
    more("efficientnet-b0", "torchvision efficientnet_b0", vision("efficientnet_b0"), image()),
    more("vit-b-16", "torchvision vit_b_16", vision("vit_b_16"), image()),
    more("swin-t", "torchvision swin_t", vision("swin_t"), image(), options="attention=eager"),
    more("unet", "U-Net of this script", UNet, image(256)),
    more(
        "t5-small",
        "transformers T5ForConditionalGeneration, eager attention",
        t5_small,
        tokens(128, 128),
        dimensions="seq=128 target_seq=128",
        options="attention=eager",
    ),
    Row(
        "bert-base",
        "transformers BertModel, eager attention",
        ("samples/bert-base.onnx", "samples/bert-base.layers.yaml"),
        bert,
        tokens(512, batch=1),
        batch=1,
        options="attention=eager",
    ),
    Row(
        "gpt2 eager",
        "transformers GPT2LMHeadModel, eager attention",
        ("samples/gpt2.onnx",),
        gpt2("eager", 0.1),
        tokens(1024, batch=1),
        batch=1,
        options="attention=eager",
    ),
    Row(
        "gpt2 eager, one GELU",
        "transformers GPT2LMHeadModel, eager attention, activation_function=gelu_pytorch_tanh",
        ("samples/gpt2.layers.yaml",),
        gpt2("eager", 0.1, "gelu_pytorch_tanh"),
        tokens(1024, batch=1),
        batch=1,
        options="attention=eager",
    ),
    Row(
        "gpt2 fused",
        "transformers GPT2LMHeadModel, scaled_dot_product_attention without dropout",
        ("samples/gpt2.onnx",),
        gpt2("sdpa", 0.0),
        tokens(1024, batch=1),
        batch=1,
        options="attention=fused",
    ),
    Row(
        "tinyllama eager",
        "transformers LlamaForCausalLM, eager attention",
        ("samples/tinyllama.layers.yaml",),
        tinyllama("eager"),
        tokens(256, batch=1),
        batch=1,
        dimensions="seq=256",
        options="attention=eager",
    ),
    timm_row("resnet50"),
    timm_row("densenet121"),
    timm_row("convnext_tiny"),
    timm_row("efficientnet_b0"),
    timm_row("mixer_b16_224"),
    timm_row("regnety_016"),
    timm_row("inception_v3", 299),
    timm_row("cspdarknet53", 256, "in-place=true"),
    timm_row("poolformer_s12"),
    timm_row("resmlp_12_224"),
    timm_row("ghostnet_100"),
    timm_row("nfnet_f0", 192),
    timm_row("hrnet_w18"),
]


@dataclass
class Kept:
    """Storages that autograd holds, by identity; the tensors are held so that no address is used twice."""

    own: set[int]
    storages: dict[int, torch.Tensor] = field(default_factory=dict)

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        key = tensor.untyped_storage()._cdata
        if key not in self.own and key not in self.storages:
            self.storages[key] = tensor
        return tensor

    @property
    def bytes(self) -> int:
        return sum(tensor.untyped_storage().nbytes() for tensor in self.storages.values())


def measure(row: Row) -> Kept:
    torch.manual_seed(0)
    model = row.build().train()
    held = [*model.parameters(), *model.buffers()]
    kept = Kept({tensor.untyped_storage()._cdata for tensor in held})
    with torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda tensor: tensor):
        output = model(*row.inputs())
    if not output.requires_grad:
        raise SystemExit(f"{row.name}: nothing is trained")
    return kept


def native_dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    return torch.native_dropout(input, p, True)[0] if training and p > 0 else input


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="networks to measure; others keep their line")
    parser.add_argument("--list", help="print what is kept of one network, by type and shape, and write nothing")
    arguments = parser.parse_args()
    torchvision_models()
    torch.nn.functional.dropout = native_dropout
    if arguments.list is not None:
        [row] = [row for row in ROWS if row.name == arguments.list]
        shapes = collections.Counter((str(t.dtype), tuple(t.shape), t.untyped_storage().nbytes()) for t in measure(row).storages.values())
        for (dtype, shape, size), count in sorted(shapes.items(), key=lambda entry: -entry[0][2] * entry[1]):
            print(f"{count * size:12} {count:4} × {size:10} {dtype} {shape}")
        return
    header = ["model", "source", "graphs", "batch", "dimensions", "options", "bytes", "torch"]
    before = {}
    if MEASURED.exists():
        with MEASURED.open() as file:
            before = {line["model"]: line for line in csv.DictReader(file)}
    lines = []
    for row in ROWS:
        if arguments.only and row.name not in arguments.only and row.name in before:
            lines.append(before[row.name])
            continue
        print(row.name, file=sys.stderr, end=" ", flush=True)
        size = measure(row).bytes
        print(f"{size:,}", file=sys.stderr)
        lines.append(
            {
                "model": row.name,
                "source": row.source,
                "graphs": " ".join(row.graphs),
                "batch": row.batch,
                "dimensions": row.dimensions,
                "options": row.options,
                "bytes": size,
                "torch": torch.__version__.split("+")[0],
            }
        )
    with MEASURED.open("w", newline="") as file:
        writer = csv.DictWriter(file, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
