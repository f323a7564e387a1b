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
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json

_MARK: Final = "---"
_OPENING: Final = re.compile(r"---[ \t\r]*\n")
# One empty line after the mark belongs to it.
_CLOSING: Final = re.compile(r"\n(?:---|\.\.\.)[ \t\r]*(?:\n(?:[ \t\r]*\n)?|\Z)")
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_. -]{0,99}"
_ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+(?P<value>.*))?")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: Final[Mapping[str, Any]] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "~": None,
    "": None,
}
# Text that no reader of YAML takes for anything else.
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Marks of YAML that mean something we do not read.
_BEYOND: Final = frozenset("&*!|>%@`{")
# Spaces, quotes and comments take room beside the values.
_SPELLED: Final = 2
# A value that begins as JSON and does not end as such.
_NOT_JSON: Final = frozenset({"json_syntax", "json_trailing"})


def split(markdown: str, limits: Limits | None = None) -> tuple[str, str, dict[str, Any]]:
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
    reader = _FrontMatterParser(limits or Limits())
    reader.measure(closing.end())
    lines = markdown[opening.end() : closing.start() + 1].split("\n")
    head, body = markdown[: closing.end()], markdown[closing.end() :]
    return head, body, reader.values([line.rstrip() for line in lines])


def join(values: Mapping[str, Any], body: str) -> str:
    """A text with its front matter."""
    return format_front_matter(values) + body


def format_front_matter(values: Mapping[str, Any]) -> str:
    """The head of a text, marks included; none for no values."""
    if not values:
        return ""
    lines = [f"{name}: {_format_value(value)}" for name, value in values.items()]
    return "\n".join([_MARK, *lines, _MARK, "", ""])


def is_name(text: str) -> bool:
    """Whether a value can stand under this name in front matter."""
    return re.fullmatch(_NAME, text) is not None and text == text.strip()


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN
        return value if plain else _quote_value(value)
    return _quote_value(value)


def _quote_value(value: Any) -> str:
    """JSON is YAML too; what would end a line there is spelled out."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda odd: f"\\u{ord(odd.group()):04x}", text)


class _FrontMatterParser:
    """Reads the lines between the marks; what a value may be is what JSON may be here."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def measure(self, size: int) -> None:
        """Refuses front matter that is longer than its values can be, before it is read."""
        most = _SPELLED * self._limits.page_values_bytes
        if size > most:
            detail = f"The front matter has {size:,} characters; at most {most:,} are read."
            raise _front_matter_error(detail, "Put what is long into the text below it.")

    def values(self, lines: list[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        open_list: list[Any] | None = None
        name = ""
        for number, line in enumerate(lines, start=2):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            item = _ITEM.fullmatch(line)
            if item is not None and open_list is not None:
                open_list.append(self._value(item["value"] or "", number))
                found[name] = open_list
                continue
            name, text = _split_line(line, number)
            if name in found:
                raise _invalid_line_error(number, f"gives {name!r} a second time")
            found[name] = self._value(text, number)
            # Only a name with nothing behind it may begin a list.
            open_list = [] if not text else None
        return found

    def _value(self, text: str, number: int) -> Any:
        text = text.strip()
        if text[:1] in {'"', "[", "{"}:
            return self._bracketed(text, number)
        if text[:1] == "'":
            return _unquote_single(text, number)
        text = re.split(r"\s#", text, maxsplit=1)[0].rstrip()
        if text in _WORDS:
            return _WORDS[text]
        if _NUMBER.fullmatch(text):
            return self._json(text, number)
        if text[:1] in _BEYOND or text.startswith(("- ", "? ")) or ": " in text or text[-1:] == ":":
            raise _invalid_line_error(number, "has a value that is not read here without quotes")
        return text

    def _bracketed(self, text: str, number: int) -> Any:
        """JSON, or a list of plain words."""
        inner = text[1:-1] if text[0] == "[" and text[-1] == "]" else text
        if any(sign in inner for sign in "[]{}\"'") or _is_json(text):
            return self._json(text, number)
        pieces = inner.split(",") if inner.strip() else []
        return [self._value(piece, number) for piece in pieces]

    def _json(self, text: str, number: int) -> Any:
        try:
            return read_json(text, self._limits)
        except Invalid as problem:
            raise _unfit_value_error(number, problem) from None


def _is_json(text: str) -> bool:
    """Whether a text is at least spelled as JSON; cheaper than to learn why it is none."""
    try:
        json.loads(text, parse_constant=_reject_constant)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        return True
    return True


def _reject_constant(name: str) -> Any:
    raise json.JSONDecodeError("a word", name, 0)


def _split_line(line: str, number: int) -> tuple[str, str]:
    """The name and the value of one line."""
    name, colon, text = line.partition(":")
    name = name.rstrip(" \t")
    if not colon or not re.fullmatch(_NAME, name) or (text and text[0] not in " \t"):
        raise _invalid_line_error(number, "is not a name, a colon and a value")
    return name, text.strip()


def _unquote_single(text: str, number: int) -> str:
    inner = text[1:-1]
    if len(text) < 2 or text[-1] != "'" or "'" in inner.replace("''", ""):
        raise _invalid_line_error(number, "has a quote that is not closed as it should be")
    return inner.replace("''", "'")


def _unfit_value_error(number: int, problem: Invalid) -> Invalid:
    if problem.code in _NOT_JSON:
        return _invalid_line_error(
            number, "has a quote or a bracket that is not closed as it should be"
        )
    # The place it names is one inside the value.
    why = problem.detail.rpartition(" (line ")[0] or problem.detail
    return _invalid_line_error(number, f"has a value that cannot be kept: {why.rstrip('.')}")


def _invalid_line_error(number: int, why: str) -> Invalid:
    way_out = "Write one name: value to a line, lists as [a, b], and other text in quotes."
    return _front_matter_error(f"Line {number} of the front matter {why}.", way_out)


def _front_matter_error(detail: str, way_out: str) -> Invalid:
    return Invalid(
        detail,
        code="front_matter",
        findings=[Finding("/markdown", detail, "front_matter", way_out)],
    )
