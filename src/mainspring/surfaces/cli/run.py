"""``run`` and ``retry``: start a run in this process and stay until it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.actions.script.checking import check_builds
from mainspring.contracts.errors import Finding, InternalError
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.definition.inputs import RuntimeTokens, resolve_inputs
from mainspring.gate.policy import Mode
from mainspring.runs.arrivals import RunRequest
from mainspring.runs.history import list_runs, read_run
from mainspring.runs.rows import FINAL
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.closing import closing_lines, failed_row, version_in_force
from mainspring.surfaces.cli.documents import read_definition_file, read_inputs
from mainspring.surfaces.cli.elsewhere import validate_offline
from mainspring.surfaces.cli.follow import RunFollower
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.reading import find
from mainspring.surfaces.cli.replacing import DefinitionFile, save_to_run
from mainspring.surfaces.cli.screen import one_line
from mainspring.surfaces.cli.show import RunDisplay
from mainspring.surfaces.cli.summary import introduction, warning_lines
from mainspring.surfaces.cli.timeline import TimelineEntry, paint
from mainspring.surfaces.cli.words import count, hint
from mainspring.workspace.audit import is_idle, tell_saved
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.consents import check_may_repeat
from mainspring.workspace.judging_here import judge_here, load_vocabulary

if TYPE_CHECKING:
    from mainspring.definition.model import Definition
    from mainspring.definition.validate import ValidationReport
    from mainspring.runs.worker import Worker
    from mainspring.surfaces.cli.desk import CommandContext
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.rooms import ApplicationServices
    from mainspring.workspace.automations import SavedAutomation

# A command that is done does not keep its caller waiting for the steps of other runs.
_STOP_SECONDS = 5.0
_MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class ValidatedRun:
    """A run that somebody asked for, judged and not yet stored."""

    report: ValidationReport
    inputs: dict[str, Any]

    @property
    def definition(self) -> Definition:
        return self.report.accepted()


@dataclass(frozen=True, slots=True)
class RunSideEffects:
    """What a command did beside the run: in words, and for programs."""

    version: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)


NOTHING_BESIDE = RunSideEffects()


async def run_file(
    desk: CommandContext,
    screen: Screen,
    file: str,
    words: Sequence[str],
    whole: str | None,
    seconds: float | None,
    mode: Mode = "live",
    name: str | None = None,
) -> int:
    """Judges the file and the inputs, saves, runs, and shows how it goes."""
    document = read_definition_file(file, desk.limits(), name)
    wanted = _judged(desk, document, words, whole)
    async with _open(desk, screen) as rooms:
        wanted = await _judged_here(rooms, screen, wanted, document)
        await _tell_of_earlier_runs(rooms, screen)
        saved = await _saved(rooms, wanted, DefinitionFile(file, renamed=name is not None))
        version = _version_words(wanted, saved)
        doubts = (*wanted.report.warnings, *saved.warnings)
        _tell_of_saving(screen, version, doubts)
        request = RunRequest(
            rooms.workspace_id, saved.automation_id, inputs=wanted.inputs, mode=mode, own_file=True
        )
        dispatched = await rooms.dispatcher.dispatch(request)
        told = {"run_id": str(dispatched.run_id)}
        await local(rooms, AuditedAction("run_automation", saved.automation_id, told)).note()
        more = {
            "saved_version": saved.version if saved.changed else None,
            "warnings": [finding.as_dict() for finding in doubts],
        }
        return await _see_through(
            rooms, screen, dispatched.run_id, seconds, beside=RunSideEffects(version, more)
        )


def _judged(
    desk: CommandContext, document: Any, words: Sequence[str], whole: str | None
) -> ValidatedRun:
    """Judged before the house is opened: a bad file costs nothing and makes nothing."""
    limits = desk.limits()
    report = validate_offline(document, desk.doors.vocabulary(limits), limits).report
    definition = report.accepted()
    inputs = read_inputs(words, whole, definition.inputs.shape, limits)
    # Judged again when the run is accepted; here so that nothing is stored before.
    now = datetime.now(UTC)
    tokens = RuntimeTokens(None, now, str(FIRST_MEMBER), str(FIRST_WORKSPACE))
    resolve_inputs(definition.inputs.shape, {}, inputs, tokens, limits)
    return ValidatedRun(report, inputs)


async def _judged_here(
    rooms: ApplicationServices, screen: Screen, wanted: ValidatedRun, document: Any
) -> ValidatedRun:
    """Judged by the house, which alone knows its tools and models, and shown as it will be."""
    space = rooms.workspace_id
    words = await load_vocabulary(rooms.registry, space, document)
    whose, gate = DefinitionOwner(space, author_id=FIRST_MEMBER), rooms.gate
    report = await judge_here(document, whose, words, gate.models, rooms.limits, gate.preflight)
    screen.say(*introduction(report.accepted(), report.grants, words), "")
    return replace(wanted, report=report)


async def _saved(
    rooms: ApplicationServices, wanted: ValidatedRun, handed: DefinitionFile
) -> SavedAutomation:
    await check_builds(rooms.workshop, rooms.workspace_id, wanted.definition)
    deed = AuditedAction("create_automation")
    async with local(rooms, deed).transaction() as tx:
        saved = await save_to_run(tx, rooms.workspace_id, wanted.report, handed, local_owner(rooms))
        deed.subject = saved.automation_id
        deed.detail = tell_saved(saved, wanted.definition.name)
        deed.idle = is_idle(saved)
    return saved


def _tell_of_saving(screen: Screen, version: str, doubts: Sequence[Finding]) -> None:
    if version:
        screen.say(f"  {version}")
    screen.say(*warning_lines(doubts, screen))
    if version or doubts:
        screen.say("")


def _version_words(wanted: ValidatedRun, saved: SavedAutomation) -> str:
    """What the file became; nothing when it is what was there."""
    name = one_line(wanted.definition.name)
    return f"saved as version {saved.version} of {name}" if saved.changed else ""


async def retry(
    desk: CommandContext, screen: Screen, text: str, *, wait: bool, seconds: float | None
) -> int:
    """Sends a run round again from where it broke off."""
    async with _open(desk, screen) as rooms:
        run_id = await find(rooms, text)
        before = await _read(rooms, run_id)
        async with local(rooms).acquire() as connection:
            owner = local_owner(rooms)
            await check_may_repeat(connection, rooms.workspace_id, run_id, owner, own_file=True)
        await rooms.control.retry(rooms.workspace_id, run_id)
        await local(rooms, AuditedAction("retry_run", run_id)).note()
        if not wait:
            screen.say(f"The run {run_id} is in the queue again; a worker goes on with it.")
            if screen.for_programs:
                screen.answer({"id": str(run_id), "status": "pending"})
            return exits.DONE
        return await _see_through(rooms, screen, run_id, seconds, before)


async def _see_through(
    rooms: ApplicationServices,
    screen: Screen,
    run_id: UUID,
    seconds: float | None,
    before: dict[str, Any] | None = None,
    beside: RunSideEffects = NOTHING_BESIDE,
) -> int:
    """Works in this process until the run has ended, then says what became of it."""
    follower = RunFollower(rooms, run_id, RunDisplay(screen))
    if before is not None:
        _tell_of_kept_steps(before, follower, screen)
        await follower.pass_over()
    async with _working(rooms.hire(follower.hear)) as worker:
        following = asyncio.create_task(follower.until_end(seconds), name="follow")
        await asyncio.wait({worker, following}, return_when=asyncio.FIRST_COMPLETED)
        if not following.done():
            following.cancel()
            worker.result()
            raise InternalError("The worker ended before the run did.", code="worker_ended")
        run = following.result()
    run = run or await _read(rooms, run_id)
    now = await version_in_force(rooms, run)
    return _close(screen, run, beside, asked=follower.cancelling, in_force=now)


async def _read(rooms: ApplicationServices, run_id: UUID) -> dict[str, Any]:
    async with local(rooms).acquire() as connection:
        return await read_run(connection, rooms.workspace_id, run_id)


def _close(
    screen: Screen, run: dict[str, Any], beside: RunSideEffects, *, asked: bool, in_force: int
) -> int:
    """The last words; a run that was left may still have ended on the way out."""
    if screen.for_programs:
        screen.answer({**run, **beside.told})
    elif run["status"] in FINAL:
        screen.say(*closing_lines(run, screen, in_force=in_force, saved=beside.version))
    else:
        end = "ends it" if asked else "goes on with it"
        screen.say("", f"The run {run['id']} is not finished; the next worker {end}.")
        screen.say(f"  {hint('worker')}")
    return exits.of_run(run["status"], run["outcome"])


@asynccontextmanager
async def _open(desk: CommandContext, screen: Screen) -> AsyncIterator[ApplicationServices]:
    settings = desk.settings()
    if settings.database_url is None and not settings.home.exists():
        words = f"The database is made in {settings.home}, which takes a few seconds once."
        screen.say(paint(TimelineEntry("told", "", words=words), screen))
    short = replace(settings, stop_seconds=min(settings.stop_seconds, _STOP_SECONDS))
    async with desk.doors.open(short) as rooms:
        yield rooms


@asynccontextmanager
async def _working(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(worker.run(), name="worker")
    try:
        yield task
    finally:
        worker.stop()
        # What goes wrong from here on cannot change the run, which is recorded.
        await asyncio.gather(task, return_exceptions=True)


async def _tell_of_earlier_runs(rooms: ApplicationServices, screen: Screen) -> None:
    """Only the owner of the database can tell: nobody else is at work then."""
    if rooms.database.server is None:
        return
    async with local(rooms).acquire() as connection:
        found = 0
        for status in ("pending", "running"):
            rows = await list_runs(
                connection, rooms.workspace_id, status=status, most=_MOST_COUNTED
            )
            found += len(rows)
    if found:
        words = count(found, "earlier run is", "earlier runs are")
        screen.say(paint(TimelineEntry("told", "", words=f"{words} being resumed."), screen))


def _tell_of_kept_steps(before: dict[str, Any], follower: RunFollower, screen: Screen) -> None:
    """The steps that are not repeated; what came after the failure was its aftermath."""
    follower.timeline.remember(before["steps"])
    failed = failed_row(before)
    for row in before["steps"]:
        if row is failed:
            break
        if row["status"] == "succeeded":
            line = TimelineEntry("succeeded", row["step"], row["item"], "done before")
            screen.say(paint(line, screen))
