"""Describing values: literals quoted, templates by what they refer to.

``{{ summary.bullets }}`` becomes the bullets of the step that makes them. Complex expressions are
shown as truncated code. Nothing is omitted silently: a comment or statement is […], a truncation is
…, and a filter that changes the text is named.

Destinations are shown as written, unless they are a single run-time value: a reader must see the
destination that is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mainspring.authoring.review.definition_reader import StepView, text_of
from mainspring.authoring.review.quoting import join_list, plain, quote_text
from mainspring.authoring.review.suspicious import DESTINATIONS
from mainspring.authoring.review.template_pieces import LONGEST, TemplatePiece, bare_path, pieces_of
from mainspring.definition.templates.parser import has_syntax

_PATH: Final = re.compile(
    r"[A-Za-z_]\w{0,99}(?:\.\w{1,100}|\[\d{1,4}\]|\[['\"]\w{1,100}['\"]\]){0,12}"
)
_FILTER: Final = re.compile(
    r"\s{0,9}\|\s{0,9}([a-z_]{1,40})\s{0,9}(?:\(((?:'[^'\\]*'|\"[^\"\\]*\"|[^'\"()|])*+)\))?\s{0,9}"
)
# Filters that do not change what a value says.
_QUIET: Final = frozenset({"default", "trim", "tojson", "join", "truncate"})
_NOTHING: Final = frozenset({"", "[]", "{}", "''", '""', "0", "false", "none"})
_LONG_WORDS: Final = re.compile(r"'[^']{5,}'|\"[^\"]{5,}\"")
_LEFT_OUT: Final = "[…]"
_SPLIT: Final = re.compile(r"\.|\[['\"]?|['\"]?\]")
_TESTS: Final = (
    (re.compile(r"(?P<left>[^|<>=!]+?) \| length (?:> 0|>= 1|!= 0)"), "{left} is not empty"),
    (re.compile(r"(?P<left>[^|<>=!]+?) \| length == 0"), "{left} is empty"),
    (re.compile(r"(?P<left>[^|<>=!]+?) == (?P<right>[^|<>=!]+)"), "{left} is {right}"),
    (re.compile(r"(?P<left>[^|<>=!]+?) != (?P<right>[^|<>=!]+)"), "{left} is not {right}"),
    (re.compile(r"(?P<left>[^|<>=!]+?) >= (?P<right>[^|<>=!]+)"), "{left} is at least {right}"),
    (re.compile(r"(?P<left>[^|<>=!]+?) <= (?P<right>[^|<>=!]+)"), "{left} is at most {right}"),
    (re.compile(r"(?P<left>[^|<>=!]+?) > (?P<right>[^|<>=!]+)"), "{left} is more than {right}"),
    (re.compile(r"(?P<left>[^|<>=!]+?) < (?P<right>[^|<>=!]+)"), "{left} is less than {right}"),
    (re.compile(r"(?P<left>[^|<>=!]+?) is defined"), "there is {left}"),
    (re.compile(r"not (?P<left>[^|<>=!]+)"), "{left} is not so"),
    (re.compile(r"(?P<left>[^|<>=!]+)"), "{left} is so"),
)
_LITERAL: Final = re.compile(r"-?\d{1,20}(?:\.\d{1,10})?|true|false|none", re.IGNORECASE)
_TEXT: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_CODE: Final = 70
_WHOLE_CODE: Final = 160
_TAIL: Final = 40
MOST_PLACES: Final = 8
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FALLBACK: Final = re.compile(r" ?\| ?default\((?:\[\]|\{\}|''|\"\"|0|false|none)\)")
_LONGEST_TEST: Final = 300
# Arguments that name a destination, internal or external.
PLACES: Final = DESTINATIONS | {
    "hosts",
    "board_id",
    "automation_id",
    "draft_id",
    "owner",
    "owner_id",
    "member_id",
    "action_name",
    "thread_ts",
}

# Template names of step outputs; and, as ``board:id``, names of boards.
Names = Mapping[str, str]


def names_of(steps: Iterable[StepView], boards: Mapping[str, str] | None = None) -> dict[str, str]:
    """Map template names to the steps that produce them, and boards to names."""
    found = {f"board:{board}": name for board, name in (boards or {}).items()}
    for step in steps:
        for called in filter(None, (text_of(step.whole.get("output_as")), step.id)):
            found.setdefault(called, step.id or called)
    return found


def describe_value(value: Any, names: Names, most: int = 80) -> str:
    """Describe a value."""
    if isinstance(value, str):
        return _describe_text(value, names, most)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no"}.get(value, "nothing") if value is not None else "nothing"
    if isinstance(value, int | float):
        return plain(str(value)[:40])
    if isinstance(value, list | tuple):
        if not value:
            return "nothing"
        shown = [describe_value(one, names, 40) for one in value[:3]]
        return join_list([*shown, *[""] * (len(value) - len(shown))], 3)
    if isinstance(value, Mapping):
        shown = [_describe_entry(str(key), one, names) for key, one in list(value.items())[:4]]
        rest = [""] * (len(value) - len(shown))
        return f"the values {join_list([*shown, *rest], 4)}" if shown else "nothing"
    return "a value"


def _describe_entry(key: str, value: Any, names: Names) -> str:
    """Name a value; nested ones are only named."""
    if isinstance(value, Mapping):
        inside = join_list([plain(str(one), 30) for one in value], 4)
        return f"{plain(key, 30)} ({inside or 'nothing'})"
    shown = (
        describe_destination(value, names, 40)
        if key in PLACES
        else describe_value(value, names, 40)
    )
    return f"{plain(key, 30)} ({shown})"


def describe_destination(value: Any, names: Names, most: int = 80) -> str:
    """Describe a destination: literal, a single run-time value, or code."""
    if isinstance(value, list | tuple) and value:
        shown = [describe_destination(one, names, most) for one in value[:MOST_PLACES]]
        return join_list([*shown, *[""] * (len(value) - len(shown))], MOST_PLACES)
    if not isinstance(value, str) or not has_syntax(value):
        return describe_value(value, names, most)
    path = bare_path(value)
    return _path(path, names) if path is not None else code(value, _WHOLE_CODE)


def describe_board(board: str, names: Names) -> str:
    """Name a board, or abbreviate its id."""
    known = names.get(f"board:{board}")
    if known is not None:
        return quote_text(known)
    return plain(board, 9) if _ID.fullmatch(board) else describe_destination(board, names, 60)


def code(text: str, most: int = _CODE) -> str:
    """Show code; both ends of a long one, since either may matter."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    shown = plain(text, max(len(text), 1)).replace("`", "'")
    if len(shown) > most:
        shown = f"{shown[: most - _TAIL]}…{shown[-_TAIL:]}"
    return f"`{shown}`"


def _describe_text(text: str, names: Names, most: int) -> str:
    begun = text[:LONGEST]
    if not has_syntax(begun):
        return quote_text(text, most)
    pieces = pieces_of(begun)
    telling = [piece for piece in pieces if piece.kind != "text" or piece.text.strip()]
    more = len(text) > LONGEST
    if len(telling) == 1 and telling[0].kind == "expression" and not more:
        return expression(telling[0].text, names)
    filled = "".join(_describe_piece(piece, names) for piece in pieces)
    return quote_text(filled + ("…" if more else ""), most)


def _describe_piece(piece: TemplatePiece, names: Names) -> str:
    match piece.kind:
        case "expression":
            return f"[{expression(piece.text, names)}]"
        case "statement" | "comment":
            return _LEFT_OUT
    return piece.text


def expression(inside: str, names: Names, most: int = _CODE) -> str:
    """Describe the content of a template's braces, or show it as code."""
    path = _PATH.match(inside)
    changed = None if path is None else _describe_filters(inside[path.end() :], names)
    if path is None or changed is None:
        return code(inside, most)
    return _path(path[0], names) + changed


def _describe_filters(rest: str, names: Names) -> str | None:
    """Describe what filters do to a value; None when only code can say it."""
    at, other, instead = 0, [], ""
    while at < len(rest):
        found = _FILTER.match(rest, at)
        if found is None:
            return None
        at = found.end()
        name, arguments = found[1], (found[2] or "").strip()
        if name == "default":
            fallback = _instead(arguments, names)
            if fallback is None:
                return None
            instead += fallback
        elif name not in _QUIET or _LONG_WORDS.search(arguments):
            other.append(name)
    return instead + (f", changed by {join_list(other, 5)}" if other else "")


def _instead(arguments: str, names: Names) -> str | None:
    """Describe a default value."""
    given = arguments.removesuffix(", true").strip()
    if given.lower() in _NOTHING:
        return ""
    shown = _side(given, names)
    return None if shown is None else f" or {shown}"


def _path(text: str, names: Names) -> str:
    root, *keys = [part for part in _SPLIT.split(text) if part]
    if root == "steps" and keys:
        root, *keys = keys
        return _of_step(names.get(root, root), keys)
    of = plain(".".join(keys), 60)
    match root:
        case "inputs":
            return f"the input ‘{of}’" if keys else "the inputs"
        case "trigger":
            return f"the {of} of the trigger's data" if keys else "the trigger's data"
        case "secrets":
            return f"the secret ‘{of}’"
        case "run":
            return f"the run's {of}" if keys else "the run"
    if root in names:
        return _of_step(names[root], keys)
    return f"the {of} of each {plain(root, 40)}" if keys else f"the {plain(root, 40)}"


def _of_step(step: str, keys: list[str]) -> str:
    of = plain(".".join(keys), 60)
    name = f"step ‘{plain(step, 64)}’"
    return f"the {of} of {name}" if keys else f"what {name} returns"


def condition(text: Any, names: Names) -> str:
    """Describe a condition, to follow ``only when``."""
    if not isinstance(text, str):
        return "a condition that is not written yet is true"
    whole = pieces_of(text[:LONGEST].strip()) if has_syntax(text[:LONGEST]) else ()
    one = whole[0].text if len(whole) == 1 and whole[0].kind == "expression" else text[:LONGEST]
    inside = " ".join(one.split()) + ("…" if len(text) > LONGEST else "")
    inside = _FALLBACK.sub("", inside)
    word = " or " if " or " in inside else " and "
    parts = inside.split(word)
    mixed = word == " or " and " and " in inside
    simple = (
        len(inside) <= _LONGEST_TEST
        and not mixed
        and len(parts) <= 3
        and not set("()") & set(inside)
    )
    shown = [_test(part, names) for part in parts] if simple else []
    if shown and all(shown):
        return word.join(one for one in shown if one)
    return f"{code(inside, 120)} is true"


def _test(text: str, names: Names) -> str | None:
    for pattern, words in _TESTS:
        found = pattern.fullmatch(text.strip())
        if found is not None:
            sides = {side: _side(value, names) for side, value in found.groupdict().items()}
            if None in sides.values():
                return None
            return words.format(**{side: str(value) for side, value in sides.items()})
    return None


def _side(text: str, names: Names) -> str | None:
    text = text.strip()
    if _LITERAL.fullmatch(text):
        return text
    literal = _TEXT.fullmatch(text)
    if literal is not None:
        return quote_text(literal[1] or literal[2] or "", 40)
    return _path(text, names) if _PATH.fullmatch(text) else None
