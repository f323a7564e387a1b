"""One call and its answer: its arguments, the secrets in them, and the fence of its run."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Actor, ClientWait, RunRef
from mainspring.contracts.errors import Conflict, Finding, Invalid, Problem
from mainspring.contracts.secret import ScriptSecrets, SecretRef, SecretText
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.suggestions import find_nearest
from mainspring.gate.call_records import CallRecord, RecordedCall
from mainspring.gate.policy import RunPolicy
from mainspring.gate.rehearsal_recording import RehearsalRecording
from mainspring.gate.run_budget import RunBudget
from mainspring.workspace.redaction import HIDDEN, RunSecretMasker
from mainspring.workspace.sealing import SecretScope

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


NO_ID: Final = UUID(int=0)
Say = Callable[[str], Awaitable[None]]
# Stands for arguments that are no JSON, or nested deeper than anybody reads.
_NO_TEXT: Final = b'"(no JSON)"'
_HOW_TO_NAME_ONE = "Store it with `mainspring secrets set NAME` and write {{ secrets.NAME }} here."


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
    budget: RunBudget
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
    # The automation whose trigger makes the call, outside of a run and within its grants.
    automation_id: UUID | None = None

    @property
    def secret_scope(self) -> SecretScope:
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
        detail = f"{capability.id} does not have one of these arguments."
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
                f"A secret cannot be used in {name!r} of {capability.id}.",
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


# Secrets that a program spells in text, put in where a secret may stand.
#
# A plan names its secrets in approved templates. A script is approved as a whole and writes
# ``{{name}}`` inside the arguments of a call, which reach the door as text among data. What the
# approved source spells has a mark of this very try before the name, ``{{mark:name}}``, and is put
# in only where the source spells it: in that part of a request, and to that host if the source
# says one. The name of a secret without the mark came as data and is refused, because a text that
# nobody fills would go out unchanged and its author would look for the mistake at the other
# end. Any other word between braces is text like any other.


_SPELT: Final = re.compile(
    r"\{\{(?:([0-9a-f]{32}):)?\s*(?:secrets\s*\.\s*)?([a-z0-9_]{1,64})\s*\}\}"
)


def with_secrets(ask: CapabilityCall, capability: Capability) -> CapabilityCall:
    """The same call with the secrets that it spells as markers; a plan's call is untouched."""
    spelt = ask.spelt
    if spelt is None or not spelt.names:
        return ask
    for argument, value in ask.arguments.items():
        allowed = _allowed_secrets(ask.arguments, argument, spelt)
        for text, is_key in _texts(value):
            for mark, name in _SPELT.findall(text):
                if name not in spelt.names:
                    continue
                if argument not in capability.annotations.secret_arguments:
                    # A secret that would go out as its own name is worse than a refusal.
                    raise _misplaced_secret_error(name, argument, capability)
                if not mark or mark != spelt.mark:
                    raise _from_data(name, argument, capability)
                if is_key or name not in allowed:
                    raise _unspelt(name, argument, capability)
    return replace(ask, arguments=mark_secrets(ask.arguments, capability, spelt))


def mark_secrets(
    arguments: Mapping[str, Any], capability: Capability, spelt: ScriptSecrets | None
) -> Mapping[str, Any]:
    """The arguments with a marker for each secret that is spelt where one may stand.

    The mark of the try is in none of them, so that every try asks for the same.
    """
    parts = capability.annotations.secret_arguments
    if spelt is None or not spelt.places or not spelt.mark or not parts:
        return arguments
    return {
        name: _mark_value(value, _allowed_secrets(arguments, name, spelt), spelt.mark)
        if name in parts
        else value
        for name, value in arguments.items()
    }


def _allowed_secrets(
    arguments: Mapping[str, Any], part: str, spelt: ScriptSecrets
) -> frozenset[str]:
    """The secrets that the source spells in this part of a request to this host."""
    site = str(parse_template_host(arguments.get("url")) or "")
    return frozenset(
        place.name for place in spelt.places if place.part == part and place.site in ("", site)
    )


def _texts(value: Any) -> Iterator[tuple[str, bool]]:
    """Each text of a value, and whether it is the key of something."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one, False
        elif isinstance(one, Mapping):
            yield from ((str(key), True) for key in one)
            rest += one.values()
        elif isinstance(one, list):
            rest += one


def _mark_value(value: Any, names: frozenset[str], mark: str) -> Any:
    if isinstance(value, str):
        parts = tuple(_parts(value, names, mark))
        if any(isinstance(part, SecretRef) for part in parts):
            return SecretText(parts)
        return value
    if isinstance(value, Mapping):
        return {key: _mark_value(entry, names, mark) for key, entry in value.items()}
    return (
        [_mark_value(entry, names, mark) for entry in value] if isinstance(value, list) else value
    )


def _parts(text: str, names: frozenset[str], mark: str) -> Iterator[str | SecretRef]:
    done = 0
    for found in _SPELT.finditer(text):
        if found[1] == mark and found[2] in names:
            if found.start() > done:
                yield text[done : found.start()]
            yield SecretRef(found[2])
            done = found.end()
    if done < len(text):
        yield text[done:]


def _misplaced_secret_error(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = f"The secret {secret} cannot be used in {argument!r} of {capability.id}."
    way_out = "Use a secret in the url, the headers or the query of http_fetch."
    return _secret_refused_error(detail, argument, way_out)


def _from_data(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = (
        f"{argument!r} of {capability.id} contains {{{{{secret}}}}} in a text that the approved "
        "source does not contain; data cannot insert a secret."
    )
    way_out = (
        "Write the placeholder directly into the brains.http_fetch call that needs it. If the "
        "text is external data, remove the braces from it first."
    )
    return _secret_refused_error(detail, argument, way_out)


def _unspelt(secret: str, argument: str, capability: Capability) -> Invalid:
    detail = (
        f"{argument!r} of {capability.id} contains {{{{{secret}}}}}, which is not inserted there."
    )
    way_out = (
        "Write the placeholder directly into the request that needs it: the approved source "
        "decides which secret goes where."
    )
    return _secret_refused_error(detail, argument, way_out)


def _secret_refused_error(detail: str, argument: str, way_out: str) -> Invalid:
    code = "secret_not_allowed_here"
    return Invalid(
        detail, code=code, findings=[Finding(f"/{argument}", detail, code)], suggestion=way_out
    )


# The fence: a call that writes for a run does so only while that run is its caller's.
#
# A run that another worker took over has a higher fence. The row is held until the end of the
# transaction, so a takeover comes before the write or after it.


LEASE_LOST: Final = "lease_lost"

_HOLD = """
    SELECT 1 AS held FROM runs WHERE workspace_id = $1 AND id = $2 AND fence = $3
    AND status = 'running' FOR KEY SHARE
"""


async def check_fence(tx: Transaction, ask: CapabilityCall) -> None:
    """Holds the run of a call, or refuses a caller who has lost it."""
    if ask.run is None:
        return
    row = await tx.fetchrow(_HOLD, ask.actor.workspace_id, ask.run.id, ask.fence)
    if row is None:
        raise lost_run_error()


def lost_run_error() -> Conflict:
    return Conflict("Another worker has taken this run over.", code=LEASE_LOST)
