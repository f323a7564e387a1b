"""Front matter: the few values that stand between two lines of ``---`` before a text.

What is read here is a part of YAML that people can hold in their heads: one name and one
value to a line, lists, and quotes where a value needs them. Anything beyond it is refused
with the number of its line; nothing is guessed. What is written here can be read here, and
by every reader of YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid

_MARK: Final = "---"
_OPENING: Final = re.compile(r"---[ \t\r]*\n")
# One empty line after the mark belongs to it.
_CLOSING: Final = re.compile(r"\n(?:---|\.\.\.)[ \t\r]*(?:\n(?:[ \t\r]*\n)?|\Z)")
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_. -]{0,99}"
_LINE: Final = re.compile(rf"(?P<name>{_NAME}?)[ \t]*:(?:[ \t]+(?P<value>.*))?")
_ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+(?P<value>.*))?")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: Final[Mapping[str, Any]] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None,
}  # fmt: skip
# Text that no reader of YAML takes for anything else.
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Marks of YAML that mean something we do not read.
_BEYOND: Final = frozenset("&*!|>%@`{")


def split(markdown: str) -> tuple[str, str, dict[str, Any]]:
    """The front matter as written, the body after it, and its values.

    The head and the body together are the text, to the character.
    """
    opening = _OPENING.match(markdown)
    if opening is None:
        return "", markdown, {}
    closing = _CLOSING.search(markdown, opening.end() - 1)
    if closing is None:
        # A line without its partner is a rule across the page.
        return "", markdown, {}
    lines = markdown[opening.end() : closing.start() + 1].split("\n")
    head, body = markdown[: closing.end()], markdown[closing.end() :]
    return head, body, _values([line.rstrip() for line in lines])


def join(values: Mapping[str, Any], body: str) -> str:
    """A text with its front matter."""
    return written(values) + body


def written(values: Mapping[str, Any]) -> str:
    """The head of a text, marks included; none for no values."""
    if not values:
        return ""
    lines = [f"{name}: {_written(value)}" for name, value in values.items()]
    return "\n".join([_MARK, *lines, _MARK, "", ""])


def is_name(text: str) -> bool:
    """Whether a value can stand under this name in front matter."""
    return re.fullmatch(_NAME, text) is not None and text == text.strip()


def _written(value: Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN
        return value if plain else _quoted(value)
    return _quoted(value)


def _quoted(value: Any) -> str:
    """JSON is YAML too; what would end a line there is spelled out."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda odd: f"\\u{ord(odd.group()):04x}", text)


def _values(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    open_list: list[Any] | None = None
    name = ""
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = _ITEM.fullmatch(line)
        if item is not None and open_list is not None:
            open_list.append(_value(item["value"] or "", number))
            found[name] = open_list
            continue
        named = _LINE.fullmatch(line)
        if named is None:
            raise _refused(number, "is not a name, a colon and a value")
        name = named["name"].rstrip()
        if name in found:
            raise _refused(number, f"gives {name!r} a second time")
        text = (named["value"] or "").strip()
        found[name] = _value(text, number)
        # Only a name with nothing behind it may begin a list.
        open_list = [] if not text else None
    return found


def _value(text: str, number: int) -> Any:
    text = text.strip()
    if text[:1] in {'"', "[", "{"}:
        return _from_json(text, number)
    if text[:1] == "'":
        return _single(text, number)
    text = re.split(r"\s#", text, maxsplit=1)[0].rstrip()
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return json.loads(text)
    if text[:1] in _BEYOND or text.startswith(("- ", "? ")) or ": " in text or text[-1:] == ":":
        raise _refused(number, "has a value that is not read here without quotes")
    return text


def _from_json(text: str, number: int) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        pass
    inner = re.fullmatch(r"\[([^\[\]{}\"']*)\]", text)
    if inner is None:
        raise _refused(number, "has a quote or a bracket that is not closed as it should be")
    pieces = inner[1].split(",") if inner[1].strip() else []
    return [_value(piece, number) for piece in pieces]


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _single(text: str, number: int) -> str:
    inner = re.fullmatch(r"'((?:[^']|'')*)'", text)
    if inner is None:
        raise _refused(number, "has a quote that is not closed as it should be")
    return inner[1].replace("''", "'")


def _refused(number: int, why: str) -> Invalid:
    detail = f"Line {number} of the front matter {why}."
    way_out = "Write one name: value to a line, lists as [a, b], and other text in quotes."
    return Invalid(
        detail,
        code="front_matter",
        findings=[Finding("/markdown", detail, "front_matter", way_out)],
    )
