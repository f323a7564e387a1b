"""Words that say that something goes by mail, and to whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.reading import Clause, Token
from mainspring.authoring.sketch.verbs import MAIL, SAY, split_words

BY: Final = frozenset({"by", "via", "through", "per", "as"})
# Verbs that are done to somebody else.
TOWARDS: Final = split_words(
    "thank greet welcome congratulate invite answer reply respond apologise apologize wish"
)
# What is answered is a message, and not a person.
_ANSWERING: Final = frozenset({"answer", "reply", "respond"})
# Words before an address that say whose or what something is, and not for whom.
_OF: Final = split_words(
    "from by of about mentioning mentions mention containing contains contain is isn't are was "
    "regarding concerning not sender author except without"
)
_LISTING: Final = frozenset({",", "and", "or", "&", "/", "either", "both"})
_MAILED: Final = frozenset({"email", "e-mail", "mail", "emails"})


def find_mail_words(clause: Clause) -> list[Token]:
    """Words that say that it goes by mail: by email, an email to."""
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
    """The addresses of a clause that something goes to; not those of a sender or a condition."""
    return [one for one in clause.of("mail") if not _is_source(clause, one)]


def _is_source(clause: Clause, address: Token) -> bool:
    for one in reversed(clause.tokens[: clause.tokens.index(address)]):
        if one.kind != "mail" and one.low not in _LISTING:
            return one.low in _OF
    return False


def person_of(clause: Clause) -> tuple[Token, ...]:
    """Who a mail is for: the words behind to, or behind the verb."""
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
