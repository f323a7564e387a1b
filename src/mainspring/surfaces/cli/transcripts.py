"""``runs transcript``: what the agents of a run were told, said, called and cost, to read.

A conversation is what models and tools said: all of it is text that a terminal shows and does
not obey. Long texts are cut here; ``--json`` gives all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.gate.transcripts import transcripts_of_run
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import local
from mainspring.surfaces.cli.runs import find
from mainspring.surfaces.cli.screen import as_json, clean, one_line
from mainspring.workspace.artifacts.rows import read_artifact, read_content

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices

_LONGEST: Final = 4_000
_FAINT: Final = "bright_black"


async def show_transcript(
    context: CommandContext, screen: Screen, text: str, step: str | None
) -> int:
    """Every conversation of a run, or those of one step."""
    async with context.doors.open(context.settings()) as services:
        run_id = await find(services, text)
        async with local(services).acquire() as connection:
            there = await transcripts_of_run(connection, services.workspace_id, run_id)
        chosen = [row for row in there if step is None or row["step"] == step]
        if not chosen:
            raise _none(run_id, step, there)
        found = [{**row, "transcript": await _read(services, row["artifact_id"])} for row in chosen]
    if screen.for_programs:
        screen.answer({"run_id": str(run_id), "transcripts": found})
    for row in found:
        screen.say(*_head(row), *_conversation(row["transcript"], screen), "")
    return exits.DONE


def _none(run_id: UUID, step: str | None, there: Sequence[Mapping[str, Any]]) -> NotFound:
    steps = sorted({row["step"] for row in there})
    if step is not None and steps:
        return NotFound(
            f"No agent of the step {step[:64]!r} has a transcript in this run.",
            code="no_transcript",
            suggestion=f"Steps that have one: {', '.join(steps)}.",
        )
    return NotFound(
        "No agent of this run has a transcript.",
        code="no_transcript",
        suggestion="A transcript is stored when an agent ends. Until then, use "
        f"{hint('runs', 'watch', run_id)}.",
    )


async def _read(services: ApplicationServices, artifact_id: UUID) -> Any:
    async with local(services).acquire() as connection:
        artifact = await read_artifact(connection, services.workspace_id, artifact_id)
    try:
        return json.loads(await read_content(services.blobs, artifact))
    except (ValueError, RecursionError):
        # A script may save a file of this name too.
        return None


def _head(row: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    return [Text.assemble((row["step"], "bold"), (f"  artifact {row['artifact_id']}", _FAINT))]


def _conversation(kept: Any, screen: Screen) -> Iterator[Text]:
    result = _mapping(kept)
    usage = _mapping(result.get("usage"))
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    tools = ", ".join(map(str, _list(result.get("tools")))) or "none"
    yield _line(f"model {result.get('model')}, tools: {tools}")
    yield _line(f"{read} tokens read, {written} written, ${usage.get('cost_usd')}")
    yield from _format_message("system", result.get("system"), screen)
    yield from _format_message("task", result.get("opening"), screen)
    for turn in _list(result.get("turns")):
        yield from _turn(_mapping(turn), screen)
    yield from _ending(_mapping(result.get("ending")), screen)


def _turn(turn: Mapping[str, Any], screen: Screen) -> Iterator[Text]:
    tokens = f"{turn.get('input_tokens')} + {turn.get('output_tokens')} tokens"
    yield _line("")
    yield _line(f"turn {turn.get('turn')}: {tokens}, ${turn.get('cost_usd')}", "bold")
    yield from _format_message("thinks", turn.get("thoughts"), screen)
    yield from _format_message("says", turn.get("text"), screen)
    for entry in _list(turn.get("calls")):
        call = _mapping(entry)
        name = call.get("tool") or f"{call.get('name')} (not done)"
        yield from _format_message(f"calls {name}", call.get("arguments"), screen)
        yield from _format_message(
            "failed" if call.get("failed") else "gets", call.get("result"), screen
        )
    yield from _format_message("receives", turn.get("told"), screen)


def _ending(ending: Mapping[str, Any], screen: Screen) -> Iterator[Text]:
    yield _line("")
    problem = _mapping(ending.get("problem"))
    if problem:
        yield from _format_message("failed", problem.get("detail"), screen)
    elif ending.get("kind") == "nothing":
        yield from _format_message("nothing to do", ending.get("text"), screen)
    else:
        output = ending.get("output")
        yield from _format_message(
            "answers", ending.get("text") if output is None else output, screen
        )


def _format_message(what: str, value: Any, screen: Screen) -> Iterator[Text]:
    """Who said it in one line, and the text in a margin below."""
    from rich.text import Text

    if value is None or value == "":
        return
    text = value if isinstance(value, str) else as_json(value)
    if len(text) > _LONGEST:
        left = len(text) - _LONGEST
        text = f"{text[:_LONGEST]} … ({left} more characters, --json shows all)"
    yield _line(f"{what}:", _FAINT)
    edge = "│ " if "utf" in screen.console.encoding else "| "
    for line in text.splitlines():
        yield Text.assemble("    ", (edge, _FAINT), clean(line), overflow="fold")


def _line(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(f"  {one_line(text, 400)}" if text else "", style=style)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
