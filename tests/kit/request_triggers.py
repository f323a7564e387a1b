"""Whether the triggers of an answer are those that a request meant."""

from __future__ import annotations

from typing import Any, Final

from tests.kit.lenient_lookup import listed, part, texts
from tests.kit.requests import Made, Request, World
from tests.kit.schedule_equivalence import same_moments

_PRESETS: Final = {"page_ingested": "page.ingested", "board_change": "board.changed"}


def trigger_fault(request: Request, made: Made, world: World) -> str | None:
    left = dict(enumerate(one for one in listed(made.document.get("triggers"))))
    for expected in request.triggers:
        if not any(_takes(one, left, made, world) for one in expected):
            return f"wanted {' or '.join(expected)}; there {_told(left.values(), made)}"
    return f"too much: {_told(left.values(), made)}" if left else None


def _told(triggers: Any, made: Made) -> str:
    there = "; ".join(f"{part(one, 'type')} {part(one, 'config')}" for one in triggers)
    asked = ", ".join(f"{one.kind} {one.pointer}" for one in made.questions)
    return f"{there or 'nothing'}, asked: {asked or 'nothing'}"


def _takes(wanted: str, left: dict[int, Any], made: Made, world: World) -> bool:
    """Whether one entry is fulfilled; what fulfils it is taken away."""
    kind, _, rest = wanted.partition(" ")
    if kind == "none":
        return not left
    if kind == "schedule":
        return _takes_schedules(rest, left, made)
    for place, trigger in left.items():
        if _is(kind, rest.split(), place, trigger, made, world):
            del left[place]
            return True
    return False


def _takes_schedules(wanted: str, left: dict[int, Any], made: Made) -> bool:
    mine = {place: one for place, one in left.items() if part(one, "type") == "schedule"}
    kinds = {one.kind for one in made.questions}
    output = [
        (part(one, "config", "cron"), part(one, "config", "timezone")) for one in mine.values()
    ]
    crons, _, zone = wanted.partition(" @ ")
    if wanted == "?":
        fits = "schedule" in kinds or _asks_what_starts_it(made)
    elif zone == "?":
        asked = bool(kinds & {"schedule", "time_zone"}) or _asks_below(
            made, "/triggers", "timezone"
        )
        known = [(cron, "UTC") for cron, _ in output if isinstance(cron, str)]
        meant = [(cron, "UTC") for cron in crons.split(" | ")]
        fits = asked and (not known or same_moments(meant, known))
    else:
        fits = same_moments([(cron, zone) for cron in crons.split(" | ")], output)
    if fits:
        for place in mine:
            del left[place]
    return fits


def _asks_what_starts_it(made: Made) -> bool:
    return any(
        one.pointer.startswith("/triggers") and one.kind in {"schedule", "value"}
        for one in made.questions
    )


def _asks_below(made: Made, begin: str, end: str) -> bool:
    return any(
        one.pointer.startswith(begin) and one.pointer.endswith(end) for one in made.questions
    )


def _is(kind: str, pairs: list[str], place: int, trigger: Any, made: Made, world: World) -> bool:
    config = part(trigger, "config")
    expected = dict(pair.split("=", 1) for pair in pairs)
    if "board" in expected:
        board = expected.pop("board")
        expected["board_id"] = next(
            (one.id for one in world.resources.boards if one.name == board), board
        )
    if part(trigger, "type") == "event" and part(config, "event_type") == _PRESETS.get(kind, ""):
        filters = " ".join(texts(part(config, "filters")))
        return all(value in filters for value in expected.values())
    return part(trigger, "type") == kind and all(
        _asks_below(made, f"/triggers/{place}", f"/{key}")
        if value == "?"
        else _holds(part(config, key), value)
        for key, value in expected.items()
    )


def _holds(value: Any, wanted: str) -> bool:
    return wanted in value if isinstance(value, list) else str(value) == wanted
