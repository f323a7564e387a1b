"""What a part of the running server reports: one line each, on stderr.

A line says when, which part, and what. A mistake of ours is followed by its trace here,
and only here: an answer never carries one.
"""

from __future__ import annotations

import logging
import sys

_FORM = "%(asctime)s  {part:<10} %(message)s"
_TIME = "%Y-%m-%d %H:%M:%S"
# These tell of every connection; what matters of it is told by our own rooms.
_TALKATIVE = ("asyncio", "uvicorn", "uvicorn.error", "uvicorn.access")


def keep_logbook(part: str) -> None:
    """Everything this process reports from now on carries the name of its part."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORM.format(part=part), _TIME))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
