"""Exports models with `torch.export`, and counts what PyTorch does: `python samples/scripts/programs.py FOLDER [--only NAME ...]`.

Models of torchvision, timm and transformers, and a few of `torch.nn` alone: those of `exports.py`, more kinds, and networks
as people write them (`handWritten.py`), which are not exported as ONNX. Each is
exported on `torch.device("meta")` with an open batch, in training and in evaluation mode, and from its program in training
mode as ONNX that no optimizer changed. Standard output has one JSON object per line: versions, then for each model what PyTorch
counts of it, then each file in FOLDER, or why it was refused. `npm run samples -- --programs` costs the files and writes
`measured/programs.jsonl`.

What PyTorch counts: elements of `named_parameters()`; FLOPs of forward and of backward (`FlopCounterMode`, attention written
out, which is what the counter knows on a CPU); bytes that autograd holds in training mode
when backward begins (see `scripts/measured/savedActivations.py`, but with normalizations as the model writes them). Backward begins at the sum of all
results.

The counter takes the weight gradient of a grouped convolution for one of a convolution without groups, `groups` times too
many (torch/utils/flop_counter.py, `conv_backward_flop`: it has `_groups` and does not read it). `byGroups` has the gradient's
own work, 2 · elements of the result · elements of one filter, as forward has. `counted` is what the counter says.
"""

from __future__ import annotations

import gc
import math
import sys
import weakref
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch  # noqa: E402
from exportRun import arguments_of, teller  # noqa: E402
from exports import BATCH, MODELS, Inputs, Model, Tuple, as_on_a_gpu, pixels, text, timm, tokens, torchvision, transformers  # noqa: E402
from export import torchvision_models  # noqa: E402
from handWritten import HAND_WRITTEN  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402


class Words(torch.nn.Module):
    """A language model of recurrent layers with its loss (Zaremba et al. 2014, arXiv:1409.2329)."""

    def __init__(self, recurrent: type[torch.nn.RNNBase], **options: Any):
        super().__init__()
        self.embed = torch.nn.Embedding(4000, 256)
        self.recurrent = recurrent(256, 256, num_layers=2, batch_first=True, dropout=0.1, **options)
        self.head = torch.nn.Linear(512 if options.get("bidirectional") else 256, 4000)

    def forward(self, words: torch.Tensor, next_words: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.recurrent(self.embed(words))
        return torch.nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), next_words.flatten())


class Detector(torch.nn.Module):
    """The network of RetinaNet, without the choice of boxes, which depends on data."""

    def __init__(self) -> None:
        super().__init__()
        models = torchvision_models()
        from torchvision.models import detection

        network = detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, trainable_backbone_layers=5)
        self.backbone, self.head = network.backbone, network.head

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.head(list(self.backbone(image).values()))
        return found["cls_logits"], found["bbox_regression"]


class Diffusion(torch.nn.Module):
    """A U-Net of diffusion models in small: group normalization, SiLU, attention, transposed convolution, upsampling."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        nn = torch.nn
        self.first = nn.Conv2d(4, width, 3, padding=1)
        self.norm = nn.GroupNorm(32, width)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.time = nn.Linear(width, 2 * width)
        self.middle = nn.GroupNorm(32, 2 * width)
        self.attention = nn.MultiheadAttention(2 * width, 4, batch_first=True)
        self.rise = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.last = nn.Conv2d(3 * width, 4, 3, padding=1)

    def forward(self, image: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        silu = torch.nn.functional.silu
        above = silu(self.norm(self.first(image)))
        below = silu(self.middle(self.down(above) + self.time(time)[:, :, None, None]))
        flat = below.flatten(2).transpose(1, 2)
        mixed, _ = self.attention(flat, flat, flat, need_weights=False)
        below = below + mixed.transpose(1, 2).unflatten(2, below.shape[2:])
        grown = torch.nn.functional.interpolate(below, scale_factor=2, mode="nearest")
        return self.last(torch.cat([above + self.rise(below), grown], 1))


def own(name: str, build: Callable[[], torch.nn.Module], inputs: Callable[[], Inputs]) -> Model:
    return Model(name, "torch", build, inputs)


words = lambda: {"words": tokens(32), "next_words": tokens(32)}  # noqa: E731
small = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=4000)

MORE = [
    torchvision("vgg11", 224),
    torchvision("mobilenet_v2"),
    Model("retinanet", "torchvision", Detector, lambda: {"image": torch.randn(BATCH, 3, 128, 128)}),
    own("lstm", lambda: Words(torch.nn.LSTM), words),
    own("gru", lambda: Words(torch.nn.GRU, bidirectional=True), words),
    own(
        "transformer",
        lambda: torch.nn.Transformer(128, 4, 1, 1, 256, batch_first=True),
        lambda: {"source": torch.randn(BATCH, 16, 128), "target": torch.randn(BATCH, 12, 128)},
    ),
    own(
        "diffusion",
        Diffusion,
        lambda: {"image": torch.randn(BATCH, 4, 32, 32), "time": torch.randn(BATCH, 64)},
    ),
    transformers("qwen3", "Qwen3ForCausalLM", "Qwen3Config", text(), num_key_value_heads=2, head_dim=64, **small),
    transformers("gemma2", "Gemma2ForCausalLM", "Gemma2Config", text(), num_key_value_heads=2, head_dim=64, **small),
    transformers(
        "olmoe",
        "OlmoeForCausalLM",
        "OlmoeConfig",
        text(),
        num_experts=8,
        num_experts_per_tok=2,
        experts_implementation="batched_mm",
        **small,
    ),
    transformers("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", text(), **small),
    transformers("yolos", "YolosForObjectDetection", "YolosConfig", pixels(64), num_hidden_layers=2, image_size=[64, 64]),
    transformers("dinov2", "Dinov2Model", "Dinov2Config", pixels(56), num_hidden_layers=2, image_size=56),
]
# Whisper in training depends on data, which no export can follow.
ALL = [*(model for model in MODELS if model.name != "whisper"), *MORE, *HAND_WRITTEN]
# Their traces say what is checkpointed; no ONNX file keeps that.
TRACED = {model.name for model in HAND_WRITTEN}


class Saved:
    """What autograd saved, without its history: a result would keep the function alive that made and saved it."""

    def __init__(self, tensor: torch.Tensor):
        self.tensor = tensor.data


class KeptToBackward:
    """
    Storages that autograd still holds when backward begins, each once; those in `own` are left out. What a function saved whose
    result nothing differentiates (`argmin`, `detach`) is gone by then.
    """

    def __init__(self, own: set[int]):
        self.own = own
        self.saved: list[weakref.ref[Saved]] = []

    def pack(self, tensor: torch.Tensor) -> Saved:
        saved = Saved(tensor)
        self.saved.append(weakref.ref(saved))
        return saved

    @property
    def bytes(self) -> int:
        alive = [saved.tensor.untyped_storage() for saved in (each() for each in self.saved) if saved is not None]
        storages = {storage._cdata: storage.nbytes() for storage in alive if storage._cdata not in self.own}
        return sum(storages.values())


def floats(results: Any) -> list[torch.Tensor]:
    if isinstance(results, torch.Tensor):
        return [results] if results.is_floating_point() and results.requires_grad else []
    if isinstance(results, dict):
        results = list(results.values())
    return [each for result in results or [] for each in floats(result)] if isinstance(results, (list, tuple)) else []


def conv_backward_by_groups(
    grad, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, mask, out_shape=None, **rest
) -> int:
    """Each gradient multiplies each element of the result with one filter, or of the input where it is transposed."""
    places = x if transposed else grad
    filters = 2 * places[0] * math.prod(places[2:]) * math.prod(weight)
    return filters * (bool(mask[0]) + bool(mask[1]))


def truth(model: Model) -> dict[str, int]:
    torch.manual_seed(0)
    network = model.build().train()
    parameters = sum(parameter.numel() for _, parameter in network.named_parameters() if parameter.requires_grad)
    inputs = model.inputs()
    by_groups = {torch.ops.aten.convolution_backward: conv_backward_by_groups}
    forward, counted = FlopCounterMode(display=False), FlopCounterMode(display=False)
    backward = FlopCounterMode(display=False, custom_mapping=by_groups)
    # The CPU's own recurrent kernel is one that the counter does not know.
    with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
        with forward:
            results = network(*inputs.values())
        total = sum(result.sum() for result in floats(results))
        with counted:
            total.backward(retain_graph=True)
        with backward:
            total.backward()
    read = sum(p.numel() for p in network.parameters() if p.requires_grad and p.grad is not None)
    network.zero_grad()
    kept = KeptToBackward({held.untyped_storage()._cdata for held in [*network.parameters(), *network.buffers()]})
    with as_on_a_gpu(), torch.autograd.graph.saved_tensors_hooks(kept.pack, lambda saved: saved.tensor):
        results = network(*inputs.values())
    saved = kept.bytes
    del results
    return {
        "parameters": parameters,
        # Of which some have no gradient, because no result depends on them.
        "withGradient": read,
        "forward": forward.get_total_flops(),
        "byGroups": backward.get_total_flops(),
        "counted": counted.get_total_flops(),
        "saved": saved,
    }


def program_of(model: Model, is_training: bool) -> torch.export.ExportedProgram:
    inputs = tuple(model.inputs().values())
    network = on_meta(model).train(is_training)
    example = tuple(given.to("meta") for given in inputs)
    batch = torch.export.Dim("batch", min=2, max=4096)
    dynamic = tuple({0: batch} for _ in example)
    if isinstance(network, Tuple):
        dynamic = (dynamic,)  # its inputs are one argument, `*inputs`
    return torch.export.export(network, example, dynamic_shapes=dynamic, strict=False)


def on_meta(model: Model) -> torch.nn.Module:
    """Some constructors compute with tensors; those are built with weights, which are then left."""
    try:
        with torch.device("meta"):
            return model.build()
    except NotImplementedError:
        return model.build().to("meta")


def as_onnx(model: Model, path: Path) -> None:
    """With real weights, which are small, as people export."""
    torch.manual_seed(0)
    inputs = model.inputs()
    network = model.build().train()
    program = torch.export.export(network, tuple(inputs.values()), strict=False)
    torch.onnx.export(program, (), str(path), input_names=list(inputs), external_data=False, optimize=False)


def export_all(model: Model, folder: Path, tell: Callable[[dict], None]) -> None:
    tell({"model": model.name, "library": model.library, "truth": truth(model)})
    ways = [("pt2", "train"), ("pt2", "eval"), *([] if model.name in TRACED else [("onnx", "train")])]
    for file_type, mode in ways:
        row = {"model": model.name, "file_type": file_type, "mode": mode}
        path = folder / f"{model.name}-{mode}.{file_type}"
        try:
            if file_type == "pt2":
                program = program_of(model, mode == "train")
                for node in program.graph.nodes if model.name not in TRACED else []:
                    node.meta.pop("stack_trace", None)  # paths of the machine
                torch.export.save(program, path)
            else:
                as_onnx(model, path)
        except Exception as error:  # what cannot be exported is a row of the table
            tell({**row, "refused": f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"})
        else:
            tell({**row, "file": str(path)})
        gc.collect()


def main() -> None:
    arguments = arguments_of(__doc__, [model.name for model in ALL], "model")
    tell = teller()
    torchvision_models()
    libraries = ["torchvision", "timm", "transformers", "onnx", "onnxscript"]
    tell({"versions": {"torch": torch.__version__, **{name: version(name) for name in libraries}}})
    for model in ALL:
        if not arguments.only or model.name in arguments.only:
            export_all(model, arguments.folder, tell)


if __name__ == "__main__":
    main()
