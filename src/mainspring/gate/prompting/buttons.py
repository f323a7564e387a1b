"""What a button brings back: the answer, the prompt and its secret, in 64 bytes."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Final, NamedTuple
from uuid import UUID

YES: Final = "y"
NO: Final = "n"
# The options of a question, by their number.
OPTIONS: Final = "0123456789"
# A UUID and sixteen bytes of chance, both in base64 without its padding.
_ID: Final = 22
_LENGTH: Final = 1 + _ID + 22


class ButtonPress(NamedTuple):
    """A button that somebody pressed."""

    yes: bool
    prompt_id: UUID
    secret: str
    # The number of the option that was chosen; None: the question has none.
    option: int | None = None


def new_secret() -> str:
    return secrets.token_urlsafe(16)


def data_of(answer: str, prompt_id: UUID, secret: str) -> str:
    """What a button carries."""
    named = base64.urlsafe_b64encode(prompt_id.bytes).decode().rstrip("=")
    return f"{answer}{named}{secret}"


def read_press(data: str) -> ButtonPress | None:
    """What came back, if it is one of ours."""
    if len(data) != _LENGTH or data[0] not in f"{YES}{NO}{OPTIONS}" or not data.isascii():
        return None
    try:
        raw = base64.b64decode(f"{data[1 : 1 + _ID]}==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    option = int(data[0]) if data[0] in OPTIONS else None
    return ButtonPress(data[0] != NO, UUID(bytes=raw), data[1 + _ID :], option)
