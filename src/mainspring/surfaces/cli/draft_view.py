"""A draft on a screen, as it will be delivered: its heads, its text, and its files.

Beside this everything that leaves is shown whole and quoted, because that is what somebody
agrees to; this is how it will look to whoever gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli.screen import one_line

if TYPE_CHECKING:
    from rich.text import Text

_LONGEST: Final = 400
_MOST_LINES: Final = 40
# Of each family: the fields that stand above, the heading, and the text.
_FAMILIES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]] = {
    "email": (("from", "to", "cc", "bcc", "reply_to"), ("subject",), ("body", "text")),
    "event": (("start", "end", "location", "attendees"), ("summary",), ("description",)),
    "file": (("folder", "mime_type"), ("name",), ("content",)),
    "message": (("channel", "channel_id", "thread_ts"), (), ("text", "content", "body")),
    "issue": (("repo", "owner", "labels"), ("title",), ("body", "description")),
}


def fields_of(draft: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that an action is asked with, wherever in the arguments they stand."""
    inner = draft["arguments"].get(draft.get("within") or "")
    return inner if isinstance(inner, Mapping) else draft["arguments"]


def delivery_lines(draft: Mapping[str, Any]) -> list[Text]:
    """What will arrive; nothing where nobody knows what it is like there."""
    from rich.text import Text

    family = _FAMILIES.get(draft.get("family") or "")
    if family is None:
        return []
    heads, titles, texts = family
    fields = fields_of(draft)
    said = [Text(f"  {name}: {_said(fields[name])}") for name in heads if fields.get(name)]
    said += [Text(f"  {_said(fields[name])}", style="bold") for name in titles if fields.get(name)]
    for name in texts:
        lines = str(fields.get(name) or "").splitlines()
        said += [Text(f"  | {one_line(line, _LONGEST)}") for line in lines[:_MOST_LINES]]
        if len(lines) > _MOST_LINES:
            said.append(Text(f"  | … {len(lines) - _MOST_LINES} more lines"))
    return [*said, *(Text(f"  {line}") for line in _files(draft, fields))]


def _files(draft: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    found = fields.get("attachments") or draft["arguments"].get("attachments") or []
    return [
        f"file {_said(one.get('filename'))}: {_said(one.get('mime_type'))}, {one.get('bytes')} B"
        for one in found
        if isinstance(one, Mapping)
    ]


def _said(value: Any) -> str:
    plain = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return one_line(plain, _LONGEST)
