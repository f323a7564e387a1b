"""The contexts passed to handlers. They hide retries, grants, budgets and audit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Protocol
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import Problem
from mainspring.contracts.grant import Grant
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.contracts.roles import Role
from mainspring.contracts.secret import ScriptSecrets, SecretText


@dataclass(frozen=True, slots=True)
class Actor:
    """The caller: a member in the page or CLI, a run, or a client with a token.

    A client acts for the member it belongs to, so its id is that member's.
    """

    workspace_id: UUID
    kind: Literal["member", "run", "client"]
    id: UUID
    token_id: UUID | None = None
    # The permissions of a member or a client; a run has grants instead.
    role: Role | None = None
    # Whether this person is also an administrator of the installation.
    administrator: bool = False
    # A program acts for this member without a token of its own, such as an assistant started on
    # their machine. It may not do what is reserved for people.
    by_program: bool = False
    # This person answers on a terminal; otherwise in the page.
    at_terminal: bool = False
    # The chat in which this person pressed a button, such as slack or telegram.
    chat: str = ""
    # Set for a token with the permission ``approve``: the automations whose consents it may answer
    # over this interface. Empty where the permission does not apply, as over MCP.
    approves: frozenset[UUID] | None = None

    @property
    def is_person(self) -> bool:
        """Whether the caller is a member in person."""
        return self.kind == "member" and not self.by_program

    @property
    def channel(self) -> str | None:
        """The channel through which this actor decides; None for a program, which may not."""
        if self.approves:
            return "token"
        if not self.is_person:
            return None
        return self.chat or ("terminal" if self.at_terminal else "page")


@dataclass(frozen=True, slots=True)
class RunRef:
    """The run that a call belongs to, and the position in it."""

    id: UUID
    automation_id: UUID
    step: str
    item: str = ""
    attempt: int = 1


class Transaction(Protocol):
    """The part of a database connection that a handler may use.

    A row is read by column name; its values have the types of the columns.
    """

    async def execute(self, query: str, /, *args: Any) -> str: ...

    async def fetch(self, query: str, /, *args: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, /, *args: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One outbound request. Secrets are references until it is sent."""

    method: str
    url: str | SecretText
    headers: Mapping[str, str | SecretText]
    query: Mapping[str, str | SecretText]
    body: bytes | None = None
    timeout_seconds: float = 30.0
    max_bytes: int = 1_048_576
    follow_redirects: bool = True


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response, already limited in size and time."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class HttpClient(Protocol):
    """The only outbound HTTP client; the egress guard behind it checks every address."""

    async def send(self, request: HttpRequest) -> HttpResponse: ...


MAIL_RECIPIENTS = 50
MAIL_FILES = 5
# The limit per list; the mail server limits the total.
MAIL_FILE_BYTES = 10_485_760
# The maximum length of a line in a mail, and so of a subject.
MAIL_SUBJECT = 998


@dataclass(frozen=True, slots=True)
class MailAttachment:
    """A file attached to a mail."""

    filename: str
    content: bytes
    mime_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail, without a sender, which the operator configures."""

    to: tuple[str, ...]
    subject: str
    text: str
    cc: tuple[str, ...] = ()
    html: str | None = None
    reply_to: str | None = None
    # Further headers, such as Auto-Submitted; the standard ones cannot be set.
    headers: Mapping[str, str] = field(default_factory=dict)
    # Recipients of a blind copy.
    bcc: tuple[str, ...] = ()
    attachments: tuple[MailAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class MailReceipt:
    """The recipients that the mail server accepted, and those it refused, with its reason."""

    message_id: str
    accepted: tuple[str, ...]
    refused: Mapping[str, str]


class Mailer(Protocol):
    """Sends mail over the operator's mail server."""

    async def send(self, message: Mail, *, key: str) -> MailReceipt:
        """Send one mail; the same key gives the same Message-ID, so a repeat can be recognised."""
        ...


@dataclass(frozen=True, slots=True)
class RawMail:
    """A raw mail and its size; a large one is truncated."""

    uid: int
    data: bytes
    size: int


class Mailbox(Protocol):
    """One folder of a mailbox, opened read-only."""

    @property
    def uidvalidity(self) -> int:
        """The validity of uids; after a change, stored uids are meaningless."""
        ...

    @property
    def last_uid(self) -> int:
        """The last uid assigned when the folder was opened; 0 when unknown."""
        ...

    async def search(
        self,
        *,
        after: int = 0,
        since: date | None = None,
        terms: Sequence[tuple[str, str]] = (),
    ) -> Sequence[int]:
        """The uids above one, of mails since a date that match all terms, in order.

        A term is a field (from, to, cc, subject, body or text) and its content.
        """
        ...

    async def fetch(self, uid: int, most_bytes: int) -> RawMail | None:
        """One mail, possibly truncated; None when it no longer exists."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """Information about the connection of a call, without secrets."""

    connection_id: UUID
    integration: str
    # Its display name, and the account at the provider, such as an address.
    label: str
    account: str = ""
    # The settings of the connection, such as the server of a mailbox.
    settings: Mapping[str, Any] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()
    # The member who holds it.
    owner_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ClientWait:
    """How long the client of a call waits for the result, and how it receives progress."""

    seconds: float
    # Takes a sentence; None: the client asked for no progress.
    report: Callable[[str], Awaitable[None]] | None = None
    # Set: the client was asked to open the page where a person answers, so the call may wait for
    # that answer. True: the client does not open it.
    dismissed: Callable[[], bool] | None = None
    # Whether the client can open a page for its user.
    opens_pages: bool = False


class CallContext(Protocol):
    """Passed to a capability's handler."""

    @property
    def client_wait(self) -> ClientWait | None:
        """Set when the client has a timeout; None when it waits without a limit."""
        ...

    @property
    def account(self) -> Account | None:
        """The connection that ``http`` uses; None when there is none."""
        ...

    @property
    def actor(self) -> Actor: ...
    @property
    def run(self) -> RunRef | None: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def key(self) -> str:
        """The idempotency key, run/step/item/call: the same over every attempt."""
        ...

    @property
    def repeated(self) -> bool:
        """Whether an earlier attempt with the same key may have taken effect."""
        ...

    @property
    def tx(self) -> Transaction:
        """The open transaction of a transactional capability; an error for any other."""
        ...

    @property
    def http(self) -> HttpClient: ...
    @property
    def mail(self) -> Mailer: ...

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]:
        """Open the mailbox of the connection, as its settings say."""
        ...

    async def owner_address(self) -> str | None:
        """The mail address of the automation's owner, or of the caller without a run.

        None when they have no address or are no longer a member.
        """
        ...

    def spend(self, usd: Decimal) -> None:
        """Report the cost of the call; the gate settles it with the call's record."""
        ...

    @property
    def model(self) -> str:
        """The model for calls that name none: the automation's; empty: the default."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Call a model within the run's budget; the gate records the usage."""
        ...


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call: its value or its problem, and when it was recorded."""

    at: datetime
    value: Any = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class StepStart:
    """The state of a step at its start; time and seed are the same over all its attempts."""

    token: str
    began_at: datetime
    seed: bytes


OutputStream = Literal["out", "err", "end", "agent"]


class StepContext(Protocol):
    """Passed to an action's handler."""

    @property
    def actor(self) -> Actor: ...
    @property
    def run(self) -> RunRef: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def key(self) -> str: ...

    async def call(self, capability: str, arguments: Mapping[str, Any]) -> Any:
        """Call a capability through the gate, as this run, with the run's grants."""
        ...

    async def called(
        self,
        capability: str,
        arguments: Mapping[str, Any],
        *,
        secrets: ScriptSecrets = ...,
    ) -> CallResult:
        """Like ``call``, for a script: a problem is a value, and secrets are placeholders in text.

        Only the given names are substituted, and only where a secret is allowed. Several calls may
        run concurrently.
        """
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """The template data of this step: run, inputs, trigger and earlier steps."""
        ...

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What this run may call."""
        ...

    async def start(self) -> StepStart:
        """A token that calls capabilities as this run until this attempt of the step ends."""
        ...

    async def say(self, stream: OutputStream, text: str, *, last: bool = False) -> None:
        """Record a piece of the step's live output for observers.

        The last piece is stored together with the end of the step.
        """
        ...

    async def report_usage(
        self, model: str, input_tokens: int, output_tokens: int, cost_usd: Decimal
    ) -> Problem | None:
        """Record the usage of a script's own model; a problem means that it must be stopped."""
        ...

    async def used_up(self, *, look: bool = False) -> Problem | None:
        """The cap of the run that has been reached, if any: a script is stopped then.

        Calls with the run's token may be made in another process; counting them requires a query.
        """
        ...

    async def walk(self, *, item: int, names: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run the nested steps for one item; returns their outputs by name."""
        ...
