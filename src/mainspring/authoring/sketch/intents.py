"""Intents: the targets, model tasks and reads of each clause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from mainspring.authoring.sketch.lookup import BoardMatch, automations, find_board
from mainspring.authoring.sketch.request_tokens import Clause, Token, address_of, join_tokens
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.trigger_events import EVENT_TYPE
from mainspring.authoring.sketch.word_tables import (
    BULLETS,
    CALL,
    FILE_TARGETS,
    KEEP,
    MAIL,
    PAGE_TARGETS,
    PRONOUNS,
    PUBLISH,
    READ,
    RUN,
    SAY,
    STOP,
    TELL,
    THINK,
    THINK_NOUNS,
    WAIT,
    split_words,
)

# Words that indicate mail, and its recipient.

BY: Final = frozenset({"by", "via", "through", "per", "as"})
# Verbs directed at another person.
TOWARDS: Final = split_words(
    "thank greet welcome congratulate invite answer reply respond apologise apologize wish"
)
# Replies concern a message, not a person.
_ANSWERING: Final = frozenset({"answer", "reply", "respond"})
# Words before an address that denote possession or origin, not a recipient.
_OF: Final = split_words(
    "from by of about mentioning mentions mention containing contains contain is isn't are was "
    "regarding concerning not sender author except without"
)
_LISTING: Final = frozenset({",", "and", "or", "&", "/", "either", "both"})
_MAILED: Final = frozenset({"email", "e-mail", "mail", "emails"})


def find_mail_words(clause: Clause) -> list[Token]:
    """Find words that indicate mail: by email, an email to."""
    made: list[Token] = []
    for place, one in enumerate(clause.tokens):
        if one.low not in _MAILED or (place == 0 and clause.verb in MAIL):
            continue
        before = clause.tokens[place - 1].low if place else ""
        behind = clause.tokens[place + 1].low if place + 1 < len(clause.tokens) else ""
        if (
            before in BY | {"an", "a"} and (before in BY or behind in {"to", "with", "", "about"})
        ) or (before == "an" and clause.verb in SAY):
            made += [clause.tokens[place - 1], one]
    return made


def recipients(clause: Clause) -> list[Token]:
    """Return the recipient addresses of a clause; not those of a sender or a condition."""
    return [one for one in clause.of("mail") if not _is_source(clause, one)]


def _is_source(clause: Clause, address: Token) -> bool:
    for one in reversed(clause.tokens[: clause.tokens.index(address)]):
        if one.kind != "mail" and one.low not in _LISTING:
            return one.low in _OF
    return False


def person_of(clause: Clause) -> tuple[Token, ...]:
    """Return the mail's recipient: the words after "to", or after the verb."""
    tokens = clause.tokens
    for place, one in enumerate(tokens):
        if one.low == "to" and place + 1 < len(tokens):
            return _name(tokens[place + 1 :])
    named = MAIL | TOWARDS - _ANSWERING
    return _name(tokens[1:]) if clause.verb in named else ()


def _name(tokens: Sequence[Token]) -> tuple[Token, ...]:
    made: list[Token] = []
    for one in tokens[:4]:
        if one.kind != "word" or one.low in {"about", "with", "when", "that", "by", "via", "it"}:
            break
        if made and one.low in {"a", "an", "the", "and"}:
            break
        made.append(one)
        if one.text[:1].isupper() or one.low in {"team", "everyone", "everybody", "support"}:
            break
    return tuple(made)


Where = Literal[
    "slack",
    "telegram",
    "mail",
    "owner",
    "inbox",
    "board",
    "rows",
    "page",
    "file",
    "event",
    "call",
    "callback",
    "automation",
    "wait",
    "tool",
]
_ME: Final = frozenset({"me", "us", "myself", "ourselves", "i"})
_INTO: Final = frozenset(
    {"to", "in", "into", "on", "onto", "at", "as", "by", "via", "over", "through"}
)
_LEADS_TO: Final = _INTO | {"the", "our", "my", "a", "an", "new", "from"}
_ARTICLES: Final = frozenset({"the", "our", "my", "a", "an", "your", "their", "new"})
_FILE_NAME: Final = re.compile(r"[\w-]{1,80}\.(?:csv|md|txt|json|html)", re.IGNORECASE)
_THOUGHT: Final = THINK_NOUNS | BULLETS | {"most", "best", "top", "sentence", "paragraph", "worst"}
_ASKING: Final = frozenset({"how", "which", "whether", "why", "who", "what", "what's", "whats"})
_APPENDING: Final = split_words(
    "add append log record insert put enter register track write save store note collect "
    "create keep file fill copy"
)
_UPDATING: Final = frozenset({"update", "change", "mark", "set", "fill"})
# Looking for something in something needs understanding.
_LOOKING: Final = frozenset({"check", "review", "scan", "watch", "monitor", "read"})
_MOST_TARGETS: Final = 5
# Marks a target that applies to each of several items.
EACH: Final = "each"
_REACHING: Final = split_words("tell notify remind alert warn ping inform nudge")
_GROUPS: Final = split_words("team everyone everybody staff colleagues folks group crew")
_PEOPLE: Final = split_words(
    "boss manager customer customers client clients colleague assistant accountant owner ceo "
    "support sales users members subscribers partner wife husband"
)


@dataclass(frozen=True, slots=True)
class IntentTarget:
    """A target of a clause."""

    where: Where
    value: str = ""
    values: tuple[str, ...] = ()
    board: BoardMatch | None = None
    tokens: tuple[Token, ...] = ()


@dataclass(slots=True)
class Intent:
    """A clause and what it asks for."""

    clause: Clause
    targets: list[IntentTarget] = field(default_factory=list)
    thinks: bool = False
    reads: bool = False

    @property
    def used(self) -> set[Token]:
        """The tokens that name the target rather than the content."""
        made: set[Token] = set()
        tokens = self.clause.tokens
        for target in self.targets:
            made |= set(target.tokens)
        for place in range(len(tokens) - 1, -1, -1):
            if tokens[place] not in made:
                continue
            at = place - 1
            while at >= 0 and tokens[at].low in _LEADS_TO and tokens[at] not in made:
                made.add(tokens[at])
                at -= 1
        return made

    @property
    def subject(self) -> str:
        """What is sent or stored, in the request's words."""
        skipped = self.used
        kept = [one for one in self.clause.tokens if one not in skipped]
        verbs = [place for place, one in enumerate(kept) if one.low == self.clause.verb]
        if verbs and [one.low for one in kept[:2]] in (["for", "each"], ["for", "every"]):
            kept = kept[verbs[0] :]
        if kept and kept[0].low == self.clause.verb:
            kept = kept[1:]
        while kept and (kept[0].low in _ME or kept[0].low in {"know", "everyone", "everybody"}):
            kept = kept[1:]
        while kept and kept[-1].low in _INTO | {"and", "channel", "slack", "telegram", "the"}:
            kept = kept[:-1]
        told = [one for one in kept if one.low not in STOP | PRONOUNS and one.kind != "mark"]
        return join_tokens(kept, self.clause.source) if told else ""


def read_intent(clause: Clause, bench: SketchBuilder) -> Intent:
    """Derive a clause's intent, as far as the rules know it."""
    intent = Intent(clause, _targets(clause, bench)[:_MOST_TARGETS])
    words = set(clause.words)
    named = {one for one in words if one in _THOUGHT or one.removesuffix("s") in _THOUGHT}
    if any(one.where == "page" for one in intent.targets):
        named |= words & {"about", "with", "containing"}
    intent.thinks = clause.verb in THINK or bool(named)
    if clause.verb in TELL | SAY | MAIL and words & _ASKING and not clause.quote():
        intent.thinks = True
    if not clause.verb and _ASKING.intersection(clause.words[:3]):
        intent.thinks = True
    told = clause.verb in TELL and "that" in clause.words[1:4]
    if clause.verb in {"remind", "nudge"} or told or _passes_answer(clause, named):
        intent.thinks = False
    if clause.verb in _LOOKING and "for" in clause.words[1:-1]:
        intent.thinks = True
    intent.reads = clause.verb in READ
    if clause.verb in READ and not intent.targets and words & _ME and words & named:
        intent.targets.append(IntentTarget("inbox"))
    return intent


def _passes_answer(clause: Clause, named: set[str]) -> bool:
    """Report whether an external answer is only passed on."""
    if named != {"answer"} or clause.verb in THINK:
        return False
    place = clause.words.index("answer")
    return place > 0 and clause.words[place - 1] in {"the", "its", "their", "raw", "whole", "full"}


def _targets(clause: Clause, bench: SketchBuilder) -> list[IntentTarget]:
    words, verb = set(clause.words), clause.verb
    if verb in WAIT:
        return [IntentTarget("wait")]
    found = [*_slack(clause, words), *_chat(clause), *_mail(clause, words)]
    found += _calls(clause) if verb in CALL and verb not in READ else []
    board = _board(clause, bench) if verb in KEEP | SAY | THINK or not verb else None
    if board is not None:
        where: Where = "rows" if verb in _UPDATING and "row" not in words else "board"
        found.append(IntentTarget(where, board=board, tokens=board.tokens))
    elif not found:
        found += _find_storage_targets(clause, words)
    named = {one.low for one in clause.of("name")} & automations(bench.resources)
    if not found and verb in RUN and ("automation" in words or named):
        found.append(IntentTarget("automation"))
    return found or _plain(clause, words)


def _slack(clause: Clause, words: set[str]) -> list[IntentTarget]:
    channels = clause.of("channel")
    tokens = tuple(one for one in clause.tokens if one.low in {"slack", "channel"})
    if channels:
        return [IntentTarget("slack", one.text, tokens=(one, *tokens)) for one in channels]
    if clause.verb in READ | THINK or not words & {"slack", "channel"}:
        return []
    for place, one in enumerate(clause.tokens[1:], 1):
        before = clause.tokens[place - 1]
        if one.low == "channel" and before.kind == "word" and before.low not in STOP | {"slack"}:
            return [IntentTarget("slack", f"#{before.low}", tokens=(before, *tokens))]
    return [IntentTarget("slack", tokens=tokens)]


def _chat(clause: Clause) -> list[IntentTarget]:
    tokens = tuple(one for one in clause.tokens if one.low == "telegram")
    return [IntentTarget("telegram", tokens=tokens)] if tokens else []


def _mail(clause: Clause, words: set[str]) -> list[IntentTarget]:
    addresses = recipients(clause)
    if addresses and clause.verb not in READ:
        tokens = (*addresses, *find_mail_words(clause))
        return [IntentTarget("mail", values=tuple(one.text for one in addresses), tokens=tokens)]
    tokens = tuple(find_mail_words(clause))
    if clause.verb not in MAIL and not tokens:
        return []
    by_mail = {one.low for one in tokens} & BY
    if clause.verb in READ | THINK and not by_mail:
        return []
    towards = clause.verb in TOWARDS
    to_me = words & _ME or (clause.verb in READ | THINK and not towards)
    if to_me and not words & {"everyone", "everybody", "team", "customer"}:
        return [IntentTarget("owner", tokens=tokens)]
    who = person_of(clause)
    return [IntentTarget("mail", join_tokens(who, ""), tokens=(*tokens, *who))]


def _calls(clause: Clause) -> list[IntentTarget]:
    made: list[IntentTarget] = []
    for one in (*clause.of("url"), *clause.of("host")):
        url = address_of(one)
        where: Where = "callback" if clause.verb in SAY | {"put", "notify"} else "call"
        body = [two for two in clause.of("name") if two.text[:1] in ("{", "[")]
        if body:
            # The body was written out.
            made.append(IntentTarget("call", url, (body[0].text,), tokens=(one, body[0])))
            continue
        made.append(IntentTarget(where, url, tokens=(one,)))
    api = [one for one in clause.tokens if one.low in {"api", "endpoint"}]
    if not made and api and clause.verb in SAY | {"put"} and _is_aimed_at(clause, api[0]):
        made.append(IntentTarget("callback", tokens=(api[0],)))
    return made


def _is_aimed_at(clause: Clause, thing: Token) -> bool:
    place = clause.tokens.index(thing)
    return bool({one.low for one in clause.tokens[max(0, place - 3) : place]} & {"to", "into"})


def _board(clause: Clause, bench: SketchBuilder) -> BoardMatch | None:
    """A board that is written; "of" and "from" mean it is read."""
    bare = clause.verb in _APPENDING | _UPDATING
    found = find_board(clause.tokens, bench.resources, bare=bare)
    if found is None or not found.tokens:
        return found
    place = clause.tokens.index(found.tokens[0])
    before = [one.low for one in clause.tokens[:place] if one.low not in _ARTICLES]
    last = before[-1] if before else ""
    if last in {"of", "from", "about", "with"}:
        return None
    if not clause.verb or clause.verb in THINK:
        return found if last in {"to", "into", "onto"} else None
    return found if last in _INTO or clause.verb in _UPDATING else None


def _find_storage_targets(clause: Clause, words: set[str]) -> list[IntentTarget]:
    """Pages, files and events."""
    dotted = [one for one in clause.of("word") if EVENT_TYPE.fullmatch(one.low)]
    if clause.verb in PUBLISH and ("event" in words or dotted):
        tokens = tuple(one for one in clause.tokens if one.low == "event" or one in dotted)
        return [IntentTarget("event", dotted[0].low if dotted else "", tokens=tokens)]
    named = [one for one in clause.tokens if _FILE_NAME.fullmatch(one.content)]
    if clause.verb in KEEP | SAY and named:
        return [IntentTarget("file", named[0].content, tokens=(named[0],))]
    kept = clause.verb in KEEP | THINK | {"publish"}
    filed = [one for one in clause.tokens if one.low in FILE_TARGETS and one.low != clause.verb]
    if kept and clause.verb not in THINK and filed and _is_output(clause, filed[0]):
        return [IntentTarget("file", "", values=(filed[0].low,), tokens=tuple(filed))]
    paged = [one for one in clause.tokens if one.low in PAGE_TARGETS and one.low != clause.verb]
    several = _several_pages(clause) if kept else None
    if several is not None:
        return [IntentTarget("page", several.low.removesuffix("s"), (EACH,), tokens=(several,))]
    if kept and paged and _is_output(clause, paged[0]):
        return [IntentTarget("page", paged[0].low, tokens=(paged[0],))]
    if clause.verb in {"write", "save", "create", "store", "publish"} and "report" in words:
        return [IntentTarget("page", "report")]
    return []


def _several_pages(clause: Clause) -> Token | None:
    """Several pages, each written separately: as pages."""
    for place, one in enumerate(clause.tokens[1:], 1):
        before = clause.tokens[place - 1].low
        before = clause.tokens[place - 2].low if before in {"new", "separate"} else before
        plural = one.low.removesuffix("s") in PAGE_TARGETS and one.low.endswith("s")
        if plural and before in {"as", "into"}:
            return one
    return None


def _is_output(clause: Clause, thing: Token) -> bool:
    """Report whether a thing is an output: a page, as a file, to the wiki."""
    place = clause.tokens.index(thing)
    near = {one.low for one in clause.tokens[max(0, place - 3) : place]}
    if clause.verb in THINK:
        return bool(near & {"as", "into", "to"})
    return bool(near & {"a", "an", "as", "into", "new", "in", "to"}) and not near & {"from", "of"}


def _others(clause: Clause) -> list[IntentTarget]:
    """Another person to notify: ask for a channel or address."""
    if clause.verb not in _REACHING:
        return []
    who = [one for one in clause.tokens[1:4] if one.kind == "word"]
    named = [one for one in who if one.low not in _ARTICLES | {"all", "whole", "entire"}][:1]
    if not named or (_ME | {"owner"}) & {one.low for one in who[:1]}:
        return []
    tokens = tuple(who[: who.index(named[0]) + 1])
    if named[0].low in _GROUPS:
        return [IntentTarget("slack", tokens=tokens)]
    if named[0].low in _PEOPLE:
        return [IntentTarget("mail", join_tokens(tokens, ""), tokens=tokens)]
    return []


def _plain(clause: Clause, words: set[str]) -> list[IntentTarget]:
    """The default target."""
    verb = clause.verb
    if words & {"inbox", "notification"} and verb in TELL | SAY | KEEP:
        tokens = tuple(one for one in clause.tokens if one.low in {"inbox", "notification"})
        return [IntentTarget("inbox", tokens=tokens)]
    if verb in {"let", "give", "show", "keep", "report"} and not words & _ME:
        return []
    if verb in TELL:
        return _others(clause) or [IntentTarget("inbox")]
    if verb in SAY - {"write", "publish", "push"}:
        if words & _ME:
            return [IntentTarget("inbox", "assumed")]
        return [IntentTarget("slack" if verb in {"post", "share", "announce", "drop"} else "mail")]
    return []
