"""What a request says is not to be done: no step of the plan, and told as left out.

Only what leaves the plan or is kept counts: how a text is to be written ("without adding
opinions") is said to the model as it stands.
"""

from __future__ import annotations

import re
from typing import Final

from mainspring.authoring.phrases.pieces import find_pieces
from mainspring.authoring.phrases.words import make_plain
from mainspring.authoring.sketch.verbs import VERBS

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
# Behind these another thing is asked for.
_TURN: Final = re.compile(r"\s(?:but|just|only|instead(?! of)|and (?P<verb>\w{1,20}))\b")
# Said of when or how often something is not to be done, not that it is never done.
_SOMETIMES: Final = re.compile(
    r"\b(?:if|when|whenever|while|unless|until|twice|again|once|more|before|after|same|empty|"
    r"duplicates?|already|too|otherwise|every|without (?:my|our|asking|approval))\b",
    re.IGNORECASE,
)
_MOST: Final = 10


def find_unwanted(text: str, quoted: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Where a request says what is not to be done; not in quotations."""
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
    """Where the words end that are not to be done."""
    for turn in _TURN.finditer(text, found.start() + 1, found.end()):
        own = turn["verb"]
        if own is None or own.lower() in VERBS:
            begun = text[found.start() : turn.start()].strip(" ,;").lower()
            if begun not in {"", "but", "please", "and"}:
                return turn.start()
    return found.end()
