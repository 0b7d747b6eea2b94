"""Events on standard output, one JSON object per line.

Standard output belongs to events alone: whatever else prints there (a library, a warning) is led to
standard error, where the log is.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Optional, TextIO

PROTOCOL = 1


class Events:
    """Writes events, and repeats the current progress every second so that a hang can be told from work."""

    def __init__(self, stream: TextIO, beat_seconds: float = 1.0) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._beat_seconds = beat_seconds
        self._progress: dict[str, Any] = {"phase": "start-up", "done": 0, "total": 1}
        self._last = 0.0
        self._stopped = threading.Event()

    def start_beating(self) -> None:
        threading.Thread(target=self._beat, daemon=True).start()

    def stop_beating(self) -> None:
        self._stopped.set()

    def send(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, **fields}, allow_nan=False)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()

    def note(self, message: str) -> None:
        self.send("note", message=message)

    def progress(self, phase: str, done: float, total: float) -> None:
        """Remembers where the run is; sent at once when the last one is a quarter of a second old."""
        self._progress = {"phase": phase, "done": done, "total": total}
        if time.monotonic() - self._last >= 0.25:
            self._send_progress()

    def _send_progress(self) -> None:
        self._last = time.monotonic()
        self.send("progress", **self._progress)

    def _beat(self) -> None:
        while not self._stopped.wait(self._beat_seconds):
            try:
                self._send_progress()
            except (OSError, ValueError):
                # Nobody listens any more: the parent is gone, and a benchmark without a reader is waste.
                os._exit(1)


def speaks() -> bool:
    """Whether this process sends events: of several, started by torchrun, the first does."""
    return os.environ.get("RANK", "0") == "0"


def claim_standard_output() -> TextIO:
    """The stream for events; file descriptor 1 becomes a copy of standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stream


def log(message: str, error: Optional[BaseException] = None) -> None:
    """One line for the log."""
    print(message if error is None else f"{message}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
