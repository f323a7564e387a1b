"""Event triggers: board changes, incoming pages, webhooks and events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.authoring.models import QuestionChoice
from mainspring.authoring.sketch.filters import (
    narrow_call,
    narrow_event,
    narrow_page,
    narrow_rows,
)
from mainspring.authoring.sketch.forms import form_config, form_inputs
from mainspring.authoring.sketch.lookup import (
    board_choices,
    find_automation,
    find_board,
    how_to_create_board,
    is_type,
    page_type_of,
)
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import LEFT_IN_INBOX, quote_request
from mainspring.authoring.sketch.trigger_events import (
    EVENT_TYPE,
    TriggerEvent,
    changes_of,
    has_condition,
    noun_of,
    run_event,
    tells_type,
)
from mainspring.authoring.sketch.word_tables import PAGE_NOUNS, STOP, split_words
from mainspring.definition.strict_json import join_pointer

_CHANGED: Final = split_words("updated changed changes modified edited")
_SLUG: Final = re.compile(r"[^a-z0-9]+")
_COMMAND: Final = re.compile(r"(?<![\w/])/([A-Za-z0-9][A-Za-z0-9_-]{0,31})")
_EVENT_SCHEMA: Final = {"type": "object", "required": ["event_type"]}


def add_happening(bench: SketchBuilder, happening: TriggerEvent, *, alone: bool) -> bool:
    """Add a trigger for an event; False when it can only be a condition."""
    sort = happening.sort
    if sort == "board":
        _board(bench, happening)
    elif sort == "page":
        _page(bench, happening)
    elif sort == "webhook":
        _put(bench, "webhook", {})
        bench.note(
            f"{quote_request(happening.text)} is a call from outside: its sender needs the address and "  # noqa: E501
            "a token, which are made once the automation is saved. Every call starts a run."
        )
        narrow_call(bench, happening)
    elif sort == "form":
        _form(bench, happening)
    elif sort == "event":
        _event(bench, happening)
    elif sort == "chat":
        _chat(bench, happening)
    elif sort == "automation":
        _automation(bench, happening)
    elif sort in ("unknown", "condition") and alone:
        _unknown(bench, happening)
    else:
        return False
    return True


def _form(bench: SketchBuilder, happening: TriggerEvent) -> None:
    config, inputs = form_config(happening.text), form_inputs(happening.text)
    bench.inputs.update(inputs)
    _put(bench, "form", config)
    who = "Anyone with its link" if config["access"] == "public" else "Any member"
    fields = ", ".join(str(one["title"]) for one in inputs.values())
    bench.note(
        f"{quote_request(happening.text)} is a hosted form. {who} can start this automation. "
        f"It asks for: {fields}."
    )


def _put(bench: SketchBuilder, type_: str, config: dict[str, Any] | None) -> str:
    count = sum(isinstance(one, dict) and one.get("type") == type_ for one in bench.triggers)
    name = type_.replace("_", "-") + (f"-{count + 1}" if count else "")
    made: dict[str, Any] = {"id": name, "type": type_}
    if config is not None:
        made["config"] = config
    bench.triggers.append(made)
    return join_pointer("/triggers", len(bench.triggers) - 1)


def _board(bench: SketchBuilder, happening: TriggerEvent) -> None:
    config: dict[str, Any] = {}
    changes = changes_of(happening.words)
    found = find_board(happening.tokens, bench.resources, bare=True)
    if found is not None and found.board is not None:
        config["board_id"] = found.board.id
    if changes:
        config["change"] = changes
    at = _put(bench, "board_change", config)
    if not has_condition(happening):
        narrow_rows(bench, happening, found.board if found is not None else None)
    if "board_id" in config:
        return
    boards = found.choices if found is not None and found.choices else bench.resources.boards
    said = f" There is none called {quote_request(found.said)}." if found and found.said else ""
    if found is not None and len(found.choices) > 1 and found.said and _same(found.choices):
        said = f" Several are called {quote_request(found.said)}."
    said += how_to_create_board(found.said if found is not None else "", bench.resources)
    bench.ask(
        "board",
        join_pointer(at, "config", "board_id"),
        f"Which board is watched?{said}",
        schema={"type": "string", "format": "uuid"},
        choices=board_choices(boards),
        why=f"It is to start when {happening.text[:200]}.",
    )


def _same(boards: tuple[Any, ...]) -> bool:
    return len({one.name for one in boards}) == 1


def _page(bench: SketchBuilder, happening: TriggerEvent) -> None:
    config: dict[str, Any] = {}
    for one in happening.tokens:
        type_ = page_type_of(one.low, bench.resources)
        if type_ is not None:
            config["page_type"] = type_
            break
    else:
        noun = noun_of(happening)
        plain = happening.words.isdisjoint(PAGE_NOUNS)
        if noun is not None and plain and is_type(noun):
            config["page_type"] = noun
            bench.note(
                f"I took {quote_request(noun)} for a type of page; there is none of it here yet."
            )
    config["created"] = happening.words.isdisjoint(_CHANGED)
    if not has_condition(happening):
        narrow_page(bench, happening, config)
    _put(bench, "page_ingested", config)


def _chat(bench: SketchBuilder, happening: TriggerEvent) -> None:
    """A message to the bot: its command or a mention, where one is named."""
    config: dict[str, Any] = {"via": "telegram"}
    command = _COMMAND.search(happening.text)
    if command is not None:
        config["match"] = {"command": f"/{command[1].lower()}"}
    elif happening.words & {"mention", "mentions"}:
        config["match"] = {"mention": True}
    _put(bench, "chat_message", config)


def _meant_event(bench: SketchBuilder, happening: TriggerEvent) -> str | None:
    """Find the declared event whose type the words name."""
    stems = {stem(one) for one in happening.words}
    fitting = [
        name
        for name in bench.resources.event_types or {}
        if tells_type(stems, [stem(part) for part in re.split(r"[._]", name)])
        and EVENT_TYPE.fullmatch(name)
    ]
    return max(fitting, key=len) if fitting else None


def _event(bench: SketchBuilder, happening: TriggerEvent) -> None:
    known = {**(bench.resources.event_types or {}), **dict.fromkeys(bench.vocabulary.events, "")}
    for one in happening.tokens:
        if EVENT_TYPE.fullmatch(one.low):
            if one.low not in known:
                bench.note(
                    f"No event {quote_request(one.low)} is declared here; any sender may tell it."
                )
            config = _event_config(one.low)
            narrow_event(bench, happening, config)
            _put(bench, "event", config)
            return
    meant = _meant_event(bench, happening)
    if meant is not None:
        config = _event_config(meant)
        narrow_event(bench, happening, config)
        _put(bench, "event", config)
        return
    at = _put(bench, "event", {})
    bench.ask(
        "event",
        join_pointer(at, "config", "event_type"),
        "Which event does it listen for?",
        schema=bench.vocabulary.triggers["event"].config_schema["properties"]["event_type"],
        choices=tuple(
            QuestionChoice(name, name)
            for name in known
            if EVENT_TYPE.fullmatch(name) and not name.startswith("automation.")
        ),
    )


def _event_config(type_: str) -> dict[str, Any]:
    config: dict[str, Any] = {"event_type": type_}
    if type_.startswith("automation.run."):
        # Triggering on its own runs is rejected.
        config["filters"] = {"automation_name": {"not_equals": OWN_NAME}}
    return config


# Placeholder for the automation's own name.
OWN_NAME: Final = "\x00own name"


def _automation(bench: SketchBuilder, happening: TriggerEvent) -> None:
    type_ = run_event(happening.words)
    named = find_automation(happening.tokens, bench.resources)
    if named is not None:
        name, id_ = named
        by = ("automation_id", id_) if "{{" in name else ("automation_name", name)
        _put(bench, "event", {"event_type": type_, "filters": {by[0]: {"equals": by[1]}}})
        return
    if happening.words & {"any", "another", "automations", "other", "some"}:
        _put(bench, "event", _event_config(type_))
        return
    at = _put(bench, "event", None)
    others = bench.resources.automations or {}
    bench.ask(
        "automation",
        join_pointer(at, "config"),
        "Which automation does it follow?",
        schema=_EVENT_SCHEMA,
        choices=tuple(
            QuestionChoice(
                name, {"event_type": type_, "filters": {"automation_name": {"equals": name}}}
            )
            for name in others
            if "{" not in name
        ),
        why=f"It is to start when {happening.text[:200]}, and none of that name is here.",
    )


def _unknown(bench: SketchBuilder, happening: TriggerEvent) -> None:
    """An event that nothing here detects."""
    narrow_call(bench, happening)
    words = [one.low for one in happening.tokens if one.kind == "word" and one.low not in STOP]
    told = ".".join(part for word in words[:2] if (part := _SLUG.sub("_", word).strip("_")))
    type_ = told if EVENT_TYPE.fullmatch(told) else "something.happened"
    bench.ask(
        "when",
        join_pointer("/triggers", len(bench.triggers)),
        f"How is it noticed that {happening.text[:200]}?",
        schema={"type": "object", "required": ["type"]},
        choices=(
            QuestionChoice("Another system calls a webhook", {"id": "webhook", "type": "webhook"}),
            QuestionChoice(
                f"The event {type_} is published",
                {"id": "event", "type": "event", "config": {"event_type": type_}},
            ),
            QuestionChoice("A page is added", {"id": "page", "type": "page_ingested"}),
        ),
        why="Nothing here notices this by itself.",
    )


def answer_in_chat(bench: SketchBuilder) -> None:
    """A request from a chat is answered there, and not in the inbox."""
    chats = [one for one in bench.triggers if one.get("type") == "chat_message"]
    if not chats or len(chats) < len(bench.triggers):
        return
    answered = False
    for step in bench.steps:
        if step.get("action") != "notification":
            continue
        config = step["config"]
        body = config.get("message_template") or config.get("title", "")
        step |= {"action": "respond", "config": {"body": body}}
        answered = True
    for chat in chats:
        chat["config"]["respond"] = "by_step" if answered else "when_done"
    bench.notes[:] = [one for one in bench.notes if one != LEFT_IN_INBOX]
    bench.note("The sender gets the answer in the same chat. Only linked members can start it.")


def set_automation_name(trigger: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Insert the automation's own name into the filter that prevents self-triggering."""
    filters = trigger.get("config", {}).get("filters", {}).get("automation_name", {})
    if filters.get("not_equals") != OWN_NAME:
        return dict(trigger)
    config = {**trigger["config"], "filters": {"automation_name": {"not_equals": name}}}
    return {**trigger, "config": config}
