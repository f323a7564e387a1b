"""The one module that a script may import, by each of its names."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

SDK_PATH: Final = "/sdks/automation-sdk-v1.ts"
# Outside of the sandbox this makes sure that the file is the one that was meant.
_PINNED: Final = re.compile(r"sha256=[0-9a-f]{64}")
_BARE: Final = frozenset({"mainspring", "mainspring/automation-sdk-v1"})


def is_sdk(specifier: str) -> bool:
    """Whether the words after ``from`` mean the SDK, wherever it is said to be served."""
    if specifier in _BARE:
        return True
    try:
        address = urlsplit(specifier)
    except ValueError:
        return False
    asked = address.scheme in {"http", "https"} and bool(address.netloc)
    pinned = not address.query or _PINNED.fullmatch(address.query) is not None
    return asked and address.path == SDK_PATH and pinned and not address.fragment
