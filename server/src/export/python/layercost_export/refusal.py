"""What cannot be exported, and why."""

from __future__ import annotations


class Refusal(Exception):
    """`kind`: `target`, where the model was not found or built; `inputs`, where they are not known; `export`."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
