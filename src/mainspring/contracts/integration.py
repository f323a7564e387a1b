"""An integration: a plug-in for one outside system, as one value.

What it can do is of four kinds. Its capabilities are called like any other; those that write
are offered to ``act_on_integration`` too. Its sources are asked for fresh data, which becomes
pages. Its polls are the same on a schedule, from where the last one ended. Its adapters answer
rows for boards. None of these knows who asks or where anything is kept: they are given a
context, and answer values.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.event import EventType

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, HttpClient, HttpResponse
    from mainspring.contracts.errors import Problem

# As much as one call of a source brings where it does not bring everything.
MOST_FETCHED: Final = 250
# How often a poll looks where it does not say otherwise.
USUAL_POLL: Final = "*/10 * * * *"


def _add_no_note(arguments: Mapping[str, Any]) -> str | None:
    del arguments
    return None


@dataclass(frozen=True, slots=True)
class WriteOffer:
    """A write as act_on_integration takes it, where its input has words of its own.

    A write without one is offered with the arguments of its capability.
    """

    capability: str
    input_schema: Mapping[str, Any]
    # The arguments of the capability, made from an input that fits.
    arguments: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    # What a person must know beside the capability's own preview.
    note: Callable[[Mapping[str, Any]], str | None] = _add_no_note
    # By which name it is asked for; left out: the capability's.
    name: str = ""
    # The fields of the input that a person may still change; None: the capability's own.
    editable: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was read outside, as the page that it becomes.

    The same ``source_ref`` never makes a second page, so it must stay the same for ever. One
    without a type makes no page: of it only the event is told, with the cursor that passed it.
    """

    source_ref: str
    type: str
    title: str
    body: str = ""
    frontmatter: Mapping[str, Any] = field(default_factory=dict)
    # What is told when the page is new: an event type of the integration, and its payload.
    event: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    # Where one page tells of several events, such as the messages of a thread: by what this one
    # is known. It is told too when the page is there already and its last news was another.
    news: str | None = None
    # Its text was not read this time: a page that is there keeps the one it has.
    keeps_body: bool = False


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """One thing that could not be read: the others go on."""

    source_ref: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class ItemBatch:
    """What one look brought, and from where the next one goes on."""

    items: Sequence[Item | UnreadableItem]
    # Plain JSON; None: there is nothing to go on from.
    cursor: Mapping[str, Any] | None = None
    # Whether there is more to be had at once.
    more: bool = False
    # What whoever asked should know, such as a window that was cut.
    note: str | None = None


# Reads one portion: what was asked for, and where the portion before ended (None: the first).
ReadItems = Callable[
    ["CallContext", Mapping[str, Any], Mapping[str, Any] | None], Awaitable[ItemBatch]
]


@dataclass(frozen=True, slots=True)
class ItemFile:
    """A file that belongs to something that was read, such as an attachment of a mail."""

    filename: str
    content: bytes
    mime_type: str = "application/octet-stream"


# The files of something that became a page, by the front matter of that page.
ReadFiles = Callable[["CallContext", Mapping[str, Any]], Awaitable[Sequence[ItemFile]]]


@dataclass(frozen=True, slots=True)
class Source:
    """Fresh data on demand, for fetch_from_integration."""

    # By which it is asked for, such as gmail; the same for all its ways in and out.
    name: str
    input_schema: Mapping[str, Any]
    read: ReadItems
    # An input from a sentence, read without a model, at a moment; raises Invalid where it cannot.
    from_request: Callable[[str, datetime], Mapping[str, Any]]
    # The most items of one call; None: all there are.
    most: int | None = MOST_FETCHED
    # Fetches the files of what it read once more; None: its items have no files.
    files: ReadFiles | None = None
    # The hosts that an input with an address of its own leads to; None: those of the manifest.
    # A run is let to such an address only where a board is linked to it.
    hosts: Callable[[Mapping[str, Any]], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Poll:
    """What is looked for again and again; the cursor is kept with what it brought."""

    name: str
    description: str
    # Called with the settings of the connection as its input.
    read: ReadItems
    every: str = USUAL_POLL
    # The setting of the connection that says what is looked at; where it is empty, nothing is.
    needs: str | None = None


# Answers rows, and after them what could not be read as one: a reference to what is read, and the
# arguments of the operation.
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
    # The field that tells one row from another over time.
    key: str = "id"
    # What a schema cannot say about arguments; raises Invalid, its pointers seen from them.
    check: Callable[[Mapping[str, Any]], None] = _check_nothing
    # Its name in a list of choices; left out: its description.
    label: str = ""
    # Arguments that a form starts with.
    sample: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Adapter:
    """Rows for boards from one kind of outside resource."""

    kind: str
    description: str
    ref_schema: Mapping[str, Any]
    operations: tuple[Operation, ...]
    # The one spelling of a reference that fits the schema; raises Invalid.
    normal: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict
    # The hosts that a reference leads to; None: those of the manifest.
    hosts: Callable[[Mapping[str, Any]], frozenset[str]] | None = None
    # Whether a connection is needed, used where there is one, or never used.
    connection: str = "needed"
    # Its name in a list of choices; left out: the name of the integration.
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
    """Something a person can press; ``data`` comes back when they do, 64 bytes at most."""

    label: str
    data: str


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """What a person is shown who is asked for a decision."""

    text: str
    # Where they see all of it and can answer.
    link: str
    # Empty where they can answer only there.
    buttons: tuple[Button, ...] = ()
    # Their account at the provider; empty: the chat that is linked with the connection.
    recipient: str = ""


@dataclass(frozen=True, slots=True)
class Prompter:
    """Asks a person over a connection, with buttons for the answers."""

    # Shows a message; answers its place, by which it is closed later.
    send: Callable[[CallContext, PromptMessage], Awaitable[Mapping[str, Any]]]
    # Says what came of it and removes the buttons.
    close: Callable[[CallContext, Mapping[str, Any], str], Awaitable[None]]
    # Whether a message of the provider can show the whole text.
    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Interaction:
    """A signed request that a provider sent because of something a person did there."""

    # Who did it, as the provider names its accounts.
    team: str
    user: str
    # What the button carries that they pressed; None: they pressed no button of ours.
    data: str | None = None
    # What they wrote after a command of ours; None: it is no command.
    command: str | None = None
    # Where the provider takes an answer for a while.
    reply_to: str = ""
    # What the message shows above its buttons, as the provider describes it.
    shown: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Interactions:
    """How a provider tells of buttons and commands: by requests that it signs."""

    # The hosts that answers may be sent to.
    hosts: frozenset[str]
    # Whether the headers show a signature with this secret of this body, made just now.
    is_genuine: Callable[[str, Mapping[str, str], bytes, datetime], bool]
    # None: nothing that is of use here.
    read: Callable[[bytes], Interaction | None]
    # The answer to a command, for its sender alone.
    note: Callable[[str], Mapping[str, Any]]
    # Answers a pressed button: replaces the message, or adds a note for its sender alone.
    reply: Callable[[HttpClient, Interaction, str, bool], Awaitable[None]]


async def _unknown_account(ctx: CallContext) -> str:
    del ctx
    return ""


def _assume_token_valid(response: HttpResponse) -> bool:
    del response
    return False


@dataclass(frozen=True, slots=True)
class Integration:
    """What a folder on the shelf yields: its identity and what it adds."""

    manifest: Mapping[str, Any]
    capabilities: tuple[Capability, ...] = ()
    actions: tuple[Action, ...] = ()
    events: tuple[EventType, ...] = ()
    offers: tuple[WriteOffer, ...] = ()
    sources: tuple[Source, ...] = ()
    polls: tuple[Poll, ...] = ()
    adapters: tuple[Adapter, ...] = ()
    prompter: Prompter | None = None
    interactions: Interactions | None = None
    # Who a connection is over there, such as an address: asked when somebody connects and when
    # somebody tests the connection. Raises a problem when the connection does not work.
    account: Callable[[CallContext], Awaitable[str]] = _unknown_account
    # Whether an answer with another status than 401 says that the access token is not good any
    # more. A token that can be renewed is then renewed, and the request is sent again.
    refuses_token: Callable[[HttpResponse], bool] = _assume_token_valid

    @property
    def id(self) -> str:
        return str(self.manifest["id"])

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    def name_products(self) -> Integration:
        """The same integration; writes that name no product carry its name."""
        named = tuple(
            one
            if one.write is None or one.write.product
            else replace(one, write=replace(one.write, product=self.name))
            for one in self.capabilities
        )
        return replace(self, capabilities=named)
