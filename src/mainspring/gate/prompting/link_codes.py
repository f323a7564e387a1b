"""Codes by which a person shows that an account elsewhere is theirs; only a hash is kept."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Final

_LIFETIME: Final = timedelta(minutes=10)


def new_code(now: datetime) -> tuple[str, datetime]:
    """A code, and until when it is valid."""
    return secrets.token_urlsafe(18), now + _LIFETIME


def hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
