"""What a part of the running server reports: one line each, on stderr.

A line says when, which part, and what; within a run it ends with the run's id. For programs
each line is one JSON object. A mistake of ours is followed by its trace here, and only here:
an answer never carries one.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

from mainspring.contracts.log_context import HERE, STEP
from mainspring.surfaces.cli.screen import as_json

_FORM = "%(asctime)s  {part:<10} %(message)s"
_TIME = "%Y-%m-%d %H:%M:%S"
# These tell of every connection; what matters of it is told by our own rooms.
_TALKATIVE = ("asyncio", "uvicorn", "uvicorn.error", "uvicorn.access")


def keep_logbook(part: str, form: str = "text") -> None:
    """Everything this process reports from now on carries the name of its part."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(part) if form == "json" else TextLines(part))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


class TextLines(logging.Formatter):
    """A line for a person."""

    def __init__(self, part: str) -> None:
        super().__init__(_FORM.format(part=part), _TIME)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        line = super().formatMessage(record)
        run_id = HERE.get().run_id
        if run_id is None or str(run_id) in line:
            return line
        step = STEP.get()
        return f"{line} (run {run_id}{f', step {step}' if step else ''})"


class JsonLines(logging.Formatter):
    """A line for a program."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self._part = part

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "ts": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "part": self._part,
            "logger": record.name,
            "message": record.getMessage(),
            **dict(HERE.get().known()),
        }
        step = STEP.get()
        if step is not None:
            line["step"] = step
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            # Where it happened, and not what it said: that may be what somebody sent.
            line["trace"] = "".join(traceback.format_tb(record.exc_info[2]))
        return as_json(line, indent=None)
