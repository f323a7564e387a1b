"""Two wishes in one request, each with its own time: an automation does all it does each time.

A step does not know which of several schedules has fired, so two wishes cannot be one automation.
Which of them is meant is asked; the other is asked for by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from mainspring.authoring.phrases.answers import (
    ScheduleClarification,
    ScheduleReading,
    ScheduleRefusal,
)
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.shapes import (
    AutomationRequest,
    ProposalQuestion,
    ProposalSketch,
    QuestionChoice,
)
from mainspring.authoring.sketch.naming import goal_of
from mainspring.authoring.sketch.reading import split_clauses, tokenise
from mainspring.authoring.sketch.request import ParsedRequest, read_request
from mainspring.authoring.sketch.texts import LONGEST, loose, quote_request

_EDGES: Final = " \t\n,;.:-–&"
_JOINING: Final = ("and then ", "and also ", "and ", "also ", "then ", "plus ")
_JOINED: Final = ("and", "then", ",", ";", ".", "also")
_MOST: Final = 6
_SMALL: Final = frozenset({"the", "one", "please", "number", "wish", "automation"})
_KEPT: Final = ("schema_version", "name", "goal", "intent", "triggers", "execution", "metadata")
_ORDER: Final = ("first", "second", "third", "fourth", "fifth", "sixth")


def parts_of(request: ParsedRequest) -> list[str]:
    """The wishes of a request that have a time each; none where there is only one."""
    time = request.time
    read: list[ScheduleReading | ScheduleClarification | ScheduleRefusal] = [
        *time.readings,
        *time.clarifications,
        *time.refusals,
    ]
    found = sorted({(one.span.start, one.span.end) for one in read})
    spans = [one for place, one in enumerate(found) if not place or one[0] >= found[place - 1][1]]
    if not 1 < len(spans) <= _MOST:
        return []
    text = request.text
    starts, ends = [one[0] for one in spans], [one[1] for one in spans]
    between = [text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True)]
    deeds = [_has_deed(one) for one in between]
    if not deeds[0] and all(deeds[1:]):
        places = list(zip(starts, [*starts[1:], len(text)], strict=True))
    elif all(deeds[:-1]) and not deeds[-1]:
        places = list(zip([0, *ends[:-1]], [*ends[:-1], len(text)], strict=True))
    elif deeds == [True, False, True] and not _goes_on(between[2]):
        places = [(0, ends[0]), (starts[1], len(text))]
    else:
        return []
    return [_plain(text[start:end]) for start, end in places]


def _has_deed(text: str) -> bool:
    return any(one.verb and len(one.tokens) > 1 for one in split_clauses(tokenise(text), text))


def _goes_on(text: str) -> bool:
    return text.lstrip().lower().startswith(_JOINED)


def _plain(text: str) -> str:
    made = text.strip(_EDGES)
    for word in _JOINING:
        if made.lower().startswith(word):
            made = made[len(word) :]
    words = made.split(" ")
    while len(words) > 1 and words[-1].lower().strip(_EDGES) in {"and", "then", "also", ""}:
        words.pop()
    return " ".join(words).strip(_EDGES)


@dataclass(frozen=True, slots=True)
class ChosenRequest:
    """One of several wishes, and the others."""

    wish: AutomationRequest
    others: tuple[str, ...]


def find_chosen_request(
    wish: AutomationRequest, resources: WorkspaceResources
) -> ChosenRequest | None:
    """The wish that a later line of the request chooses; none where none does."""
    lines = wish.text.split("\n")
    for place in range(1, min(len(lines), _MOST)):
        head = read_request(replace(wish, text="\n".join(lines[:place])), resources)
        parts = parts_of(head)
        chosen = match_answered_request(parts, lines[place]) if parts else None
        if chosen is not None:
            zones = {one.timezone for one in head.time.readings}
            zone = wish.timezone or (zones.pop() if len(zones) == 1 else None)
            text = "\n".join((parts[chosen], *lines[place + 1 :]))
            others = tuple(one for at, one in enumerate(parts) if at != chosen)
            return ChosenRequest(replace(wish, text=text, timezone=zone), others)
    return None


def match_answered_request(parts: Sequence[str], said: str) -> int | None:
    """Which of the wishes an answer means: by its words, or by its number."""
    low = said.strip(_EDGES).casefold()
    for place, one in enumerate(parts):
        if low == one.casefold():
            return place
    words = [one for one in low.split() if one not in _SMALL]
    for place, name in enumerate(_ORDER[: len(parts)]):
        if words in ([name], [str(place + 1)]):
            return place
    return None


def ask_which(first: ProposalSketch, text: str, parts: Sequence[str]) -> ProposalSketch:
    """The sketch of one wish without all that the answer decides, and the question which."""
    document = {key: first.document[key] for key in _KEPT}
    document |= {"goal": goal_of(text), "intent": loose(text)[:LONGEST], "triggers": []}
    count = {2: "two", 3: "three"}.get(len(parts), str(len(parts)))
    question = ProposalQuestion(
        "words",
        "words",
        "/plan",
        f"These are {count} automations. Which one shall this be?",
        choices=tuple(QuestionChoice(one, one) for one in parts),
        why="Each has its own time, and an automation does all that it does each time.",
    )
    document["execution"] = {
        key: value for key, value in document["execution"].items() if key != "on_failure"
    }
    return ProposalSketch(document, (question,), ("What is not chosen is asked for by itself.",))


def other_note(others: Sequence[str]) -> str:
    told = " and ".join(quote_request(one) for one in others)
    return f"This is an automation of its own, to be asked for by itself: {told}."
