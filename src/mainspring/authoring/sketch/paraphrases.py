"""Rewriting paraphrases before a request is split into clauses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from mainspring.authoring.sketch.request_tokens import Token
from mainspring.authoring.sketch.word_tables import LEADING, VERBS, split_words

_SEGMENT: Final = re.compile(r"[^,.;\n]+")
_PASSIVE: Final = re.compile(
    r"\s(?:is|are|gets?|should be|must be|shall be|will be|has to be|to be) (?:then |also )?"
    r"(?P<done>recorded|logged|added|saved|stored|entered|written|noted|tracked|registered|"
    r"appended|put|kept)(?= (?:on|to|in|into|onto)\b)",
    re.IGNORECASE,
)
_GOES: Final = re.compile(
    r"\s(?:goes|go|should go|must go|lands|belongs) (?P<where>on|onto|into|in) "
    r"(?=[^,.;\n]{1,80}\bboard\b)",
    re.IGNORECASE,
)
_EVERY: Final = re.compile(
    r"\b(?:every|each|all|any|it|they|result|summary|summaries|answer|new|incoming)\b",
    re.IGNORECASE,
)
_HAPPENING: Final = split_words(
    "when whenever if once after upon time soon unless until where row rows somebody someone"
)
_DONE: Final = {
    "written": "write",
    "put": "put",
    "kept": "keep",
    "saved": "save",
    "stored": "store",
    "noted": "note",
    "logged": "log",
}
_FIELDS: Final = re.compile(
    r"\((?:(?:with|columns?|fields?|:)\s){0,2}(?P<list>[^()\n]{3,300})\)"
    r"|\bwith (?:the )?(?:columns|fields):? (?P<said>[\w-]+(?:(?:, ?and |, ?| and )[\w-]+){1,12})",
    re.IGNORECASE,
)
_FIELD: Final = re.compile(r"[A-Za-z][\w -]{0,40}")
_OF_ROWS: Final = re.compile(
    r"\b(?:rows?|board|columns?|fields?|extract|log|record)\b", re.IGNORECASE
)
_JSON_START: Final = re.compile(r"[{\[]\s*[\"{\[\]}]")
_LONGEST_JSON: Final = 1_500


_ORDERS: Final = tuple(
    (re.compile(said, re.IGNORECASE), plainer)
    for said, plainer in (
        (r"\btext (me|us)\b", r"notify \1 by sms"),
        (r"\bkeep ([^.;\n]{1,80}?) in sync with\b", r"sync \1 with"),
        (
            r"\b(?:we|i) (?:want|need|would like)(?: to see)? an? (?:row|entry) (?:on|in)\b",
            ", add a row to",
        ),
        (r"(?:,| and|, and) an? (?:ping|message|post|heads-up) (?:in|to) (?=#)", ", post it to "),
    )
)


def make_plainer(text: str) -> str:
    """Rewrite descriptions of rows as instructions to write them."""
    for said, plainer in _ORDERS:
        text = said.sub(plainer, text)
    return _SEGMENT.sub(lambda found: _active(found[0]), text)


def _active(segment: str) -> str:
    found = _PASSIVE.search(segment)
    if found is not None and _is_order(segment[: found.start()]):
        done = found["done"].lower()
        verb = _DONE.get(done, done.removesuffix("ed"))
        return f"{segment[: found.start()]}, {verb} it{segment[found.end() :]}"
    goes = _GOES.search(segment)
    if goes is not None and not _HAPPENING & set(segment[: goes.start()].lower().split()):
        return f"{segment[: goes.start()]}, put it {goes['where']} {segment[goes.end() :]}"
    return segment


def _is_order(before: str) -> bool:
    words = set(before.lower().split())
    return bool(_EVERY.search(before)) and not words & _HAPPENING


def find_fields(text: str) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """Find field lists in brackets or after the word, with positions."""
    for found in _FIELDS.finditer(text):
        listed = found["list"] or found["said"]
        parts = [one.strip() for one in re.split(r",|\band\b|/", listed) if one.strip()]
        plain = all(_FIELD.fullmatch(one) and len(one.split()) <= 3 for one in parts)
        near = text[max(0, found.start() - 60) : found.start()] + text[found.end() :][:30]
        if len(parts) > 1 and plain and (found["said"] or _OF_ROWS.search(near)):
            named = (one.lower().replace(" ", "_").replace("-", "_") for one in parts)
            return tuple(dict.fromkeys(named))[:20], found.span()
    return (), None


def find_json(text: str) -> list[tuple[int, int]]:
    """Find inline JSON values."""
    made: list[tuple[int, int]] = []
    decoder = json.JSONDecoder()
    for found in _JSON_START.finditer(text):
        if (made and found.start() < made[-1][1]) or len(made) >= 5:
            continue
        try:
            _, end = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            continue
        if end - found.start() <= _LONGEST_JSON:
            made.append((found.start(), end))
    return made


def mend_verbs(tokens: Sequence[Token], names: Iterable[str]) -> list[Token]:
    """Correct verbs with one typo."""
    known = set(names)
    made: list[Token] = []
    for one in tokens:
        before = made[-1] if made else None
        first = before is None or before.kind == "mark" or before.low in LEADING
        meant = (
            _find_meaning(one.low)
            if first and one.kind == "word" and one.low not in known
            else None
        )
        made.append(one if meant is None else replace(one, low=meant))
    return made


@lru_cache(maxsize=2_000)
def _find_meaning(word: str) -> str | None:
    if len(word) < 5 or len(word) > 20 or word in VERBS or not word.isalpha():
        return None
    if word.removesuffix("s") in VERBS or word.removesuffix("d") in VERBS:
        return None
    found = {verb for near in (_shorter, _swap_letters) for verb in near(word) if verb in VERBS}
    found |= {verb for verb in VERBS if len(verb) == len(word) + 1 and word in _shorter(verb)}
    long = [one for one in found if len(one) >= 5]
    return long[0] if len(long) == 1 else None


def _shorter(word: str) -> set[str]:
    return {word[:at] + word[at + 1 :] for at in range(len(word))}


def _swap_letters(word: str) -> set[str]:
    return {word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(len(word) - 1)}
