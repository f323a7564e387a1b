"""An integration: a plug-in for one external system, as one value.

It has four kinds of parts. Its capabilities are called like any other; those that write are also
offered to ``act_on_integration``. Its sources fetch data on demand, which becomes pages. Its polls
do the same on a schedule, from the cursor of the last poll. Its adapters return rows for boards.
None of these knows the caller or the storage: they receive a context and return values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.chat import ChatChannel
from mainspring.contracts.event import EventType

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, HttpClient, HttpResponse
    from mainspring.contracts.errors import Problem

# The page size of a source call that does not fetch everything.
MOST_FETCHED: Final = 250
# The default interval of a poll.
USUAL_POLL: Final = "*/10 * * * *"


def _add_no_note(arguments: Mapping[str, Any]) -> str | None:
    del arguments
    return None


@dataclass(frozen=True, slots=True)
class WriteOffer:
    """A write as offered by act_on_integration, when its input differs from the capability's.

    A write without an offer has the arguments of its capability.
    """

    capability: str
    input_schema: Mapping[str, Any]
    # Builds the arguments of the capability from a valid input.
    arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    # A note for the person, shown with the capability's own preview.
    note: Callable[[Mapping[str, Any]], str | None] = _add_no_note
    # The name of the operation; default: the capability's.
    name: str = ""
    # The fields of the input that a person may still change; None: the capability's own.
    editable: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One item that was read from an external system, as the page that it becomes.

    The same ``source_ref`` never creates a second page, so it must never change. An item without a
    type creates no page: only its event is emitted, with the cursor that passed it.
    """

    source_ref: str
    type: str
    title: str
    body: str = ""
    frontmatter: Mapping[str, Any] = field(default_factory=dict)
    # The event when the page is new: an event type of the integration, and its payload.
    event: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    # Where one page has several events, such as the messages of a thread: the key of this event. It
    # is also emitted when the page exists and its last event had another key.
    news: str | None = None
    # Its text was not read this time: an existing page keeps its text.
    keeps_body: bool = False


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """One item that could not be read; the others are still processed."""

    source_ref: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class ItemBatch:
    """The result of one read, and the cursor for the next."""

    items: Sequence[Item | UnreadableItem]
    # Plain JSON; None when there is no position to continue from.
    cursor: Mapping[str, Any] | None = None
    # Whether more is available immediately.
    more: bool = False
    # Notes for the caller, such as a truncated time window.
    note: str | None = None


# Reads one page of results: the input and the cursor of the previous page (None: the first).
ReadItems = Callable[
    ["CallContext", Mapping[str, Any], Mapping[str, Any] | None], Awaitable[ItemBatch]
]


@dataclass(frozen=True, slots=True)
class ItemFile:
    """A file that belongs to an item, such as an attachment of a mail."""

    filename: str
    content: bytes
    mime_type: str = "application/octet-stream"


# The files of an item that became a page, by the front matter of that page.
ReadFiles = Callable[["CallContext", Mapping[str, Any]], Awaitable[Sequence[ItemFile]]]


@dataclass(frozen=True, slots=True)
class Source:
    """Data on demand, for fetch_from_integration."""

    # The key of the source, such as gmail; the same for its reads and writes.
    name: str
    input_schema: Mapping[str, Any]
    read: ReadItems
    # Builds an input from a sentence without a model; raises Invalid when it cannot.
    from_request: Callable[[str, datetime], Mapping[str, Any]]
    # The maximum number of items of one call; None: no limit.
    most: int | None = MOST_FETCHED
    # Fetches the files of an item again; None: its items have no files.
    files: ReadFiles | None = None
    # The hosts of an input that contains its own URL; None: those of the manifest. A run may only
    # call such a URL when a board is linked to it.
    hosts: Callable[[Mapping[str, Any]], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """A periodic read; the cursor is stored together with its results."""

    name: str
    description: str
    # Called with the settings of the connection as its input.
    read: ReadItems
    every: str = USUAL_POLL
    # The setting of the connection that selects what is read; empty means nothing is read.
    needs: str | None = None


# Returns rows, then the items that could not be read as rows; takes a reference to the resource and
# the arguments of the operation.
ReadRows = Callable[
    ["CallContext", Mapping[str, Any], Mapping[str, Any]],
    Awaitable[Sequence[Mapping[str, Any] | UnreadableItem]],
]


def _check_nothing(params: Mapping[str, Any]) -> None:
    del params


@dataclass(frozen=True, slots=True)
class Operation:
    """One way to read rows, such as github.list_open_prs."""

    id: str
    description: str
    params_schema: Mapping[str, Any]
    rows: ReadRows
    # The columns it fills, by name: text, number, boolean, date, datetime, url or json.
    columns: Mapping[str, str]
    # The field that identifies a row over time.
    key: str = "id"
    # Checks of arguments beyond the schema; raises Invalid with pointers relative to the arguments.
    check: Callable[[Mapping[str, Any]], None] = _check_nothing
    # Its name in a list of choices; default: its description.
    label: str = ""
    # Initial arguments of a form.
    sample: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Adapter:
    """Rows for boards from one kind of external resource."""

    kind: str
    description: str
    ref_schema: Mapping[str, Any]
    operations: tuple[Operation, ...]
    # Normalises a reference that matches the schema; raises Invalid.
    normal: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    # The hosts of a reference; None: those of the manifest.
    hosts: Callable[[Mapping[str, Any]], frozenset[str]] | None = None
    # Whether a connection is required, optional or never used.
    connection: str = "needed"
    # Its name in a list of choices; default: the name of the integration.
    label: str = ""

    def list_fields(self) -> list[dict[str, Any]]:
        """The fields of a form: those of the schema's first example, or all without an example."""
        schema = self.ref_schema
        first: Mapping[str, Any] = next(iter(schema.get("examples", ())), {})
        alternative: Mapping[str, Any] = next(iter(schema.get("anyOf", ())), {})
        needed = {*schema.get("required", ()), *alternative.get("required", ())}
        return [
            {
                "name": name,
                "label": str(part.get("title") or name.replace("_", " ").capitalize()),
                "placeholder": str(first.get(name, "")),
                "required": name in needed,
            }
            for name, part in schema.get("properties", {}).items()
            if name in first or not first
        ]


@dataclass(frozen=True, slots=True)
class Button:
    """A button; ``data`` is returned when it is pressed, 64 bytes at most."""

    label: str
    data: str


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """The message that asks a person for a decision."""

    text: str
    # The page that shows everything and accepts the answer.
    link: str
    # Empty when the answer is only possible on that page.
    buttons: tuple[Button, ...] = ()
    # The person's account at the provider; empty: the chat that is linked with the connection.
    recipient: str = ""


@dataclass(frozen=True, slots=True)
class Prompter:
    """Asks a person over a connection, with buttons for the answers."""

    # Sends the message; returns its location, by which it is updated later.
    send: Callable[[CallContext, PromptMessage], Awaitable[Mapping[str, Any]]]
    # Shows the result and removes the buttons.
    close: Callable[[CallContext, Mapping[str, Any], str], Awaitable[None]]
    # Whether a message of the provider can show the whole text.
    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Interaction:
    """A signed request from a provider about a person's action there."""

    # The person's account at the provider.
    team: str
    user: str
    # The data of the pressed button; None when it is not one of our buttons.
    data: str | None = None
    # The text after one of our commands; None when it is not a command.
    command: str | None = None
    # Where the provider accepts a reply for a limited time.
    reply_to: str = ""
    # The message content above its buttons, in the provider's format.
    shown: Sequence[Mapping[str, Any]] = ()
    # The message that the button is under, as ``Prompter.close`` takes it.
    place: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Interactions:
    """How a provider reports buttons and commands: by signed requests."""

    # The hosts that replies may be sent to.
    hosts: frozenset[str]
    # Whether the headers contain a fresh, valid signature of this body with this secret.
    is_genuine: Callable[[str, Mapping[str, str], bytes, datetime], bool]
    # None: nothing relevant.
    read: Callable[[bytes], Interaction | None]
    # The reply to a command, visible to its sender only.
    note: Callable[[str], Mapping[str, Any]]
    # Replies to a pressed button: replaces the message, or adds a note visible to its sender only.
    reply: Callable[[HttpClient, Interaction, str, bool], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PushTarget:
    """Where a provider sends its notifications, and what authenticates them."""

    channel_id: str
    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class PushRegistration:
    """What a provider has registered."""

    # What removes it, as plain JSON.
    remote: Mapping[str, Any]
    # None: it does not expire.
    expires_at: datetime | None = None


def _can_push(config: Mapping[str, Any]) -> bool:
    del config
    return True


@dataclass(frozen=True, slots=True)
class PushSource:
    """A provider reports changes to the source of a poll trigger, which then looks at once.

    A notification is a hint: what it contains is not used, so an event cannot fire twice.
    """

    # The type of the trigger; its config is what is registered.
    trigger: str
    # Registers the target. Registering the same target again must not make a second registration.
    register: Callable[[CallContext, Mapping[str, Any], PushTarget], Awaitable[PushRegistration]]
    # Removes it; nothing to remove is a success. Without a registration its answer was lost, and
    # the target may still be registered.
    remove: Callable[
        [CallContext, Mapping[str, Any], Mapping[str, Any] | None, PushTarget], Awaitable[None]
    ]
    # Whether the headers authenticate this body for the target.
    is_genuine: Callable[[Mapping[str, str], bytes, PushTarget], bool]
    # Whether it reports a change, and not only that it was registered.
    is_change: Callable[[Mapping[str, str]], bool]
    # Which configs of the trigger it can report changes for.
    can_push: Callable[[Mapping[str, Any]], bool] = _can_push
    # Whether every change is reported, so that polls may be rare meanwhile.
    is_complete: bool = True


async def _unknown_account(ctx: CallContext) -> str:
    del ctx
    return ""


def _assume_token_valid(response: HttpResponse) -> bool:
    del response
    return False


@dataclass(frozen=True, slots=True)
class Integration:
    """What an integration folder provides: its identity and its parts."""

    manifest: Mapping[str, Any]
    capabilities: tuple[Capability, ...] = ()
    actions: tuple[Action, ...] = ()
    events: tuple[EventType, ...] = ()
    offers: tuple[WriteOffer, ...] = ()
    sources: tuple[Source, ...] = ()
    polls: tuple[Poll, ...] = ()
    adapters: tuple[Adapter, ...] = ()
    push: PushSource | None = None
    prompter: Prompter | None = None
    interactions: Interactions | None = None
    chat: ChatChannel | None = None
    # Identifies the account of a connection, such as its address: called when a connection is made
    # and when it is tested. Raises a problem when the connection does not work.
    account: Callable[[CallContext], Awaitable[str]] = _unknown_account
    # Whether a response with a status other than 401 means that the access token is invalid. A
    # refreshable token is then refreshed, and the request is sent again.
    refuses_token: Callable[[HttpResponse], bool] = _assume_token_valid

    @property
    def id(self) -> str:
        return str(self.manifest["id"])

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    def name_products(self) -> Integration:
        """The integration with its name as the product of all writes that name none."""
        named = tuple(
            one
            if one.write is None or one.write.product
            else replace(one, write=replace(one.write, product=self.name))
            for one in self.capabilities
        )
        return replace(self, capabilities=named)
