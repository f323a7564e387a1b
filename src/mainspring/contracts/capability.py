"""A capability: one typed operation, the same for every caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from uuid import UUID

from mainspring.contracts.errors import InternalError
from mainspring.contracts.model_schema import SchemaModel, build_model_schema
from mainspring.contracts.roles import Permission

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.contracts.errors import Finding
    from mainspring.contracts.outcome import NeedsClarification, NothingToDo, ResolvedArguments
    from mainspring.contracts.toolset import Toolset
    from mainspring.contracts.write_description import WriteDescription


Part = TypeVar("Part")
CapabilityHandler = Callable[["CallContext", Mapping[str, Any]], Awaitable[Any]]
Resolve = Callable[
    ["CallContext", Mapping[str, Any]],
    Awaitable["Mapping[str, Any] | ResolvedArguments | NeedsClarification | NothingToDo"],
]


class Effect(StrEnum):
    """The reach of a call."""

    READ = "read"  # changes nothing
    KEEP = "keep"  # writes data of the workspace
    SEND = "send"  # sends data outside the installation


class Audience(StrEnum):
    """Who may call it at all, before any role or grant is checked."""

    ANYONE = "anyone"  # members, their tokens, and runs that were granted it
    RUNS = "runs"  # runs only: it needs a grant's bounds or an automation's own rows
    PEOPLE = "people"  # members and their tokens; it can never be granted
    ADMINISTRATORS = "administrators"  # administrators of the installation; never granted


@dataclass(frozen=True, slots=True)
class ConnectionRoute:
    """The connection of a call: the integration, its hosts, and whose it is."""

    integration: str
    # The only allowed hosts; the connection's credential is sent nowhere else.
    hosts: frozenset[str]
    # Whether a connection is required, optional or never used.
    connection: Literal["needed", "used", "none"] = "needed"
    # Whose connection; None: the caller's, or that of the automation's owner.
    owner_id: UUID | None = None
    # For an optional connection: the owner's secrets that can be used instead.
    secrets: frozenset[str] = frozenset()
    # OAuth scopes without which no such call succeeds.
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Annotations:
    """Optional properties besides the five required fields; they never change what a call means."""

    effect: Effect = Effect.READ
    # For a capability whose effect depends on its arguments: the effect of this call.
    reach: Callable[[Mapping[str, Any]], Effect] | None = None
    # The handler writes our own tables: it receives a transaction, and the record of the call
    # commits in that same transaction, so the write happens exactly once.
    transactional: bool = False
    # The possible effects of an MCP tool, such as USER_VISIBLE.
    side_effects: frozenset[str] = frozenset()
    # The typical duration of a call; only used to choose the queue.
    seconds: float = 1.0
    # Arguments that may contain a SecretText; it is refused in all others.
    secret_arguments: frozenset[str] = frozenset()
    # Those among them that only accept a secret: plain text is refused.
    only_secrets: frozenset[str] = frozenset()
    # The hosts that this capability reaches, where the operator fixed them and no argument can
    # change them: a grant for it then permits these hosts, and its secrets are sent nowhere else.
    hosts: frozenset[str] | None = None
    # The connection of an integration's call; its context uses that connection.
    route: ConnectionRoute | None = None
    # Its handler opens connections itself, such as that of a board's link.
    opens: bool = False
    # A read that calls an external service itself, such as an embedding model.
    asks_outside: bool = False
    # Arguments whose values depend on the caller's connections; schemas list the values per caller:
    # the argument, and which interface (fetch, act or adapter).
    connected: Mapping[str, str] = field(default_factory=dict)
    # Arguments that no record may store, not even as a digest that could be guessed.
    hidden_arguments: frozenset[str] = frozenset()
    # Fields of the result that are shown to the caller once and stored in no record.
    hidden_results: frozenset[str] = frozenset()
    # The size limit of its arguments, where the general limit is too small.
    arguments_bytes: int | None = None
    audience: Audience = Audience.ANYONE
    # The group under which MCP clients find it; None: only in the toolset "all".
    toolset: Toolset | None = None
    # An integration's capability that MCP clients are offered by default.
    default_tool: bool = False
    # The permission that a member's role needs. Default: read for reads, edit for the rest.
    permission: Permission | None = None
    # The maximum cost of a call with these arguments, in dollars; None: it is free.
    price: Callable[[Mapping[str, Any]], Decimal] | None = None
    # Its handler calls models. Only the gate knows the possible cost, per request.
    asks_models: bool = False
    # Checks of valid arguments beyond the schema, before anything is done or held.
    judge: Callable[[Mapping[str, Any]], Sequence[Finding]] | None = None
    # The check depends only on the arguments and on no value of a run, so it also runs when a step
    # is saved.
    judges_saved: bool = False
    # The result of a dry run; default: the first example of the output schema.
    stub: Callable[[Mapping[str, Any]], Any] | None = None
    # The subject of a call for the audit log, from its arguments and its result (None when it
    # failed). Default: the first of the usual names, such as board_id, slug or id.
    subject: Callable[[Mapping[str, Any], Any], str | None] | None = None
    # For an MCP tool: its connection, and the exact version that a person agreed to. Any change
    # makes it another tool, and no draft of one is sent with the other.
    pin: str = ""
    # For an MCP tool that may not be called now: the reason as a sentence. It can still be named,
    # so that what uses it can be saved while a person decides.
    held_back: str = ""


@dataclass(frozen=True, slots=True)
class DraftMetadata:
    """What a held call says about itself, besides its preview."""

    # Drafts of one turn, which a person answers as a set.
    batch_id: UUID | None = None
    # Where people are notified of it.
    notify: tuple[str, ...] = ("inbox",)
    # The integration and its action, as the caller named them; None: those of the call.
    source: str | None = None
    action: str | None = None
    # The argument whose fields a person may still change; empty: the arguments themselves.
    within: str = ""
    # Those fields, and how it is displayed; None: as the write declares.
    editable: tuple[str, ...] | None = None
    family: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """An outside write that a person reviews before it is sent."""

    # One sentence about the effect, made from the arguments alone.
    preview: Callable[[Mapping[str, Any]], str]
    # The arguments that a person may still change.
    editable: tuple[str, ...] = ()
    # On the global safe list: may be sent without a person under auto_confirm_safe.
    safe: bool = False
    # The arguments that are only text: a standing rule may leave them open. Arguments that decide
    # who receives it, or what happens with it, are never among them.
    wording: tuple[str, ...] = ()
    # The arguments that determine the destination. For an automatic write by an agent or a script,
    # each of them that a call uses must be fixed by a grant.
    destination: tuple[str, ...] = ()
    # Sent at once when a step does not say otherwise, as mail to the owner is.
    sent_by_default: bool = False
    # The provider recognises a repeated request by its idempotency key, so an automatic write is
    # performed and retried like any other call. Otherwise it is sent at most once.
    repeatable: bool = False
    # Whether its text is plain, for example mentions nobody. If not, no standing rule applies.
    # Default: it always is.
    plain: Callable[[Mapping[str, Any]], bool] | None = None
    # How it is displayed to a person: email, event, file, message, issue; empty: by its fields.
    family: str = ""
    # For a draft that another capability performs: its id and its arguments.
    performs: Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]] | None = None
    # Draft metadata from the arguments of a call; default: none.
    envelope: Callable[[Mapping[str, Any]], DraftMetadata] | None = None
    # Resolves exact arguments from a request, before anything is held or simulated; or asks a
    # question, or reports that there is nothing to do. It may read but never sends.
    resolve: Resolve | None = None
    # Describes a call by its operation, destination and text, from settings that may contain
    # templates or be missing; default: it is described by its id.
    describe: Callable[[Mapping[str, Any]], WriteDescription] | None = None
    # The product name of the system; default: the name of its integration.
    product: str = ""
    # The arguments as grants compare them, where one thing can have several names. They are not
    # validated yet.
    granted_as: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """One typed, named operation. Its label is the first line of its description."""

    id: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    handler: CapabilityHandler
    write: Write | None = None
    annotations: Annotations = field(default_factory=Annotations)

    @property
    def permission(self) -> Permission:
        """The permission that a member's role needs for a call."""
        if self.annotations.permission is not None:
            return self.annotations.permission
        return Permission.READ if self.annotations.effect is Effect.READ else Permission.EDIT

    @property
    def grantable(self) -> bool:
        """Whether it can be granted to an automation."""
        return self.annotations.audience in (Audience.ANYONE, Audience.RUNS)

    @property
    def uses_accounts(self) -> bool:
        """Whether a call may use an account of the caller or of the automation's owner.

        What is on the safe list only reaches that same person.
        """
        if self.write is not None and self.write.safe:
            return False
        hints = self.annotations
        over = hints.route is not None and hints.route.connection != "none"
        return over or bool(hints.connected) or hints.opens

    @property
    def may_cost(self) -> bool:
        """Whether a call may cost money."""
        return self.annotations.price is not None or self.annotations.asks_models

    @property
    def label(self) -> str:
        return self.description.strip().partition("\n")[0] or self.id


def build_capability(
    name: str,
    label: str,
    text: str,
    takes: type[SchemaModel] | Mapping[str, Any],
    answers: type[SchemaModel] | Mapping[str, Any],
    handler: CapabilityHandler,
    annotations: Annotations,
) -> Capability:
    """A capability defined by one row of a table; none of those is held for approval."""
    return Capability(
        id=name,
        description=f"{label}\n\n{text}",
        input_schema=build_model_schema(takes) if isinstance(takes, type) else takes,
        output_schema=build_model_schema(answers) if isinstance(answers, type) else answers,
        handler=handler,
        annotations=annotations,
    )


def require_part(part: Part | None) -> Part:
    """A required dependency of a handler; a registry that only describes has none."""
    if part is None:
        raise InternalError("This registry describes capabilities and cannot call this one.")
    return part


# The writes that the capabilities of this process declare, where no vocabulary is at hand.


# What the capabilities of this process declare. Consent compares stored documents, also where no
# vocabulary is at hand; what is sent by default must never depend on who compares.
_DECLARED: Final[dict[str, Capability]] = {}


def declare_writes(capabilities: Iterable[Capability]) -> None:
    """Makes the declarations of a registry known; each registry does so when it is built."""
    _DECLARED.update((one.id, one) for one in capabilities if one.write is not None)


def find_declared_write(capability: str) -> Write | None:
    """What a capability declares about its writes; None where it declares nothing."""
    found = _DECLARED.get(capability)
    return None if found is None else found.write


def list_default_writes(*, with_safe: bool) -> frozenset[str]:
    """The writes that go at once where their step says nothing."""
    return frozenset(
        name
        for name, one in _DECLARED.items()
        if one.write is not None and (one.write.sent_by_default or (with_safe and one.write.safe))
    )


def list_account_products() -> dict[str, str]:
    """The integrations over whose accounts something is written, with their product names."""
    return {
        one.annotations.route.integration: one.write.product
        for one in _DECLARED.values()
        if one.write is not None and one.write.product and one.annotations.route is not None
    }
