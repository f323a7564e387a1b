"""Everything that a step sends, whole: the recipients, the subject, the text, the body.

A reader agrees to what leaves, so none of it is left out. Values of a run are named in square
brackets, a statement of a template is shown as the code it is, and a line break as ↵. Only a very
long value is cut, which says how long it is and where the whole of it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from mainspring.authoring.review.pieces import TemplatePiece, bare_path, pieces_of
from mainspring.authoring.review.reading import StepView
from mainspring.authoring.review.values import (
    PLACES,
    Names,
    code,
    describe_board,
    describe_destination,
    expression,
)
from mainspring.authoring.review.wording import plain
from mainspring.definition.templates.tokens import has_syntax

# So much of one value is shown.
LONGEST_VALUE: Final = 4_000
_MOST_VALUES: Final = 100
_BREAK: Final = " ↵ "
_OF_SECRETS: Final = ("secrets.", "secrets[")
_CHANGED: Final = ", changed by "
_EMPTY_CONTENT: Final[tuple[Any, ...]] = (None, "", [], {})


def contents_of(
    config: Mapping[str, Any], names: Names, hidden: Iterable[str] = (), first: Iterable[str] = ()
) -> str:
    """The arguments of a step in words, each whole; those of ``first`` before the others."""
    left_out = set(hidden)
    # The destination comes first.
    given = sorted(config, key=lambda key: key not in PLACES)
    order = [key for key in dict.fromkeys((*first, *given)) if key in config]
    shown = [
        f"{plain(key.replace('_', ' '), 60)} {whole(config[key], names, key)}"
        for key in order
        if key not in left_out and config[key] not in _EMPTY_CONTENT and not _is_secret(config[key])
    ]
    if len(shown) > _MOST_VALUES:
        more = len(shown) - _MOST_VALUES
        shown = [*shown[:_MOST_VALUES], f"{more} more, which the definition shows"]
    return ", ".join(shown)


def whole(value: Any, names: Names, key: str = "") -> str:
    """A value with all that is in it."""
    if isinstance(value, str):
        if key == "board_id":
            return describe_board(value, names)
        if key in PLACES:
            return describe_destination(value, names, LONGEST_VALUE)
        return _text(value, names)
    if isinstance(value, Mapping):
        inside = contents_of({str(name): one for name, one in value.items()}, names)
        return f"({inside})" if inside else "nothing"
    if isinstance(value, list | tuple):
        shown = [whole(one, names, key) for one in value[:_MOST_VALUES]]
        more = len(value) - len(shown)
        return ", ".join([*shown, *([f"{more} more, which the definition shows"] if more else [])])
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    return plain(str(value)[:40])


def _text(text: str, names: Names) -> str:
    begun = text[:LONGEST_VALUE]
    cut = ""
    if len(text) > LONGEST_VALUE:
        cut = f" (cut: it has {len(text):,} characters, and the definition shows all of them)"
    if has_syntax(begun):
        pieces = [one for one in pieces_of(begun) if one.kind != "text" or one.text.strip()]
        if [one.kind for one in pieces] == ["expression"] and not cut:
            return _describe_expression(pieces[0].text, names)
        begun = "".join(_piece(one, names) for one in pieces_of(begun))
    shown = plain(begun.replace("\r\n", "\n").strip().replace("\n", _BREAK), len(begun) * 3 + 1)
    return f"“{shown.replace('“', chr(34)).replace('”', chr(34))}{'…' if cut else ''}”{cut}"


def _piece(piece: TemplatePiece, names: Names) -> str:
    match piece.kind:
        case "expression":
            return f"[{_describe_expression(piece.text, names)}]"
        case "statement":
            return f"[`{{% {piece.text.strip(' -+')} %}}`]"
        case "comment":
            return "[…]"
        case "unread":
            return f"[`{piece.text}`]"
    return piece.text


def _describe_expression(inside: str, names: Names) -> str:
    """An expression in words; with its code where a filter makes another text of it."""
    words = expression(inside, names, LONGEST_VALUE)
    return words if _CHANGED not in words else f"{words} ({code(inside, LONGEST_VALUE)})"


def _is_secret(value: Any) -> bool:
    """A bare secret: the gate puts it in, and the review lists it by its name."""
    path = bare_path(value) if isinstance(value, str) else None
    return path is not None and path.startswith(_OF_SECRETS)


def describe_sent_content(
    step: StepView, names: Names, *first: str, told: Iterable[str] = ()
) -> str:
    """What a sending step hands on besides what its sentence has told."""
    hidden = set(told)
    if step.capability is not None:
        hidden |= set(step.capability.annotations.only_secrets)
    return contents_of(step.config, names, hidden, first)
