"""Signed calls, as Standard Webhooks writes them.

A sender signs its own id of the message, the second it was sent, and the body. The
signature is of no use a few minutes later, and the id is the key of the moment, so a call
that was caught and is sent again starts nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

TOLERANCE_SECONDS: Final = 300

_PREFIX: Final = "whsec_"
_VERSION: Final = b"v1,"
_ID: Final = re.compile(r"[\x21-\x7e]{1,255}")
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
# Nobody has more keys than this in turn; the rest of the header is not looked at.
_MOST_SIGNATURES: Final = 16


@dataclass(frozen=True, slots=True)
class WebhookSignature:
    """The three headers of a signed call."""

    id: str
    timestamp: str
    signatures: str


def read_secret(text: str) -> bytes | None:
    """The key in a secret: base64, after ``whsec_`` or without it. None: it is not one."""
    written = text.strip().removeprefix(_PREFIX).rstrip("=")
    try:
        key = base64.b64decode(written + "=" * (-len(written) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key or None


def is_genuine(seal: WebhookSignature, body: bytes, key: bytes, now: datetime) -> bool:
    """Whether the holder of the key sent this body, and not long ago."""
    if not _ID.fullmatch(seal.id) or not _TIMESTAMP.fullmatch(seal.timestamp):
        return False
    signed = f"{seal.id}.{seal.timestamp}.".encode() + body
    right = base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
    shown = [text.encode("utf-8", "replace") for text in seal.signatures.split(" ")]
    # Every one is compared, so that the time taken does not tell how many were wrong.
    matches = [
        hmac.compare_digest(one.removeprefix(_VERSION), right)
        for one in shown[:_MOST_SIGNATURES]
        if one.startswith(_VERSION)
    ]
    return any(matches) and abs(now.timestamp() - int(seal.timestamp)) <= TOLERANCE_SECONDS
