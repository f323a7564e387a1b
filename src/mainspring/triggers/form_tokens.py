"""Submission tokens: each display of a form can be sent once.

A token is signed and not stored. It contains when the form was shown and a nonce, which is the
idempotency key of the submission: a second click and a retry find the first run. A program that
sends a form without having shown it has no token, and one that sends it at once is refused.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from mainspring.contracts.errors import Expired, Invalid, LimitExceeded

PURPOSE: Final = b"mainspring form tokens v1"
LIFETIME: Final = timedelta(hours=24)
_FORM: Final = re.compile(r"([0-9]{1,14})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})")


def make_form_token(key: bytes, trigger_id: UUID, now: datetime) -> str:
    """A token for one display of a form."""
    shown_at, nonce = int(now.timestamp() * 1_000), secrets.token_urlsafe(16)
    return f"{shown_at}.{nonce}.{_sign(key, trigger_id, shown_at, nonce)}"


def check_form_token(
    key: bytes, trigger_id: UUID, token: str, now: datetime, min_seconds: int
) -> str:
    """The nonce of a valid token; every refusal says what to do."""
    found = _FORM.fullmatch(token)
    shown_at, nonce, signature = found.groups() if found else ("0", "", "")
    right = _sign(key, trigger_id, int(shown_at), nonce)
    if not found or not hmac.compare_digest(right, signature):
        raise Invalid(
            "This submission does not come from the form's page.",
            code="form_token",
            suggestion="Open the form's link, and send the form from there.",
        )
    age = now.timestamp() - int(shown_at) / 1_000
    if age > LIFETIME.total_seconds():
        raise Expired(
            "This form was open for too long.",
            code="form_expired",
            suggestion="Load the page again, and send the form again.",
        )
    if age < min_seconds:
        raise LimitExceeded(
            "The form was filled in faster than a person can.",
            code="form_too_fast",
            suggestion="Wait a few seconds, and send it again.",
            retry_after=max(min_seconds - age, 0.1),
        )
    return nonce


def _sign(key: bytes, trigger_id: UUID, shown_at: int, nonce: str) -> str:
    text = f"{trigger_id}\n{shown_at}\n{nonce}"
    digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
