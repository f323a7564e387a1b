"""What a terminal sends with a request: the form of its session, and the digest of a call.

The session alone is a program. A request counts as a person's only with the digest of that very
request, which the CLI adds when a person has asked for it at a terminal.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

CONFIRMED_HEADER: Final = "X-Terminal-Confirmed"
# The largest body that can be confirmed; it is read before its route is called.
MOST_CONFIRMED_BYTES: Final = 1_048_576
SESSION_FORM: Final = re.compile(r"mst_[A-Za-z0-9_-]{43}")


def is_terminal_session(text: str) -> bool:
    """Whether a text has the form of a terminal's session."""
    return SESSION_FORM.fullmatch(text) is not None


def compute_call_digest(method: str, target: str, body: bytes) -> str:
    """The digest of one call, which says that a person was asked about just this call."""
    told = f"mainspring terminal v1\n{method.upper()}\n{target}\n".encode()
    return hashlib.sha256(told + body).hexdigest()
