"""Steps that read, and how later steps refer to their output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from mainspring.authoring.models import QuestionChoice
from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.lookup import (
    BoardMatch,
    columns_of,
    find_board,
    how_to_create_board,
    page_type_of,
)
from mainspring.authoring.sketch.request_tokens import Clause, Token, address_of, join_tokens
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import inert, quote_request, shorten_text
from mainspring.authoring.sketch.word_tables import CALENDAR, PAGE_NOUNS, READ, THINK
from mainspring.definition.strict_json import join_pointer

What = Literal["pages", "query", "board", "web", "calendar"]

# The whole trigger payload.
WHOLE: Final = "{{ trigger }}"
PLENTY: Final = 20_000
SHORT: Final = 3_000
_ALL: Final = frozenset({"all", "every", "entire", "whole"})
_SINCE: Final = {"type": "string", "format": "date-time", "default": "$last_fired_at"}
_EVERYTHING: Final = frozenset({"everything", "anything", "what's", "whats", "what", "all"})
_BOARD: Final = {"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}}
_NAMED: Final = frozenset({"called", "titled", "named"})
_TOPIC: Final = _NAMED | {"about", "mentioning", "regarding", "concerning", "containing", "for"}
_SEARCHING: Final = frozenset({"search", "find", "look", "query"})
_WEB: Final = frozenset({"api", "endpoint", "website", "homepage", "webpage", "rss", "feed"})
_WEB_PAGES: Final = frozenset({"status", "web", "landing", "home", "pricing", "careers"})
_LATER: Final = frozenset({"tomorrow", "tomorrow's", "week", "week's", "month", "upcoming", "next"})


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A source that a clause reads."""

    what: What
    value: str = ""
    topic: str = ""
    board: BoardMatch | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ReadMaterial:
    """What was read: in full for a document, and briefly for a message."""

    title: str
    text: str
    brief: str
    # Whether the brief form is unsuitable for people.
    raw: bool = False
    # A condition that there is any content.
    when: str | None = None
    output: str = ""
    web: bool = False
    # Whether nothing is done without content.
    gate: bool = False
    # Whether these are board rows.
    rows: bool = False
    row: Any = None
    # An iterable list, and the text of one item.
    each: str = ""
    item: str = ""
    item_title: str = ""
    # The whole machine-readable value.
    value: str | None = None


def find_sources(intent: Intent, bench: SketchBuilder) -> list[ReadSource]:
    """Find what a clause reads, excluding targets."""
    clause = intent.clause
    used = intent.used
    tokens = [one for one in clause.tokens if one not in used]
    made = [ReadSource("web", address_of(one)) for one in tokens if one.kind in ("url", "host")]
    if not made and _implies_address(clause):
        return [ReadSource("web")]
    changed = [one.board for one in intent.targets if one.where == "rows"]
    made += [ReadSource("board", board=one) for one in changed if one is not None]
    if not any(one.where in ("board", "rows") for one in intent.targets):
        reading = clause.verb in READ | THINK or not intent.targets
        board = find_board(tokens, bench.resources, bare=reading or "from" in clause.words)
        paged = [one for one in tokens if page_type_of(one.low, bench.resources)]
        if board is not None and not ("board" not in clause.words and paged):
            made.append(ReadSource("board", board=board))
    if any(one.low in CALENDAR for one in tokens) and "notes" not in clause.words:
        made.append(ReadSource("calendar", join_tokens(tokens, "")))
    elif not made or not any(one.what == "board" for one in made):
        pages = _pages(intent, tokens, bench)
        if pages is not None:
            made.append(pages)
    return made


def _implies_address(clause: Clause) -> bool:
    """Report whether a web source without a given URL is meant: their API."""
    if clause.verb not in READ | {"call", "hit", "ping", "invoke", "request"}:
        return False
    words = clause.words
    paged = any(
        one == "page" and words[place - 1] in _WEB_PAGES for place, one in enumerate(words) if place
    )
    return paged or (bool(_WEB & set(words)) and "board" not in words)


def _pages(intent: Intent, tokens: Sequence[Token], bench: SketchBuilder) -> ReadSource | None:
    clause = intent.clause
    reading = clause.verb in READ | THINK
    for place, one in enumerate(tokens):
        type_ = page_type_of(one.low, bench.resources)
        if one.low in _EVERYTHING and any(word.low == "new" for word in tokens[place : place + 3]):
            return ReadSource("pages", "")
        if one.low not in PAGE_NOUNS and type_ is None:
            continue
        if place == 0 and one.low == clause.verb:
            continue
        before = {word.low for word in tokens[max(0, place - 3) : place]}
        plural = one.low.endswith("s") or one.low == "inbox"
        if not (
            plural
            or (reading and not before & {"a", "an", "as"})
            or before & {"of", "from", "each", "every"}
        ):
            continue
        if one.low == "inbox" and not reading:
            continue
        topic = _topic(tokens[place + 1 :])
        named = [word.low for word in tokens[place + 1 : place + 2]]
        searching = topic and (clause.verb in _SEARCHING or (named and named[0] in _NAMED))
        whole = bool(before & _ALL)
        return ReadSource("query" if searching else "pages", type_ or "", topic, whole=whole)
    return None


def _topic(tokens: Sequence[Token]) -> str:
    for place, one in enumerate(tokens):
        if one.low in _TOPIC:
            behind = tokens[place + 1 :]
            return shorten_text(join_tokens(behind, ""), 200)
    return ""


def add_read(bench: SketchBuilder, source: ReadSource) -> ReadMaterial | None:
    """Add the steps that read a source."""
    if source.what == "pages":
        return _list_pages(bench, source)
    if source.what == "query":
        return _query(bench, source)
    if source.what == "board":
        return _board(bench, source)
    if source.what == "calendar":
        return _calendar(bench, source)
    return _web(bench, source)


def _list_pages(bench: SketchBuilder, source: ReadSource) -> ReadMaterial:
    config: dict[str, Any] = {"limit": 20}
    if source.value:
        config["type"] = source.value
    if not source.whole:
        bench.inputs["since"] = _SINCE
        config["ingested_after"] = "{{ inputs.since }}"
        bench.note("Reads pages added since the last successful run, at most 20.")
    listed = bench.step("find_pages", "list_pages", config)
    return _read_each(bench, listed)


def _query(bench: SketchBuilder, source: ReadSource) -> ReadMaterial:
    config: dict[str, Any] = {"q": inert(source.topic), "limit": 10}
    if source.value:
        config["type"] = source.value
    return _read_each(bench, bench.step("find_pages", "query", config))


def _read_each(bench: SketchBuilder, listed: str) -> ReadMaterial:
    pages = f"steps.{listed}.pages"
    name = bench.free("read_pages")
    inner = {
        "step_id": "page" if name == "read_pages" else f"page_of_{name}",
        "action": "get_page",
        "config": {"id": "{{ item.id }}", "include": ["body"]},
    }
    bench.step("read_pages", "for_each", {"items": f"{{{{ {pages} }}}}", "steps": [inner]})
    entry = f"entry.{inner['step_id']}"
    text = (
        f"{{% for entry in steps.{name}.results %}}# {{{{ {entry}.title }}}}\n"
        f"{{{{ {entry}.body | truncate(6000) }}}}\n\n{{% endfor %}}"
    )
    brief = f"{{% for page in {pages} %}}• {{{{ page.title }}}}\n{{% endfor %}}"
    row = None
    return ReadMaterial(
        "Pages",
        text,
        brief,
        when=f"{{{{ {pages} | length > 0 }}}}",
        output=listed,
        row=row,
        each=f"{{{{ {pages} }}}}",
        item="{{ item.title }}",
        item_title="{{ item.title }}",
    )


def _board(bench: SketchBuilder, source: ReadSource) -> ReadMaterial:
    found = source.board
    assert found is not None
    config: dict[str, Any] = {"limit": 500}
    dataset = "default"
    if found.board is not None:
        config["board_id"] = found.board.id
        if found.dataset is not None and found.dataset.name != "default":
            dataset = found.dataset.name
            config["dataset"] = inert(dataset)
    elif not bench.resources.boards:
        _ask_first_board(bench, found)
    else:
        _ask_board(bench, found, config)
        config = {}
    name = bench.step("read_board", "get_board", config)
    if not config:
        del bench.steps[-1]["config"]
    key = dataset.replace("\\", "").replace('"', "").replace("{", "").replace("}", "")
    rows = f'steps.{name}.data.datasets["{key}"].rows'
    return ReadMaterial(
        inert(shorten_text(f"Rows of {found.said or 'the board'}", 200)),
        f"{{% for row in {rows} %}}{{{{ row | tojson }}}}\n{{% endfor %}}",
        f"{{% for row in {rows} %}}• {_line(found)}\n{{% endfor %}}",
        when=f"{{{{ {rows} | length > 0 }}}}",
        output=name,
        rows=True,
        value=f"{{{{ {rows} }}}}",
        each=f"{{{{ {rows} }}}}",
        item=_line(found, "item"),
        item_title=inert(shorten_text(found.said or "Row", 100)),
    )


def _line(found: BoardMatch, row: str = "row") -> str:
    """One row for people: its first columns, or all of it when unknown."""
    columns = [one for one in columns_of(found.dataset) if one.isprintable() and "'" not in one]
    plain = [one for one in columns if "\\" not in one and "}" not in one][:6]
    cells = (f"{{{{ {row}['{one}'] | default('', true) }}}}" for one in plain)
    return " · ".join(cells) or f"{{{{ {row} | tojson }}}}"


def _ask_board(bench: SketchBuilder, found: BoardMatch, config: dict[str, Any]) -> None:
    """A board can be given by id or name, so the whole config is asked for."""
    said = f" There is none called {quote_request(found.said)}." if found.said else ""
    if len(found.choices) > 1 and len({one.name for one in found.choices}) == 1:
        said = f" Several are called {quote_request(found.said)}."
    bench.ask(
        "board",
        join_pointer(bench.next_at, "config"),
        f"Which board is read?{said}",
        schema=_BOARD,
        choices=tuple(
            QuestionChoice(one.name, {**config, "board_id": one.id})
            for one in found.choices or bench.resources.boards
        ),
    )


def _ask_first_board(bench: SketchBuilder, found: BoardMatch) -> None:
    """There is no board yet, so the question can only be answered later."""
    bench.ask(
        "board",
        join_pointer(bench.next_at, "config", "board_id"),
        f"Which board is read?{how_to_create_board(found.said, bench.resources)}",
        schema={"type": "string", "format": "uuid"},
        why="A run that reads a board that is not there fails.",
    )


def _calendar(bench: SketchBuilder, source: ReadSource) -> ReadMaterial | None:
    if set(f"{source.value} {bench.text}".lower().split()) & _LATER:
        return None
    day = "{{ run.started_at | date('%Y-%m-%d') }}"
    name = bench.step(
        "read_calendar", "list_calendar_events", {"start": day, "end": f"{day}T23:59:59Z"}
    )
    bench.note("Calendar events of the day on which it runs are read, in UTC.")
    pages = f"steps.{name}.pages"
    text = f"{{% for page in {pages} %}}• {{{{ page.start }}}} {{{{ page.title }}}}\n{{% endfor %}}"
    return ReadMaterial("Calendar", text, text, when=f"{{{{ {pages} | length > 0 }}}}", output=name)


def _web(bench: SketchBuilder, source: ReadSource) -> ReadMaterial:
    config = {"url": source.value} if source.value else {}
    if not config:
        bench.ask(
            "url",
            join_pointer(bench.next_at, "config", "url"),
            "Which web address should it check?",
            schema=bench.argument("http_fetch", "url"),
        )
    name = bench.step("fetch", "http_fetch", config)
    return ReadMaterial(
        inert(shorten_text(source.value, 200)) or "The address",
        f"{{{{ steps.{name}.text | truncate({PLENTY}) }}}}",
        f"{{{{ steps.{name}.text | truncate({SHORT}) }}}}",
        output=name,
        web=True,
        row={"fetched_at": "{{ run.started_at }}", "value": f"{{{{ steps.{name}.json }}}}"},
    )
