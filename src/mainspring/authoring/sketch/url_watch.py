"""Watching a URL: notifications while it is down, and initial state.

An error response and an unreachable host are the same to a person. The first is a condition of the
plan; the second fails the run, so the same message is also a failure step.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from mainspring.authoring.sketch.conditions import LOOKING, is_about_change, is_about_site
from mainspring.authoring.sketch.read_steps import ReadMaterial
from mainspring.authoring.sketch.request import ParsedRequest
from mainspring.authoring.sketch.request_tokens import Clause
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import host_of, shorten_text
from mainspring.authoring.sketch.trigger_events import TriggerEvent
from mainspring.authoring.sketch.word_tables import MAIL, SAY, TELL
from mainspring.definition.strict_json import join_pointer

ON_FAILURE: Final = "/execution/on_failure"
_DETAIL: Final = "{{ run.error.detail }}"
# The text argument of each kind of message.
_TEXTS: Final = {
    "notification": "message_template",
    "slack_post": "text",
    "send_email": "text",
    "email.notify_owner": "text",
    "telegram_push": "text",
}


def treat_watch_as_condition(request: ParsedRequest) -> ParsedRequest:
    """Treat what happens to a polled URL as a condition, not a trigger."""
    if not _only_watches(request.clauses):
        return request
    made = tuple(
        replace(one, sort="condition") if _is_of_address(one) else one for one in request.happenings
    )
    return replace(request, happenings=made)


def _only_watches(clauses: Sequence[Clause]) -> bool:
    looks = [one for one in clauses if one.of("url") or one.of("host")]
    if not looks or any(one.verb not in LOOKING for one in looks):
        return False
    return all(one.verb in TELL | SAY | MAIL for one in clauses if one not in looks)


def _is_of_address(one: TriggerEvent) -> bool:
    if one.sort == "failure":
        return is_about_site(one.text)
    return one.sort in ("page", "unknown") and is_about_change(one.text)


def has_address(one: TriggerEvent) -> bool:
    """Report whether it concerns a URL, which can be polled."""
    return any(two.kind in ("url", "host") for two in one.tokens)


def is_down(tight: str | None) -> bool:
    """Report whether a condition is that a URL is down."""
    return tight is not None and tight.startswith("{{ not ")


def site_of(materials: Sequence[ReadMaterial]) -> str:
    """The URL as people call it."""
    web = [one.title for one in materials if one.web]
    if len(web) != 1:
        return "One of the addresses"
    return shorten_text(host_of(web[0]), 80)


def add_unreachable(bench: SketchBuilder, first: int, materials: Sequence[ReadMaterial]) -> None:
    """Repeat the steps from one position on as failure steps."""
    outputs = [one.output for one in materials if one.web]
    when = f"{{{{ run.failed_step_id in [{', '.join(map(repr, outputs))}] }}}}"
    for place, step in enumerate(bench.steps[first:], first):
        key = _TEXTS.get(str(step.get("action")))
        if key is None:
            continue
        copied: dict[str, Any] = deepcopy(step)
        copied["step_id"] = bench.free(f"{step['step_id']}_unreachable")
        bench.taken.add(copied["step_id"])
        copied["when"] = when
        titled = key == "message_template" or "subject" in copied["config"]
        copied["config"][key] = _DETAIL if titled else f"{site_of(materials)} is down\n{_DETAIL}"
        _ask_both(bench, join_pointer("/plan", place), join_pointer(ON_FAILURE, len(bench.alarms)))
        bench.alarms.append(copied)


def _ask_both(bench: SketchBuilder, here: str, there: str) -> None:
    """Apply a step's questions to its copy as well."""
    for at, one in enumerate(bench.questions):
        if one.pointer.startswith(f"{here}/"):
            double = f"{there}{one.pointer.removeprefix(here)}"
            bench.questions[at] = replace(one, others=(*one.others, double))
