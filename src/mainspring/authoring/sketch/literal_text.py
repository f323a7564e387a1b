"""Literal text: a quotation, a reminder, a greeting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.request_tokens import join_tokens
from mainspring.authoring.sketch.word_tables import (
    KEEP,
    MAIL,
    SAY,
    TELL,
    split_words,
)

_SAYINGS: Final = frozenset(
    {"good", "hello", "hi", "happy", "welcome", "thanks", "congratulations", "hey", "merry", "nice"}
)
_OBJECT_STARTS: Final = frozenset({"to", "that", "about", "of", "with", "a", "an", "the", "know"})


def _is_saying(words: Sequence[str]) -> bool:
    """Report whether words are themselves the message: good night."""
    return 0 < len(words) <= 5 and words[0].lower() in _SAYINGS


def _extract_text(intent: Intent) -> str:
    """Return the words after "saying", or after "that" when only a target precedes it."""
    clause = intent.clause
    if clause.verb not in SAY | TELL | MAIL | KEEP:
        return ""
    left_out = intent.used
    kept = [one for one in clause.tokens if one not in left_out]
    for place, one in enumerate(kept[1:], 1):
        hollow = all(two.low in _HOLLOW for two in kept[1:place])
        if one.low in {"saying", "reading", "titled", "stating"} or (one.low == "that" and hollow):
            behind = kept[place + 1 :]
            while behind and behind[0].kind == "mark":
                behind = behind[1:]
            return (
                join_tokens(behind, clause.source) if len(behind) > 1 or one.low != "that" else ""
            )
    return ""


_HOLLOW: Final = split_words(
    "a an the us me everyone everybody team short message note mail email e-mail notification "
    "reminder all people folks know , to in on channel word"
)


def literal_text(intent: Intent) -> str:
    """Return a text that is literal in any case: a quotation, or a command."""
    clause = intent.clause
    if not intent.thinks and _extract_text(intent):
        return find_literal_text(intent)
    if clause.quote() or (clause.verb in SAY and _is_saying(intent.subject.split())):
        return find_literal_text(intent)
    if clause.verb not in TELL or intent.thinks:
        return ""
    left_out = intent.used
    kept = {one.low for one in clause.tokens[1:] if one not in left_out}
    told = clause.verb in {"remind", "nudge"} or bool(kept & {"to", "that"})
    return find_literal_text(intent) if told else ""


def find_literal_text(intent: Intent) -> str:
    """Find literal text: a quotation, or the content of a reminder."""
    clause = intent.clause
    text = clause.quote()
    if text:
        return text
    if intent.thinks:
        return ""
    if told := _extract_text(intent):
        return told
    if clause.verb in SAY:
        words = intent.subject.split()
        return intent.subject if _is_saying(words) else ""
    if clause.verb not in TELL:
        return ""
    left_out = intent.used
    kept = [one for one in clause.tokens[1:] if one not in left_out]
    for place, one in enumerate(kept):
        if one.low in {"it", "it's", "its", "is", "are"}:
            break
        if one.low in {"to", "that", "about", "of"}:
            return join_tokens(kept[place + 1 :], clause.source)
    words = intent.subject.split()
    while words and words[0].lower() in _OBJECT_STARTS:
        words = words[1:]
    return " ".join(words)
