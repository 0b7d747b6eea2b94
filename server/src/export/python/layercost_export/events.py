"""Standard output belongs to events alone: whatever else prints there is led to standard error, where the log is."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def claim_standard_output() -> TextIO:
    """The stream for events; file descriptor 1 becomes a copy of standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return stream
