"""Front matter: YAML values between two lines of ``---`` before a text.

PyYAML parses it; only what JSON can hold is accepted. Dates stay text, so do ``yes`` and ``no``,
and aliases and tags are refused, because they could make a small text large or build objects.
What is written here is JSON in YAML, which every YAML parser reads alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json

_MARK: Final = "---"
_OPENING: Final = re.compile(r"---[ \t\r]*\n")
# One empty line after the closing mark belongs to it.
_CLOSING: Final = re.compile(r"\n(?:---|\.\.\.)[ \t\r]*(?:\n(?:[ \t\r]*\n)?|\Z)")
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_. -]{0,99}"
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?")
_CONSTANTS: Final[Mapping[str, Any]] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "~": None,
    "": None,
}
# Text that every YAML parser reads as text without quotes.
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_NOT_PLAIN: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
# Characters that YAML allows in a text only as an escape.
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Spaces, quotes and comments come on top of the values.
_OVERHEAD: Final = 2
_MOST_NESTED: Final = 64
# The parser of libyaml where the wheel has it: it is several times faster.
_LOADER: Final = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def split(markdown: str, limits: Limits | None = None) -> tuple[str, str, dict[str, Any]]:
    """Split a text into its front matter as written, its body, and the values.

    Front matter and body concatenate to the exact text.
    """
    opening = _OPENING.match(markdown)
    if opening is None:
        return "", markdown, {}
    closing = _CLOSING.search(markdown, opening.end() - 1)
    if closing is None:
        # A line without its partner is a horizontal rule.
        return "", markdown, {}
    limits = limits or Limits()
    most = _OVERHEAD * limits.page_values_bytes
    if closing.end() > most:
        detail = f"The front matter has {closing.end():,} characters; at most {most:,} are read."
        raise _front_matter_error(detail, "Put what is long into the text below it.")
    head, body = markdown[: closing.end()], markdown[closing.end() :]
    return head, body, _parse_values(markdown[opening.end() : closing.start() + 1], limits)


def join(values: Mapping[str, Any], body: str) -> str:
    """Join front matter and body."""
    return format_front_matter(values) + body


def format_front_matter(values: Mapping[str, Any]) -> str:
    """Render front matter with its marks; empty for no values."""
    if not values:
        return ""
    lines = [f"{name}: {_format_value(value)}" for name, value in values.items()]
    return "\n".join([_MARK, *lines, _MARK, "", ""])


def is_name(text: str) -> bool:
    """Whether a value can have this name in front matter."""
    return re.fullmatch(_NAME, text) is not None and text == text.strip()


def _format_value(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN:
        return value
    text = json.dumps(value, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _parse_values(text: str, limits: Limits) -> dict[str, Any]:
    try:
        events = list(_parse_events(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _line_error(mark, f"is not YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise _line_error(
            text.count("\n", 0, error.position),
            "has a character that YAML allows only as an escape",
        ) from None
    # The stream and the document each have an event at both ends.
    if len(events) <= 2:
        return {}
    first = events[2]
    if isinstance(first, yaml.ScalarEvent) and not first.value:
        return {}
    if not isinstance(first, yaml.MappingStartEvent):
        raise _line_error(first.start_mark, "is not a name, a colon and a value")
    return _build_values(iter(events[3:]), limits)


def _parse_events(text: str) -> Iterator[Any]:
    """The parser's events. Deep nesting ends it early: parsing it takes quadratic time."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MOST_NESTED:
            raise _line_error(event.start_mark, "has a value that is nested too deeply")
        yield event


def _build_values(events: Iterator[Any], limits: Limits) -> dict[str, Any]:
    """The values by name; the line of a name is the place of everything wrong with its value."""
    found: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        mark = key.start_mark
        name = key.value if isinstance(key, yaml.ScalarEvent) else ""
        if not is_name(name):
            raise _line_error(mark, "is not a name, a colon and a value")
        if name in found:
            raise _line_error(mark, f"gives {name!r} a second time")
        try:
            found[name] = read_json(json.dumps(_build_value(events, next(events))), limits)
        except Invalid as problem:
            if problem.code == "front_matter":
                raise
            # The place it names is one inside the value.
            why = (problem.detail.rpartition(" (line ")[0] or problem.detail).rstrip(".")
            raise _line_error(mark, f"has a value that cannot be kept: {why}") from None
    return found


def _build_value(events: Iterator[Any], event: Any) -> Any:
    mark = event.start_mark
    if isinstance(event, yaml.AliasEvent):
        raise _line_error(mark, f"repeats a value with *{event.anchor}: write the value itself")
    if event.tag is not None:
        raise _line_error(mark, f"has the tag {event.tag}: tags are not read")
    if isinstance(event, yaml.ScalarEvent):
        return _parse_scalar(event.value) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_build_value(events, item))
        return items
    pairs: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent) or key.tag is not None:
            raise _line_error(key.start_mark, "has a name that is not a text")
        if key.value in pairs:
            raise _line_error(key.start_mark, f"gives {key.value!r} a second time")
        pairs[key.value] = _build_value(events, next(events))
    return pairs


def _parse_scalar(text: str) -> Any:
    """A plain scalar: a constant, a number as JSON writes it, or text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return json.loads(text) if _NUMBER.fullmatch(text) else text


def _line_error(place: Any, why: str) -> Invalid:
    remedy = "Write one name: value to a line, lists as [a, b], and other text in quotes."
    line = place if isinstance(place, int) else place.line if place else 0
    # The opening mark is line 1.
    return _front_matter_error(f"Line {line + 2} of the front matter {why}.", remedy)


def _front_matter_error(detail: str, remedy: str) -> Invalid:
    return Invalid(
        detail,
        code="front_matter",
        findings=[Finding("/markdown", detail, "front_matter", remedy)],
    )
