"""Passwords: argon2 hashes, verified in constant time whether the account exists or not.

Hashing is slow and takes memory, so it runs in a few threads; when too many requests wait, further
ones are rejected with a retry time.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from typing import Final, TypeVar, TypeVarTuple

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from mainspring.contracts.errors import Finding, Invalid, LimitExceeded

Made = TypeVar("Made")
Given = TypeVarTuple("Given")

SHORTEST: Final = 12
LONGEST: Final = 1024
_AT_ONCE: Final = 2
_WAITING: Final = 64
_DIFFERENT: Final = 4


class PasswordVerifier:
    """Makes and verifies hashes with the configured cost."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._dummy_hash: str | None = None

    async def hash(self, password: str, pointer: str = "/password") -> str:
        """Hash a new password; too simple or too long ones are rejected."""
        return await self._apart(self._hasher.hash, _validate_password(password, pointer))

    async def verify(self, hashed: str | None, password: str) -> bool:
        """Verify a password. A missing hash takes as long and never matches."""
        return await self._apart(self._compare, hashed, _normalize_password(password))

    def needs_rehash(self, hashed: str) -> bool:
        """Whether a hash was made with a lower cost than the current one."""
        return self._hasher.check_needs_rehash(hashed)

    def _compare(self, hashed: str | None, password: str) -> bool:
        nobodys = self._load_dummy_hash()
        try:
            self._hasher.verify(hashed or nobodys, password)
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None

    def _load_dummy_hash(self) -> str:
        if self._dummy_hash is None:
            self._dummy_hash = self._hasher.hash("nobody has this password")
        return self._dummy_hash

    async def _apart(self, work: Callable[[*Given], Made], *given: *Given) -> Made:
        if self._waiting >= _WAITING:
            raise LimitExceeded(
                "Too many people are signing in at the same time.", code="busy", retry_after=2.0
            )
        self._waiting += 1
        try:
            async with self._slots:
                return await asyncio.to_thread(work, *given)
        finally:
            self._waiting -= 1


def _validate_password(password: str, pointer: str) -> str:
    text = _normalize_password(password)
    if not SHORTEST <= len(text) <= LONGEST:
        detail = f"A password has {SHORTEST} to {LONGEST} characters."
        raise Invalid(detail, findings=[Finding(pointer, detail, "password_length")])
    if len(set(text)) < _DIFFERENT:
        detail = f"A password has at least {_DIFFERENT} different characters."
        raise Invalid(detail, findings=[Finding(pointer, detail, "password_plain")])
    return text


def _normalize_password(password: str) -> str:
    """Normalize Unicode, so that equal-looking passwords match across keyboards."""
    return unicodedata.normalize("NFC", password[: LONGEST + 1])
