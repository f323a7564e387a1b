"""``starter``: a small definition that works as it is, to be edited from there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.files import write_file
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.screen import as_json, clean

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen

_LONGEST_STEM: Final = 60
_NO_WORD: Final = re.compile(r"[^a-z0-9]+")


def write_starter(
    context: CommandContext, screen: Screen, name: str | None, kind: str, output: Path | None
) -> int:
    """Writes the file and says how to go on; a file that is there is left alone."""
    from mainspring.definition.validate import validate

    document = _STARTERS[kind](name)
    limits = context.limits()
    # Only the name can be wrong; whoever gave it should hear it now.
    validate(document, context.doors.vocabulary(limits), limits).accepted()
    path = output or Path(f"{_stem(document['name'])}.json")
    write_file(path, as_json(document) + "\n", suggestion="Choose another file with --output.")
    steps = _next_commands(path, document["name"], kind)
    if screen.for_programs:
        screen.answer({"file": str(path), "name": document["name"], "trigger": kind, "next": steps})
    else:
        screen.say(f"Wrote {clean(str(path))}. Edit it, and then:")
        screen.say(*(f"  {line}" for line in steps))
    return exits.DONE


def _stem(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _NO_WORD.sub("_", plain).strip("_")[:_LONGEST_STEM] or "automation"


def _next_commands(path: Path, name: str, kind: str) -> list[str]:
    lines = [hint("validate", path), hint("run", path), hint("save", path)]
    if kind == "webhook":
        lines.append(hint("webhook", "token", name))
    return [*lines, hint("fire" if kind == "manual" else "activate", name)]


def _document(name: str, goal: str, plan: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"schema_version": "1.2", "name": name, "goal": goal, **more, "plan": plan}


def _tell(title: str, message: str) -> dict[str, Any]:
    return {
        "step_id": "tell",
        "action": "notification",
        "config": {"title": title, "message_template": message},
    }


def _takes(name: str, default: str) -> dict[str, Any]:
    entry = {"type": "string", "maxLength": 200, "default": default}
    return {"schema": {"type": "object", "properties": {name: entry}}}


def _manual(name: str | None) -> dict[str, Any]:
    return _document(
        name or "My automation",
        "Leave a greeting in the inbox.",
        [_tell("Hello {{ inputs.name }}", "This is run {{ run.id }}.")],
        inputs=_takes("name", "world"),
    )


def _schedule(name: str | None) -> dict[str, Any]:
    config = {"cron": "0 9 * * 1-5", "timezone": "UTC"}
    return _document(
        name or "Morning note",
        "Leave a note in the inbox on every working day at nine.",
        [_tell("Good morning", "It is {{ run.started_at }}.")],
        triggers=[{"id": "mornings", "type": "schedule", "config": config}],
    )


def _webhook(name: str | None) -> dict[str, Any]:
    return _document(
        name or "Incoming call",
        "Leave in the inbox what another system sent.",
        [_tell("A user named", "They said: {{ inputs.message }}")],
        inputs=_takes("message", ""),
        triggers=[
            {
                "id": "calls",
                "type": "webhook",
                "config": {"input_mapping": {"message": "$.message"}},
            }
        ],
    )


def _event(name: str | None) -> dict[str, Any]:
    config = {"event_type": "orders.paid", "filters": {"total": {"gte": 100}}}
    return _document(
        name or "Large order",
        "Tell the people here when a large order was paid.",
        # A run by hand has no event; the defaults let it be tried.
        [
            _tell(
                "A large order",
                "Order {{ trigger.order | default('?') }}: {{ trigger.total | default(0) }} paid.",
            )
        ],
        triggers=[{"id": "large-orders", "type": "event", "config": config}],
    )


_STARTERS: Final[Mapping[str, Callable[[str | None], dict[str, Any]]]] = {
    "manual": _manual,
    "schedule": _schedule,
    "webhook": _webhook,
    "event": _event,
}
