"""A request read once: its bounds, its moments, what happens, and its clauses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mainspring.authoring.phrases.answers import (
    ScheduleAnswer,
    ScheduleClarification,
    ScheduleReading,
    ScheduleRefusal,
)
from mainspring.authoring.phrases.pieces import find_pieces
from mainspring.authoring.phrases.words import make_plain
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.shapes import AutomationRequest
from mainspring.authoring.sketch.caps import RequestedCaps, find_caps
from mainspring.authoring.sketch.facts import find_stated_events
from mainspring.authoring.sketch.happenings import (
    HappeningNames,
    TriggerEvent,
    split_happenings,
)
from mainspring.authoring.sketch.lookup import automations
from mainspring.authoring.sketch.moments import find_zone_assumptions, has_schedule, read_time
from mainspring.authoring.sketch.named import find_names, mark_names
from mainspring.authoring.sketch.plainer import (
    find_fields,
    find_json,
    make_plainer,
    mend_verbs,
)
from mainspring.authoring.sketch.reading import Clause, split_clauses, tokenise
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.texts import clean
from mainspring.authoring.sketch.titles import find_titles
from mainspring.authoring.sketch.unwanted import find_unwanted
from mainspring.authoring.sketch.verbs import (
    BULLETS,
    CALENDAR,
    PAGE_NOUNS,
    THINK_NOUNS,
    VERBS,
)

_BY_HAND: Final = re.compile(
    r"\b(?:(?:only )?(?:by hand|manually|on demand|on request)|"
    r"(?:only )?when(?:ever)? i (?:press|click|hit|push|say|ask|want|start|run|tell|trigger)"
    r"(?: (?:on )?(?:it|run|so|for it|the button|a button|start|go))*)\b",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|(?<!\w)'[^'\n]{1,600}'(?!\w)")
_NAMED: Final = re.compile(
    r"#[\w-]{1,80}|[\w.+-]{1,64}@[\w.-]{1,190}|\b[a-z_]{2,60}(?:\.[a-z_]{2,60}){1,4}\b"
)
_OTHERWISE: Final = re.compile(r"[,;]?\s?\b(?:otherwise|if not|or else)\b[,:]?", re.IGNORECASE)
_ARROW: Final = re.compile(r"\s*(?:->|=>|→)\s*")
_NO_MODEL: Final = re.compile(
    r"[,;(]?\s?\b(?:no|without|don't use|do not use)(?: any| an| a| the)? "
    r"(?:ai|llm|model|agent|gpt|thinking)s?\b(?: (?:needed|please|required|necessary))?\)?",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(r"https?://\S{1,2000}")
_WAITING: Final = re.compile(
    r"\b(?:wait|pause|sleep)(?: for)? (?:\w{1,10} ){1,2}?(?:seconds?|minutes?|hours?|days?)\b",
    re.IGNORECASE,
)
# Ways of speaking that the tables of verbs would take for something else.
_IDIOMS: Final = tuple(
    (re.compile(said, re.IGNORECASE), plainer)
    for said, plainer in (
        (r"\bkeep(?:ing)? (?:an|my|our) eyes? on\b", "watch"),
        (r"\b(?:have|take|taking) a (?:quick )?look at\b", "read"),
        (r"\blook(?:s|ing)? (?:at|through|into)\b", "read"),
        (r"\bgo(?:es|ing)? (?:through|over)\b", "read"),
        (r"\bkeep (me|us) (?:posted|informed|updated|up to date)\b", r"notify \1"),
        (r"\blet (me|us) know\b", r"notify \1"),
        (r"\bdrop (me|us) (?:a|an) (?:line|mail|e-?mail)\b", r"mail \1"),
        (r"\bsum(?:s|ming)? (?:it |them |this )?up\b", "summarise"),
        (r"\bwrite(?:s)? (?:it |them |this )?down\b", "write"),
        (r"\b(?:check|see|find out|look) (?:if|whether)\b(?![^.;\n]{0,200}?https?://)", "if"),
        (r"\b(?:pull|pick|get|take) out\b", "extract"),
        (r"\btake (?=(?:the )?(?:action|to-?do|key|main|open) (?:items|points|dos))", "extract "),
        (r"\b(?:and )?(?:if so|in that case)\b,?", ","),
        (r"\bput together\b", "write"),
        (r"\bpage (me|us)\b", r"notify \1"),
        (r"\bcome up with\b", "write"),
        (r"\bmake sure(?: that)?\b", "check"),
        (r"\bsend (?:out )?(?:an |a )?(?:e-?mail|mail) to\b", "email"),
        (r"\bsend (me|us) (?:an |a )?(?:e-?mail|mail)\b", r"mail \1"),
        (r"\bask (?:the|a|an) (?:model|ai|llm|agent) (?:for|to write)\b", "write"),
        (r"\bask (?:the|a|an) (?:model|ai|llm|agent) to\b", ""),
    )
)
_KEPT: Final = (THINK_NOUNS | BULLETS | CALENDAR | frozenset(PAGE_NOUNS) | VERBS) - {
    "day",
    "set",
    "run",
    "start",
    "first",
    "last",
    "time",
    "go",
    "hit",
    "sum",
    "mark",
}
_WORD: Final = re.compile(r"[\w'’-]{1,80}")


# Where words for time are none: a channel called lunch, an event called tick.hourly.
_NO_TIME: Final = (_QUOTED, _ADDRESS, _WAITING, _NAMED)


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """Everything that the rules read out of a wish."""

    text: str
    caps: RequestedCaps
    time: ScheduleAnswer
    happenings: tuple[TriggerEvent, ...]
    clauses: tuple[Clause, ...]
    by_hand: bool = False
    # Whether somebody said that no model should be asked.
    plainly: bool = False
    # Fields of rows that the words list.
    fields: tuple[str, ...] = ()
    # The words in which times were looked for.
    timed: str = ""
    # What was said not to be done.
    unwanted: tuple[str, ...] = ()
    # What things are to be called, by their kind.
    titles: Mapping[str, str] = field(default_factory=dict)
    # What is assumed about a time whose zone is still open.
    assumed: tuple[str, ...] = ()


def read_request(
    wish: AutomationRequest, resources: WorkspaceResources, *, told: bool = True
) -> ParsedRequest:
    """Reads a wish from the outside in: what is certain first, and out of the way of the rest.

    ``told``: a happening may be told as a fact too, which a change of a definition never does.
    """
    text = clean(wish.text)
    caps = find_caps(text)
    rest = _without(text, caps.spans)
    by_hand = _BY_HAND.search(rest)
    if by_hand is not None:
        rest = _without(rest, [by_hand.span()])
    plainly = _NO_MODEL.search(rest)
    if plainly is not None:
        rest = _without(rest, [plainly.span()])
    titles, named = find_titles(rest) if told else ({}, [])
    rest = _without(rest, named)
    quoted = [found.span() for found in _QUOTED.finditer(rest)]
    nowhere = find_unwanted(rest, quoted) if told else []
    unwanted = tuple(rest[start:end].strip(" ,;") for start, end in nowhere)
    rest = _without(rest, nowhere)
    values = find_json(rest)
    for start, end in values:
        rest = rest[:start] + rest[start:end].replace("\n", " ") + rest[end:]
    fields, where = find_fields(rest)
    if where is not None:
        rest = _without(rest, [where])
    names = [one for one in find_names(rest, resources) if not _inside(one, values)] + values
    hidden = [
        *(found.span() for one in _NO_TIME for found in one.finditer(rest)),
        *names,
    ]
    timed = _without(rest, hidden)
    time = read_time(timed, wish.now, wish.timezone)
    rest = mark_names(_without_time(rest, time), names)
    for found, plainer in _IDIOMS:
        rest = found.sub(plainer, rest)
    rest = make_plainer(rest)
    rest = _ARROW.sub(" . ", rest)
    if "://" in rest:
        rest = _OTHERWISE.sub(", if it is not ok, ", rest)
    tokens = mend_verbs(tokenise(rest), _said_names(resources))
    known = _known(resources)
    happenings, left = split_happenings(tokens, known, scheduled=has_schedule(time))
    moved = by_hand is not None or has_schedule(time)
    vague = ("condition", "failure", "unknown")
    if told and not moved and all(one.sort in vague for one in happenings):
        facts, left = find_stated_events(left, known)
        if facts:
            # What a call tells of is told with it: Stripe sends a webhook when a payment fails.
            happenings = [*facts, *(one for one in happenings if one.sort != "unknown")]
    return ParsedRequest(
        text,
        caps,
        time,
        tuple(happenings),
        tuple(split_clauses(left, rest)),
        by_hand is not None,
        plainly is not None,
        fields,
        timed,
        unwanted,
        titles,
        find_zone_assumptions(timed, wish.now, time),
    )


def _inside(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _said_names(resources: WorkspaceResources) -> list[str]:
    """Words that are names here, whatever verb they look like."""
    boards = [part for one in resources.boards for part in one.name.casefold().split()]
    return [*boards, *resources.page_types, *PAGE_NOUNS, *THINK_NOUNS, *CALENDAR]


def _known(resources: WorkspaceResources) -> HappeningNames:
    """The names of the workspace by which happenings are told apart."""
    boards = frozenset(
        word for one in resources.boards if one.name.strip() for word in _forms(one.name.casefold())
    )
    events = tuple(resources.event_types or ())
    pages = frozenset(PAGE_NOUNS) | frozenset(
        form
        for one in resources.page_types
        for form in (one, f"{one}s", *(one.split("_")[-1:] if "_" in one else ()))
    )
    return HappeningNames(
        boards,
        _rows(resources),
        pages,
        automations(resources),
        tuple(tuple(stem(part) for part in re.split(r"[._]", one)) for one in events),
    )


def _forms(name: str) -> tuple[str, ...]:
    """The words by which a board is known."""
    return (name.split(maxsplit=1)[0], name) if " " in name else (name,)


def _rows(resources: WorkspaceResources) -> frozenset[str]:
    """What one row of a board is called, where the board is called after all of them."""
    names = [one.name.casefold().strip() for one in resources.boards]
    singular = [one[:-1] for one in names if one.endswith("s") and " " not in one and len(one) > 3]
    return frozenset(form for one in singular for form in (one, f"{one}'s"))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with blanks over some places, so that all others keep theirs."""
    signs = list(text)
    for start, end in spans:
        signs[start:end] = " " * (end - start)
    return "".join(signs)


def _without_time(text: str, time: ScheduleAnswer) -> str:
    """Blanks over the words for time; what stands between them and means more stays."""
    read: list[ScheduleReading | ScheduleClarification | ScheduleRefusal] = [
        *time.readings,
        *time.clarifications,
        *time.refusals,
    ]
    if not read:
        return text
    plain = make_plain(text)
    spans: list[tuple[int, int]] = []
    for piece in find_pieces(plain):
        start, end = plain.span(piece.start, piece.end)
        if not any(one.span.start <= start and end <= one.span.end for one in read):
            continue
        if piece.kind.startswith("without"):
            # What is not to be done at some times is no deed of its own.
            spans.append((start, end))
        else:
            spans += [
                (start + found.start(), start + found.end())
                for found in _WORD.finditer(text[start:end])
                if found[0].lower() not in _KEPT
            ]
    return _without(text, spans)
