"""Secrets as typed markers.

A person writes ``{{ secrets.api_key }}`` in approved text; rendering makes a
``SecretText`` of it. Only that Python type is ever substituted, and only at the door:
text that merely looks like a placeholder arrived as data and stays data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SecretRef:
    """The name of a secret, standing where its value will be."""

    name: str

    def __str__(self) -> str:
        return f"[secret {self.name}]"


def build_connection_secret(name: str) -> SecretRef:
    """What a connection holds, standing in a request that goes out over that connection.

    No secret of a member has such a name, so no definition can ask for one.
    """
    return SecretRef(f"connection.{name}")


# What lets a connection in: an access token, an API key or a bot's token.
CONNECTION_TOKEN: Final = build_connection_secret("token")


@dataclass(frozen=True, slots=True)
class SecretLocation:
    """Where an approved script spells a secret: in which part of a request, and to whom."""

    name: str
    # The argument that it stands in, such as ``headers``.
    part: str
    # Host and port; empty where the script decides while it runs.
    site: str = ""


@dataclass(frozen=True, slots=True)
class ScriptSecrets:
    """The secrets that a program spells in text, and what tells them from data."""

    places: frozenset[SecretLocation] = frozenset()
    # Stands before each name that the approved source spells, and is new in every try: text
    # that comes from anywhere else cannot have it. Without a mark nothing is put in.
    mark: str = ""
    # Further names that are never put in.
    named: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        return self.named | {place.name for place in self.places}


@dataclass(frozen=True, slots=True)
class SecretText:
    """Text with secrets in it: literal pieces and references, in order."""

    parts: tuple[str | SecretRef, ...]

    def __str__(self) -> str:
        """What may be shown and stored: every secret by its name."""
        return "".join(str(part) for part in self.parts)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(part.name for part in self.parts if isinstance(part, SecretRef))
