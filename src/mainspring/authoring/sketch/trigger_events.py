"""Events that start a run, found in phrases such as "when a row is added"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from mainspring.authoring.sketch.request_tokens import Token, begins, join_tokens
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.word_tables import SENDERS, SERVICES, STOP, split_words

Sort = Literal[
    "event",
    "automation",
    "board",
    "webhook",
    "form",
    "page",
    "chat",
    "failure",
    "unknown",
    "condition",
]

_STARTS: Final = (
    ("as", "soon", "as"),
    ("each", "time"),
    ("every", "time"),
    ("any", "time"),
    ("only", "when"),
    ("only", "if"),
    ("even", "if"),
    ("whenever",),
    ("when",),
    ("if",),
    ("upon",),
    ("unless",),
    ("once",),
    ("after",),
    ("on",),
    ("in", "case"),
    ("for", "each"),
    ("for", "every"),
    ("while",),
    ("anytime",),
)
_BY_FIRST: Final = {
    first[0]: tuple(words for words in _STARTS if words[0] == first[0]) for first in _STARTS
}
# These introduce an event only when a known one follows.
_WEAK: Final = frozenset({"on", "after", "once", "for", "while"})
_STRONG: Final = frozenset({"when", "whenever", "if", "unless"})
ENDS: Final = frozenset(".;!?:\n")
# A dotted name; one with a file extension is a file.
EVENT_TYPE: Final = re.compile(
    r"(?![\w.]{1,300}\.(?:pdf|csv|txt|md|json|html|docx?|xlsx?|png|jpe?g|zip)$)"
    r"[a-z][a-z0-9_]{0,60}(?:\.[a-z][a-z0-9_]{0,60}){1,4}"
)
_FAILS: Final = split_words("fails failed fail breaks broken broke crashes errors wrong")
_SUCCEEDS: Final = split_words(
    "succeeds succeeded succeed finishes finished finish done ends ended completes "
    "completed complete runs ran run"
)
_CANCELS: Final = split_words("cancelled canceled cancels")
_SELF: Final = split_words("it this that anything something step run everything they")
ADDED: Final = split_words("added appended new created inserted add arrives appears adds")
CHANGED: Final = split_words("updated changed edited modified changes change moves moved update")
DELETED: Final = split_words("deleted removed")
_CALLS: Final = split_words("calls posts sends pings hits notifies triggers pushes reports")
_HOOK: Final = split_words("webhook webhooks hook callback http post request endpoint")
COMES: Final = split_words(
    "added add comes come arrives arrive uploaded created ingested received receive saved "
    "lands appears published written updated changed changes modified edited get gets new "
    "imported dropped drops filed submitted incoming shows synced adds uploads"
)
_FILLS: Final = split_words("fills filled submits completes fill submit")
_OCCURS: Final = split_words(
    "happens occurs published fires fired is comes arrives raised emitted told sent received"
)
_WRITES: Final = split_words(
    "write writes text texts send sends message messages mention mentions type types say says"
)
_NOT_PAGES: Final = split_words(
    "order payment build deploy user customer row event price alert form issue ticket"
)


@dataclass(frozen=True, slots=True)
class HappeningNames:
    """The workspace names that identify events."""

    # First words of board names, words for pages, names of automations.
    boards: frozenset[str]
    # Names of rows: a lead is of the board Leads.
    rows: frozenset[str]
    pages: frozenset[str]
    automations: frozenset[str]
    # Event types, each as the stems of its parts.
    events: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TriggerEvent:
    """An event phrase and its sort."""

    sort: Sort
    tokens: tuple[Token, ...]
    start: str = ""
    # Whether it precedes the instruction.
    leading: bool = False

    @property
    def words(self) -> frozenset[str]:
        return frozenset(one.low for one in self.tokens)

    @property
    def text(self) -> str:
        return join_tokens(self.tokens, "")


def split_happenings(
    tokens: Sequence[Token], known: HappeningNames, *, scheduled: bool = False
) -> tuple[list[TriggerEvent], list[Token]]:
    """Extract events and conditions; return the remaining tokens too.

    ``scheduled``: a time was given, so "for each" is not an event.
    """
    found: list[TriggerEvent] = []
    rest: list[Token] = []
    at = 0
    while at < len(tokens):
        length = _start(tokens, at)
        if not length:
            rest.append(tokens[at])
            at += 1
            continue
        end = _end(tokens, at + length)
        said = tuple(tokens[at + length : end])
        start = (
            tokens[at].low if length == 1 else " ".join(one.low for one in tokens[at : at + length])
        )
        sort = sort_of(said, start, known)
        if scheduled and start in {"for each", "for every"}:
            sort = None
        if sort is None or not said:
            rest.append(tokens[at])
            at += 1
            continue
        leading = not any(one.kind != "mark" for one in rest[_sentence(rest) :])
        found.append(TriggerEvent(sort, said, start, leading))
        rest.append(Token("mark", ",", ",", tokens[at].start, tokens[at].start))
        at = end
    return found, rest


def _sentence(tokens: Sequence[Token]) -> int:
    for place in range(len(tokens) - 1, -1, -1):
        if tokens[place].text in ENDS:
            return place + 1
    return 0


def _start(tokens: Sequence[Token], at: int) -> int:
    for words in _BY_FIRST.get(tokens[at].low, ()):
        if tuple(one.low for one in tokens[at : at + len(words)]) == words:
            return len(words)
    return 0


def _end(tokens: Sequence[Token], at: int) -> int:
    """Return the end of an event: at punctuation, at "then", or before an instruction."""
    for place in range(at, len(tokens)):
        one = tokens[place]
        if one.text in ENDS or one.low == "then":
            return place
        if one.text == "," and not _goes_on(tokens, place):
            return place
        if place > at and one.low in _STRONG:
            return place
        if one.low == "and" and place + 1 < len(tokens) and begins(tokens, place + 1):
            return place
        before = tokens[place - 1].low
        least = at + 1 if tokens[at - 1].low in {"each", "every"} else at + 2
        came = before == "in" and tokens[place - 2].low in {"comes", "come", "came"}
        plain = came or before not in STOP or before in {"did", "does", "so", "not", "is"}
        if place >= least and plain and begins(tokens, place):
            following = tokens[place + 1].low if place + 1 < len(tokens) else ""
            if following not in {"comes", "arrives", "is", "are", "gets", "", "board", "event"}:
                return place
    return len(tokens)


def _goes_on(tokens: Sequence[Token], at: int) -> bool:
    """Report whether a comma is followed by another event of the same list."""
    return at + 1 < len(tokens) and tokens[at + 1].low == "or"


def sort_of(tokens: Sequence[Token], start: str, known: HappeningNames) -> Sort | None:
    """Classify an event phrase; None when it is something else."""
    words = {one.low for one in tokens}
    made = classify_event(tokens, words, known)
    first = start.split(maxsplit=1)[0]
    called = bool(words & (_HOOK | _CALLS))
    about = made in {"page", "failure"} or (made == "webhook" and not called)
    if made is not None and not (first == "on" and about):
        return made
    if first in _WEAK:
        return None
    if first not in {"if", "unless", "only", "even", "in"} and made is None:
        if words & known.pages:
            return "page"
        if "board" in words or words & (known.boards | known.rows):
            return "board"
    if start in {"if", "unless", "only if", "only when", "even if", "in case"}:
        return "condition"
    return "unknown"


def classify_event(tokens: Sequence[Token], words: set[str], known: HappeningNames) -> Sort | None:
    if _tells_event(tokens, words):
        return "event"
    if words & _WRITES and words & {"bot", "telegram"} and "slack" not in words:
        return "chat"
    ended = words & (_FAILS | _SUCCEEDS | _CANCELS)
    if ended and words & ({"automation", "automations"} | known.automations):
        return "automation"
    stems = {stem(one) for one in words}
    if any(tells_type(stems, parts) for parts in known.events):
        return "event"
    fails = words & _FAILS and ("wrong" not in words or words & {"goes", "went", "going"})
    if fails and words & _SELF and len(words) <= 5:
        return "failure"
    if words & {"webhook", "webhooks"}:
        return "webhook"
    boardly = words & {"board", "row", "rows"} or words & known.boards
    if boardly and words & (ADDED | CHANGED | DELETED):
        return "board"
    return _from_outside(tokens, words, known)


def tells_type(stems: AbstractSet[str], parts: Sequence[str]) -> bool:
    """Report whether words name an event type: all its parts, or two including the verb."""
    if stems >= set(parts):
        return True
    return len(parts) > 2 and parts[-1] in stems and len(stems & set(parts)) >= 2


def _from_outside(tokens: Sequence[Token], words: set[str], known: HappeningNames) -> Sort | None:
    """Webhooks and pages."""
    if words & _HOOK or (words & _CALLS and words & (SENDERS | {"our", "my", "us", "me"})):
        return "webhook"
    if words & known.pages and words & COMES:
        return "page"
    if words & SERVICES:
        return "webhook"
    if "form" in words and words & (COMES | _CALLS | _FILLS):
        return "webhook"
    if words & known.rows and words & (CHANGED | DELETED | {"added", "created", "new"}):
        return "board"
    if words & {"comes", "arrives", "uploaded", "ingested", "received", "arrive"}:
        return "page" if not words & _NOT_PAGES and _noun(tokens) else None
    return None


def _tells_event(tokens: Sequence[Token], words: set[str]) -> bool:
    if "event" in words and "calendar" not in words:
        return True
    dotted = any(EVENT_TYPE.fullmatch(one.low) for one in tokens if one.kind in ("word", "host"))
    return dotted and bool(words & _OCCURS)


def _noun(tokens: Sequence[Token]) -> str | None:
    """Return the incoming thing, when it is one plain word."""
    named = [one.low for one in tokens if one.kind == "word" and one.low not in STOP]
    verbs = COMES | {"is", "are", "by"}
    before = []
    for word in named:
        if word in verbs and word != "new":
            break
        if word not in {"new", "another", "first"}:
            before.append(word)
    return before[-1] if before else None


def has_condition(happening: TriggerEvent) -> bool:
    """Report whether there is a condition beyond the event itself."""
    usual = COMES | ADDED | CHANGED | DELETED
    return happening.sort in ("page", "board") and not happening.words & usual


def noun_of(happening: TriggerEvent) -> str | None:
    return _noun(happening.tokens)


def run_event(words: frozenset[str]) -> str:
    """Return the event of a run's end."""
    if words & _CANCELS:
        return "automation.run.cancelled"
    if words & _SUCCEEDS and words & {"not", "doesn't", "didn't", "hasn't", "never"}:
        return "automation.run.failed"
    return "automation.run.failed" if words & _FAILS else "automation.run.succeeded"


def changes_of(words: frozenset[str]) -> list[str]:
    """Return the kinds of board changes that are meant."""
    made = []
    if words & ADDED:
        made.append("rows_appended")
    if words & CHANGED:
        made.append("rows_updated")
    if words & DELETED:
        made.append("rows_deleted")
    return made
