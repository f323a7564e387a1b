"""A capability: one typed thing the system can do, the same for every caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import UUID

from mainspring.contracts.errors import InternalError
from mainspring.contracts.roles import Permission

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.errors import Finding
    from mainspring.contracts.outcome import NeedsClarification, NothingToDo, ResolvedArguments
    from mainspring.contracts.write_description import WriteDescription

Part = TypeVar("Part")
CapabilityHandler = Callable[["CallContext", Mapping[str, Any]], Awaitable[Any]]
Resolve = Callable[
    ["CallContext", Mapping[str, Any]],
    Awaitable["Mapping[str, Any] | ResolvedArguments | NeedsClarification | NothingToDo"],
]


class Effect(StrEnum):
    """How far a call reaches."""

    READ = "read"  # changes nothing
    KEEP = "keep"  # writes what the workspace keeps
    SEND = "send"  # leaves the house


class Audience(StrEnum):
    """Who may call at all, before any role or grant is looked at."""

    ANYONE = "anyone"  # members, their tokens, and runs that were granted it
    RUNS = "runs"  # runs alone: it needs a grant's bounds or an automation's own rows
    PEOPLE = "people"  # members and their tokens; it can never be granted
    ADMINISTRATORS = "administrators"  # who looks after the installation; never granted


@dataclass(frozen=True, slots=True)
class ConnectionRoute:
    """Where a call goes over a connection: the integration, its hosts, and whose it is."""

    integration: str
    # The only hosts that are dialled; what the connection holds goes nowhere else.
    hosts: frozenset[str]
    # Whether a connection must be there, is used where there is one, or is never used.
    connection: Literal["needed", "used", "none"] = "needed"
    # Whose connection; None: that of whoever calls, or of the automation's maker.
    owner_id: UUID | None = None
    # Where a connection is only used: the owner's secrets that do as well without one.
    secrets: frozenset[str] = frozenset()
    # Scopes of a sign-in without which no such call succeeds.
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Annotations:
    """Hints beside the five required fields; they never change what a call means."""

    effect: Effect = Effect.READ
    # For a capability whose reach depends on its arguments: how far this very call goes.
    reach: Callable[[Mapping[str, Any]], Effect] | None = None
    # The handler writes our own tables: it is given a transaction, and the record of
    # the call commits in that same transaction, so the write happens exactly once.
    transactional: bool = False
    # What a call may do out there, as words such as USER_VISIBLE; of tools from outside.
    side_effects: frozenset[str] = frozenset()
    # How long a call usually takes; only the choice of queue reads it.
    seconds: float = 1.0
    # Argument names in which a SecretText may stand; everywhere else it is refused.
    secret_arguments: frozenset[str] = frozenset()
    # Those among them that are a secret or nothing: plain text in them is refused.
    only_secrets: frozenset[str] = frozenset()
    # The hosts this capability reaches, where the operator fixed them and no argument can
    # change them: a grant for it then permits these hosts, and its secrets go nowhere else.
    hosts: frozenset[str] | None = None
    # Where a call of an integration goes: its context then speaks over that connection.
    route: ConnectionRoute | None = None
    # Its handler opens connections of its own choice, such as that of a board's link.
    opens: bool = False
    # A read that asks somebody outside of the house by itself, such as a model for vectors.
    asks_outside: bool = False
    # Arguments whose values are what the caller is connected to, in lists that are shown to each
    # caller as they are for them: the argument, and which surface (fetch, act or adapter).
    connected: Mapping[str, str] = field(default_factory=dict)
    # Arguments that no record may keep, not even as a digest that could be guessed.
    hidden_arguments: frozenset[str] = frozenset()
    # Fields of the result that are shown to the caller this once and kept in no record.
    hidden_results: frozenset[str] = frozenset()
    # How large its arguments may be, where the limit of all calls is too small for them.
    arguments_bytes: int | None = None
    audience: Audience = Audience.ANYONE
    # What a member's role must allow. Left out: read for what reads, edit for the rest.
    permission: Permission | None = None
    # The most that a call with these arguments can cost, in dollars; None: it is free.
    price: Callable[[Mapping[str, Any]], Decimal] | None = None
    # Its handler asks models. What that can cost is known by the gate alone, ask by ask.
    asks_models: bool = False
    # What is wrong with arguments that fit the schema, told before anything is done or held.
    judge: Callable[[Mapping[str, Any]], Sequence[Finding]] | None = None
    # That judge looks at the arguments alone and at no value that a run puts in, so a step is
    # judged by it when it is saved, too.
    judges_saved: bool = False
    # What a dry run answers instead; left out: the first example of the output schema.
    stub: Callable[[Mapping[str, Any]], Any] | None = None
    # What a call was done to, for the audit log, from its arguments and its result (None when
    # it failed). Left out: the first of the usual names, such as board_id, slug or id.
    subject: Callable[[Mapping[str, Any], Any], str | None] | None = None
    # Of a tool from outside: which connection's, and exactly what a person agreed to there. It
    # is another one as soon as any of that is, and no draft of the one is sent with the other.
    pin: str = ""
    # Of a tool from outside that may not be called now: why, in a sentence. It can be named all
    # the same, so that what uses it can be saved while a person decides.
    held_back: str = ""


@dataclass(frozen=True, slots=True)
class DraftMetadata:
    """What a held call says of itself beside what it would do."""

    # Drafts of one turn, which a person answers as a set.
    batch_id: UUID | None = None
    # Where people are told of it.
    notify: tuple[str, ...] = ("inbox",)
    # The integration and its action, in the words of whoever asked; None: what the call shows.
    source: str | None = None
    action: str | None = None
    # The argument whose fields a person may still change; empty: the arguments themselves.
    within: str = ""
    # Those fields, and what it is like where it arrives; None: as the write itself says.
    editable: tuple[str, ...] | None = None
    family: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """An outside write that a person sees before it leaves."""

    # One sentence of what will happen, made from the arguments alone.
    preview: Callable[[Mapping[str, Any]], str]
    # Which arguments a person may still change.
    editable: tuple[str, ...] = ()
    # On the global safe list: may go without a person under auto_confirm_safe.
    safe: bool = False
    # The arguments that are wording and nothing else: a standing rule may leave them open. What
    # decides who gets it, or what becomes of it, is never among them.
    wording: tuple[str, ...] = ()
    # The arguments that say where it goes. Where an agent or a script calls it and it is to go
    # without asking, each of them that a call gives is fixed by a grant.
    destination: tuple[str, ...] = ()
    # It is sent at once where a step says nothing about it, as mail to the owner is.
    sent_by_default: bool = False
    # The other side recognises a repeated request by its idempotency key, so an automatic write
    # is performed and retried like any other call. Otherwise it is sent at most once.
    repeatable: bool = False
    # Whether its wording is no more than words: that it calls nobody, say. Where it is not, no
    # standing rule lets it go. Left out: it always is.
    plain: Callable[[Mapping[str, Any]], bool] | None = None
    # What it is like where it arrives, so that a person sees it so: email, event, file, message,
    # issue; empty: it is shown by its fields.
    family: str = ""
    # Where a confirmed draft is another capability's to do: that one's id, and its arguments.
    performs: Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]] | None = None
    # What a call says of itself in arguments of its own; left out: nothing.
    envelope: Callable[[Mapping[str, Any]], DraftMetadata] | None = None
    # Makes exact arguments of what was asked for, before anything is held or pretended; or asks
    # back, or says that there is nothing to do. It reads at most, and never sends.
    resolve: Resolve | None = None
    # The same call described by what it does, where it goes and what its text is, from settings
    # that may hold templates or be missing; left out: it is described by its id.
    describe: Callable[[Mapping[str, Any]], WriteDescription] | None = None
    # What people call the system that it reaches; left out: the name of its integration.
    product: str = ""
    # The arguments as grants judge them, where one thing can be asked for by several names. They
    # may be of any shape yet.
    granted_as: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """One typed, named, callable thing. Its label is the first line of its description."""

    id: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    handler: CapabilityHandler
    write: Write | None = None
    annotations: Annotations = field(default_factory=Annotations)

    @property
    def permission(self) -> Permission:
        """What a member's role must allow for a call."""
        if self.annotations.permission is not None:
            return self.annotations.permission
        return Permission.READ if self.annotations.effect is Effect.READ else Permission.EDIT

    @property
    def grantable(self) -> bool:
        """Whether an automation can ever be given it."""
        return self.annotations.audience in (Audience.ANYONE, Audience.RUNS)

    @property
    def uses_accounts(self) -> bool:
        """Whether a call may go over an account of whoever calls, or made the automation.

        What is on the safe list reaches that very person and nobody else.
        """
        if self.write is not None and self.write.safe:
            return False
        hints = self.annotations
        over = hints.route is not None and hints.route.connection != "none"
        return over or bool(hints.connected) or hints.opens

    @property
    def may_cost(self) -> bool:
        """Whether a call of it may cost money."""
        return self.annotations.price is not None or self.annotations.asks_models

    @property
    def label(self) -> str:
        return self.description.strip().partition("\n")[0] or self.id


def build_capability(
    name: str,
    label: str,
    text: str,
    takes: Mapping[str, Any],
    answers: Mapping[str, Any],
    handler: CapabilityHandler,
    annotations: Annotations,
) -> Capability:
    """A capability that is one line of a table; none of those waits for a person."""
    return Capability(
        id=name,
        description=f"{label}\n\n{text}",
        input_schema=takes,
        output_schema=answers,
        handler=handler,
        annotations=annotations,
    )


def require_part(part: Part | None) -> Part:
    """A part of the house that a handler works on; a registry that only describes has none."""
    if part is None:
        raise InternalError("This registry describes capabilities and cannot call this one.")
    return part
