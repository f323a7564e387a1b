"""Flags about what a review did not read or does not show: a bound is never met in silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.authoring.places import mapping
from mainspring.authoring.review.grants import MOST_ASKS, MOST_TOOLS
from mainspring.authoring.review.reading import (
    MOST_STEPS,
    MOST_TRIGGERS,
    StepView,
    listing,
    text_of,
)
from mainspring.authoring.review.secrets import MOST_USES
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.review.wording import MOST_ENTRIES, plain
from mainspring.authoring.shapes import ReviewFlag
from mainspring.definition.pointers import join_pointer
from mainspring.definition.script import LONGEST

_READ_IT: Final = "Read it yourself, or ask for a smaller one."


def flags_of_cuts(view: ReviewView) -> Iterator[ReviewFlag]:
    for step in view.steps:
        yield from _of_step(step)
    yield from _of_steps(view)
    if len(listing(view.document.get("triggers"))) > MOST_TRIGGERS:
        yield _cut("/triggers", f"Only the first {MOST_TRIGGERS} triggers were looked at.")
    if len(view.asks) >= MOST_ASKS or len(view.secrets) >= MOST_USES:
        yield _cut("/plan", "It calls so much that not all of it was looked at.")
    names = {use.name for use in view.secrets}
    for many, of in ((len(view.grants), "grants"), (len(names), "secrets")):
        if many > MOST_ENTRIES:
            yield _cut("", f"It has {many} {of}, and {MOST_ENTRIES} of them are listed.")
    yield from _unseen(view)


def _cut(at: str, text: str) -> ReviewFlag:
    return ReviewFlag(at, "not_read_whole", text, suggestion=_READ_IT)


def _of_step(step: StepView) -> Iterator[ReviewFlag]:
    if step.action == "script" and len(text_of(step.config.get("source"))) > LONGEST:
        yield _cut(step.at("source"), "This program was not read to its end.")
    if step.is_agent and len(listing(step.config.get("tools"))) > MOST_TOOLS:
        text = f"Only the first {MOST_TOOLS} tools of this agent were looked at."
        yield _cut(step.at("tools"), text)


def _of_steps(view: ReviewView) -> Iterator[ReviewFlag]:
    """Steps beyond the number that is read, or too deep inside of others."""
    read = {step.pointer for step in view.steps}
    failing = mapping(view.document.get("execution")).get("on_failure")
    waiting = [("/plan", view.document.get("plan")), ("/execution/on_failure", failing)]
    while waiting:
        at, steps = waiting.pop(0)
        for place, one in enumerate(listing(steps)):
            here = join_pointer(at, place)
            if not isinstance(one, Mapping):
                continue
            if here not in read:
                text = f"No more than {MOST_STEPS} steps were looked at; here it ends."
                yield _cut(here, text)
                return
            waiting += _below(view, one, here)


def _below(view: ReviewView, step: Mapping[str, Any], at: str) -> list[tuple[str, Any]]:
    known = view.words.actions.get(text_of(step.get("action")))
    if known is None or known.nested is None:
        return []
    nested = mapping(step.get("config")).get(known.nested)
    return [(join_pointer(at, "config", known.nested), nested)]


def _unseen(view: ReviewView) -> Iterator[ReviewFlag]:
    """What the validator grants for the steps, though this review did not see which needs it."""
    if isinstance(view.document.get("grants"), list):
        return
    for ask in view.reach:
        if not ask.pointer:
            yield _cut(
                "/plan",
                f"It may call {plain(ask.capability, 80)}, and this review did not see which step "
                "needs it.",
            )
