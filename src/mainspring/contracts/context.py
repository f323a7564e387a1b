"""What a handler is given. It sees nothing of retries, grants, budgets or audit."""

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
    """Whoever calls now: a member at a page or a command, a run, or a client with a token.

    A client acts for the member it belongs to, so its id is that member's.
    """

    workspace_id: UUID
    kind: Literal["member", "run", "client"]
    id: UUID
    token_id: UUID | None = None
    # What a member or a client may do here; a run has grants instead.
    role: Role | None = None
    # Whether this person also looks after the installation.
    administrator: bool = False
    # A program speaks for this member without a token of its own, such as an assistant that was
    # started on their machine. What only a person may do is not theirs to do.
    by_program: bool = False
    # This person answers on a terminal; otherwise they are at the page.
    at_terminal: bool = False
    # The chat in which this person pressed a button, such as slack or telegram.
    chat: str = ""
    # Set for a token with the permission ``approve``: the automations whose consents it may
    # answer over this surface. Empty where the permission does not count, as over MCP.
    approves: frozenset[UUID] | None = None

    @property
    def is_person(self) -> bool:
        """Whether a member is here themselves."""
        return self.kind == "member" and not self.by_program

    @property
    def channel(self) -> str | None:
        """Through what this actor decides; None for a program, which decides nothing."""
        if self.approves:
            return "token"
        if not self.is_person:
            return None
        return self.chat or ("terminal" if self.at_terminal else "page")


@dataclass(frozen=True, slots=True)
class RunRef:
    """The run a call belongs to, and the place in it."""

    id: UUID
    automation_id: UUID
    step: str
    item: str = ""
    attempt: int = 1


class Transaction(Protocol):
    """The piece of a database connection that a handler may use.

    A row is read by column name; its values have the types of the columns.
    """

    async def execute(self, query: str, /, *args: Any) -> str: ...

    async def fetch(self, query: str, /, *args: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, /, *args: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One outbound request. Secrets stand in it by name until it is sent."""

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
    """What came back, already bounded in size and time."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class HttpClient(Protocol):
    """The only way out; the guard behind it checks the address that is dialled."""

    async def send(self, request: HttpRequest) -> HttpResponse: ...


MAIL_RECIPIENTS = 50
MAIL_FILES = 5
# Each of them; how much a mail may have in all is the mail server's to say.
MAIL_FILE_BYTES = 10_485_760
# The longest line a mail may have, and so the longest subject.
MAIL_SUBJECT = 998


@dataclass(frozen=True, slots=True)
class MailAttachment:
    """A file that leaves with a mail."""

    filename: str
    content: bytes
    mime_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail, by addresses alone; who sends it is the operator's to say."""

    to: tuple[str, ...]
    subject: str
    text: str
    cc: tuple[str, ...] = ()
    html: str | None = None
    reply_to: str | None = None
    # Further headers, such as Auto-Submitted; those of the mail itself cannot be given.
    headers: Mapping[str, str] = field(default_factory=dict)
    # These get it too, and nobody who reads it sees that.
    bcc: tuple[str, ...] = ()
    attachments: tuple[MailAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class MailReceipt:
    """What the mail server took, and whom it refused, with its reason."""

    message_id: str
    accepted: tuple[str, ...]
    refused: Mapping[str, str]


class Mailer(Protocol):
    """The way to the operator's mail server."""

    async def send(self, message: Mail, *, key: str) -> MailReceipt:
        """Sends one mail; the same key makes the same Message-ID, so a repeat can be told."""
        ...


@dataclass(frozen=True, slots=True)
class RawMail:
    """A mail as it lies in a mailbox, and how large it is; of a larger one only the beginning."""

    uid: int
    data: bytes
    size: int


class Mailbox(Protocol):
    """One folder of a mailbox, opened to be read; nothing in it is changed."""

    @property
    def uidvalidity(self) -> int:
        """Which numbering the uids belong to; another one means that they say nothing any more."""
        ...

    @property
    def last_uid(self) -> int:
        """The last uid that was given to a mail here when it was opened; 0: nobody knows."""
        ...

    async def search(
        self,
        *,
        after: int = 0,
        since: date | None = None,
        terms: Sequence[tuple[str, str]] = (),
    ) -> Sequence[int]:
        """The uids above one, of mails since a day in which all the terms are found, in order.

        A term is where it stands (from, to, cc, subject, body or text) and what stands there.
        """
        ...

    async def fetch(self, uid: int, most_bytes: int) -> RawMail | None:
        """One mail, or its beginning; None: it is not there any more."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """What may be known of the connection that a call goes over; nothing secret is in it."""

    connection_id: UUID
    integration: str
    # What people call it here, and who it is over there, such as an address.
    label: str
    account: str = ""
    # What was set when it was connected, such as the server of a mailbox.
    settings: Mapping[str, Any] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ClientWait:
    """How long the client of a call waits for the answer, and how it hears of progress."""

    seconds: float
    # Takes a sentence; None: the client asked for no progress.
    report: Callable[[str], Awaitable[None]] | None = None
    # Set: the client was asked to open the page where a person answers, so the call may wait for
    # that answer. True: the client does not open it.
    dismissed: Callable[[], bool] | None = None
    # Whether the client can open a page for its person.
    opens_pages: bool = False


class CallContext(Protocol):
    """Given to a capability's handler."""

    @property
    def client_wait(self) -> ClientWait | None:
        """Set when the client gives up on a late answer; None: it waits for as long as it takes."""
        ...

    @property
    def account(self) -> Account | None:
        """The connection that ``http`` speaks over; None where there is none."""
        ...

    @property
    def actor(self) -> Actor: ...
    @property
    def run(self) -> RunRef | None: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def key(self) -> str:
        """run/step/item/call: the same over every attempt, so a receiver sees one effect."""
        ...

    @property
    def repeated(self) -> bool:
        """Whether an earlier attempt with the same key may have taken effect."""
        ...

    @property
    def tx(self) -> Transaction:
        """The open transaction of a transactional capability; a Fault for any other."""
        ...

    @property
    def http(self) -> HttpClient: ...
    @property
    def mail(self) -> Mailer: ...

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]:
        """Opens the mailbox that the connection leads to, as its settings say."""
        ...

    async def owner_address(self) -> str | None:
        """Where the automation's owner gets mail, or the caller where there is no run.

        None: they are reached nowhere, or are no member any more.
        """
        ...

    def spend(self, usd: Decimal) -> None:
        """Says what the call cost; the gate settles it with the call's record."""
        ...

    @property
    def model(self) -> str:
        """The model to ask when a call names none: the automation's; empty: the usual one."""
        ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Asks a model within what the run may use; the gate books what it took."""
        ...


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call: its value or its problem, and the moment it was recorded at."""

    at: datetime
    value: Any = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class StepStart:
    """What a step holds at its beginning; moment and seed are the same over all its tries."""

    token: str
    began_at: datetime
    seed: bytes


OutputStream = Literal["out", "err", "end", "agent"]


class StepContext(Protocol):
    """Given to an action's handler."""

    @property
    def actor(self) -> Actor: ...
    @property
    def run(self) -> RunRef: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def key(self) -> str: ...

    async def call(self, capability: str, arguments: Mapping[str, Any]) -> Any:
        """Calls a capability through the gate, as this run, with the run's grants."""
        ...

    async def called(
        self,
        capability: str,
        arguments: Mapping[str, Any],
        *,
        secrets: ScriptSecrets = ...,
    ) -> CallResult:
        """The same for a program: a problem is a value, and secrets are spelt in text.

        Only the names that are given here are put in, and only where a secret may stand.
        Several calls may be under way at a time.
        """
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a template of this step sees: run, inputs, trigger and the steps before."""
        ...

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What this run may call."""
        ...

    async def start(self) -> StepStart:
        """A token that calls capabilities as this run until this try at the step is over."""
        ...

    async def say(self, stream: OutputStream, text: str, *, last: bool = False) -> None:
        """Keeps a piece of what the step says while it runs, for whoever watches.

        What is said last is kept together with the end of the step.
        """
        ...

    async def report_usage(
        self, model: str, input_tokens: int, output_tokens: int, cost_usd: Decimal
    ) -> Problem | None:
        """Books what a program says of a model of its own; a problem means: stop it now."""
        ...

    async def used_up(self, *, look: bool = False) -> Problem | None:
        """Which cap of the run has been reached, if one has: a program is stopped then.

        Calls with the run's token may be made in another process; to count them too it has to
        be looked up.
        """
        ...

    async def walk(self, *, item: int, names: Mapping[str, Any]) -> Mapping[str, Any]:
        """Runs the step's nested steps for one item; answers their outputs by name."""
        ...
