"""What only the collector could clear away: objects that go round in a circle."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def left_over() -> Iterator[list[Any]]:
    """Fills the list, at the end of the block, with what the block has left to the collector."""
    found: list[Any] = []
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
