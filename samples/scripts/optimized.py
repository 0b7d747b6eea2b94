"""Optimizes exports for inference in every way that people do: `python samples/scripts/optimized.py FOLDER [--only NAME ...]`.

Models of `exports.py`, exported in eval mode by PyTorch's two exporters, then changed by ONNX Runtime (each level), by its
optimizer for transformers, and by onnxscript (constant folding and fusions for ONNX Runtime). Weights and statistics are drawn at
random, as training leaves them: optimizers merge and drop equal ones. Standard output has one JSON object
per line: versions, then each file in FOLDER, or why the optimizer refused it. `npm run samples -- --optimized` costs each file and
writes `measured/optimized.jsonl`.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "samples" / "scripts")]

import torch  # noqa: E402
from export import torchvision_models  # noqa: E402
from exportRun import arguments_of, teller  # noqa: E402
from exports import EXPORTS, MODELS, Mode, Model  # noqa: E402

NAMES = """resnet18 mobilenet_v3_small efficientnet_b0 densenet121 regnet_y_400mf vit_b_16 swin_t convnext_tiny
ghostnet_100 mobilevitv2_050 deit_tiny_patch16_224 mixer_s32_224 gpt2 bert distilbert t5 llama whisper clip segformer""".split()


def runtime(level: str) -> Callable[[Path, Path], None]:
    """ONNX Runtime writes the graph that it would run on a processor."""

    def optimize(source: Path, target: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = str(target)
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    return optimize


# What `onnxruntime.transformers.optimizer` calls the models that it knows.
KINDS = {"gpt2": "gpt2", "bert": "bert", "distilbert": "bert", "t5": "t5", "clip": "clip", "llama": "gpt2", "whisper": "bart"}


def transformers(model: str) -> Callable[[Path, Path], None]:
    def optimize(source: Path, target: Path) -> None:
        from onnxruntime.transformers.fusion_options import FusionOptions
        from onnxruntime.transformers.optimizer import optimize_model

        kind = KINDS.get(model, "vit")
        heads = 8 if model in ("t5", "llama") else 6 if model == "whisper" else 3 if model.startswith("deit") else 12
        width = {"llama": 512, "t5": 512, "whisper": 384, "deit_tiny_patch16_224": 192}.get(model, 768)
        changed = optimize_model(
            str(source), model_type=kind, num_heads=heads, hidden_size=width, optimization_options=FusionOptions(kind), opt_level=0
        )
        changed.save_model_to_file(str(target))

    return optimize


def onnxscript_folding(source: Path, target: Path) -> None:
    import onnx
    from onnxscript import optimizer

    onnx.save(optimizer.optimize(onnx.load(source)), target)


def onnxscript_fusions(source: Path, target: Path) -> None:
    import onnx_ir
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    model, _ = optimize_for_ort(onnx_ir.load(source))
    onnx_ir.save(model, target)


def optimizers(model: Model) -> dict[str, Callable[[Path, Path], None]]:
    attends = model.library == "transformers" or model.name in ("vit_b_16", "swin_t", "deit_tiny_patch16_224")
    return {
        "runtime-basic": runtime("BASIC"),
        "runtime-extended": runtime("EXTENDED"),
        "runtime-all": runtime("ALL"),
        **({"runtime-transformers": transformers(model.name)} if attends else {}),
        "onnxscript-folding": onnxscript_folding,
        "onnxscript-fusions": onnxscript_fusions,
    }


class TrainedMode(Mode):
    """The network in eval mode, with weights and statistics that are all different."""

    def network(self) -> torch.nn.Module:
        network = super().network()
        with torch.no_grad():
            for name, tensor in [*network.named_parameters(), *network.named_buffers()]:
                if isinstance(tensor, torch.nn.Parameter):
                    tensor.add_(0.01 * torch.rand_like(tensor))
                elif name.endswith(("running_mean", "running_var")):
                    tensor.copy_(0.5 + torch.rand_like(tensor))
        return network


def optimize_all(model: Model, folder: Path, tell: Callable[[dict], None]) -> None:
    mode = TrainedMode(model, "eval")
    for export in ("default", "unoptimized", "legacy"):
        source = folder / f"{model.name}-{export}.onnx"
        row = {"model": model.name, "export": export}
        try:
            mode.export(EXPORTS[export], source)
        except Exception as error:  # what an exporter cannot write is a row of the table
            tell({**row, "optimizer": "none", "refused": first_line(error)})
            continue
        tell({**row, "optimizer": "none", "file": str(source)})
        for name, optimize in optimizers(model).items():
            target = folder / f"{model.name}-{export}-{name}.onnx"
            try:
                optimize(source, target)
            except Exception as error:
                tell({**row, "optimizer": name, "refused": first_line(error)})
            else:
                tell({**row, "optimizer": name, "file": str(target)})
    gc.collect()


def first_line(error: Exception) -> str:
    """Without what a path of this machine may be in."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {line[:120]}" if "/" not in line else type(error).__name__


def main() -> None:
    arguments = arguments_of(__doc__, NAMES, "model")
    tell = teller()
    torchvision_models()
    from importlib.metadata import version

    libraries = ("torch", "torchvision", "timm", "transformers", "onnx", "onnxscript", "onnxruntime")
    tell({"versions": {name: version(name) for name in libraries}})
    for model in MODELS:
        if model.name in (arguments.only or NAMES):
            optimize_all(model, arguments.folder, tell)


if __name__ == "__main__":
    main()
