"""One call on its way to the door and the answer that comes back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.gate.budget import Purse
from mainspring.gate.policy import Posture
from mainspring.gate.record import CallRecord, RecordedCall

NO_ID: Final = UUID(int=0)
_HOW_TO_NAME_ONE = "Keep it with `mainspring secrets set NAME` and write {{ secrets.NAME }} here."


@dataclass(frozen=True, slots=True)
class Ask:
    """One call as it arrives at the door: from a run, or from a person without one."""

    capability: str
    arguments: Mapping[str, Any]
    actor: Actor
    run: RunRef | None
    number: int
    posture: Posture
    purse: Purse
    fence: int = 0
    # What this very call answered before a crash, if it did.
    recorded: RecordedCall | None = None
    # The call's own id, where there is no run to name it by.
    id: UUID = NO_ID

    @property
    def key(self) -> str:
        """Stable over attempts, so that a receiver can recognise a repeated effect."""
        if self.run is None:
            return f"call/{self.id}"
        item = f"/{self.run.item}" if self.run.item else ""
        return f"{self.run.id}/{self.run.step}{item}/{self.number}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the door says: a value or a problem, and the record still to be written."""

    value: Any = None
    error: Problem | None = None
    outcome: str = "read"
    record: CallRecord | None = None


def spelled(arguments: Any) -> bytes:
    """The arguments as text, each set of them in one way."""
    return orjson.dumps(arguments, default=str, option=orjson.OPT_SORT_KEYS)


def digest(text: bytes) -> bytes:
    """Sixteen bytes that tell two sets of arguments apart."""
    return hashlib.blake2b(text, digest_size=16).digest()


def plain(value: Any) -> Any:
    """The same arguments with every secret shown by its name; untouched when there is none."""
    return _shown(value) if _has_secret(value) else value


def _shown(value: Any) -> Any:
    if isinstance(value, SecretText):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _shown(entry) for key, entry in value.items()}
    return [_shown(entry) for entry in value] if isinstance(value, list) else value


def check_secret_places(arguments: Mapping[str, Any], capability: Capability) -> None:
    """A secret outside the arguments made for it would end up in a record or a body."""
    for name, value in arguments.items():
        if name not in capability.annotations.secret_arguments and _has_secret(value):
            raise Invalid(
                f"A secret may not stand in {name!r} of {capability.id}.",
                code="secret_not_allowed_here",
            )
        if name in capability.annotations.only_secrets and not _is_secret(value):
            raise Invalid(
                f"{name!r} of {capability.id} must be a secret and nothing else.",
                code="secret_needed",
                findings=[
                    Finding(f"/{name}", "This must be a secret.", "secret_needed", _HOW_TO_NAME_ONE)
                ],
                suggestion=_HOW_TO_NAME_ONE,
            )


def _is_secret(value: Any) -> bool:
    """One whole secret; text around it, or text that merely looks like it, is none."""
    return (
        isinstance(value, SecretText)
        and len(value.parts) == 1
        and isinstance(value.parts[0], SecretRef)
    )


def _has_secret(value: Any) -> bool:
    # Exact types first: nearly every value that passes here is plain JSON.
    if type(value) is dict:
        return any(map(_has_secret, value.values()))
    if type(value) is list:
        return any(map(_has_secret, value))
    return isinstance(value, SecretText)
