"""From a target to a model on `torch.device("meta")`: a name in a file or module, a config of transformers, a name of timm."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

import torch

from .refusal import Refusal

Built = "tuple[torch.nn.Module, Optional[ModuleType]]"


def build_model(target: str) -> Built:
    """The model in training mode, and the module of Python it comes from."""
    scheme, _, rest = target.partition(":")
    with torch.device("meta"):
        if scheme == "hf":
            model, module = hugging_face(rest), None
        elif scheme == "timm":
            model, module = timm_model(rest), None
        elif scheme == "torchvision":
            model, module = torchvision_model(rest), None
        else:
            model, module = from_python(target)
    return model.train(), module


def from_python(target: str) -> Built:
    place, found, name = target.rpartition(":")
    if not found or place == "":
        raise Refusal("target", f"{target} names no model: write FILE.py:NAME or MODULE:NAME, such as train.py:Model")
    module = load(place)
    value: Any = module
    for part in name.split("."):
        # A network inside of a module: `train.py:LitNet.model`.
        if is_model_class(value) and not hasattr(value, part) and not required(value):
            value = value()
        if not hasattr(value, part):
            near = [key for key, each in vars(module).items() if is_model_class(each) and each.__module__ == module.__name__]
            known = f"; it has {', '.join(near[:8])}" if near else ""
            raise Refusal("target", f"{place} has no {name}{known}")
        value = getattr(value, part)
    return instance(value, target), module


def load(place: str) -> ModuleType:
    """A file by its path, as `python FILE` would find what it imports; else a module by its name."""
    path = Path(place)
    if place.endswith(".py"):
        if not path.is_file():
            raise Refusal("target", f"there is no file {place}")
        sys.path.insert(0, str(path.resolve().parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise Refusal("target", f"{place} cannot be loaded as Python")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        # As `python FILE` without arguments.
        sys.argv = [place]
        try:
            spec.loader.exec_module(module)
        except (ModuleNotFoundError, FileNotFoundError, SystemExit) as error:
            raise Refusal("target", refusal_of_import(place, error)) from error
        return module
    sys.path.insert(0, "")
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(error.name + ".")):
            raise Refusal("target", f"there is no module {place} in the current folder or the environment") from error
        raise


def refusal_of_import(place: str, error: BaseException) -> str:
    """What keeps a script from being imported, and what to do."""
    if isinstance(error, ModuleNotFoundError):
        return f"{place} imports {error.name}, which {sys.executable} does not find: install it there, or choose another interpreter"
    below = "move what trains below `if __name__ == '__main__':`, and make the model in a function without arguments"
    if isinstance(error, FileNotFoundError):
        return f"{place} reads {error.filename} when it is imported, which is not there: {below}"
    return f"{place} ends when it is imported, as where it reads its command line: {below}"


def instance(value: Any, target: str) -> torch.nn.Module:
    """A class or function is called; it has to take no argument that has no default."""
    if isinstance(value, torch.nn.Module):
        return value.to("meta")
    if not callable(value):
        raise Refusal("target", f"{target} is neither a module of torch nor a function that makes one")
    needed = required(value)
    if needed:
        raise Refusal(
            "target",
            f"{target} needs {', '.join(needed)}: write a function without arguments that makes the model, and name it",
        )
    try:
        model = value()
    except SystemExit as error:
        raise Refusal("target", f"{target} ends the program, as where it reads a command line: make the model in a function that does not") from error
    if not isinstance(model, torch.nn.Module):
        raise Refusal("target", f"{target} makes a {type(model).__name__}, not a module of torch")
    return model.to("meta")


def required(value: Any) -> list[str]:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        each.name
        for each in parameters
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


def is_model_class(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, torch.nn.Module)


def hugging_face(name: str) -> torch.nn.Module:
    """By its config alone, from a folder or the cache: the class that the config names, else one with a head for its task."""
    transformers = imported("transformers", "hf")
    try:
        config = transformers.AutoConfig.from_pretrained(name, local_files_only=True)
    except (OSError, ValueError) as error:
        raise Refusal(
            "target",
            f"there is no config of {name} on this machine: give a folder with its config.json, or download it with `hf download {name} config.json`",
        ) from error
    config.use_cache = False
    for architecture in config.architectures or []:
        known = getattr(transformers, architecture, None)
        if known is not None:
            return known(config)
    for auto in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForMaskedLM", "AutoModelForImageClassification", "AutoModel"):
        try:
            return getattr(transformers, auto).from_config(config)
        except ValueError:
            continue
    raise Refusal("target", f"transformers has no model for the config of {name}")


def timm_model(name: str) -> torch.nn.Module:
    timm = imported("timm", "timm")
    if not timm.is_model(name):
        near = timm.list_models(f"*{name.split('_')[0]}*")[:4]
        known = f"; it has {', '.join(near)}" if near else ""
        raise Refusal("target", f"timm has no model {name}{known}")
    return timm.create_model(name, pretrained=False)


def torchvision_model(name: str) -> torch.nn.Module:
    models = imported("torchvision", "torchvision").models
    try:
        builder = models.get_model_builder(name)
    except ValueError as error:
        raise Refusal("target", f"torchvision has no model {name}") from error
    # Models of detection and segmentation would fetch those of their backbone.
    backbone = {"weights_backbone": None} if "weights_backbone" in inspect.signature(builder).parameters else {}
    return builder(weights=None, **backbone)


def imported(package: str, scheme: str) -> ModuleType:
    declare_torchvision()
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise Refusal("target", f"{scheme}: needs {package} ({error}): install it with `pip install {package}`") from error
    except Exception as error:  # noqa: BLE001 - a library that does not fit another raises whatever it finds first
        raise Refusal("target", f"{package} is there but cannot be loaded ({type(error).__name__}: {error})") from error


def declare_torchvision() -> None:
    """
    transformers and timm load torchvision, whose compiled operators a wheel for another torch does not bring. Nothing is
    computed here, so that declaring them is enough.
    """
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        declared.append(library)


declared: "list[torch.library.Library]" = []
"""Kept, because a library takes its operators with it when it goes."""
