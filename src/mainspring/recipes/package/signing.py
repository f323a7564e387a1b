"""Ed25519 signatures over a recipe's digest.

A signature does not make a recipe safe. It proves that this version was made by the holder of the
previous version's key and was not changed since.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mainspring.contracts.errors import Finding, Invalid
from mainspring.recipes.package.references import compute_recipe_digest, format_digest

ALGORITHM: Final = "ed25519"

_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A publisher's key pair; the private key stays in their file."""

    private: bytes
    public: bytes

    def as_text(self) -> str:
        """The private key, encoded for a file."""
        return base64.b64encode(self.private).decode() + "\n"

    def shown_public(self) -> str:
        return base64.b64encode(self.public).decode()

    def __repr__(self) -> str:
        return f"KeyPair(public={self.shown_public()!r})"


def generate_key() -> KeyPair:
    """Generate a key pair."""
    return _build_key_pair(Ed25519PrivateKey.generate())


def read_key(text: bytes | str) -> KeyPair:
    """Parse the key pair of a file."""
    private = _decode_base64(text.strip(), _KEY_BYTES)
    if private is None:
        raise Invalid(
            "This file is not a key that signs recipes.",
            code="bad_key",
            suggestion="Make one: `mainspring recipes new-key KEYFILE`.",
        )
    return _build_key_pair(Ed25519PrivateKey.from_private_bytes(private))


def add_signature(document: Mapping[str, Any], key: KeyPair) -> dict[str, Any]:
    """Add the digest and a signature over it."""
    digest = compute_recipe_digest(document)
    value = Ed25519PrivateKey.from_private_bytes(key.private).sign(digest)
    return {
        **document,
        "digest": format_digest(digest),
        "signature": {
            "algorithm": ALGORITHM,
            "public_key": key.shown_public(),
            "value": base64.b64encode(value).decode(),
        },
    }


def get_public_key(document: Mapping[str, Any]) -> bytes | None:
    """Return the signing key of a recipe; None when unsigned."""
    signature = document.get("signature")
    if not isinstance(signature, Mapping):
        return None
    return _decode_base64(signature.get("public_key"), _KEY_BYTES)


def validate_signature(document: Mapping[str, Any]) -> Finding | None:
    """Validate a signature; an unsigned recipe has no problem."""
    signature = document.get("signature")
    if signature is None:
        return None
    public = get_public_key(document)
    if public is None or not isinstance(signature, Mapping):
        detail = "This is not a public key of Ed25519: 32 bytes, written as base64."
        return Finding("/signature/public_key", detail, "bad_signature")
    value = _decode_base64(signature.get("value"), _SIGNATURE_BYTES)
    if value is None:
        detail = "This is not a signature of Ed25519: 64 bytes, written as base64."
        return Finding("/signature/value", detail, "bad_signature")
    try:
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(value, compute_recipe_digest(document))
    except (InvalidSignature, ValueError):
        detail = "The signature does not fit: the recipe was changed, or another key signed it."
        hint = "Get it again from its publisher."
        return Finding("/signature/value", detail, "bad_signature", hint)
    return None


def _build_key_pair(private: Ed25519PrivateKey) -> KeyPair:
    return KeyPair(private.private_bytes_raw(), private.public_key().public_bytes_raw())


def _decode_base64(text: Any, size: int) -> bytes | None:
    try:
        made = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return None
    return made if len(made) == size else None
