"""
Training steps of PyTorch models as people write them, on the GPU there is, one JSON line each:

    python scripts/measured/gpuSteps.py OUT.jsonl [SECONDS] [first | second | compiled | decode]

Compiled models are compiled side by side, each in a process of its own, and run one after the other.
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

LLAMA_8B_PART = {"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 6, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192}
PHI_3_PART = {"vocab_size": 32064, "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 10, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096, "pad_token_id": 0}
FALCON_PART = {"vocab_size": 65024, "hidden_size": 4544, "num_hidden_layers": 6, "num_attention_heads": 71, "multi_query": True, "parallel_attn": True, "bias": False, "new_decoder_architecture": False}
QWEN_2_5 = {"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "max_position_embeddings": 4096, "tie_word_embeddings": True}
PYTHIA_410M = {"vocab_size": 50304, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16, "max_position_embeddings": 2048}
GEMMA_2_PART = {"vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256}
MIXTRAL_SMALL = {"vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 3584, "num_hidden_layers": 12, "num_attention_heads": 16, "num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 4096}
ROBERTA = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1}
DEBERTA = {"vocab_size": 128100, "relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "layer_norm_eps": 1e-7, "max_relative_positions": -1, "position_biased_input": False, "type_vocab_size": 0}

IMAGE_MODELS = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "convnext_tiny", "vit_b_16", "vit_l_16", "swin_t", "efficientnet_b0", "densenet121", "regnet_y_8gf", "alexnet", "shufflenet_v2_x1_0", "maxvit_t", "resnext101_32x8d", "resnext50_32x4d", "wide_resnet50_2", "efficientnet_v2_s", "regnet_y_1_6gf", "convnext_base", "mobilenet_v3_large", "swin_v2_t"]
TIMM_MODELS = ["mixer_b16_224", "deit3_base_patch16_224", "nfnet_l0", "convnextv2_tiny", "beit_base_patch16_224", "resnetv2_50", "coatnet_0_rw_224", "vit_small_patch16_224"]
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
    "llama-3-8b-6-layers": language_model("Llama", "ForCausalLM", 8192, **LLAMA_8B_PART),
    "phi-3-10-layers": language_model("Phi3", "ForCausalLM", 4096, **PHI_3_PART),
    "falcon-6-layers": language_model("Falcon", "ForCausalLM", 2048, **FALCON_PART),
    "qwen2.5-0.5b": language_model("Qwen2", "ForCausalLM", 2048, **QWEN_2_5),
    "pythia-410m": language_model("GPTNeoX", "ForCausalLM", 2048, **PYTHIA_410M),
    "gemma-2-8-layers": language_model("Gemma2", "ForCausalLM", 2048, **GEMMA_2_PART),
    "mixtral-small": language_model("Mixtral", "ForCausalLM", 2048, **MIXTRAL_SMALL),
    "roberta-base": language_model("Roberta", "ForMaskedLM", 512, **ROBERTA),
    "deberta-v3-base": language_model("DebertaV2", "ForMaskedLM", 512, **DEBERTA),
    "modernbert-base": language_model("ModernBert", "ForMaskedLM", 1024, vocab_size=50368),
    "bart-base": language_model("Bart", "ForConditionalGeneration", 512, d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072),
    "distilbert": language_model("DistilBert", "ForMaskedLM", 512),
}

SGD = {"optimizer": "momentum"}
LAST = {**SGD, "layout": "channels-last"}
FIRST = [
    *[Row("resnet50", 64, **SGD), Row("resnet50", 256, **SGD), Row("resnet50", 256, **LAST), Row("resnet50", 128, "fp32", **SGD), Row("resnet50", 128, "tf32", **SGD)],
    *[Row("gpt2", 8), Row("gpt2", 8, "fp32"), Row("bert-base-512", 32), Row("tinyllama", 4), Row("vit_b_16", 128), Row("mobilenet_v2", 128, **SGD), Row("vgg16", 64, **SGD)],
    *[Row("swin_t", 64), Row("convnext_tiny", 64), Row("bert-base-128", 128), Row("bert-large-512", 16, fused=True), Row("llama-3.2-1b", 4), Row("llama-3.2-1b", 4, checkpoint=True)],
    *[Row("qwen3-0.6b", 4), Row("t5-base", 16), Row("opt-350m", 8), Row("vit_l_16", 64), Row("gpt2-medium", 8), Row("gpt2", 8, attention="eager"), Row("tinyllama", 8, fused=True)],
    *[Row("mixer_b16_224", 128), Row("deit3_base_patch16_224", 128), Row("gpt2", 16, "tf32"), Row("llama-7b-8-layers", 2), Row("bert-base-128", 8), Row("resnet18", 16, **SGD)],
    *[Row("densenet121", 64, **SGD), Row("efficientnet_b0", 128, **SGD), Row("resnet50", 256, "fp16", **SGD), Row("alexnet", 256, "fp32", **SGD), Row("inception_v3", 64, **SGD)],
    *[Row("regnet_y_8gf", 64, **SGD), Row("convnextv2_tiny", 64), Row("resnet50", 256, mode="inference"), Row("mobilenet_v2", 128, **LAST), Row("shufflenet_v2_x1_0", 256, **SGD)],
    *[Row("maxvit_t", 32), Row("nfnet_l0", 64, **SGD), Row("resnext101_32x8d", 64, **SGD)],
]
SECOND = [
    *[Row("llama-3-8b-6-layers", 1, fused=True), Row("gpt2", 8), Row("phi-3-10-layers", 2), Row("resnext50_32x4d", 128, **SGD), Row("qwen2.5-0.5b", 4), Row("beit_base_patch16_224", 128)],
    *[Row("mixtral-small", 4), Row("efficientnet_v2_s", 96, **SGD), Row("pythia-410m", 8), Row("convnext_base", 64), Row("modernbert-base", 16), Row("maxvit_t", 32), Row("deberta-v3-base", 16)],
    *[Row("resnext50_32x4d", 128, **LAST), Row("falcon-6-layers", 4), Row("swin_v2_t", 64), Row("gemma-2-8-layers", 2), Row("wide_resnet50_2", 128, **SGD), Row("roberta-base", 32)],
    *[Row("mobilenet_v3_large", 256, **SGD), Row("bart-base", 32), Row("nfnet_l0", 64, **SGD), Row("resnet50", 128, **SGD), Row("distilbert", 64), Row("coatnet_0_rw_224", 64)],
    *[Row("efficientnet_v2_s", 96, **LAST), Row("resnetv2_50", 96, **SGD), Row("convnextv2_tiny", 64), Row("regnet_y_1_6gf", 128, **SGD), Row("vit_small_patch16_224", 256), Row("tinyllama", 4, fused=True)],
    *[Row("resnet50", 256, mode="inference"), Row("vit_b_16", 256, mode="inference"), Row("resnet50", 128, "tf32", **LAST), Row("bert-base-512", 32, "tf32")],
]
COMPILED = [
    *[Row("gpt2", 8, compile="default"), Row("bert-base-512", 32, compile="default"), Row("vit_b_16", 128, compile="default"), Row("resnet50", 128, compile="default", **LAST)],
    *[Row("convnext_tiny", 64, compile="default"), Row("llama-3.2-1b", 2, compile="default"), Row("mobilenet_v2", 128, compile="default", **LAST), Row("qwen2.5-0.5b", 4, compile="default")],
]


def measure(row: Row, alone: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Times in milliseconds, memory in bytes. `alone` returns when no other process uses the GPU."""
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
    alone()
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


#: Entries of a cache for the steps that are timed, each of which writes one.
SPARE = 64


@dataclass(frozen=True)
class Decoding:
    """A decode step with weights in bf16 and a static cache, replayed as a CUDA graph."""

    model: str
    batch: int
    past: int


DECODED = {
    "tinyllama": ("Llama", TINYLLAMA),
    "llama-3-8b": ("Llama", {**LLAMA_8B_PART, "num_hidden_layers": 32}),
    "qwen2.5-0.5b": ("Qwen2", QWEN_2_5),
}
DECODINGS = [Decoding("llama-3-8b", 1, 512), Decoding("llama-3-8b", 8, 4096), Decoding("llama-3-8b", 64, 2048), Decoding("tinyllama", 1, 1024), Decoding("tinyllama", 32, 1024), Decoding("qwen2.5-0.5b", 8, 2048)]


def decode(row: Decoding) -> dict[str, Any]:
    """Milliseconds of one token of each sequence, and of the prompt before it."""
    import transformers

    kind, config = DECODED[row.model]
    settings = getattr(transformers, f"{kind}Config")(**config)
    with torch.device(DEVICE):
        torch.set_default_dtype(torch.bfloat16)
        network = getattr(transformers, f"{kind}ForCausalLM")(settings).eval()
        torch.set_default_dtype(torch.float32)
    network.set_attn_implementation("sdpa")
    length = row.past + SPARE
    cache = transformers.StaticCache(config=settings, max_cache_len=length)
    with torch.no_grad():
        prompt = torch.randint(0, 30000, (row.batch, row.past), device=DEVICE)
        prefill = timed(lambda: network(input_ids=prompt, logits_to_keep=1, use_cache=False), 3)
        token = torch.zeros((row.batch, 1), dtype=torch.long, device=DEVICE)
        position = torch.full((row.batch, 1), row.past, device=DEVICE)
        # The cache counts tokens from its start, and attention reads all of it: no mask is made in the graph.
        mask = torch.zeros((row.batch, 1, 1, length), dtype=torch.bfloat16, device=DEVICE)

        def step() -> Any:
            return network(input_ids=token, past_key_values=cache, position_ids=position, attention_mask=mask)

        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        eager = timed(step, 10)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        replayed = timed(graph.replay, 30)
    return {**asdict(row), "mode": "decode", "milliseconds": replayed, "eager": eager, "prefill": prefill, "allocated": torch.cuda.max_memory_allocated()}


def timed(run: Callable[[], Any], repeats: int) -> float:
    run()
    times = []
    for _ in range(repeats):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        run()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


def write(out: Any, found: dict[str, Any]) -> None:
    print(", ".join(f"{name} {value}" for name, value in found.items() if value not in (None, False)), flush=True)
    out.write(json.dumps(found) + "\n")
    out.flush()


def attempt(row: Any, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return run()
    except Exception as error:  # A model that fails is a line of the file.
        return {**asdict(row), "error": f"{type(error).__name__}: {error}"[:300]}
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def compiled_side_by_side(out: Any, seconds: float) -> None:
    """Compiling is the host's work, so all compile at once. Then each is told in turn to run, while the others wait."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    waiting = []
    for row in COMPILED:
        here, there = context.Pipe()
        process = context.Process(target=compiled_alone, args=(row, there), daemon=False)
        process.start()
        waiting.append((row, here, process))
    end = time.monotonic() + seconds
    ready = []
    for row, pipe, process in waiting:
        # A process writes once when it has compiled, or its error.
        if pipe.poll(max(0.0, end - 20 - time.monotonic())):
            said = pipe.recv()
            if said == "compiled":
                ready.append((row, pipe, process))
                continue
            write(out, said)
        else:
            write(out, {**asdict(row), "error": "not compiled in time"})
        process.kill()
    for row, pipe, process in ready:
        pipe.send("run")
        write(out, pipe.recv() if pipe.poll(max(5.0, end - time.monotonic())) else {**asdict(row), "error": "no answer"})
        process.kill()


def compiled_alone(row: Row, pipe: Any) -> None:
    def alone() -> None:
        torch.cuda.empty_cache()
        pipe.send("compiled")
        pipe.recv()

    pipe.send(attempt(row, lambda: measure(row, alone)))


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    chosen = sys.argv[3] if len(sys.argv) > 3 else "first"
    begin = time.monotonic()
    with open(path, "w", encoding="utf-8") as out:
        versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
        out.write(json.dumps({"gpu": torch.cuda.get_device_name(), **versions}) + "\n")
        if chosen == "compiled":
            compiled_side_by_side(out, seconds)
            return
        rows: list[Any] = {"first": FIRST, "second": SECOND, "decode": DECODINGS}[chosen]
        for row in rows:
            if time.monotonic() - begin > seconds:
                print(f"out of time before {row}")
                break
            write(out, attempt(row, lambda: decode(row) if isinstance(row, Decoding) else measure(row)))


if __name__ == "__main__":
    main()
