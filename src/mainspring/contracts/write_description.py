"""How a write is described to a person before they agree to it.

A capability that writes outside declares its description (``Write.describe``). A description is
made from the settings of a step or the bounds of a grant, so templates and missing values are
normal. The quoted values come from other people: ``quote_name`` and ``quote_values`` make them safe
to show.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LONGEST_NAME: Final = 120
_MOST_VALUES: Final = 5


@dataclass(frozen=True, slots=True)
class WriteDescription:
    """One write: ``post`` ``to the channel #ops``, and which settings are its text."""

    verb: str
    what: str
    texts: tuple[str, ...] = ()
    # The integration whose account sends it; empty: none of the owner's accounts does.
    integration: str = ""

    @property
    def infinitive(self) -> str:
        return f"{self.verb} {self.what}"

    @property
    def third_person(self) -> str:
        return f"{self.verb}s {self.what}"


def quote_name(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name or a text, escaped and truncated for a sentence."""
    kept = text if len(text) <= longest else text[:longest] + " …"
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in kept)


def quote_values(value: Any, none: str = "a destination that is still open") -> str:
    """The first few values of a setting, which is one value or a list of them."""
    entries = [quote_name(write_value(one)) for one in list_values(value)]
    more = f" and {len(entries) - _MOST_VALUES} more" if len(entries) > _MOST_VALUES else ""
    return ", ".join(entries[:_MOST_VALUES]) + more if entries else none


def list_values(value: Any) -> list[Any]:
    """A setting as a list, whether it holds none, one or several values."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def write_value(value: Any) -> str:
    """A value as text: a text unchanged, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def describe_mail(config: Mapping[str, Any], integration: str = "") -> WriteDescription:
    """A mail to addresses, for every integration that sends mail."""
    people = [one for key in ("to", "cc", "bcc") for one in list_values(config.get(key))]
    texts = ("subject", "text", "body", "html", "attachments")
    return WriteDescription("mail", quote_values(people, "any address"), texts, integration)
