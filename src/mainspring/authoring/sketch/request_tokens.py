"""Splitting a request into tokens and clauses, with positions.

Tokens are matched from left to right by patterns with bounded backtracking, so parsing is linear in
the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mainspring.authoring.sketch.word_tables import AMBIGUOUS, BEFORE_NOUN, LEADING, MAIL, VERBS
from mainspring.definition.hosts import parse_template_host

Kind = Literal["quote", "url", "mail", "channel", "host", "word", "number", "name", "mark"]

_TOKEN: Final = re.compile(
    r"(?P<name>‹[^‹›\n]{1,1500}›)"
    r"|(?P<quote>\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|(?<!\w)'[^'\n]{1,600}'(?!\w))"
    r"|(?P<url>https?://[^\s<>\"'{}|\\^`]{1,2000})"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})"
    r"|(?P<channel>\#[\w][\w-]{0,79})"
    r"|(?P<host>(?:[a-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|example|de|co|uk|eu|app|ai)\b"
    r"(?:/[^\s<>\"'{}|\\^`,;]{0,500})?)"
    r"|(?P<number>\d[\d.,]{0,20})"
    r"|(?P<word>[^\W\d][\w'’-]{0,80}(?:\.[a-z_]\w{0,60}){0,4})"
    r"|(?P<mark>\n|[^\s\w])",
    re.IGNORECASE,
)
_HARD: Final = frozenset(".;!?:\n")
_MARKS: Final = re.compile(r"\s*([,:;])(?:\s{0,4}[,:;])*")
_OBJECTS: Final = frozenset(
    {"me", "us", "it", "them", "the", "a", "an", "everyone", "all", "this", "its", "their"}
)
# Attributive nouns that are also things by themselves.
_THINGS: Final = frozenset({"customer", "support", "sales", "incident"})
_JOINING: Final = frozenset({",", "and", "then", "&", "also", "plus", "please", "-", "–", ":"})


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    low: str
    start: int
    end: int

    @property
    def content(self) -> str:
        """A quotation's content, or the token's text."""
        return self.text[1:-1].strip() if self.kind == "quote" else self.text


@dataclass(frozen=True, slots=True)
class Clause:
    """One instruction: its verb, its tokens, and the request."""

    tokens: tuple[Token, ...]
    source: str
    verb: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(one.low for one in self.tokens)

    def has(self, words: Iterable[str]) -> bool:
        return not set(words).isdisjoint(self.words)

    def of(self, kind: Kind) -> list[Token]:
        return [one for one in self.tokens if one.kind == kind]

    def quote(self) -> str | None:
        return next((one.content for one in self.of("quote")), None)

    def text(self, without: Iterable[Token] = ()) -> str:
        """Return the clause's text without some tokens."""
        left_out = set(without)
        kept = [one for one in self.tokens if one not in left_out]
        return join_tokens(kept, self.source)

    def after(self, *text: str) -> tuple[Token, ...]:
        """Return what follows the first of some words."""
        for place, one in enumerate(self.tokens):
            if one.low in text:
                return self.tokens[place + 1 :]
        return ()


def join_tokens(tokens: Sequence[Token], source: str) -> str:
    """Join tokens with their original spacing."""
    parts: list[str] = []
    for place, one in enumerate(tokens):
        if place and tokens[place - 1].end != one.start:
            parts.append(" ")
        parts.append(one.text)
    del source
    return _MARKS.sub(r"\1", "".join(parts)).strip(" ,;:&-–")


def address_of(one: Token) -> str:
    """Return the URL of a token; empty without a callable host."""
    url = one.text if one.kind == "url" else f"https://{one.text}"
    return url if parse_template_host(url) is not None else ""


def tokenise(text: str) -> list[Token]:
    made = []
    for found in _TOKEN.finditer(text):
        kind: Kind = found.lastgroup  # type: ignore[assignment]
        raw, end = found[0], found.end()
        if kind in ("url", "host", "number", "mail"):
            kept = raw.rstrip(".,;:!?)")
            raw, end = kept, found.start() + len(kept)
        shown = raw[1:-1] if kind == "name" else raw
        made.append(Token(kind, shown, shown.lower().replace("’", "'"), found.start(), end))
        made += [Token("mark", text[at], text[at], at, at + 1) for at in range(end, found.end())]
    return made


def begins(tokens: Sequence[Token], at: int) -> bool:
    """Report whether a word starts an instruction rather than naming a thing."""
    one = tokens[at]
    if one.kind != "word" or one.low not in VERBS:
        return False
    before = tokens[at - 1] if at else None
    if before is None or before.kind == "mark":
        return True
    if one.low in MAIL and _is_field(tokens, at):
        return False
    came = before.low == "in" and at > 1 and tokens[at - 2].low in {"comes", "come", "came"}
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    # "Above 500" may be followed by an instruction; "3 posts" are things.
    counted = before.kind == "number" and (following is None or following.low not in _WHOM)
    ended = before.low in _THINGS and one.low not in AMBIGUOUS
    ended = ended and following is not None and following.low in _OBJECTS
    if not came and not ended and (before.low in BEFORE_NOUN or counted):
        return False
    if one.low in AMBIGUOUS and not came and before.low not in _JOINING | LEADING:
        return following is not None and (
            following.low in _OBJECTS or following.kind in ("channel", "mail", "quote", "url")
        )
    # Two potential verbs form a noun: a status report.
    return not (following is not None and following.low in {"is", "are", "was", "comes", "arrives"})


def _is_field(tokens: Sequence[Token], at: int) -> bool:
    """Report whether a word is the last of a list of fields: the name and email."""
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    behind = tokens[at + 2] if at + 2 < len(tokens) else None
    ended = following is None or following.kind == "mark" or following.low in {"address", "and"}
    ended = ended or (behind is not None and behind.kind == "channel")
    near = [one.low for one in tokens[max(0, at - 7) : at]]
    listed = bool({"with", "including", "containing", "their", "its"} & set(near))
    return ended and listed and near[-1] in {"and", ",", "&"}


def split_clauses(tokens: Sequence[Token], source: str) -> list[Clause]:
    """Split a text into clauses."""
    found: list[list[Token]] = [[]]
    for at, one in enumerate(tokens):
        if one.kind == "mark" and one.text in _HARD:
            found.append([])
            continue
        if one.low == "then":
            found.append([])
            continue
        before = tokens[at - 1] if at else None
        joins = before is not None and before.low in _JOINING
        if found[-1] and joins and begins(tokens, at) and not _only_leading(found[-1]):
            found.append([])
        elif joins and _is_other_board(found[-1], tokens, at):
            found.append(
                [Token("word", word, word, one.start, one.start) for word in ("add", "it")]
            )
        elif joins and _is_gift(found[-1], tokens, at):
            # Another recipient with the previous verb: next steps to me.
            found.append([Token("word", "send", "send", one.start, one.start)])
        found[-1].append(one)
    clauses = [_clause(_trim_tokens(part), source) for part in found]
    return [one for one in clauses if one.tokens]


def _is_other_board(before: Sequence[Token], tokens: Sequence[Token], at: int) -> bool:
    """Report whether another board follows: and to the Deals board."""
    if tokens[at].low not in {"to", "on", "onto", "into"}:
        return False
    ahead = [one.low for one in tokens[at : at + 6]]
    return "board" in ahead and any(one.low == "board" for one in before)


def _is_gift(before: Sequence[Token], tokens: Sequence[Token], at: int) -> bool:
    """Report whether a thing and a recipient follow a complete clause."""
    if not any(one.kind in ("channel", "mail") or one.low in _WHOM for one in before):
        return False
    for place in range(at, min(at + 7, len(tokens))):
        one = tokens[place]
        if one.low == "to" and place > at:
            behind = tokens[place + 1 : place + 2]
            return bool(behind) and (
                behind[0].kind in ("channel", "mail") or behind[0].low in _WHOM
            )
        if one.kind != "word" or one.low in {"and", "if", "when", "to"}:
            return False
    return False


_WHOM: Final = frozenset({"me", "us"})


def _only_leading(tokens: Sequence[Token]) -> bool:
    return all(one.low in LEADING or one.kind == "mark" for one in tokens)


def _trim_tokens(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Strip conjunctions and courtesies at both ends."""
    kept = list(tokens)
    while kept and (kept[0].low in LEADING or (kept[0].kind == "mark" and kept[0].text != "$")):
        if kept[0].low in {"me", "us"} and len(kept) > 1 and kept[1].low in {"a", "the"}:
            break
        kept.pop(0)
    while kept and (kept[-1].kind == "mark" or kept[-1].low in _DANGLING):
        kept.pop()
    return tuple(kept)


_DANGLING: Final = frozenset(
    {
        "and",
        "on",
        "at",
        "by",
        "in",
        "the",
        "every",
        "for",
        "starting",
        "from",
        "then",
        "to",
        "also",
        "please",
        "a",
        "during",
        "between",
        "before",
    }
)


def _clause(tokens: tuple[Token, ...], source: str) -> Clause:
    for place, one in enumerate(tokens):
        if one.kind == "word" and one.low in VERBS and (place == 0 or begins(tokens, place)):
            return Clause(tokens, source, one.low)
    return Clause(tokens, source)
