"""What a message shows of a draft or a question, so that a button under it can be answered.

Whoever presses a button agrees to everything that leaves, so everything stands in the message:
each argument by its name, in its own lines. What does not fit is only announced: it has no
buttons then, and is read and answered in the inbox.

A question whose form offers a few fixed answers has a button for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.shown_text import (
    escape_invisible,
    format_first_line,
    format_lines,
    utf16_length,
)

# A mail has no buttons, and only announces what is longer.
MOST: Final = 3_500
# As many options as a row of buttons shows on a phone, and as much as a button's label holds.
MOST_OPTIONS: Final = 5
_LONGEST_LABEL: Final = 60
_ANNOUNCED: Final = 600
_ELSEWHERE: Final = (
    "This is only how it begins. It is too long for a message: read all of it in the inbox, and "
    "answer it there."
)


@dataclass(frozen=True, slots=True)
class FormattedPrompt:
    """A text, and whether it shows all that is decided."""

    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers that a question offers."""

    label: str
    answer: Any


def fits_mail(text: str) -> bool:
    return utf16_length(text) <= MOST


def draft_message(
    preview: str,
    arguments: Mapping[str, Any],
    account: str | None = None,
    *,
    fits: Callable[[str], bool] = fits_mail,
) -> FormattedPrompt:
    """A draft: what would happen, over which account, and all that would leave."""
    over = [f"(over the account {escape_invisible(account)})"] if account else []
    return _message(
        "\n".join([escape_invisible(preview), *over, "", *_format_lines(arguments)]), fits
    )


def question_message(
    title: str, message: str, *, fits: Callable[[str], bool] = fits_mail
) -> FormattedPrompt:
    """A question of a plan."""
    return _message(f"{escape_invisible(title)}\n{format_lines(message)}".strip(), fits)


def options_of(form: Mapping[str, Any] | None) -> tuple[Option, ...]:
    """The answers that a form offers; none where a person has to write or combine something."""
    if form is None:
        return ()
    values, name = form.get("enum"), None
    properties = form.get("properties")
    if values is None and isinstance(properties, Mapping) and len(properties) == 1:
        ((name, inner),) = properties.items()
        values = inner.get("enum") if isinstance(inner, Mapping) else None
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_OPTIONS:
        return ()
    if not all(isinstance(one, str | int | float) for one in values):
        return ()
    labels = [" ".join(_entry(one).split()) for one in values]
    if len(set(labels)) < len(labels) or not all(0 < len(one) <= _LONGEST_LABEL for one in labels):
        return ()
    answers = values if name is None else [{name: one} for one in values]
    return tuple(map(Option, labels, answers))


def _message(text: str, fits: Callable[[str], bool]) -> FormattedPrompt:
    if fits(text):
        return FormattedPrompt(text, whole=True)
    return FormattedPrompt(f"{format_first_line(text, _ANNOUNCED)}\n\n{_ELSEWHERE}", whole=False)


def _format_lines(value: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    for name, entry in value.items():
        begins = f"{'  ' * depth}{escape_invisible(str(name))}:"
        if isinstance(entry, Mapping) and entry:
            yield begins
            yield from _format_lines(entry, depth + 1)
        elif isinstance(entry, list) and any(isinstance(one, Mapping) for one in entry):
            yield begins
            for one in entry:
                yield f"{'  ' * depth}  - {_entry(one)}"
        else:
            yield f"{begins} {_entry(entry)}"


def _entry(value: Any) -> str:
    """A value on its line; only a text of several lines has more of them."""
    if isinstance(value, str):
        lines = format_lines(value).split("\n")
        # Marked, so that no text can look like another argument.
        return lines[0] if len(lines) == 1 else "".join(f"\n| {line}" for line in lines)
    if isinstance(value, Mapping):
        return _file(value) or "; ".join(
            f"{escape_invisible(str(k))}: {_entry(v)}" for k, v in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_entry, value)) or "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "(nothing)" if value is None else str(value)


def _file(value: Mapping[str, Any]) -> str | None:
    """A file that leaves with it, by its name, kind and size."""
    if not {"filename", "bytes", "sha256"} <= value.keys():
        return None
    kind = escape_invisible(str(value.get("mime_type", "")))
    return f"{escape_invisible(str(value['filename']))} ({kind}, {value['bytes']} bytes)"
