"""Secrets as typed markers.

A person writes ``{{ secrets.api_key }}`` in an approved template; rendering turns it into a
``SecretText``. Only that Python type is ever substituted, and only when the request is sent: text
that merely looks like a placeholder is data and stays data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SecretRef:
    """A reference to a secret by name."""

    name: str

    def __str__(self) -> str:
        return f"[secret {self.name}]"


def build_connection_secret(name: str) -> SecretRef:
    """A reference to a connection's credential, for a request that is sent over that connection.

    No member's secret can have such a name, so no definition can refer to one.
    """
    return SecretRef(f"connection.{name}")


# The credential of a connection: an access token, an API key or a bot's token.
CONNECTION_TOKEN: Final = build_connection_secret("token")


@dataclass(frozen=True, slots=True)
class SecretLocation:
    """Where an approved script uses a secret: the part of a request, and its destination."""

    name: str
    # The argument that contains it, such as ``headers``.
    part: str
    # Host and port; empty when the script determines them at run time.
    site: str = ""


@dataclass(frozen=True, slots=True)
class ScriptSecrets:
    """The secrets that a script names, and the marker that distinguishes them from data."""

    places: frozenset[SecretLocation] = frozenset()
    # The marker before each name in the approved source. It is new in every attempt, so text from
    # anywhere else cannot contain it. Without a marker nothing is substituted.
    mark: str = ""
    # Further names that are never substituted.
    named: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return self.named | {place.name for place in self.places}


@dataclass(frozen=True, slots=True)
class SecretText:
    """Text with secrets: literal pieces and references, in order."""

    parts: tuple[str | SecretRef, ...]

    def __str__(self) -> str:
        """The text that may be shown and stored: every secret by its name."""
        return "".join(str(part) for part in self.parts)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(part.name for part in self.parts if isinstance(part, SecretRef))
