"""Conditions on an event: a filter, a row test, or a model's judgement.

What none of these can express is reported, so that nobody expects the automation to check it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mainspring.authoring.resources import BoardSummary
from mainspring.authoring.sketch.lookup import columns_of, find_board, names_pages
from mainspring.authoring.sketch.request_tokens import Token, join_tokens
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import quote_request
from mainspring.authoring.sketch.trigger_events import ADDED, CHANGED, COMES, DELETED, TriggerEvent
from mainspring.authoring.sketch.word_tables import STOP, split_words

_MORE: Final = r"over|above|more than|greater than|higher than|larger than|bigger than|exceeds|>"
_LESS: Final = r"under|below|less than|lower than|smaller than|<"
_NUMBER: Final = re.compile(
    rf"\s{{0,2}}(?:is |are |was |of |goes |drops )?(?:(?P<more>{_MORE})|(?P<less>{_LESS})|"
    r"(?P<least>at least|>=)|(?P<most>at most|<=))\s{0,2}[$€£]?(?P<number>\d{1,9}(?:\.\d{1,4})?)"
    r"(?P<thousands>k\b)?",
    re.IGNORECASE,
)
_VALUE: Final = re.compile(
    r"\s{0,2}(?:is |= |=|: |:|of |becomes |became |changes to |changed to |is set to |set to |to )?"
    r"(?P<not>not )?(?:\"(?P<quote>[^\"\n]{1,100})\"|“(?P<curly>[^”\n]{1,100})”|"
    r"'(?P<plain>[^'\n]{1,100})'|(?P<word>[\w-]{1,60}))",
    re.IGNORECASE,
)
_TITLE: Final = re.compile(
    r"\b(?:(?:with|whose|where|has|having) (?:the |its |a )?(?:title|subject)(?: line)? "
    r"(?:contains |containing |has |includes |mentions |says |is |with )?|"
    r"(?:titled|called|named) |with (?P<before>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|[\w-]{1,60}) in "
    r"(?:the |its )?(?:title|subject)(?: line)?)"
    r"(?P<after>\"[^\"\n]{1,100}\"|“[^”\n]{1,100}”|'[^'\n]{1,100}'|[\w-]{1,60})?",
    re.IGNORECASE,
)
_OPERATORS: Final = {
    "more": (">", "gt"),
    "less": ("<", "lt"),
    "least": (">=", "gte"),
    "most": ("<=", "lte"),
}
_FILLING: Final = split_words(
    "somebody someone anybody anyone people board boards row rows page gets got being been just "
    "something anything come came goes put turns another soon entry entries record records us "
    "through via there's there happens occurs published fires fired raised emitted told sent event "
    "events type called shows posted becomes instead"
)
_JUDGED: Final = split_words(
    "angry unhappy happy urgent important critical negative positive rude upset furious relevant "
    "interesting suspicious spam spammy sensitive confidential offensive frustrated annoyed "
    "serious weird strange unusual legal personal abusive impolite"
)
_RELATING: Final = split_words(
    "that which from about with whose who where for by mentioning mentions containing contains "
    "regarding concerning asking saying sounds looks seems describing of"
)
# Sizes cannot be read from any field.
_UNSEEN: Final = split_words(
    "larger bigger smaller size mb kb gb megabytes kilobytes heavier longer"
)
_ONLY_TOLD: Final = split_words("a an the in is are new each every any it and or then there so")


def narrow_page(bench: SketchBuilder, happening: TriggerEvent, config: dict[str, Any]) -> None:
    """Filter by title; further conditions are judged by the model or reported."""
    text = happening.text
    found = _TITLE.search(text)
    if found is not None and (wanted := _bare(found["before"] or found["after"] or "")):
        config["filters"] = {"title": {"regex": f"(?i){re.escape(wanted)}"}}
        bench.note(f"Only what has {quote_request(wanted)} in its title starts it.")
        text = text[: found.start()] + text[found.end() :]
        return
    known = {one.low for one in happening.tokens if names_pages(one.low, bench.resources)}
    known |= {str(config.get("page_type", "")), f"{config.get('page_type', '')}s"}
    _judge_or_tell(bench, happening, known, "page that is added")


def narrow_rows(bench: SketchBuilder, happening: TriggerEvent, board: BoardSummary | None) -> None:
    """Test the row's columns where named; otherwise judge or report."""
    found = find_board(happening.tokens, bench.resources, bare=True)
    known = {one.low for one in found.tokens} if found is not None else set()
    known |= {part for one in known for part in one.split()}
    known |= _row_name(happening.tokens, known)
    if board is not None and found is not None:
        test = _column_test(happening.text, columns_of(found.dataset))
        if test is not None:
            bench.row_test = test
            if happening.words & CHANGED:
                bench.note("It also acts when another field of such a row changes.")
            return
    if board is None and not happening.words & (_JUDGED | _RELATING):
        # The remaining words name the board, which is asked for.
        return
    _judge_or_tell(bench, happening, known, "change of the board")


def _row_name(tokens: Sequence[Token], board: set[str]) -> set[str]:
    """The name of a row: the deal, in "a deal on the Pipeline board"."""
    first = next((place for place, one in enumerate(tokens) if one.low in board), 0)
    at = first
    while at and tokens[at - 1].low in STOP:
        at -= 1
    if at == first or at < 2 or tokens[at - 1].kind != "word" or tokens[at - 2].low not in STOP:
        return set()
    name = tokens[at - 1].low
    return set() if name in _JUDGED or name.endswith("ed") else {name}


def narrow_event(bench: SketchBuilder, happening: TriggerEvent, config: dict[str, Any]) -> None:
    """Filter by a number or value of a named field."""
    parts = {stem(one) for one in re.split(r"[._]", str(config.get("event_type", "")))}
    known = {one.low for one in happening.tokens if stem(one.low) in parts or "." in one.low}
    for place, one in enumerate(happening.tokens):
        if one.kind != "word" or one.low in STOP | known | _FILLING:
            continue
        behind = join_tokens(happening.tokens[place + 1 :], "")
        number = _NUMBER.match(f" {behind}")
        if number is not None and "filters" not in config:
            config["filters"] = {one.text: {_operator(number)[1]: _size(number)}}
            bench.note(
                f"Only events whose field {quote_request(one.text)} is {number[0].strip()} start it; "  # noqa: E501
                "their sender must call it so."
            )
            return
    _judge_or_tell(bench, happening, known, "such event", judged=False)


def narrow_call(bench: SketchBuilder, happening: TriggerEvent) -> None:
    """Judge a webhook's content when the request asks for a judgement."""
    if bench.judges and happening.words & _JUDGED:
        bench.narrowed.append(happening.text)


def tell_unjudged(bench: SketchBuilder, conditions: Iterable[str]) -> None:
    """Report conditions that nothing in the definition checks."""
    for one in conditions:
        bench.lose(
            one,
            f"It is not checked whether {quote_request(one)}: nothing here was found to do that.",
        )


def _judge_or_tell(
    bench: SketchBuilder,
    happening: TriggerEvent,
    known: set[str],
    what: str,
    *,
    judged: bool = True,
) -> None:
    said, first = _split_remaining_words(happening.tokens, known)
    if not said:
        return
    words = {one.low for one in said}
    phrase = join_tokens(said, "")
    asks = bool(words & _JUDGED) or first in _RELATING
    if judged and bench.judges and asks and not words & _UNSEEN:
        bench.narrowed.append(happening.text)
        bench.note(
            f"Every {what} starts a run; the model judges whether {quote_request(phrase)} holds."
        )
        return
    bench.lose(
        phrase,
        f"Every {what} starts it; that only {quote_request(phrase)} counts was not understood.",
    )


def _split_remaining_words(
    tokens: Sequence[Token], known: set[str]
) -> tuple[tuple[Token, ...], str]:
    """Return the words beyond the event itself, and the word that introduces them."""
    usual = COMES | ADDED | CHANGED | DELETED | _FILLING | STOP | known
    places = [
        place
        for place, one in enumerate(tokens)
        if one.kind in ("word", "number", "quote", "mail", "host", "url", "name", "channel")
        and one.low not in usual
        and stem(one.low) not in {stem(word) for word in known}
    ]
    if not places:
        return (), ""
    start = places[0]
    while start and tokens[start - 1].low in STOP | _RELATING - _ONLY_TOLD:
        if tokens[start - 1].low in _ONLY_TOLD:
            break
        start -= 1
    return tuple(tokens[start : places[-1] + 1]), tokens[start].low


def _column_test(text: str, columns: Sequence[str]) -> str | None:
    """Build an expression about ``row`` for the first column with a value."""
    for column in sorted(columns, key=lambda one: (-len(one), one)):
        if not re.fullmatch(r"[\w -]{2,100}", column):
            continue
        name = re.compile(rf"\b{re.escape(column).replace('_', '[ _]')}\b", re.IGNORECASE)
        for place in name.finditer(text):
            behind = text[place.end() :]
            number = _NUMBER.match(behind)
            if number is not None:
                cell = f"row['{column}']"
                return f"{cell} is number and {cell} {_operator(number)[0]} {_size(number)}"
            value = _VALUE.match(behind)
            wanted = _parse_value(value) if value is not None else ""
            if wanted and value is not None:
                sign = "!=" if value["not"] else "=="
                return f"(row['{column}'] | tojson | replace('\"', '') | lower) {sign} '{wanted}'"
    return None


def _parse_value(value: re.Match[str]) -> str:
    """Parse a value for comparison; empty when the words are not a value."""
    quote = value["quote"] or value["curly"] or value["plain"]
    word = value["word"] or ""
    if quote is None and word.lower() in STOP | COMES | ADDED | CHANGED | DELETED | {"not"}:
        return ""
    plain = (quote or word).strip().lower()
    return plain if plain and not set(plain) & set("'\\{}%\"#") else ""


def _operator(found: re.Match[str]) -> tuple[str, str]:
    return next(signs for name, signs in _OPERATORS.items() if found[name])


def _size(found: re.Match[str]) -> int | float:
    size = float(found["number"]) * (1_000 if found["thousands"] else 1)
    return int(size) if size.is_integer() else size


def _bare(text: str) -> str:
    plain = text.strip("\"“”' ")
    return "" if plain.lower() in STOP or "{" in plain else plain
