"""Lines of a program: statements with what they read and write, and a function of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Optional, Sequence


@dataclass(frozen=True)
class Region:
    """Calls that backward recomputes together (`Recomputed` of the plan)."""

    number: int
    #: What is kept beside what goes in: nothing, matmuls, alternate matmuls.
    keeping: str
    #: As PyTorch before 2.1 does: recomputed to the end.
    reentrant: bool


@dataclass(frozen=True)
class Statement:
    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    region: Optional[Region] = None


def written_function(name: str, parameters: Sequence[str], lines: Sequence[str], results: str) -> str:
    body = "\n".join(f"    {line}" for line in [*lines, f"return {results}"])
    return f"def {name}({', '.join(parameters)}):\n{body}\n"


def lines_of(statements: Sequence[Statement], results: Collection[str], kept: Collection[str]) -> list[str]:
    """The statements, with what nobody reads any more let go of, as a function that returns lets go of it."""
    last: dict[str, int] = {}
    for index, statement in enumerate(statements):
        for name in (*statement.reads, *statement.writes):
            last[name] = index
    lines = []
    for index, statement in enumerate(statements):
        lines.append(statement.text)
        names = dict.fromkeys((*statement.reads, *statement.writes))
        gone = [name for name in names if last[name] == index and name not in kept and name not in results]
        if gone:
            lines.append(f"del {', '.join(gone)}")
    return lines
