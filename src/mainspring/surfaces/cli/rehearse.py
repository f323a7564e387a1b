"""``rehearse``: what a change would have done, told firing by firing.

Without a server, a worker of this process executes the runs of the rehearsal.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time
from mainspring.surfaces.cli.connection import (
    enter_event_loop,
    get_opened_services,
    open_client,
)
from mainspring.surfaces.cli.documents import display_name, read_definition_file, read_document
from mainspring.surfaces.cli.lookup import find_in_use_at
from mainspring.surfaces.cli.paragraphs import heading, paragraph
from mainspring.surfaces.cli.progress import show_progress
from mainspring.surfaces.cli.proposals import find_proposal
from mainspring.surfaces.cli.screen import Screen, as_json, one_line

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.contracts.limits import Limits
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

_SIGNS: Final = {"added": "+", "removed": "-", "changed": "~", "status": "!", "cost": "$"}
_PAUSE: Final = 0.2


@dataclass(frozen=True, slots=True)
class RehearseOptions:
    """What somebody wants to see rehearsed, and over what."""

    automation: str
    definition: str | None = None
    version: int | None = None
    proposal: str | None = None
    # The newest version of the recipe that it was installed from.
    upgrade: bool = False
    last: int | None = None
    samples: tuple[str, ...] = ()
    live_reads: bool | None = None


async def rehearse(context: CommandContext, screen: Screen, options: RehearseOptions) -> int:
    """Rehearses, waits for the end and shows what would have gone otherwise."""
    _check_one(options)
    limits = context.limits()
    document = None
    if options.definition is not None:
        with _of_file(options.definition):
            document = read_definition_file(options.definition, limits)
    samples = [_sample(file, limits) for file in options.samples]
    async with open_client(context) as client:
        given = await _build_arguments(client, options, document, samples)
        await enter_event_loop()
        # The call itself waits for the runs, so their worker begins before it.
        async with _working(client):
            with _of_file(options.definition):
                found = await client.call("rehearse_automation", given)
            with show_progress(screen, "Rehearsing") as line:
                while not found["done"]:
                    firings = found["firings"]
                    done = sum(one["done"] for one in firings)
                    line.update("runs", done, len(firings))
                    await asyncio.sleep(_PAUSE)
                    again = {"rehearsal_id": found["rehearsal_id"]}
                    found = await client.call("get_rehearsal", again)
    if screen.for_programs:
        screen.answer(found)
    else:
        screen.say(*rehearsal_lines(found, screen))
    return exits.DIFFERS if found["otherwise"] else exits.DONE


@contextmanager
def _of_file(file: str | None) -> Iterator[None]:
    """What is wrong with a definition in a file is said with the file and the place in it."""
    try:
        yield
    except Invalid as problem:
        name = None if file is None else one_line(display_name(file), 80)
        if name is None or name in problem.detail:
            raise
        findings = [
            replace(one, pointer=one.pointer.removeprefix("/candidate/definition"))
            for one in problem.findings
        ]
        raise Invalid(
            f"{name}: {problem.detail}",
            code=problem.code,
            findings=findings,
            suggestion=problem.suggestion,
        ) from None


def _check_one(options: RehearseOptions) -> None:
    named = [options.definition, options.version, options.proposal, options.upgrade or None]
    if sum(one is not None for one in named) > 1:
        raise Invalid(
            "One thing is rehearsed at a time: --definition, --version, --proposal or --upgrade.",
            code="usage",
        )
    if options.samples and options.last is not None:
        raise Invalid("It goes over samples, or over the last firings: not both.", code="usage")


def _sample(file: str, limits: Limits) -> dict[str, Any]:
    read = read_document(file, limits)
    if not isinstance(read, Mapping):
        raise Invalid(
            f"{one_line(file, 80)} is no sample: it is an object with inputs, a payload or both.",
            code="usage",
        )
    return dict(read)


async def _build_arguments(
    client: ApiClient,
    options: RehearseOptions,
    document: Any,
    samples: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    automation = await find_in_use_at(client, options.automation)
    arguments: dict[str, Any] = {"automation_id": str(automation["id"])}
    if document is not None:
        arguments["candidate"] = {"definition": document}
    elif options.version is not None:
        arguments["candidate"] = {"version": options.version}
    elif options.proposal is not None:
        proposal = await find_proposal(client, options.proposal)
        arguments["candidate"] = {"proposal_id": proposal["proposal_id"]}
    elif options.upgrade:
        arguments["candidate"] = {"definition": await _upgraded(client, automation["id"])}
    if options.last is not None:
        arguments["last"] = options.last
    if samples:
        arguments["samples"] = list(samples)
    if options.live_reads is not None:
        arguments["live_reads"] = options.live_reads
    return arguments


async def _upgraded(client: ApiClient, automation_id: str) -> Any:
    """What the newest version of its recipe would make of an automation."""
    asked = {"entity_id": str(automation_id), "entity_kind": "automation"}
    found = await client.call("check_recipe_upgrade", asked)
    if not found["has_upgrade"]:
        raise Conflict(
            f"It is version {found['installed']}, and there is no newer one.", code="no_upgrade"
        )
    if found["definition"] is None:
        raise Conflict(
            "The newer version needs something first, another recipe or a setting, so there is "
            "nothing to rehearse with.",
            code="not_whole",
            suggestion="`codex check` tells what; once it is upgraded it can be rehearsed.",
        )
    return found["definition"]


@asynccontextmanager
async def _working(client: ApiClient) -> AsyncIterator[None]:
    """A worker of this process, if no server answers, whose workers would do it."""
    services = get_opened_services(client)
    if services is None:
        yield
        return
    from mainspring.runs.rows import ignore_event

    worker = services.hire(ignore_event)
    task = asyncio.create_task(worker.run(), name="worker")
    try:
        yield
    finally:
        worker.stop()
        await asyncio.gather(task, return_exceptions=True)


def rehearsal_lines(found: Mapping[str, Any], screen: Screen) -> list[Any]:
    """A table of the firings, and then what is different in each of them."""
    rows = [_row(place, one, screen) for place, one in enumerate(found["firings"], 1)]
    heads = ("", "When", "Then", "Now", "Would have cost", "Differences")
    lines: list[Any] = [columns(heads, rows, whole=("When",))]
    for place, firing in enumerate(found["firings"], 1):
        lines += _differences(place, firing, screen)
    lines += ["", *paragraph(screen, found["summary"], lead="")]
    asked = sum(len(one["now"]["live"]) for one in found["firings"] if one["now"])
    if asked:
        text = f"{asked} answers were not recorded and were requested now"
        lines += paragraph(screen, f"{text}, for ${found['spent_usd']}.", lead="")
    return lines


def _row(place: int, firing: Mapping[str, Any], screen: Screen) -> tuple[str, ...]:
    then, now = firing["then"], firing["now"]
    side = then or now or {}
    when = format_time(datetime.fromisoformat(side["at"]), screen) if side else ""
    many = sum(one["kind"] != "cost" for one in firing["differences"])
    return (
        str(place),
        when,
        _status(then),
        _status(now),
        "" if now is None else f"${now['cost_usd']}",
        str(many) if many else "none",
    )


def _status(side: Mapping[str, Any] | None) -> str:
    if side is None:
        return "not run"
    deeds = len(side["deeds"])
    return side["status"] if not deeds else f"{side['status']}, {deeds} done"


def _differences(place: int, firing: Mapping[str, Any], screen: Screen) -> list[Text]:
    if not firing["differences"] and not firing["note"]:
        return []
    lines = heading(f"Firing {place}")
    if firing["note"]:
        lines += paragraph(screen, firing["note"])
    for one in firing["differences"]:
        lines += paragraph(screen, one["says"], lead=f"  {_SIGNS[one['kind']]} ")
        for field in one.get("fields", ()):
            at = field["pointer"] or "/"
            lines += paragraph(screen, f"{at}: {_short(field['then'])}", lead="      then ")
            lines += paragraph(screen, f"{at}: {_short(field['now'])}", lead="      now  ")
    return lines


def _short(value: Any) -> str:
    return one_line(as_json(value, indent=None), 200)
