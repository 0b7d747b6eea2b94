"""
A network as straight-line Python: what torch was called with while it ran once, written out and compiled.

What interprets a plan spends host time between kernels that no model spends. The program has the calls alone, as a person
would write them, so that what is timed is the model. Shapes, axes and other numbers are those of the recorded run.
"""

from __future__ import annotations

import keyword
import math
import re
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional, Sequence

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name

from .checkpoint import checkpointed
from .source import Region, Statement, lines_of, written_function

#: Names of torch in a program.
PREAMBLE = "import torch\n"


class CannotWrite(Exception):
    """What ran cannot be written as Python."""


@dataclass(frozen=True)
class Program:
    #: Python that defines `forward`, which takes the tensors of `inputs` in order and returns a list of tensors.
    source: str
    inputs: tuple[str, ...]
    run: Callable[..., list[Tensor]]


def record(run: Callable[[Recorder], Sequence[Tensor]], inputs: Mapping[str, Tensor]) -> Program:
    """
    Runs once and writes down what torch was called with. `run` may tell the recorder what the calls belong to, and
    returns the results; `inputs` are the tensors that are there before.
    """
    recorder = Recorder(inputs)
    with recorder:
        results = run(recorder)
    return recorder.program([recorder.name_of(result) for result in results])


@dataclass(eq=False)
class Recorder(TorchFunctionMode):
    inputs: Mapping[str, Tensor]
    _region: Optional[Region] = None
    _statements: list[Statement] = field(default_factory=list)
    #: Variables by the identity of their tensor, for as long as it lives.
    _variables: dict[int, str] = field(default_factory=dict)
    _watches: dict[int, Any] = field(default_factory=dict)
    #: Functions by their name in the program.
    _functions: dict[str, str] = field(default_factory=dict)
    #: Names of the tensors that were there before, by variable.
    _inputs: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        super().__init__()
        for name, tensor in self.inputs.items():
            if id(tensor) not in self._variables:
                variable = self._variable_for(name)
                self._watch(tensor, variable)
                self._inputs[variable] = name

    def comment(self, text: str) -> None:
        """What the following calls are."""
        self._add(f"# {' '.join(text.split())}", (), ())

    def enter(self, region: Optional[Region]) -> None:
        """The following calls are recomputed in backward, together; or none of them is."""
        self._region = region

    def _add(self, text: str, reads: Sequence[str], writes: Sequence[str]) -> None:
        self._statements.append(Statement(text, tuple(reads), tuple(writes), self._region))

    def name_of(self, tensor: Tensor) -> str:
        variable = self._variables.get(id(tensor))
        if variable is None:
            raise CannotWrite("a tensor is used that no recorded call made")
        return variable

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        made = [result] if isinstance(result, Tensor) else _tensors_of(result)
        if not made:
            return result
        reads = [self.name_of(tensor) for tensor in _tensors_of((args, kwargs))]
        text = self._call(func, args, kwargs)
        writes = []
        for tensor in made:
            known = self._variables.get(id(tensor))
            if known is None or isinstance(result, Tensor):
                self._count += 1
                known = f"v{self._count}" if known is None else known
                self._watch(tensor, known)
            writes.append(known)
        target = writes[0] if isinstance(result, Tensor) else _unpacked(result, iter(writes))
        self._add(f"{target} = {text}", reads, writes)
        return result

    def program(self, results: Sequence[str]) -> Program:
        functions, statements = checkpointed(self._statements, results, self._inputs)
        read = {*results, *(name for statement in statements for name in statement.reads)}
        inputs = [variable for variable in self._inputs if variable in read]
        aliases = [f"{alias} = {path}" for alias, path in self._functions.items()]
        source = "\n".join([PREAMBLE, *aliases, *functions, "", ""])
        source += written_function("forward", inputs, lines_of(statements, results, inputs), f"[{', '.join(results)}]")
        space: dict[str, Any] = {}
        exec(compile(source, "<layercost step>", "exec"), space)  # noqa: S102 - written here, from the plan's own calls
        return Program(source, tuple(self._inputs[variable] for variable in inputs), space["forward"])

    def _watch(self, tensor: Tensor, variable: str) -> None:
        identity = id(tensor)
        self._variables[identity] = variable

        def forget(_: Any) -> None:
            # Another tensor may have the identity of one that is gone.
            self._variables.pop(identity, None)

        self._watches[identity] = weakref.ref(tensor, forget)

    def _variable_for(self, name: str) -> str:
        """`layer1.0.weight` as Python can say it, unlike any other, and unlike what the program itself computes."""
        word = re.sub(r"\W+", "_", name).strip("_") or "tensor"
        if word[0].isdigit() or keyword.iskeyword(word) or re.fullmatch(r"v\d+|torch|forward|block_\d+", word):
            word = f"t_{word}"
        variable, count = word, 2
        while variable in self._inputs:
            variable, count = f"{word}_{count}", count + 1
        return variable

    def _call(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        path = resolve_name(func)
        if path is None:
            raise CannotWrite(f"{func} has no name in torch")
        first, *rest = args if args else (None,)
        if path.startswith("torch.Tensor."):
            name = path[len("torch.Tensor.") :]
            if name.endswith(".__get__"):
                return f"{self._written(first)}.{name[: -len('.__get__')]}"
            if name == "__getitem__":
                return f"{self._written(first)}[{self._index(rest[0])}]"
            if isinstance(first, Tensor) and not name.startswith("__"):
                return f"{self._written(first)}.{name}({self._arguments(rest, kwargs)})"
        return f"{self._function(path)}({self._arguments(args, kwargs)})"

    def _function(self, path: str) -> str:
        """A name of its own for a function: a program looks it up once, not through its modules at each call."""
        alias = path.rpartition(".")[2]
        if keyword.iskeyword(alias) or alias in self._inputs or self._functions.get(alias, path) != path:
            alias = path.replace(".", "_")
        self._functions[alias] = path
        return alias

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        given = [self._written(argument) for argument in args]
        named = [f"{name}={self._written(argument)}" for name, argument in kwargs.items()]
        return ", ".join([*given, *named])

    def _index(self, index: Any) -> str:
        if isinstance(index, tuple):
            parts = ", ".join(self._index(part) for part in index)
            return parts if len(index) > 1 else f"{parts},"
        if isinstance(index, slice):
            parts = [index.start, index.stop, index.step]
            start, stop, step = ("" if part is None else self._written(part) for part in parts)
            return f"{start}:{stop}" if step == "" else f"{start}:{stop}:{step}"
        return "..." if index is Ellipsis else self._written(index)

    def _written(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self.name_of(value)
        if isinstance(value, (tuple, list)):
            parts = ", ".join(self._written(part) for part in value)
            if isinstance(value, list):
                return f"[{parts}]"
            return f"({parts},)" if len(value) == 1 else f"({parts})"
        if isinstance(value, slice):
            return f"slice({self._written(value.start)}, {self._written(value.stop)}, {self._written(value.step)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if value is None or value is Ellipsis or isinstance(value, (bool, int, float, str)):
            return repr(value)
        if isinstance(value, torch.device):
            return f'torch.device("{value}")'
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return str(value)
        raise CannotWrite(f"{type(value).__name__} cannot be written as Python")


def _tensors_of(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for part in value.values() for tensor in _tensors_of(part)]
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in _tensors_of(part)]
    return []


def _unpacked(result: Any, names: Any) -> str:
    """The targets of a call that gives several values: `(v1, v2)`, `_` for what is not a tensor."""
    parts = [
        next(names) if isinstance(part, Tensor) else _unpacked(part, names) if isinstance(part, (tuple, list)) else "_"
        for part in result
    ]
    return f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"
