"""``versions`` and ``diff``: the versions of an automation, and what changed between them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.lookup import find_automation_at
from mainspring.surfaces.cli.pages_of_rows import list_versions_at
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.surfaces.cli.summary import described_grant_lines

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext

# The largest number that the API accepts for a version.
_LARGEST_VERSION = 2**31 - 1
_VALUE = 100
# How much of what is alike is shown before the first difference.
_BEFORE_PLACE = 30
_SIGNS = {"add": ("+", "green"), "remove": ("-", "red"), "replace": ("~", "yellow")}
_MOVED = (">", "cyan")


async def show_versions(context: CommandContext, screen: Screen, text: str, *, most: int) -> int:
    async with open_client(context) as client:
        found = await find_automation_at(client, text)
        rows = await list_versions_at(client, found["id"], most)
    if screen.for_programs:
        screen.answer({"id": found["id"], "name": found["name"], "versions": rows})
        return exits.DONE
    cells = (
        (
            str(row["version"]),
            format_time(row["created_at"], screen),
            "current" if row["in_force"] else "",
            str(row["rollback_of"] or ""),
            row["definition_hash"][:12],
        )
        for row in rows
    )
    heads = ("Version", "Saved", "", "Rollback to", "Hash")
    screen.say(columns(heads, cells, whole=("Saved",)))
    return exits.DONE


async def show_diff(
    context: CommandContext, screen: Screen, text: str, before: int | None, after: int | None
) -> int:
    """Compares two versions. Default: the current version and the one before it."""
    async with open_client(context) as client:
        found = await find_automation_at(client, text)
        old, new = _chosen(found, before, after)
        path = f"/automations/{found['id']}"
        if max(old, new) > _LARGEST_VERSION:
            raise NotFound("There is no such version.", code="no_version")
        result = await client.request("GET", f"{path}/diff", query={"from": old, "to": new})
        grants = (await client.request("GET", path))["grants"]
    if screen.for_programs:
        screen.answer({"id": found["id"], "name": found["name"], **result})
    else:
        labels = {one["capability"]: one["label"] for one in grants}
        screen.say(*_diff_lines(found["name"], result, labels))
    return exits.DONE


def _chosen(found: Mapping[str, Any], before: int | None, after: int | None) -> tuple[int, int]:
    in_force: int = found["version"]
    if before is None and in_force == 1:
        raise NotFound(
            f"{found['name'][:60]!r} has only one version, so there is nothing to compare.",
            code="no_version",
            suggestion=f"{hint('save', 'FILE')} saves the next one.",
        )
    return before or in_force - 1, after or in_force


def _diff_lines(name: str, result: Mapping[str, Any], labels: Mapping[str, str]) -> list[Text]:
    from rich.text import Text

    lines = [Text(f"{one_line(name)}: version {result['from']} to {result['to']}", style="bold")]
    if not result["changes"]:
        lines.append(Text("  No differences."))
    lines += [change_line(change) for change in result["changes"]]
    for key, words in (("widened", "added permissions"), ("narrowed", "removed permissions")):
        if result[key]:
            grants = [{**one, "label": labels.get(one["capability"])} for one in result[key]]
            lines += [Text(f"  {words}:", style="bold"), *described_grant_lines(grants)]
    return lines


def change_line(change: Mapping[str, Any]) -> Text:
    """One difference: its place, and the two values beside each other."""
    from rich.text import Text

    sign, colour = _SIGNS.get(change["op"], _MOVED)
    text = Text.assemble("  ", (sign, colour), f" {one_line(change['pointer'], 120) or '/'}")
    if change["op"] == "move":
        return text.append(f"  moved from {one_line(change['from'], 120)}")
    sides = [side for side in ("before", "after") if side in change]
    shown = values_beside([change[side] for side in sides])
    for side, value in zip(sides, shown, strict=True):
        text.append("  →" if side == "after" and len(sides) == 2 else "")
        text.append(f"  {value}", style="red" if side == "before" else "green")
    return text


def values_beside(values: Sequence[Any]) -> list[str]:
    """Values as short texts; two long ones are shown from where they begin to differ."""
    texts = [one_line(as_json(value, indent=None), sys.maxsize) for value in values]
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[-1], zip(*texts, strict=False)))
    return [_around(text, alike if len(texts) > 1 else 0) for text in texts]


def _around(text: str, place: int) -> str:
    if len(text) <= _VALUE:
        return text
    start = max(0, min(place - _BEFORE_PLACE, len(text) - _VALUE + 1))
    if start == 0:
        return text[: _VALUE - 1] + "…"
    if len(text) - start < _VALUE:
        return f"…{text[start:]}"
    return f"…{text[start : start + _VALUE - 2]}…"
