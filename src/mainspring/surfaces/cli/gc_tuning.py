"""Settling in: a part of the server that has been built tells the collector to leave it alone.

Nothing of a call or a run goes round in a circle (tests hold that), so nearly all of it is gone
when it ends, and the collector finds next to nothing. At its usual pace it would look through the
young objects of hundreds of runs many times a second, in the middle of somebody's call.
"""

from __future__ import annotations

import gc
from typing import Final

# How many more objects are made than let go of before it looks: those of some hundred runs.
_YOUNG: Final = 10_000


def tune_gc() -> None:
    """What is built by now stays to the end, and what comes is looked at less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
