"""One call on its way to the door and the answer that comes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor, ClientWait, RunRef
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.secret import ScriptSecrets, SecretRef, SecretText
from mainspring.definition.suggestions import find_nearest
from mainspring.gate.call_records import CallRecord, RecordedCall
from mainspring.gate.policy import RunPolicy
from mainspring.gate.rehearsal_recording import RehearsalRecording
from mainspring.gate.run_budget import RunBudget
from mainspring.gate.secret_masking import RunSecretMasker
from mainspring.workspace.redaction import HIDDEN
from mainspring.workspace.sealing import SecretScope

NO_ID: Final = UUID(int=0)
Say = Callable[[str], Awaitable[None]]
# Stands for arguments that are no JSON, or nested deeper than anybody reads.
_NO_TEXT: Final = b'"(no JSON)"'
_HOW_TO_NAME_ONE = "Keep it with `mainspring secrets set NAME` and write {{ secrets.NAME }} here."


@dataclass(frozen=True, slots=True)
class ApprovedDraft:
    """The draft behind a call that was held once: somebody has agreed to it."""

    draft_id: UUID
    # The hosts that it may reach, as they were granted when it was held.
    hosts: frozenset[str] | None
    # The hash of the wording that was agreed to.
    hash: str = ""
    # The connection that it was shown with; None: it goes over none.
    connection: Mapping[str, Any] | None = None
    # An earlier attempt to send it failed, and it was pending again after that.
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class HoldTerms:
    """What a step says about a write of it that is held."""

    # Whether the run waits for the answer.
    awaited: bool = False
    # How long the draft waits for a person; None: as the workspace says.
    seconds: int | None = None
    # How often a failed send is repeated under one agreement.
    retries: int = 0


@dataclass(frozen=True, slots=True)
class CapabilityCall:
    """One call as it arrives at the door: from a run, or from a person without one."""

    capability: str
    arguments: Mapping[str, Any]
    actor: Actor
    run: RunRef | None
    number: int
    posture: RunPolicy
    purse: RunBudget
    fence: int = 0
    # What this very call answered before a crash, if it did.
    recorded: RecordedCall | None = None
    # The call's own id, where there is no run to name it by.
    id: UUID = NO_ID
    # The secrets that its run has used so far; shared by all calls of the run.
    known: RunSecretMasker = field(default_factory=RunSecretMasker)
    # The secrets that a program may spell in its arguments, and where; None: it is no program.
    spelt: ScriptSecrets | None = None
    # By what a program's call is told, whichever turn it comes at; empty: by its number.
    name: str = ""
    # It was held, and is performed now; what may be done was decided with that.
    agreed: ApprovedDraft | None = None
    # Where an agent's thoughts are told; None: nobody watches.
    say: Say | None = None
    # The hash of the run's token that it came with; None: its step makes it.
    token: bytes | None = None
    # What an earlier run was answered, for a run that rehearses it.
    memory: RehearsalRecording | None = None
    # How long the client waits for the answer; None: for as long as it takes.
    client_wait: ClientWait | None = None
    # What its step says about a write that is held.
    terms: HoldTerms = HoldTerms()

    @property
    def drawer(self) -> SecretScope:
        """Whose secrets the call may use: the automation's owner's, or the caller's own."""
        return SecretScope(self.actor.workspace_id, self.posture.owner_id or self.actor.id)

    @property
    def key(self) -> str:
        """Stable over attempts, so that a receiver can recognise a repeated effect."""
        if self.agreed is not None:
            return f"draft/{self.agreed.draft_id}"
        if self.run is None:
            return f"call/{self.id}"
        item = f"/{self.run.item}" if self.run.item else ""
        return f"{self.run.id}/{self.run.step}{item}/{self.name or self.number}"

    @property
    def repeated(self) -> bool:
        """Whether an earlier attempt with the same key may have taken effect."""
        if self.agreed is not None:
            return self.agreed.repeated
        if self.run is None:
            # Such a call has a new id, and so a new key, each time.
            return False
        return self.token is not None or self.run.attempt > 1 or self.fence > 1


@dataclass(frozen=True, slots=True)
class CapabilityResult:
    """What the door says: a value or a problem, and the record still to be written."""

    value: Any = None
    error: Problem | None = None
    outcome: str = "read"
    record: CallRecord | None = None
    # When it was recorded, also for a record that has been written already.
    at: datetime | None = None
    # The handler was called: whatever went wrong, something may have happened.
    begun: bool = False
    # What it came to.
    cost: Decimal = Decimal(0)


def canonical_json(arguments: Any) -> bytes:
    """The arguments as text, each set of them in one way; also those that nobody takes."""
    try:
        return orjson.dumps(arguments, default=str, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        # Half a character, a number beyond 64 bits: refused elsewhere, and told apart here.
        return _dump_canonical(arguments)


def _dump_canonical(arguments: Any) -> bytes:
    try:
        return json.dumps(arguments, default=str, sort_keys=True).encode()
    except (TypeError, ValueError, RecursionError):
        return _NO_TEXT


def digest(text: bytes) -> bytes:
    """Sixteen bytes that tell two sets of arguments apart."""
    return hashlib.blake2b(text, digest_size=16).digest()


def show_secret_names(value: Any) -> Any:
    """The same arguments with every secret shown by its name; untouched when there is none."""
    return _show_secret(value) if has_secret(value) else value


def mask_arguments(arguments: Mapping[str, Any], capability: Capability) -> Mapping[str, Any]:
    """The arguments as a record may know them: hidden ones only by name, strays not at all.

    Whoever mistypes the name of a hidden argument has written its value all the same.
    """
    hidden = capability.annotations.hidden_arguments
    if not hidden:
        return arguments
    declared = capability.input_schema.get("properties", {})
    return {
        name: HIDDEN if name in hidden else value
        for name, value in arguments.items()
        if name in declared
    }


def mask_result(value: Any, capability: Capability) -> Any:
    """A result as a record may keep it: what is shown once stands in it by name alone."""
    hidden = capability.annotations.hidden_results
    if not hidden or not isinstance(value, Mapping):
        return value
    return {name: HIDDEN if name in hidden else given for name, given in value.items()}


def check_unknown_arguments(arguments: Mapping[str, Any], capability: Capability) -> None:
    """An argument that nobody knows is not even named where values are hidden."""
    if not capability.annotations.hidden_arguments:
        return
    declared = capability.input_schema.get("properties", {})
    if not declared.keys() >= arguments.keys():
        detail = f"There is an argument that {capability.id} does not have."
        raise Invalid(
            detail,
            code="arguments_invalid",
            findings=[Finding("", detail, "additional_properties")],
            suggestion=f"It has {', '.join(declared)}.{_likely(arguments, declared)}",
        )


def _likely(arguments: Mapping[str, Any], declared: Mapping[str, Any]) -> str:
    """What an argument that nobody knows may stand for, said in known names alone."""
    strays = arguments.keys() - declared.keys()
    found = [name for name in declared if any(_is_part(stray, name) for stray in strays)]
    return f" Did you mean {' or '.join(found)}?" if found else ""


def _is_part(stray: str, name: str) -> bool:
    return stray in name.split("_") or find_nearest(stray, [name]) is not None


def _show_secret(value: Any) -> Any:
    if isinstance(value, SecretText):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _show_secret(entry) for key, entry in value.items()}
    return [_show_secret(entry) for entry in value] if isinstance(value, list) else value


def check_secret_arguments(arguments: Mapping[str, Any], capability: Capability) -> None:
    """A secret outside the arguments made for it would end up in a record or a body."""
    for name, value in arguments.items():
        if name not in capability.annotations.secret_arguments and has_secret(value):
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


def has_secret(value: Any) -> bool:
    """Whether a secret is put in anywhere in a value."""
    # Exact types first: nearly every value that passes here is plain JSON.
    if type(value) is dict:
        return any(map(has_secret, value.values()))
    if type(value) is list:
        return any(map(has_secret, value))
    return isinstance(value, SecretText)
