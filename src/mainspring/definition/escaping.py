"""Values as text in which everything is seen that is in them.

What a person agrees to must not look like something else: text of a stranger is quoted as JSON,
and what a screen would not show, or would obey, is written out.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

# Control characters, marks of direction and joining, halves of characters, and unknown ones.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that are drawn as nothing.
_DRAWN_AS_NOTHING: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def escape_json(value: Any, indent: int | None = None) -> str:
    """A JSON value as text, in one line unless it is to be indented."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(_escape_character(sign) if _is_unseen(sign) else sign for sign in text)


def _is_unseen(sign: str) -> bool:
    if sign < "\x7f":
        return False
    if unicodedata.category(sign) in _UNSEEN or sign in _DRAWN_AS_NOTHING:
        return True
    # How the sign before it looks; a row of them is a message.
    return "\ufe00" <= sign <= "\ufe0f" or "\U000e0100" <= sign <= "\U000e01ef"


def _escape_character(sign: str) -> str:
    return json.dumps(sign)[1:-1]


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
