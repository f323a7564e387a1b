"""A benchmark that is asked to stop exits in order, and ends what it started."""

from __future__ import annotations

import signal
import sys
from typing import Final

_SIGNS: Final = (signal.SIGTERM, signal.SIGINT)


def leave_in_order() -> None:
    """From here on both signals are an exit like any other; a second one does not break it off."""

    def leave(*_: object) -> None:
        for sign in _SIGNS:
            signal.signal(sign, signal.SIG_IGN)
        sys.exit("Stopped.")

    for sign in _SIGNS:
        signal.signal(sign, leave)
