"""
Training steps of PyTorch models as people write them, on the GPU there is, one JSON line each:

    python scripts/measured/gpuSteps.py OUT.jsonl [SECONDS]

`measured/steps-eager.csv` has them as a table. Needs torch with CUDA, torchvision, timm and transformers, and no other work on the
GPU. A model that cannot be built or run is a line with its error.
"""

from __future__ import annotations

import contextlib
import gc
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

DEVICE = "cuda"
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}
#: Seconds for the timed steps of one row.
ENOUGH = 0.5


@dataclass(frozen=True)
class Row:
    model: str
    batch: int
    precision: str = "bf16"
    optimizer: str = "adamw"
    layout: str = "channels-first"
    fused: bool = False
    checkpoint: bool = False
    attention: Optional[str] = None
    mode: str = "training"
    compile: Optional[str] = None


@dataclass(frozen=True)
class Model:
    make: Callable[[], nn.Module]
    #: Arguments of a call with so many samples.
    inputs: Callable[[int], dict[str, Any]]
    loss: Callable[[Any, int], Tensor]


def image_model(name: str, library: str = "torchvision", size: int = 224) -> Model:
    def make() -> nn.Module:
        if library == "timm":
            import timm

            return timm.create_model(name, pretrained=False)
        import torchvision

        return torchvision.models.get_model(name, weights=None)

    def loss(output: Any, batch: int) -> Tensor:
        labels = torch.randint(0, 1000, (batch,), device=DEVICE)
        outputs = [output] if torch.is_tensor(output) else [output.logits, output.aux_logits]
        return sum(F.cross_entropy(each, labels) for each in outputs)

    return Model(make, lambda batch: {"x": torch.randn(batch, 3, size, size, device=DEVICE)}, loss)


def language_model(kind: str, head: str, sequence: int, **config: Any) -> Model:
    def make() -> nn.Module:
        import transformers

        model = getattr(transformers, f"{kind}{head}")(getattr(transformers, f"{kind}Config")(**config))
        model.config.use_cache = False
        return model

    def inputs(batch: int) -> dict[str, Any]:
        tokens = torch.randint(0, 30000, (batch, sequence), device=DEVICE)
        return {"input_ids": tokens, "labels": tokens.clone()}

    return Model(make, inputs, lambda output, batch: output.loss)


BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}
TINYLLAMA = {"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "max_position_embeddings": 2048}
LLAMA_1B = {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192, "tie_word_embeddings": True}
LLAMA_8_LAYERS = {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 8, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096}
QWEN = {"vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 4096, "tie_word_embeddings": True}
T5_BASE = {"decoder_start_token_id": 0, "d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
OPT_350M = {"hidden_size": 1024, "ffn_dim": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}

IMAGE_MODELS = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "convnext_tiny", "vit_b_16", "vit_l_16", "swin_t", "efficientnet_b0", "densenet121", "regnet_y_8gf", "alexnet", "shufflenet_v2_x1_0", "maxvit_t", "resnext101_32x8d"]
TIMM_MODELS = ["mixer_b16_224", "deit3_base_patch16_224", "nfnet_l0", "convnextv2_tiny"]
MODELS = {
    **{name: image_model(name) for name in IMAGE_MODELS},
    **{name: image_model(name, "timm") for name in TIMM_MODELS},
    "inception_v3": image_model("inception_v3", size=299),
    "gpt2": language_model("GPT2", "LMHeadModel", 1024),
    "gpt2-medium": language_model("GPT2", "LMHeadModel", 1024, n_layer=24, n_head=16, n_embd=1024),
    "bert-base-128": language_model("Bert", "ForMaskedLM", 128),
    "bert-base-512": language_model("Bert", "ForMaskedLM", 512),
    "bert-large-512": language_model("Bert", "ForMaskedLM", 512, **BERT_LARGE),
    "tinyllama": language_model("Llama", "ForCausalLM", 2048, **TINYLLAMA),
    "llama-3.2-1b": language_model("Llama", "ForCausalLM", 2048, **LLAMA_1B),
    "llama-7b-8-layers": language_model("Llama", "ForCausalLM", 4096, **LLAMA_8_LAYERS),
    "qwen3-0.6b": language_model("Qwen3", "ForCausalLM", 2048, **QWEN),
    "t5-base": language_model("T5", "ForConditionalGeneration", 512, **T5_BASE),
    "opt-350m": language_model("OPT", "ForCausalLM", 1024, **OPT_350M),
}

SGD = {"optimizer": "momentum"}
LAST = {**SGD, "layout": "channels-last"}
ROWS = [
    *[Row("resnet50", 64, **SGD), Row("resnet50", 256, **SGD), Row("resnet50", 256, **LAST), Row("resnet50", 128, "fp32", **SGD), Row("resnet50", 128, "tf32", **SGD)],
    *[Row("gpt2", 8), Row("gpt2", 8, "fp32"), Row("bert-base-512", 32), Row("tinyllama", 4), Row("vit_b_16", 128), Row("mobilenet_v2", 128, **SGD), Row("vgg16", 64, **SGD)],
    *[Row("swin_t", 64), Row("convnext_tiny", 64), Row("bert-base-128", 128), Row("bert-large-512", 16, fused=True), Row("llama-3.2-1b", 4), Row("llama-3.2-1b", 4, checkpoint=True)],
    *[Row("qwen3-0.6b", 4), Row("t5-base", 16), Row("opt-350m", 8), Row("vit_l_16", 64), Row("gpt2-medium", 8), Row("gpt2", 8, attention="eager"), Row("tinyllama", 8, fused=True)],
    *[Row("mixer_b16_224", 128), Row("deit3_base_patch16_224", 128), Row("gpt2", 16, "tf32"), Row("llama-7b-8-layers", 2), Row("bert-base-128", 8), Row("resnet18", 16, **SGD)],
    *[Row("densenet121", 64, **SGD), Row("efficientnet_b0", 128, **SGD), Row("resnet50", 256, "fp16", **SGD), Row("alexnet", 256, "fp32", **SGD), Row("inception_v3", 64, **SGD)],
    *[Row("regnet_y_8gf", 64, **SGD), Row("convnextv2_tiny", 64), Row("resnet50", 256, mode="inference"), Row("mobilenet_v2", 128, **LAST), Row("shufflenet_v2_x1_0", 256, **SGD)],
    *[Row("maxvit_t", 32), Row("nfnet_l0", 64, **SGD), Row("resnext101_32x8d", 64, **SGD), Row("gpt2", 8, compile="default"), Row("vit_b_16", 128, compile="default"), Row("resnet50", 256, compile="default", **LAST)],
]


def measure(row: Row) -> dict[str, Any]:
    """Times in milliseconds, memory in bytes."""
    tf32 = row.precision == "tf32"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    model = MODELS[row.model]
    trains = row.mode == "training"
    with torch.device(DEVICE):
        network = model.make()
    network.train(trains)
    inputs = model.inputs(row.batch)
    if row.layout == "channels-last":
        network = network.to(memory_format=torch.channels_last)
        inputs = {name: each.to(memory_format=torch.channels_last) for name, each in inputs.items()}
    if row.checkpoint:
        network.gradient_checkpointing_enable()
    if row.attention is not None:
        network.set_attn_implementation(row.attention)
    optimizer = optimizer_of(row, network) if trains else None
    scaler = torch.amp.GradScaler("cuda") if row.precision == "fp16" and trains else None
    half = HALF.get(row.precision)
    ran = network if row.compile is None else torch.compile(network)

    def step() -> tuple[list[Any], float]:
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        begin = time.perf_counter()
        marks[0].record()
        casts = contextlib.nullcontext() if half is None else torch.autocast("cuda", dtype=half)
        with torch.set_grad_enabled(trains), casts:
            # Models of images name their argument differently.
            output = ran(inputs["x"]) if "x" in inputs else ran(**inputs)
            loss = model.loss(output, row.batch)
        marks[1].record()
        if optimizer is not None:
            (loss if scaler is None else scaler.scale(loss)).backward()
            del output, loss
            marks[2].record()
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer)
                scaler.update()
            optimizer.zero_grad(set_to_none=True)
        else:
            marks[2].record()
        marks[3].record()
        return marks, time.perf_counter() - begin

    for _ in range(4 if row.compile else 3):
        step()
        torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    # The GPU has nothing to do: the host does not wait for it until its queue is full.
    _, host = step()
    torch.cuda.synchronize()
    repeats = max(5, min(30, int(ENOUGH / (time.perf_counter() - begin))))
    runs = [step()[0] for _ in range(repeats)]
    torch.cuda.synchronize()
    spans = [[marks[part].elapsed_time(marks[part + 1]) for part in range(3)] for marks in runs]
    forward, backward, update = (statistics.median(span[part] for span in spans) for part in range(3))
    return {
        **asdict(row),
        "milliseconds": statistics.median(map(sum, spans)),
        "forward": forward,
        "backward": backward,
        "update": update,
        "host": host * 1e3,
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
    }


def optimizer_of(row: Row, network: nn.Module) -> torch.optim.Optimizer:
    """With a learning rate that moves nothing."""
    if row.optimizer == "momentum":
        return torch.optim.SGD(network.parameters(), lr=1e-9, momentum=0.9, weight_decay=1e-4)
    return torch.optim.AdamW(network.parameters(), lr=1e-9, **({"fused": True} if row.fused else {}))


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    begin = time.monotonic()
    with open(path, "w", encoding="utf-8") as out:
        versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
        out.write(json.dumps({"gpu": torch.cuda.get_device_name(), **versions}) + "\n")
        for row in ROWS:
            if time.monotonic() - begin > seconds:
                print(f"out of time before {row}")
                break
            try:
                found = measure(row)
                print(f"{row.model} at {row.batch}, {row.precision}: {found['milliseconds']:.2f} ms, host {found['host']:.2f} ms", flush=True)
            except (RuntimeError, ImportError, ValueError) as error:
                found = {**asdict(row), "error": f"{type(error).__name__}: {error}"[:300]}
            out.write(json.dumps(found) + "\n")
            out.flush()
            gc.collect()
            torch.cuda.empty_cache()
            torch._dynamo.reset()


if __name__ == "__main__":
    main()
