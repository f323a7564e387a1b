"""The plan: intents, tools and sources, collected before steps are built."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from mainspring.authoring.sketch.conditions import (
    asks_for_site,
)
from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.literal_text import literal_text
from mainspring.authoring.sketch.lookup import find_board
from mainspring.authoring.sketch.read_steps import (
    ReadSource,
    find_sources,
)
from mainspring.authoring.sketch.request_tokens import address_of, tokenise
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.tool_steps import (
    MatchedTool,
    absent_service,
    find_reading,
    find_tool,
)
from mainspring.authoring.sketch.word_tables import (
    DEEDS,
    FINAL,
    LEADING,
    OTHER,
    PRONOUNS,
    STOP,
    TELL,
    THINK,
    split_words,
)

TEXTUAL: Final = frozenset(
    {"slack", "telegram", "mail", "owner", "inbox", "page", "file", "event", "call", "callback"}
)
_PAYLOADS: Final = frozenset({"webhook", "form", "event", "page_ingested", "board_change"})
_DETERMINERS: Final = split_words("the our my your their his her this all every each")
REPORT: Final = ("page", "report")
READ_BY_PEOPLE: Final = frozenset({"slack", "telegram", "mail", "owner", "inbox", "page"})


@dataclass(slots=True)
class SketchPlan:
    """Everything to build."""

    intents: list[Intent]
    conditions: list[str]
    name: str
    plainly: bool = False
    # A condition as an expression, and whether it is a change condition.
    tight: str | None = None
    changes: bool = False
    tools: dict[int, MatchedTool] = field(default_factory=dict)
    lost: list[Intent] = field(default_factory=list)
    # Actions with their own output field, and what each field holds.
    parts: dict[int, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    # Actions that apply to each of several items.
    each: list[Intent] = field(default_factory=list)
    # Intents that nothing here can do.
    unable: list[Intent] = field(default_factory=list)


def sort_out(bench: SketchBuilder, plan: SketchPlan) -> None:
    """Find tools for unknown intents, and set aside the rest."""
    for intent in plan.intents:
        tool = find_tool(bench, intent)
        if tool is None and _is_beyond(bench, intent):
            plan.lost.append(intent)
            plan.unable.append(intent)
        elif tool is None and (absent := absent_service(bench, intent.clause)):
            # The target's name is not part of the content.
            named = tuple(one for one in intent.clause.tokens if one.low == absent)
            intent.targets = [replace(one, tokens=one.tokens or named) for one in intent.targets]
        elif tool is not None:
            plan.tools[id(intent)] = tool
            intent.targets = [] if tool.alone else intent.targets
            intent.thinks = intent.thinks and intent.clause.verb in THINK
        elif (
            not intent.targets
            and not intent.thinks
            and (intent.clause.verb in OTHER or not find_sources(intent, bench))
        ):
            plan.lost.append(intent)
    told = [one for one in plan.lost if one not in plan.unable]
    for intent in told if len(plan.lost) < len(plan.intents) else ():
        first, second, *_ = (*intent.clause.words, "", "")
        plain = first not in STOP | PRONOUNS | {"do"} and not first.startswith("that")
        if plain and second in {"it", "them"} and len(intent.clause.words) <= 6:
            # What was read is processed, so a model is needed.
            intent.thinks = True
            plan.lost.remove(intent)
    plan.intents = [one for one in plan.intents if one not in plan.lost]
    sent = any(
        one.where in TEXTUAL and (one.where, one.value) != REPORT
        for intent in plan.intents
        for one in intent.targets
    )
    for intent in plan.intents:
        _look_first(plan, intent, sent)
    for intent in plan.intents if sent else ():
        # A report that is written and then sent is not a page of its own.
        intent.targets = [one for one in intent.targets if (one.where, one.value) != REPORT]


def _is_beyond(bench: SketchBuilder, intent: Intent) -> bool:
    """Report whether a clause needs a tool that does not exist."""
    clause = intent.clause
    placed = any(one.tokens or one.where == "inbox" for one in intent.targets)
    if absent_service(bench, clause):
        reading = clause.verb in THINK and not intent.targets
        return not reading and not placed and clause.verb not in TELL
    if placed:
        return False
    if clause.verb in DEEDS | FINAL:
        return not intent.targets
    first, second, *_ = (*clause.words, "", "")
    unknown = not clause.verb and first not in STOP | PRONOUNS | LEADING and first.isalpha()
    return unknown and second in _DETERMINERS and not intent.targets


def _look_first(plan: SketchPlan, intent: Intent, sent: bool) -> None:
    """A URL that is called for its response is read, and nothing is sent to it."""
    calls = [one for one in intent.targets if one.where == "call"]
    others = len(plan.intents) > 1 and sent and _talks_beside(plan, intent)
    if calls and (plan.conditions or others):
        intent.targets = [one for one in intent.targets if one.where != "call"]
        intent.reads = True


def _talks_beside(plan: SketchPlan, intent: Intent) -> bool:
    return any(
        target.where in READ_BY_PEOPLE
        for one in plan.intents
        if one is not intent
        for target in one.targets
    )


def find_all_sources(bench: SketchBuilder, plan: SketchPlan) -> list[ReadSource]:
    made: list[ReadSource] = []
    types = {str(one.get("type")) for one in bench.triggers}
    for intent in plan.intents:
        tool = plan.tools.get(id(intent))
        if tool is not None and (tool.reads or intent.clause.verb in FINAL):
            continue
        if intent.clause.verb in {"remind", "nudge"}:
            # The content of a reminder is for the person to do.
            continue
        for source in find_sources(intent, bench):
            told = source.what == "pages" and "page_ingested" in types
            same = source.what == "board" and "board_change" in types and _is_watched(bench, source)
            if not told and not same and source not in made:
                made.append(source)
    if not made:
        said = [one for condition in plan.conditions for one in tokenise(condition)]
        made = [ReadSource("web", address_of(one)) for one in said if one.kind in ("url", "host")]
    if not made and asks_for_site(plan.conditions):
        made.append(ReadSource("web"))
    made = made or _meant_boards(bench, plan, types)
    if not made and not plan.tools and not types & _PAYLOADS:
        _meant_tools(bench, plan)
    return made[:6]


def _meant_tools(bench: SketchBuilder, plan: SketchPlan) -> None:
    """Find a tool that reads what is to be sent: the open pull requests."""
    for intent in plan.intents:
        used = intent.used
        tokens = tuple(one for one in intent.clause.tokens if one not in used)
        if not intent.targets or literal_text(intent) or len(tokens) < 2:
            continue
        tool = find_reading(bench, intent, tokens)
        if tool is not None:
            plan.tools[id(intent)] = tool


def _meant_boards(bench: SketchBuilder, plan: SketchPlan, types: set[str]) -> list[ReadSource]:
    """Find a board that is named by its rows alone: the open tickets."""
    if types & _PAYLOADS or plan.tools:
        return []
    for condition in plan.conditions:
        found = find_board(tokenise(condition), bench.resources)
        if found is not None and found.board is not None:
            return [ReadSource("board", board=found)]
    for intent in plan.intents:
        used = intent.used
        tokens = [one for one in intent.clause.tokens if one not in used]
        found = find_board(tokens, bench.resources, bare=True)
        said = intent.clause.quote() or intent.clause.verb == "remind"
        if found is not None and found.board is not None and not said:
            return [ReadSource("board", board=found)]
    return []


def _is_watched(bench: SketchBuilder, source: ReadSource) -> bool:
    """Report whether a board that is read is the one that triggered the run."""
    board = source.board.board if source.board is not None else None
    watched = [one.get("config", {}).get("board_id") for one in bench.triggers]
    return board is None or board.id in watched
