"""Name and goal of a new automation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mainspring.authoring.sketch.request_tokens import Clause, join_tokens
from mainspring.authoring.sketch.texts import loose, sentence, shorten_text
from mainspring.authoring.sketch.word_tables import PRONOUNS, STOP, WAIT

_LONGEST: Final = 60
_SMALL: Final = frozenset({"notify", "tell", "alert", "mail", "email", "let"})
_IT: Final = frozenset({"it", "them", "this", "these", "those"})
_HOLLOW: Final = frozenset({"with", "for", "of", "about", "by", "as"})
_FALLBACK: Final = "New automation"


def name_of(clauses: Sequence[Clause], happening: str, used: Iterable[str]) -> str:
    """Build a short name from the first self-contained clause."""
    for clause in clauses:
        told = [
            one
            for one in clause.tokens
            if one.kind in ("word", "quote", "url", "host", "name")
            and one.low not in STOP | PRONOUNS
        ]
        if clause.tokens[0].low in _HOLLOW:
            continue
        if len(told) > 1 and clause.verb not in WAIT | _SMALL and not _points_back(clause):
            return _free(_short(_extract_subject(clause)), used)
    if clauses and not happening and clauses[0].tokens[0].low in _HOLLOW:
        return _free("", used)
    if clauses:
        first = clauses[0].text()
        return _free(_short(f"{first} {happening}" if happening else first), used)
    return _free(_short(happening), used)


def _points_back(clause: Clause) -> bool:
    """Report whether a clause refers back: log it."""
    return any(one.low in _IT for one in clause.tokens[1:2]) and clause.verb != "remind"


def _extract_subject(clause: Clause) -> str:
    """Return what a clause is about, such as the content of a reminder."""
    tokens = clause.tokens
    if clause.verb in {"remind", "nudge"}:
        for place, one in enumerate(tokens[1:5], 1):
            if one.low in {"to", "that", "about", "of"} and len(tokens) > place + 1:
                behind = join_tokens(tokens[place + 1 :], clause.source)
                return behind if one.low == "to" else f"Reminder of {behind}"
    return clause.text()


def _short(text: str) -> str:
    words = loose(shorten_text(text, _LONGEST)).strip("\"“”' …").replace(" ,", ",").split()
    while len(words) > 2 and words[-1].lower().strip(",") in STOP:
        words.pop()
    made = " ".join(words).strip(" ,")
    return made[:1].upper() + made[1:]


def _free(name: str, used: Iterable[str]) -> str:
    there = {one.casefold() for one in used}
    made, number = name or _FALLBACK, 1
    while made.casefold() in there:
        number += 1
        made = f"{name or _FALLBACK} {number}"
    return made


def goal_of(text: str) -> str:
    """Return the request as one sentence."""
    return loose(sentence(shorten_text(text, 400))) or "What this is for is not said yet."
