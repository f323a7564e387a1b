"""The digest of a recipe: what it says, as thirty-two bytes.

It covers everything but itself and the signature over it, in the one spelling of JSON, so that
neither blanks nor the order of keys make another recipe of the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding
from mainspring.definition.json_text import hash_content

PREFIX: Final = "sha256:"
DIGEST_PATTERN: Final = "^sha256:[0-9a-f]{64}$"

_BESIDE: Final = ("digest", "signature")


def compute_recipe_digest(document: Mapping[str, Any]) -> bytes:
    """The digest of what a recipe says."""
    return hash_content({key: part for key, part in document.items() if key not in _BESIDE})


def format_digest(digest: bytes) -> str:
    """How a digest is written into a recipe."""
    return PREFIX + digest.hex()


def check_digest(document: Mapping[str, Any]) -> Finding | None:
    """What is wrong with the digest that a recipe carries; one without says nothing false."""
    said = document.get("digest")
    if said is None or said == format_digest(compute_recipe_digest(document)):
        return None
    return Finding(
        "/digest",
        "The digest is that of another content: the recipe was changed after it was packed.",
        "wrong_digest",
        "Get it again from whoever published it, or pack it anew: `mainspring recipes pack`.",
    )
