"""How a write is described to a person before they agree to it.

A capability that writes outside declares its description (``Write.describe``). A description is
made from the settings of a step or the bounds of a grant, so templates and missing values are
normal. The quoted values come from other people: ``quote_name`` and ``quote_values`` make them safe
to show. A name can be truncated. A destination, a bound or a text cannot: what is left out would be
agreed to without being shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LONGEST_NAME: Final = 120


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
    """A name, escaped and truncated for a sentence."""
    return quote_whole(text if len(text) <= longest else text[:longest] + " …")


def quote_whole(text: str) -> str:
    """All of a text, escaped: nothing in it is invisible, and it cannot end its quotation."""
    plain = text.replace("“", '"').replace("”", '"')
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in plain)


def quote_lines(text: str) -> str:
    """All of a text with several lines, for one line."""
    return quote_whole(text.replace("\r\n", "\n").replace("\n", " ↵ "))


def quote_values(value: Any, none: str = "a destination that is still open") -> str:
    """All values of a setting, which is one value or a list of them."""
    return ", ".join(quote_whole(write_value(one)) for one in list_values(value)) or none


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
