"""Describing a step: briefly for the summary, in detail for its own line.

A table covers common actions; other capabilities are described by their label, which is quoted when
it is external.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.review.definition_reader import StepView, listing, text_of
from mainspring.authoring.review.quoting import format_count, join_list, plain, quote_text
from mainspring.authoring.review.template_pieces import TemplatePiece, bare_path, pieces_of
from mainspring.authoring.review.values import (
    MOST_PLACES,
    PLACES,
    Names,
    code,
    describe_board,
    describe_destination,
    describe_value,
    expression,
)
from mainspring.contracts.capability import Capability, Effect, Write
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.templates.parser import has_syntax
from mainspring.definition.tool_patterns import read_fixed_params, read_tool_name

# Everything that a step sends, in full: recipients, subject, text, body.

# The limit of one displayed value.
LONGEST_VALUE: Final = 4_000
_MOST_VALUES: Final = 100
_BREAK: Final = " ↵ "
_OF_SECRETS: Final = ("secrets.", "secrets[")
_CHANGED: Final = ", changed by "
_EMPTY_CONTENT: Final[tuple[Any, ...]] = (None, "", [], {})


def contents_of(
    config: Mapping[str, Any], names: Names, hidden: Iterable[str] = (), first: Iterable[str] = ()
) -> str:
    """Describe a step's arguments in full, those of ``first`` before the others."""
    left_out = set(hidden)
    # The destination comes first.
    given = sorted(config, key=lambda key: key not in PLACES)
    order = [key for key in dict.fromkeys((*first, *given)) if key in config]
    shown = [
        f"{plain(key.replace('_', ' '), 60)} {whole(config[key], names, key)}"
        for key in order
        if key not in left_out and config[key] not in _EMPTY_CONTENT and not _is_secret(config[key])
    ]
    if len(shown) > _MOST_VALUES:
        more = len(shown) - _MOST_VALUES
        shown = [*shown[:_MOST_VALUES], f"{more} more, which the definition shows"]
    return ", ".join(shown)


def whole(value: Any, names: Names, key: str = "") -> str:
    """Describe a value in full."""
    if isinstance(value, str):
        if key == "board_id":
            return describe_board(value, names)
        if key in PLACES:
            return describe_destination(value, names, LONGEST_VALUE)
        return _text(value, names)
    if isinstance(value, Mapping):
        inside = contents_of({str(name): one for name, one in value.items()}, names)
        return f"({inside})" if inside else "nothing"
    if isinstance(value, list | tuple):
        shown = [whole(one, names, key) for one in value[:_MOST_VALUES]]
        more = len(value) - len(shown)
        return ", ".join([*shown, *([f"{more} more, which the definition shows"] if more else [])])
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    return plain(str(value)[:40])


def _text(text: str, names: Names) -> str:
    begun = text[:LONGEST_VALUE]
    cut = ""
    if len(text) > LONGEST_VALUE:
        cut = f" (truncated: {len(text):,} characters in total; the definition shows all)"
    if has_syntax(begun):
        pieces = [one for one in pieces_of(begun) if one.kind != "text" or one.text.strip()]
        if [one.kind for one in pieces] == ["expression"] and not cut:
            return _describe_expression(pieces[0].text, names)
        begun = "".join(_piece(one, names) for one in pieces_of(begun))
    shown = plain(begun.replace("\r\n", "\n").strip().replace("\n", _BREAK), len(begun) * 3 + 1)
    return f"“{shown.replace('“', chr(34)).replace('”', chr(34))}{'…' if cut else ''}”{cut}"


def _piece(piece: TemplatePiece, names: Names) -> str:
    match piece.kind:
        case "expression":
            return f"[{_describe_expression(piece.text, names)}]"
        case "statement":
            return f"[`{{% {piece.text.strip(' -+')} %}}`]"
        case "comment":
            return "[…]"
        case "unread":
            return f"[`{piece.text}`]"
    return piece.text


def _describe_expression(inside: str, names: Names) -> str:
    """Describe an expression; with its code when a filter changes the text."""
    text = expression(inside, names, LONGEST_VALUE)
    return text if _CHANGED not in text else f"{text} ({code(inside, LONGEST_VALUE)})"


def _is_secret(value: Any) -> bool:
    """A bare secret: the gate inserts it, and the review lists its name."""
    path = bare_path(value) if isinstance(value, str) else None
    return path is not None and path.startswith(_OF_SECRETS)


def describe_sent_content(
    step: StepView, names: Names, *first: str, told: Iterable[str] = ()
) -> str:
    """Describe what a sending step passes on beyond its sentence."""
    hidden = set(told)
    if step.capability is not None:
        hidden |= set(step.capability.annotations.only_secrets)
    return contents_of(step.config, names, hidden, first)


@dataclass(frozen=True, slots=True)
class StepDescription:
    """``posts to “#standup” on Slack``, and further details."""

    short: str
    more: str = ""


_MOST_ARGUMENTS: Final = 4
_LONGEST_PLACE: Final = 2_000
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
# Request settings that are not sent, or that the sentence already has.
_NOT_SENT: Final = ("url", "method", "allow_error_status", "timeout_seconds", "max_bytes")
# What a model receives besides its task.
_HANDED: Final = frozenset({"system", "documents", "context", "history"})

# Names of arguments in open questions.
_THINGS: Final[Mapping[str, str]] = {
    "channel": "a channel",
    "to": "a recipient",
    "url": "an address",
    "board_id": "a board",
    "dataset": "a dataset",
    "text": "a text",
    "title": "a title",
    "subject": "a subject",
    "prompt": "a task",
    "rows": "a list of rows",
    "items": "a list",
    "slug": "a page",
    "type": "a type",
    "name": "a name",
    "token": "a secret",
    "query": "words to look for",
    "source": "a program",
    "install_id": "an integration",
    "action_name": "an action",
    "automation_id": "an automation",
    "output": "a value",
    "markdown": "a text",
    "key": "a key",
    "value": "a value",
}


def thing(key: str) -> str:
    """Name an open place."""
    shown = _THINGS.get(key) or f"a value for {quote_text(key, 40)}"
    return f"{shown} that is not chosen yet"


def describe_step(step: StepView, names: Names) -> StepDescription:
    """Describe a step."""
    tell = _TOLD.get(step.action)
    if tell is None and step.capability is not None and step.capability.write is not None:
        tell = _find_write_formatter(step.capability.write)
    if tell is not None:
        return tell(step, names)
    if step.capability is not None:
        return _by_label(step, step.capability, names)
    if step.known is not None:
        return StepDescription(f"does {quote_text(step.known.description.partition(chr(10))[0])}")
    if not step.action:
        return StepDescription("does something that is not chosen yet")
    return StepDescription(f"calls {quote_text(step.action)}, which does not exist here")


def _find_write_formatter(write: Write) -> Callable[[StepView, Names], StepDescription] | None:
    """Find how a write is described from its declaration; None: by its label."""
    match write.family:
        case "email" if write.safe:
            return _to_owner("an e-mail")
        case "email" if "to" in write.destination:
            return _email
        case "message" if write.safe:
            return _to_owner(f"a message on {write.product}")
        case "message" if "channel" in write.destination and "text" in write.wording:
            return _post(write.product)
    return None


def _by_label(step: StepView, capability: Capability, names: Names) -> StepDescription:
    name = plain(capability.id, 80)
    hidden = capability.annotations.only_secrets
    given = {key: one for key, one in step.config.items() if key not in hidden}
    sends = capability.annotations.effect is Effect.SEND
    with_what = _with(contents_of(given, names) if sends else _arguments(given, names))
    label = f", described as {quote_text(capability.label, 80)}"
    return StepDescription(f"calls {name}", with_what + label)


def _arguments(arguments: Mapping[str, Any], names: Names) -> str:
    """Describe a call's arguments, destinations first; the rest is counted."""
    filled = {str(key): one for key, one in arguments.items() if one not in _EMPTY}
    order = sorted(filled, key=lambda key: key not in PLACES)
    shown = [
        f"{plain(key, 30)} {_describe_argument(key, filled[key], names, 40)}"
        for key in order[:_MOST_ARGUMENTS]
    ]
    rest = [""] * (len(order) - len(shown))
    return join_list([*shown, *rest], _MOST_ARGUMENTS)


def _with(arguments: str) -> str:
    return f", with {arguments}" if arguments else ""


def _describe_argument(key: str, value: Any, names: Names, most: int) -> str:
    if key == "board_id" and isinstance(value, str):
        return describe_board(value, names)
    return (
        describe_destination(value, names, most)
        if key in PLACES
        else describe_value(value, names, most)
    )


def _value(step: StepView, names: Names, key: str, most: int = 60) -> str:
    value = step.config.get(key)
    return thing(key) if value in _EMPTY else _describe_argument(key, value, names, most)


def _maybe(step: StepView, names: Names, key: str, before: str, most: int = 100) -> str:
    value = step.config.get(key)
    return "" if value in _EMPTY else f"{before}{_describe_argument(key, value, names, most)}"


def _integration(step: StepView, names: Names) -> StepDescription:
    handed = step.config.get("input")
    given = contents_of(handed if isinstance(handed, Mapping) else {}, names)
    if handed not in _EMPTY and not given:
        given = whole(handed, names)
    deed = _value(step, names, "action_name")
    short = f"does {deed} on the integration {_value(step, names, 'install_id')}"
    return StepDescription(short, _with(given))


def _changes(verb: str) -> Callable[[StepView, Names], StepDescription]:
    """Another automation, and its inputs."""

    def tell(step: StepView, names: Names) -> StepDescription:
        which = _value(step, names, "automation_id")
        given = {key: one for key, one in step.config.items() if key != "automation_id"}
        return StepDescription(f"{verb} the automation {which}", _with(_arguments(given, names)))

    return tell


def _post(product: str) -> Callable[[StepView, Names], StepDescription]:
    def tell(step: StepView, names: Names) -> StepDescription:
        thread = " as a reply in a thread" if "thread_ts" in step.config else ""
        short = f"posts to {_value(step, names, 'channel')} on {product}{thread}"
        text = step.config.get("text")
        said_text = thing("text") if text in _EMPTY else whole(text, names)
        rest = describe_sent_content(step, names, told=("channel", "text", "thread_ts"))
        return StepDescription(short, f": {said_text}{_with(rest)}")

    return tell


def _email(step: StepView, names: Names) -> StepDescription:
    """All recipients, with the full content."""
    to = step.config.get("to")
    # The sentence names some; when there are more, all are listed after it.
    told = () if isinstance(to, list) and len(to) > MOST_PLACES else ("to",)
    more = _with(
        describe_sent_content(step, names, "to", "cc", "bcc", "subject", "text", "html", told=told)
    )
    return StepDescription(f"sends an e-mail to {_value(step, names, 'to', _LONGEST_PLACE)}", more)


def _to_owner(way: str) -> Callable[[StepView, Names], StepDescription]:
    def tell(step: StepView, names: Names) -> StepDescription:
        return StepDescription(
            f"sends the owner {way}", _with(describe_sent_content(step, names, "subject", "text"))
        )

    return tell


def _message(step: StepView, names: Names) -> StepDescription:
    shown = describe_sent_content(
        step, names, "title", "message_template", "message", told=("level",)
    )
    return StepDescription("posts a message to the inbox", _with(shown))


def _host(step: StepView) -> str:
    url = step.config.get("url")
    if not isinstance(url, str):
        return thing("url")
    site = parse_template_host(url)
    return (
        plain(site.host, 80) if site is not None else "an address that is known only during a run"
    )


def _fetch(step: StepView, names: Names) -> StepDescription:
    method = step.config.get("method", "GET")
    address = _address(step, names)
    more = address + _with(
        describe_sent_content(step, names, "query", "headers", "body", told=_NOT_SENT)
    )
    if method in ("GET", "HEAD"):
        return StepDescription(f"fetches data from {_host(step)}", more)
    return StepDescription(f"sends a {plain(str(method), 10)} request to {_host(step)}", more)


def _address(step: StepView, names: Names) -> str:
    return f" ({_value(step, names, 'url', _LONGEST_PLACE)})" if "url" in step.config else ""


def _callback(step: StepView, names: Names) -> StepDescription:
    more = _with(describe_sent_content(step, names, "body", "headers", told=_NOT_SENT))
    return StepDescription(f"sends JSON to {_host(step)}", _address(step, names) + more)


def _agent(step: StepView, names: Names) -> StepDescription:
    tools = [_tool(one, names) for one in listing(step.config.get("tools")) if read_tool_name(one)]
    prompt = step.config.get("prompt")
    more = f": {thing('prompt') if prompt in _EMPTY else whole(prompt, names)}"
    more += _with(contents_of(step.config, names, step.config.keys() - _HANDED))
    more += f", with {join_list(tools, 6)} as its tools" if tools else ", without any tools"
    fields = [plain(str(one), 40) for one in _properties(step.config.get("output_schema"))]
    verb = "runs a model" if tools else "has a model write"
    wanted = f"{' for' if tools else ''} {join_list(fields, 3)}" if fields else ""
    return StepDescription(f"{verb}{wanted}", more)


def _tool(entry: Any, names: Names) -> str:
    """A tool with its fixed destination."""
    bound = {key: one for key, one in read_fixed_params(entry).items() if key in PLACES}
    where = _arguments(bound, names)
    return plain(read_tool_name(entry) or "", 60) + (f" ({where})" if where else "")


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def _for_each(step: StepView, names: Names) -> StepDescription:
    steps = format_count(len(listing(step.config.get("steps"))), "step")
    goes_on = (
        " and continues when one fails" if step.config.get("continue_on_error") is True else ""
    )
    return StepDescription(f"does {steps} for each of {_value(step, names, 'items')}", goes_on)


def _delay(step: StepView, names: Names) -> StepDescription:
    if "until" in step.config:
        return StepDescription(f"waits until {_value(step, names, 'until')}")
    if "seconds" in step.config:
        return StepDescription(f"waits {_value(step, names, 'seconds')} seconds")
    return StepDescription("waits for a time that is not chosen yet")


def _script(step: StepView, names: Names) -> StepDescription:
    del names
    source = text_of(step.config.get("source"))
    lines = format_count(source.count("\n") + 1, "line") if source else "no lines yet"
    return StepDescription(f"runs a program of {lines}")


def _respond(step: StepView, names: Names) -> StepDescription:
    for key, words in (
        ("redirect", "sends the caller of the webhook to "),
        ("artifact", "answers the caller of the webhook with the file "),
    ):
        if key in step.config:
            return StepDescription(f"{words}{_value(step, names, key)}")
    content = "template" if "template" in step.config else "body"
    return StepDescription(
        "answers the caller of the webhook", _maybe(step, names, content, " with ")
    )


def _rows(verb: str) -> Callable[[StepView, Names], StepDescription]:
    def tell(step: StepView, names: Names) -> StepDescription:
        once = _maybe(step, names, "dedupe_key_field", ", each once by its field ")
        dataset = _maybe(step, names, "dataset", " the dataset ")
        return StepDescription(
            f"{verb}{dataset or ' the default dataset'} of {_board(step, names)}", once
        )

    return tell


def _board(step: StepView, names: Names) -> str:
    board, name = step.config.get("board_id"), step.config.get("name")
    if name:
        return f"the board {_value(step, names, 'name')}"
    if not board:
        return thing("board_id")
    return f"the board {describe_board(board, names) if isinstance(board, str) else describe_value(board, names)}"  # noqa: E501


def _build_describer(
    short: str, *parts: tuple[str, str]
) -> Callable[[StepView, Names], StepDescription]:
    """A fixed sentence, and the arguments added in detail."""
    return lambda step, names: StepDescription(
        short, "".join(_maybe(step, names, key, before) for key, before in parts)
    )


_WORDS: Final = (("query", " for "), ("q", " for "), ("text", " for "), ("type", " of the type "))
_TOLD: Final[Mapping[str, Callable[[StepView, Names], StepDescription]]] = {
    "http_fetch": _fetch,
    "callback_webhook": _callback,
    "agent_task": _agent,
    "agent.run": _agent,
    "for_each": _for_each,
    "delay": _delay,
    "script": _script,
    "transform_data": _build_describer("computes a value", ("output", " from ")),
    "respond": _respond,
    "notification": _message,
    "inbox.post_notification": _message,
    "automation_llm_complete": lambda step, names: StepDescription(
        "calls a model", _with(describe_sent_content(step, names, "prompt"))
    ),
    "append_board_rows": _rows("adds rows to"),
    "update_board_rows": _rows("changes rows in"),
    "delete_board_rows": _rows("deletes rows from"),
    "get_board": lambda step, names: StepDescription(f"reads {_board(step, names)}"),
    "list_pages": _build_describer(
        "looks for pages", ("type", " of the type "), ("ingested_after", ", newer than ")
    ),
    "search": _build_describer("searches the pages", *_WORDS),
    "query": _build_describer("asks the pages", *_WORDS),
    "search_space.query": _build_describer("asks the pages", *_WORDS),
    "get_page": _build_describer("reads a page", ("slug", " called "), ("id", ", by ")),
    "search_space.fetch_document": _build_describer("reads a page", ("slug", " called ")),
    "create_page": _build_describer(
        "writes a page", ("title", " called "), ("type", ", of the type ")
    ),
    "update_page": _build_describer("changes a page", ("slug", " called "), ("id", ", by ")),
    "delete_page": _build_describer("deletes a page", ("slug", " called "), ("id", ", by ")),
    "automation_kv.get": _build_describer("recalls a value", ("key", " under ")),
    "automation_kv.set": _build_describer("remembers a value", ("key", " under ")),
    "automation_kv.delete": _build_describer("forgets a value", ("key", " under ")),
    "artifacts.save": _build_describer("saves a file", ("name", " called ")),
    "publish_event": _build_describer("publishes an event", ("type", " of the type ")),
    "list_calendar_events": _build_describer(
        "reads the calendar", ("start", " from "), ("end", " to ")
    ),
    "list_boards": _build_describer("lists the boards"),
    "run_automation_once": _build_describer("starts another automation", ("automation_id", ": ")),
    "act_on_integration": _integration,
    "update_automation": _changes("changes"),
    "delete_automation": _changes("puts away"),
}
