"""Writes measured/compiled-graphs.csv: what torch.compile makes of networks that have a graph here, without a GPU.

    python scripts/measured/compiledGraphs.py [--only NAME ...] [--show NAME]     (torch, triton, torchvision, transformers)

Dynamo, AOTAutograd with its partitioner, and Inductor with its scheduler and Triton code generation run as they are, on
tensors without contents (FakeTensorMode). Inductor generates Triton for the CPU's tensors (`cpu_backend="triton"`) and
is told that they lie on an A100 with 108 multiprocessors; nothing that it generates is run. Counted are the launches
in the wrappers it writes, those of Triton kernels and those of libraries apart, the bytes that Triton kernels read and
write by the scheduler's own count, and the bytes that forward hands to backward: each storage once, parameters and
buffers left out. Rows in bf16 run under autocast, as the CPU has it: softmax and loss are cast by hand, as CUDA casts them.

What differs from a GPU: attention calls the CPU's flash kernel, which is why attention has no dropout here, as in
savedActivations.py.
"""

from __future__ import annotations

import argparse
import copy
import csv
import dataclasses
import re
import sys
import warnings
from pathlib import Path
from typing import Callable

import torch
import torch._functorch.config
import torch._inductor.config
import torch.utils._triton
from torch._inductor import compile_fx, decomposition, scheduler
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime.hints import DeviceProperties
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import FakeTensorMode

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "samples" / "scripts"))
import savedActivations  # noqa: E402
from export import torchvision_models  # noqa: E402
from savedActivations import Row, image, tokens, vision  # noqa: E402
from savedActivations import gpt2, tinyllama  # noqa: E402
from savedActivations import Call  # noqa: E402

MEASURED = Path(__file__).resolve().parents[2] / "measured" / "compiled-graphs.csv"


def as_cudnn(input: torch.Tensor, weight: torch.Tensor, backend: object) -> torch.memory_format:
    """What a convolution gives lies like its input or its weight (aten/src/ATen/native/ConvUtils.h)."""
    for tensor in (input, weight):
        if tensor.dim() == 4 and suggest_memory_format(tensor) == torch.channels_last:
            return torch.channels_last
    return torch.contiguous_format


def pretend_a100() -> None:
    fields = {field.name for field in dataclasses.fields(DeviceProperties)} if dataclasses.is_dataclass(
        DeviceProperties
    ) else set(DeviceProperties._fields)
    known = {
        "type": "cuda",
        "index": 0,
        "multi_processor_count": 108,
        "cc": 80,
        "major": 8,
        "regs_per_multiprocessor": 65536,
        "max_threads_per_multi_processor": 2048,
        "max_threads_per_block": 1024,
        "warp_size": 32,
    }
    values = {name: value for name, value in known.items() if name in fields}
    DeviceProperties.create = classmethod(lambda cls, device: cls(**values))
    scheduler.BaseSchedulerNode.is_gpu = lambda self: True
    # Gradients of convolution biases are sums of their own on GPUs.
    decomposition.is_gpu = lambda device: True
    torch.utils._triton.triton_hash_with_backend = lambda: "none"
    # Else convolutions get the layout that oneDNN likes on a CPU.
    torch.backends.mkldnn.set_flags(False)
    torch._C._conv_determine_backend_memory_format = as_cudnn
    torch._inductor.config.cpu_backend = "triton"
    torch._inductor.config.force_disable_caches = True
    torch._inductor.config.compile_threads = 1


CALL = re.compile(r"\s+(?:\w+ = )?(?:triton_\w+\.run|extern_kernels\.\w+|torch\.ops\.\w+[\w.]*)\(")


# The CPU's flash kernel wants its statistics laid out in another way.
ONLY_ON_CPUS = re.compile(r"\s+triton_poi_fused__scaled_dot_product_flash_attention_for_cpu(_backward|_transpose|_view)*_\d+\.run")


class Generated(Exception):
    """Carries the source of a wrapper, and the bytes of its Triton kernels, out of the compiler, in the place of loading it."""


def stop_after_code(lowering: GraphLowering) -> None:
    code = lowering.codegen()[0]
    report_strides(lowering)
    generated = [node for node in lowering.scheduler.nodes if not node.is_extern()]
    raise Generated(code, sum(node.get_read_write_buffers_sizes() for node in generated))


def report_strides(lowering: GraphLowering) -> None:
    """Tells AOTAutograd how forward lays out what it hands to backward, as loading the module would."""
    context = torch._guards.TracingContext.try_get()
    if context is None or context.output_strides is None or len(context.output_strides) > 0:
        return
    for output in lowering.graph_outputs:
        layout = output.maybe_get_layout() if hasattr(output, "maybe_get_layout") else None
        strides = getattr(layout, "stride", None)
        context.output_strides.append(None if strides is None else tuple(int(stride) for stride in strides))


def generated_in(error: BaseException | None) -> tuple[str, int] | None:
    while error is not None:
        if isinstance(error, Generated):
            code, size = error.args
            return getattr(code, "value", code), size
        error = error.__cause__ or error.__context__
    return None


@dataclasses.dataclass
class Pass:
    source: str
    #: Read and written by Triton kernels.
    bytes: int
    graph: torch.fx.GraphModule

    def triton(self) -> int:
        return sum("triton_" in line and ONLY_ON_CPUS.match(line) is None for line in self.calls())

    def extern(self) -> int:
        return sum("triton_" not in line for line in self.calls())

    def calls(self) -> list[str]:
        return [line for line in self.source.splitlines() if CALL.match(line)]


def compiled(row: Row, autocast: bool) -> tuple[list[Pass], torch.nn.Module, int]:
    passes: list[Pass] = []

    def inner(graph: torch.fx.GraphModule, inputs: list[torch.Tensor], **options: object):
        kept = copy.deepcopy(graph)
        try:
            compile_fx.compile_fx_inner(graph, inputs, **options)
        except Exception as error:
            found = generated_in(error)
            if found is None:
                raise
            passes.append(Pass(*found, kept))

        def call(arguments: list[torch.Tensor]):
            given = list(arguments)
            arguments.clear()
            return kept(*given)

        call._boxed_call = True
        return call

    torch._dynamo.reset()
    with FakeTensorMode():
        network = row.build()
        inputs = row.inputs()
        runner = torch.compile(network, backend=lambda graph, given: compile_fx.compile_fx(graph, given, inner_compile=inner))
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            output = runner(*inputs)
        output.backward(torch.empty_like(output))
    return passes, network, output.numel() * output.element_size()


def saved_bytes(passes: list[Pass], network: torch.nn.Module) -> int:
    """Inputs of backward that forward gave, or that it was given itself, but for parameters and buffers."""
    forward, backward = passes[0].graph, passes[-1].graph
    weights = {tuple(t.shape) for t in [*network.parameters(), *network.buffers()]}
    shown: dict[str, torch.Tensor] = {}
    total = 0
    for node in backward.graph.nodes:
        if node.op != "placeholder" or node.name.startswith("tangents"):
            continue
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            continue
        if node.name.startswith("primals") and tuple(value.shape) in weights:
            continue
        shown[node.name] = value
    # Views of one tensor are one storage.
    roots = {}
    names = {node.name: node for node in forward.graph.nodes}
    views = ("view", "permute", "expand", "unsqueeze", "squeeze", "slice", "t.", "transpose", "alias", "select")
    for name, value in shown.items():
        node = names.get(name)
        whole = value
        while node is not None and node.op == "call_function" and any(
            f"aten.{view}" in str(node.target) for view in views
        ) and isinstance(node.args[0], torch.fx.Node):
            node = node.args[0]
            whole = node.meta["val"]
        if node is not None and node.op == "placeholder" and tuple(whole.shape) in weights:
            continue
        key = node.name if node is not None else name
        if isinstance(whole, torch.Tensor):
            roots[key] = whole.numel() * whole.element_size()
    return sum(roots.values())


def bert(layers: int = 12) -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(attn_implementation="sdpa", attention_probs_dropout_prob=0.0, num_hidden_layers=layers))
    return Call(model, lambda bert, ids: bert(input_ids=ids, return_dict=False)[1])


def no_mask(*_: object, **__: object) -> None:
    """Attention is causal by itself: see samples/scripts/export.py."""


def as_written(build: Callable[[], torch.nn.Module]) -> Callable[[], torch.nn.Module]:
    """Root mean squares are fused by the compiler, not by hand."""

    def built() -> torch.nn.Module:
        savedActivations.with_fused_norms = lambda model: model
        return build()

    return built


def causal(build: Callable[[], torch.nn.Module]) -> Callable[[], torch.nn.Module]:
    def built() -> torch.nn.Module:
        from transformers.integrations import sdpa_attention
        from transformers.models.gpt2 import modeling_gpt2
        from transformers.models.llama import modeling_llama

        modeling_gpt2.create_causal_mask = no_mask
        modeling_llama.create_causal_mask = no_mask
        # As in the samples: keys and values are repeated for every query head.
        sdpa_attention.use_gqa_in_sdpa = lambda *_: False
        return build()

    return built


def mlp() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(512, 2048),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.1),
        torch.nn.Linear(2048, 2048),
        torch.nn.GELU(),
        torch.nn.Linear(2048, 512),
        torch.nn.LayerNorm(512),
    )


def convolutions() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(16, 32, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(32),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(64),
        torch.nn.SiLU(),
        torch.nn.AvgPool2d(2),
        torch.nn.Conv2d(64, 32, 1),
    )


class Residual(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.fc = torch.nn.Linear(256, 1024)
        self.act = torch.nn.GELU()
        self.proj = torch.nn.Linear(1024, 256)
        self.drop = torch.nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.drop(self.proj(self.act(self.fc(self.norm(x)))))


class Attention(torch.nn.Module):
    """Written out, with its softmax in fp32."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = torch.nn.Linear(256, 768)
        self.out = torch.nn.Linear(256, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, 4, 64).transpose(1, 2) for part in self.qkv(x).split(width, 2))
        scores = (q @ k.transpose(2, 3)) * 0.125
        return self.out((torch.softmax(scores.float(), -1) @ v).transpose(1, 2).reshape(batch, length, width))


class PreNorm(torch.nn.Module):
    """Around its blocks is a sum in fp32, to which their products in bf16 are added."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = torch.nn.LayerNorm(256)
        self.attention = Attention()
        self.norm2 = torch.nn.LayerNorm(256)
        self.fc = torch.nn.Linear(256, 1024)
        self.proj = torch.nn.Linear(1024, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.proj(torch.nn.functional.gelu(self.fc(self.norm2(x))))


class Scores(torch.nn.Module):
    """A loss of many classes behind a product in bf16."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.head = torch.nn.Linear(256, 50257, bias=False)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.head(self.norm(x)).float(), labels)


def sample(name: str) -> tuple[str, ...]:
    return (f"samples/{name}.onnx", f"samples/{name}.layers.yaml")


MODELS = "measured/models/compiled"


ROWS = [
    Row("alexnet", "torchvision alexnet", sample("alexnet"), vision("alexnet"), image(batch=8), 8),
    Row("vgg16", "torchvision vgg16", sample("vgg16"), vision("vgg16"), image(batch=8), 8),
    Row("googlenet", "torchvision googlenet", sample("googlenet"), vision("googlenet", aux_logits=False, init_weights=False), image(batch=8), 8),
    Row("resnet50", "torchvision resnet50", sample("resnet50"), vision("resnet50"), image(batch=8), 8),
    Row("mobilenet_v2", "torchvision mobilenet_v2", sample("mobilenet_v2"), vision("mobilenet_v2"), image(batch=8), 8),
    Row("bert-base", "transformers BertModel, sdpa, no attention dropout", sample("bert-base"), bert, tokens(512), 2),
    Row("gpt2", "transformers GPT2LMHeadModel, sdpa, no attention dropout", sample("gpt2"), causal(gpt2("sdpa", 0.0)), tokens(1024), 2),
    Row("tinyllama", "transformers LlamaForCausalLM, sdpa", sample("tinyllama"), causal(as_written(tinyllama("sdpa"))), tokens(2048), 2),
    Row("mlp", "torch.nn", (f"{MODELS}-mlp.layers.yaml",), mlp, lambda: (torch.randn(4096, 512),), 4096),
    Row("convolutions", "torch.nn", (f"{MODELS}-convolutions.layers.yaml",), convolutions, lambda: (torch.randn(16, 16, 64, 64),), 16),
    Row("residual", "torch.nn", (f"{MODELS}-residual.layers.yaml",), lambda: torch.nn.Sequential(*(Residual() for _ in range(4))), lambda: (torch.randn(8, 512, 256),), 8),
    Row("prenorm", "torch.nn", (f"{MODELS}-prenorm.layers.yaml",), lambda: torch.nn.Sequential(*(PreNorm() for _ in range(4))), lambda: (torch.randn(8, 512, 256),), 8),
    Row("scores", "torch.nn", (f"{MODELS}-scores.layers.yaml",), Scores, lambda: (torch.randn(4096, 256), torch.zeros(4096, dtype=torch.long)), 4096),
]

#: Rows that also run under autocast.
IN_BF16 = ("mlp", "prenorm", "scores")


def precisions(row: Row) -> tuple[str, ...]:
    return ("fp32", "bf16") if row.name in IN_BF16 else ("fp32",)


def import_models() -> None:
    """Their modules make tensors while they are imported, which must have contents."""
    torchvision_models()
    import transformers.models.bert.modeling_bert  # noqa: F401
    import transformers.models.gpt2.modeling_gpt2  # noqa: F401
    import transformers.models.llama.modeling_llama  # noqa: F401


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--show")
    parser.add_argument("--output", type=Path, default=MEASURED)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    import_models()
    pretend_a100()
    GraphLowering.compile_to_module = stop_after_code
    chosen = [row for row in ROWS if arguments.only is None or row.name in arguments.only]
    with open(arguments.output, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("model,source,graphs,batch,precision,triton_forward,extern_forward,triton_backward,extern_backward,bytes_forward,bytes_backward,saved,torch".split(","))
        for row, precision in [(row, precision) for row in chosen for precision in precisions(row)]:
            passes, network, _ = compiled(row, precision == "bf16")
            forward, backward = passes[0], passes[-1]
            cells = [row.name, row.source, " ".join(row.graphs), row.batch, precision, forward.triton(), forward.extern(), backward.triton(), backward.extern(), forward.bytes, backward.bytes, saved_bytes(passes, network), torch.__version__.split("+")[0]]
            writer.writerow(cells)
            file.flush()
            print(len(passes), *cells, flush=True)
            if arguments.show == row.name:
                for each in (forward, backward):
                    print(each.graph.code)
                    print("\n".join(each.calls()))


if __name__ == "__main__":
    main()
