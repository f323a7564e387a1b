"""Parsing a request: limits, times, events and clauses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from mainspring.authoring.models import AutomationRequest
from mainspring.authoring.phrases.normalization import make_plain
from mainspring.authoring.phrases.schedule_answers import (
    ScheduleAnswer,
    ScheduleClarification,
    ScheduleReading,
    ScheduleRefusal,
)
from mainspring.authoring.phrases.time_phrases import find_pieces
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.caps import RequestedCaps, find_caps
from mainspring.authoring.sketch.forms import offers_form
from mainspring.authoring.sketch.lookup import automations, in_other_number
from mainspring.authoring.sketch.paraphrases import find_fields, find_json, make_plainer, mend_verbs
from mainspring.authoring.sketch.request_tokens import (
    Clause,
    Token,
    begins,
    split_clauses,
    tokenise,
)
from mainspring.authoring.sketch.schedule_triggers import (
    find_zone_assumptions,
    has_schedule,
    read_time,
)
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.texts import clean
from mainspring.authoring.sketch.trigger_events import (
    ENDS,
    HappeningNames,
    TriggerEvent,
    classify_event,
    split_happenings,
)
from mainspring.authoring.sketch.word_tables import (
    BULLETS,
    CALENDAR,
    LEADING,
    PAGE_NOUNS,
    READ,
    THINK_NOUNS,
    VERBS,
    split_words,
)

# Events stated as facts: a page comes in; every new email is logged.

_EACH: Final = frozenset({"every", "each", "any", "all"})
_INCOMING: Final = frozenset({"new", "incoming"})
_TOLD: Final = frozenset({"page", "webhook", "form", "board", "event", "automation"})


def find_stated_events(
    tokens: Sequence[Token], known: HappeningNames
) -> tuple[list[TriggerEvent], list[Token]]:
    """Find events stated as facts: a page comes in; every new email is logged."""
    rest: list[Token] = []
    part: list[Token] = []
    found: list[TriggerEvent] = []
    for one in (*tokens, None):
        if one is not None and not (one.text in ENDS or one.text == ","):
            part.append(one)
            continue
        told = _parse_trigger_event(part, known) if not found else None
        if found and _offers_call(part):
            # The channel was named afterwards.
            found[0] = TriggerEvent("webhook", found[0].tokens, "when", True)
            part = []
        if told is not None:
            found.append(told)
            rest += [] if told.tokens == tuple(part) else part
        else:
            rest += part
        rest += [] if one is None else [one]
        part = []
    return found, rest


_CALLING: Final = frozenset({"call", "post", "hit", "send", "ping", "notify", "request", "invoke"})
_ABLE: Final = frozenset({"can", "could", "will", "would", "may", "able", "supports"})
_ADDRESS_WORDS: Final = frozenset(
    {"url", "address", "endpoint", "link", "webhook", "webhooks", "http"}
)


def _offers_call(part: Sequence[Token]) -> bool:
    """Report whether the request says that somebody can call: it can call a URL."""
    words = {one.low for one in part}
    return bool(words & _CALLING and words & _ABLE and words & _ADDRESS_WORDS)


def _parse_trigger_event(part: Sequence[Token], known: HappeningNames) -> TriggerEvent | None:
    words = {one.low for one in part}
    if "form" in words and offers_form(part):
        return TriggerEvent("form", tuple(part), "when", True)
    if _offers_call(part) or (len(part) == 1 and words & {"webhook", "webhooks"}):
        return TriggerEvent("webhook", tuple(part), "when", True)
    asks = any(begins(part, at) and _is_first(part, at) for at in range(len(part)))
    if not asks:
        sort = classify_event(part, words, known) if len(part) > 1 else None
        return TriggerEvent(sort, tuple(part), "when", True) if sort in _TOLD else None
    for place, one in enumerate(part):
        before = {two.low for two in part[max(0, place - 2) : place]}
        incoming = before & _INCOMING and (before & _EACH or "incoming" in before)
        if incoming and one.low in known.pages:
            said = Token("word", "arrives", "arrives", one.end, one.end)
            return TriggerEvent("page", (*part[max(0, place - 1) : place + 1], said), "when")
        if one.low in {"webhook", "webhooks"} and (before & (_EACH | _INCOMING) or place < 2):
            return TriggerEvent("webhook", (one,), "when")
    return None


def _is_first(part: Sequence[Token], at: int) -> bool:
    """Report whether a verb starts an instruction rather than a statement."""
    before = part[at - 1].low if at else ""
    return (
        at == 0
        or before in {"and", "please", "then", ",", ":", "-", "you"}
        or all(one.low in LEADING for one in part[:at])
    )


# Where a request names boards and automations of the workspace.

# How automations are referred to: with the word, to be run, or when one ends.
_AUTOMATION_NAME: Final = re.compile(
    r"\b(?:automation|workflow)s?(?:,? (?:called|named))?[\s:]*$"
    r"|\b(?:run|start|trigger|launch|execute|kick off)s?(?: the| my| our)? $"
)
_ENDS_SO: Final = re.compile(
    r"\s(?:automation|workflow|(?:is|has|was|did|does|doesn't|didn't|hasn't|has been|gets) "
    r"(?:not )?(?:done|fail\w*|succeed\w*|finish\w*|end\w*|complet\w*|run|ran|broken|cancell?ed)"
    r"|fails|failed|succeeds|succeeded|finishes|finished|ends|ended|completes|completed|runs|ran"
    r"|breaks|broke|crashes|crashed)\b"
)
_OPENS: Final = ('"', "“", "'", "‘")
_CLOSES: Final = ('"', "”", "'", "’")
_MOST_NAMED: Final = 20


def find_names(text: str, resources: WorkspaceResources) -> list[tuple[int, int]]:
    """Find names of boards and automations: a nightly import is not a schedule.

    Automations are named in the words of requests, so one counts only when referred to.
    """
    low = text.lower()
    if len(low) != len(text):
        return []
    made: list[tuple[int, int]] = []
    said = [one.name for one in resources.boards]
    boards = {*said, *map(in_other_number, said)}
    known = (*boards, *(one for one in resources.automations or () if one not in boards))
    for name in sorted(known, key=lambda one: (-len(one), one)):
        wanted = name.strip().lower()
        if len(wanted) < 3 or "\n" in wanted or wanted not in low:
            continue
        for found in islice(re.finditer(re.escape(wanted), low), _MOST_NAMED):
            at, end = found.span()
            if any(start < end and at < stop for start, stop in made) or _inside_word(low, at, end):
                continue
            around = f"{low[max(0, at - 12) : at]} {low[end : end + 12]}"
            plain = name in boards and (" " in wanted or "board" in around)
            quoted = low[at - 1 : at] in _OPENS and low[end : end + 1] in _CLOSES
            if quoted and at:
                at, end = at - 1, end + 1
            if plain or _is_named(low[max(0, at - 40) : at], low[end : end + 40]):
                made.append((at, end))
                break
            if name in boards:
                break
    return made


def _is_named(before: str, behind: str) -> bool:
    """Report whether an automation is referred to between these words."""
    return bool(_AUTOMATION_NAME.search(before) or _ENDS_SO.match(behind))


def _inside_word(text: str, start: int, end: int) -> bool:
    return (start > 0 and text[start - 1].isalnum()) or (end < len(text) and text[end].isalnum())


def mark_names(text: str, names: list[tuple[int, int]]) -> str:
    """Mark names in the text, so that each becomes one token."""
    for start, end in sorted(names, reverse=True):
        name = text[start:end]
        if name[0] in _OPENS and name[-1] in _CLOSES:
            name = name[1:-1]
        text = f"{text[:start]}‹{name}›{text[end:]}"
    return text


# Titles: a page called Morning news, a mail with the subject Numbers.

_SAID: Final = (
    r"(?:\"(?P<{0}a>[^\"\n]{{1,150}})\"|“(?P<{0}b>[^”\n]{{1,150}})”|'(?P<{0}c>[^'\n]{{1,150}})'"
    r"|(?P<{0}d>[^\s,.;:!?\n\"“'#]{{1,40}}(?: [^\s,.;:!?\n\"“'#]{{1,40}}){{0,7}}))"
)
_CALLED: Final = re.compile(
    r"\b(?P<noun>page|note|document|doc|report|file|mail|e-?mail|message|notification|summary)"
    r" (?:that is |which is )?(?:called|titled|named|entitled) " + _SAID.format("n"),
    re.IGNORECASE,
)
_WITH: Final = re.compile(
    r"\b(?:with|under|using) (?:the |a |an )?(?P<noun>subject|title)(?: line)?(?: of| is|:)? "
    + _SAID.format("w"),
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"(?:,|\band) (?:the )?(?P<noun>subject)(?: line)?(?: is|:)? " + _SAID.format("s"),
    re.IGNORECASE,
)
# These words end an unquoted title.
_ENDS: Final = split_words(
    "and to every each when whenever if on in into at for from with by then via using please "
    "containing about that which saying daily weekly monthly"
)
_HAPPENING: Final = split_words("when whenever if once after upon unless until")
_KINDS: Final = {
    "mail": "mail",
    "email": "mail",
    "e-mail": "mail",
    "subject": "mail",
    "message": "message",
    "notification": "message",
    "file": "file",
    "title": "any",
    "report": "any",
    "summary": "any",
}


def find_titles(text: str) -> tuple[dict[str, str], list[tuple[int, int]]]:
    """Find titles by kind, with positions."""
    made: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    for pattern in (_CALLED, _WITH, _SUBJECT):
        for found in pattern.finditer(text):
            kind = _KINDS.get(found["noun"].lower(), "page")
            title, end = _title(found)
            if not title or kind in made or _is_in(found.end("noun"), places):
                continue
            if not _is_made(text[: found.start()]):
                continue
            made[kind] = title
            begin = found.end("noun") if pattern is _CALLED else found.start()
            places.append((begin, end))
    return made, places


def _is_made(before: str) -> bool:
    """Report whether the titled thing is written, rather than an event or a source."""
    words = re.split(r"[,.;\n]", before)[-1].lower().split()
    if _HAPPENING & set(words):
        return False
    verbs = [one for one in words if one in VERBS]
    return not verbs or verbs[-1] not in READ


def _title(found: re.Match[str]) -> tuple[str, int]:
    groups = [name for name in found.groupdict() if name != "noun" and found[name]]
    name = groups[0]
    if not name.endswith("d"):
        return found[name].strip(), found.end()
    kept: list[str] = []
    for word in found[name].split(" "):
        if kept and word.lower() in _ENDS and not word[:1].isupper():
            break
        kept.append(word)
    title = " ".join(kept)
    return title, found.start(name) + len(title)


def _is_in(place: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)


# Negations: no step is built, and the omission is reported.

_NOT: Final = (
    r"(?:do not|don['’]?t|never|without|instead of|rather than|no need to|must not|mustn['’]t|"
    r"should not|shouldn['’]t)"
)
_SAYING: Final = (
    r"(?:post|send|mail|e-?mail|notify|messag|ping|alert|publish|text|tweet|slack|telegram)"
    r"(?:e|ing|s)?"
)
_KEEPING: Final = (
    r"(?:creat|sav|add|append|writ|open|fil|updat|delet)(?:e|ing)?\s"
    r"(?:\w{1,12}\s){0,3}(?:pages?|rows?|boards?|files?|issues?|tickets?)"
)
_UNWANTED: Final = re.compile(
    rf"(?:[,;]\s?)?(?:\b(?:and|but|please)\s){{0,2}}\b{_NOT}\s(?:ever\s|also\s|then\s)?"
    rf"(?:{_SAYING}|{_KEEPING})\b[^,.;:!?\n]{{0,200}}",
    re.IGNORECASE,
)
# After these another instruction starts.
_TURN: Final = re.compile(r"\s(?:but|just|only|instead(?! of)|and (?P<verb>\w{1,20}))\b")
# Qualified negations, about when or how often.
_SOMETIMES: Final = re.compile(
    r"\b(?:if|when|whenever|while|unless|until|twice|again|once|more|before|after|same|empty|"
    r"duplicates?|already|too|otherwise|every|without (?:my|our|asking|approval))\b",
    re.IGNORECASE,
)
_MOST: Final = 10


def find_unwanted(text: str, quoted: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Find negated parts of a request, outside quotations."""
    spans: list[tuple[int, int]] = []
    for found in _UNWANTED.finditer(text):
        start, end = found.start(), _end(text, found)
        said = text[start:end]
        if _SOMETIMES.search(said) or any(one <= start < last for one, last in quoted):
            continue
        if any(one.kind.startswith("without") for one in find_pieces(make_plain(said))):
            continue
        spans.append((start, end))
    return spans[:_MOST]


def _end(text: str, found: re.Match[str]) -> int:
    """Return the end of a negated part."""
    for turn in _TURN.finditer(text, found.start() + 1, found.end()):
        own = turn["verb"]
        if own is None or own.lower() in VERBS:
            begun = text[found.start() : turn.start()].strip(" ,;").lower()
            if begun not in {"", "but", "please", "and"}:
                return turn.start()
    return found.end()


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
# Idioms that the verb tables would misread.
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


# Words that only look like times: a channel called lunch, an event called tick.hourly.
_NO_TIME: Final = (_QUOTED, _ADDRESS, _WAITING, _NAMED)


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A parsed request."""

    text: str
    caps: RequestedCaps
    time: ScheduleAnswer
    happenings: tuple[TriggerEvent, ...]
    clauses: tuple[Clause, ...]
    by_hand: bool = False
    # Whether the request excludes using a model.
    plainly: bool = False
    # Fields of rows that the request lists.
    fields: tuple[str, ...] = ()
    # The text in which times were parsed.
    timed: str = ""
    # The negated parts.
    unwanted: tuple[str, ...] = ()
    # Titles by kind of thing.
    titles: Mapping[str, str] = field(default_factory=dict)
    # Assumptions about a time whose zone is open.
    assumed: tuple[str, ...] = ()


def read_request(
    request: AutomationRequest, resources: WorkspaceResources, *, told: bool = True
) -> ParsedRequest:
    """Parse a request, the most certain parts first.

    ``told``: an event may be stated as a fact, which does not apply to edits.
    """
    text = clean(request.text)
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
    time = read_time(timed, request.now, request.timezone)
    rest = mark_names(_without_time(rest, time), names)
    for found, plainer in _IDIOMS:
        rest = found.sub(plainer, rest)
    rest = make_plainer(rest)
    rest = _ARROW.sub(" . ", rest)
    if "://" in rest:
        rest = _OTHERWISE.sub(", if it is not ok, ", rest)
    tokens = mend_verbs(tokenise(rest), _list_reserved_names(resources))
    known = _build_happening_names(resources)
    happenings, left = split_happenings(tokens, known, scheduled=has_schedule(time))
    moved = by_hand is not None or has_schedule(time)
    vague = ("condition", "failure", "unknown")
    if told and not moved and all(one.sort in vague for one in happenings):
        facts, left = find_stated_events(left, known)
        if facts:
            # The content of a webhook: Stripe sends a webhook when a payment fails.
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
        find_zone_assumptions(timed, request.now, time),
    )


def _inside(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)


def _list_reserved_names(resources: WorkspaceResources) -> list[str]:
    """Words that are names here, even if they look like verbs."""
    boards = [part for one in resources.boards for part in one.name.casefold().split()]
    return [*boards, *resources.page_types, *PAGE_NOUNS, *THINK_NOUNS, *CALENDAR]


def _build_happening_names(resources: WorkspaceResources) -> HappeningNames:
    """Build the workspace names that identify events."""
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
    """The name of a row, for a board named in the plural."""
    names = [one.name.casefold().strip() for one in resources.boards]
    singular = [one[:-1] for one in names if one.endswith("s") and " " not in one and len(one) > 3]
    return frozenset(form for one in singular for form in (one, f"{one}'s"))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Blank out spans, keeping all other positions."""
    signs = list(text)
    for start, end in spans:
        signs[start:end] = " " * (end - start)
    return "".join(signs)


def _without_time(text: str, time: ScheduleAnswer) -> str:
    """Blank out the time words, except meaningful words between them."""
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
            # A negated time is not an action.
            spans.append((start, end))
        else:
            spans += [
                (start + found.start(), start + found.end())
                for found in _WORD.finditer(text[start:end])
                if found[0].lower() not in _KEPT
            ]
    return _without(text, spans)
