"""Flags about agents: one where a plain action would do, one that may act, one of any shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mainspring.authoring.review.grants import MOST_TOOLS, CapabilityUse, matched
from mainspring.authoring.review.reading import StepView, listing, text_of
from mainspring.authoring.review.suspicious import FIXED, RELAYING, THINKING
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.review.wording import format_count, join_list, plain, quote_text
from mainspring.authoring.shapes import ReviewFlag
from mainspring.contracts.capability import Effect
from mainspring.definition.pointers import join_pointer
from mainspring.definition.tool_patterns import is_pattern, read_tool_name

_MOST_PATTERNS: Final = MOST_TOOLS

# What a run fills in says nothing about the task.
_HOLE: Final = re.compile(r"\{\{[^{}]{0,500}\}\}")


def flags_of_agents(view: ReviewView) -> Iterator[ReviewFlag]:
    known = view.words.capabilities
    sending = [
        ask
        for ask in view.asks
        if ask.as_tool and ask.effect is Effect.SEND and ask.capability in known
    ]
    by_step: dict[str, list[CapabilityUse]] = {}
    for ask in sending:
        by_step.setdefault(ask.step.pointer, []).append(ask)
    for step in view.agents:
        mine = by_step.get(step.pointer, [])
        yield from _without_need(step, view)
        yield from _may_send(step, mine)
        yield from _shapeless(step)
    yield from _patterns(view, sending)


def _tools(step: StepView) -> list[str]:
    listed_tools = listing(step.config.get("tools"))[:MOST_TOOLS]
    return [name for name in map(read_tool_name, listed_tools) if name]


def _without_need(step: StepView, view: ReviewView) -> Iterator[ReviewFlag]:
    """An agent that has nothing to think about."""
    prompt, tools = text_of(step.config.get("prompt"))[:4_000], _tools(step)
    prompt = _HOLE.sub("a value", prompt)
    if not prompt or THINKING.search(prompt):
        return
    if not tools:
        if FIXED.match(prompt):
            yield ReviewFlag(
                join_pointer(step.pointer, "action"),
                "agent_without_need",
                "This agent only hands on a text that is there already; a template can do that, "
                "without a model and the same way every time.",
                suggestion="Put the text into the step that uses it.",
            )
        return
    if len(tools) == 1 and not is_pattern(tools[0]) and _relays(step, prompt, tools[0], view):
        yield ReviewFlag(
            join_pointer(step.pointer, "action"),
            "agent_without_need",
            f"This agent only calls {plain(tools[0], 80)}; a step can do that by itself, without "
            "a model and the same way every time.",
            suggestion=f"Make it a step with the action {plain(tools[0], 80)}.",
        )


def _relays(step: StepView, prompt: str, tool: str, view: ReviewView) -> bool:
    """Whether it only calls its tool.

    To fill a declared shape from what was read is work; to say what was sent is none.
    """
    if RELAYING.match(prompt) is None:
        return False
    known = view.words.capabilities.get(tool)
    only_writes = (
        known is not None
        and known.annotations.reach is None
        and known.annotations.effect is not Effect.READ
    )
    return "output_schema" not in step.config or only_writes


def _may_send(step: StepView, sending: list[CapabilityUse]) -> Iterator[ReviewFlag]:
    names = list(dict.fromkeys(plain(ask.capability, 60) for ask in sending))
    if names:
        yield ReviewFlag(
            step.at("tools"),
            "agent_may_send",
            f"A model decides by itself whether and what leaves with {join_list(names, 4)}.",
            suggestion="Let the agent only write, with an output_schema, and let a later step send "
            "what it wrote.",
        )


def _shapeless(step: StepView) -> Iterator[ReviewFlag]:
    """The validator has the same doubt, in the same place and by the same name."""
    if "output_schema" not in step.config and isinstance(step.whole.get("config"), dict):
        yield ReviewFlag(
            join_pointer(step.pointer, "config"),
            "no_output_schema",
            "This agent may answer with any text, which later steps cannot rely on.",
            "note",
            suggestion="Declare the shape of the answer with output_schema.",
        )


def _patterns(view: ReviewView, sending: list[CapabilityUse]) -> Iterator[ReviewFlag]:
    told = 0
    for step in view.agents:
        for place, entry in enumerate(listing(step.config.get("tools"))[:MOST_TOOLS]):
            name = read_tool_name(entry)
            if name is None or not is_pattern(name) or told >= _MOST_PATTERNS:
                continue
            told += 1
            many = len(matched(name, view.words))
            sends = sum(1 for ask in sending if ask.pattern == name and ask.step is step)
            of = f", {sends} of which send something outside" if sends else ""
            yield ReviewFlag(
                join_pointer(step.pointer, "config", "tools", place),
                "wide_tools",
                f"{quote_text(name, 60)} stands for {format_count(many, 'tool')}{of}.",
                "warning" if sends or name.strip("*.") == "" else "note",
                suggestion="Name the tools that are needed.",
            )
