"""``run`` and ``retry``: start a run in this process and stay until it has ended."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.actions.script.prebuild import check_builds
from mainspring.contracts.errors import Conflict, Finding, InternalError
from mainspring.contracts.preflight import DefinitionOwner
from mainspring.definition.inputs import RuntimeTokens, resolve_inputs
from mainspring.gate.policy import Mode
from mainspring.runs.history import list_runs, read_run
from mainspring.runs.output import OutputPosition, read_output
from mainspring.runs.rows import FINAL, Kind, RunEvent
from mainspring.runs.run_requests import RunRequest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.documents import STDIN, read_definition_file, read_inputs
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.offline_validation import validate_offline
from mainspring.surfaces.cli.run_display import RunDisplay
from mainspring.surfaces.cli.run_result import closing_lines, failed_row, version_in_force
from mainspring.surfaces.cli.runs import find
from mainspring.surfaces.cli.screen import one_line
from mainspring.surfaces.cli.step_output import OutputLines
from mainspring.surfaces.cli.summary import introduction, warning_lines
from mainspring.surfaces.cli.timeline import RunTimeline, TimelineEntry, paint
from mainspring.workspace.audit import describe_save, is_unchanged
from mainspring.workspace.automations import (
    FIRST_MEMBER,
    FIRST_WORKSPACE,
    SavedAutomation,
    find_automation_ids,
    lock_automation,
    lock_names,
    save,
)
from mainspring.workspace.consents import (
    NOTHING,
    ask_if_wider,
    check_consent,
    load_baseline,
)
from mainspring.workspace.repeat_consents import check_may_repeat
from mainspring.workspace.workspace_validation import load_vocabulary, validate_in_workspace

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.definition.model import Definition
    from mainspring.definition.validate import ValidationReport
    from mainspring.runs.worker import Worker
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen
    from mainspring.surfaces.services import ApplicationServices


# Following one run to its end, whoever executes it.

_FRAME_SECONDS = 0.1
# How long nothing may be heard before the record is asked.
_SILENCE_SECONDS = 0.5
_OVER = ("step_finished", "step_retrying", "run_ended")


class RunFollower:
    """Sees a run through: hears what happens, shows it, and obeys Ctrl-C."""

    def __init__(self, rooms: ApplicationServices, run_id: UUID, show: RunDisplay) -> None:
        self._rooms = rooms
        self._run_id = run_id
        self._show = show
        self._heard: deque[RunEvent] = deque()
        self._news = asyncio.Event()
        self._cancelling: asyncio.Task[None] | None = None
        self._queued = False
        self._saying = OutputLines(show.screen)
        self._place: OutputPosition | None = None
        self.timeline = RunTimeline()
        self.left = False

    @property
    def cancelling(self) -> bool:
        """Whether somebody has asked for the run's end."""
        return self._cancelling is not None

    def hear(self, event: RunEvent) -> None:
        """Called by the worker for every run it has; only one is of interest here."""
        if event.run_id == self._run_id:
            self._heard.append(event)
            self._news.set()

    async def until_end(self, seconds: float | None) -> dict[str, Any] | None:
        """The run when it has ended; None when it was left before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._show, self._signals():
            asked = 0.0
            while not self.left:
                ended = await self._catch_up()
                now = time.monotonic()
                if ended or (not self._heard and now - asked > _SILENCE_SECONDS):
                    asked = now
                    run = await self._look()
                    if run["status"] in FINAL:
                        return run
                self._show.frame(self.timeline, self._rooms.clock.now())
                if deadline is not None and now > deadline:
                    return None
                await self._wait()
        return None

    async def _catch_up(self) -> bool:
        """Shows what was heard; True when that was the end."""
        heard, self._heard = self._heard, deque()
        self._news.clear()
        if any(moment.kind in _OVER for moment in heard):
            # What a step said was recorded before it was over, and is shown before that.
            await self._listen()
        ended = False
        for moment in heard:
            self._tell(self.timeline.see(moment, time.monotonic()))
            ended = moment.kind == "run_ended"
        return ended

    async def pass_over(self) -> None:
        """What was said before now is not shown."""
        await self._listen(quietly=True)

    async def _listen(self, *, quietly: bool = False) -> None:
        """Shows what steps have said since the last time."""
        async with local(self._rooms).acquire() as connection:
            while rows := await read_output(
                connection, self._rooms.workspace_id, self._run_id, after=self._place
            ):
                self._place = OutputPosition.of(rows[-1])
                for row in () if quietly else rows:
                    self._show.said(self._saying.hear(row))

    async def _look(self) -> dict[str, Any]:
        """Reads the record, and shows what was not heard of it."""
        await self._listen()
        async with local(self._rooms).acquire() as connection:
            run = await read_run(connection, self._rooms.workspace_id, self._run_id)
        for row in run["steps"]:
            self._tell(self.timeline.see(_moment(self._run_id, row), time.monotonic()))
        if run["status"] == "waiting":
            self._tell(self.timeline.sleep(run["due_at"]))
        elif run["status"] == "pending" and not self._queued and not self.timeline.going:
            self._queued = True
            if run["started_at"] is None and _stands_behind(run):
                self._tell(
                    TimelineEntry(
                        "waiting", "", words="Waiting for another run of this automation."
                    )
                )
        return run

    def _tell(self, line: TimelineEntry | None) -> None:
        if line is not None:
            self._show.line(line)

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FRAME_SECONDS):
                await self._news.wait()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        # A terminal that closes or a machine that stops is no wish to cancel the run.
        for sign in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(sign, self._leave)
        try:
            yield
        finally:
            for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(sign)

    def _interrupted(self) -> None:
        if self._cancelling is not None:
            self._leave()
            return
        self._tell(
            TimelineEntry("told", "", words="Cancelling. Press Ctrl-C again to stop immediately.")
        )
        self._cancelling = asyncio.create_task(self._cancel(), name="cancel")

    async def _cancel(self) -> None:
        with suppress(Conflict):
            await self._rooms.control.cancel(self._rooms.workspace_id, self._run_id)
            await local(self._rooms, AuditedAction("cancel_run", self._run_id)).note()

    def _leave(self) -> None:
        self.left = True
        self._news.set()


def _stands_behind(run: Mapping[str, Any]) -> bool:
    """Whether the run waits in its lane: it is not due before somebody lets it go."""
    return run["due_at"] is None


def _moment(run_id: UUID, row: Mapping[str, Any]) -> RunEvent:
    kind: Kind = "step_retrying" if row["status"] == "retrying" else "step_finished"
    detail = row["output"] if row["error"] is None else row["error"]
    return RunEvent(
        kind, run_id, row["step"], row["item"], row["status"], row["attempt"], row["ms"], detail
    )


# What ``run`` may put in the place of an automation that has the same name.


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """The file that a person handed over, and whether they gave it another name."""

    file: str
    renamed: bool = False


async def save_to_run(
    tx: Transaction,
    workspace_id: UUID,
    report: ValidationReport,
    handed: DefinitionFile,
    owner: Actor,
) -> SavedAutomation:
    """Saves under the name; refuses what would take something away from the one that has it.

    A person agrees with that to what it may do from now on; without a terminal nobody does. That
    is asked about once it is activated, and no message is left: the owner wanted to run the file.
    """
    definition = report.accepted()
    await lock_names(tx, workspace_id)
    there = await find_automation_ids(tx, workspace_id, [definition.name])
    before = await lock_automation(tx, workspace_id, there[0]) if there else None
    agreed = None if owner.is_person else NOTHING
    if there:
        agreed = await load_baseline(tx, workspace_id, there[0], owner)
    saved = await save(tx, workspace_id, definition, report.grants, FIRST_MEMBER, report.traits)
    if before is not None and saved.changed:
        reason = _reason(before["state"], before["document"], definition.as_dict())
        if reason:
            raise _refusal(definition.name, reason, handed)
    at = (tx, workspace_id, saved.automation_id)
    # What is in force and agreed to stays as it is.
    if saved.changed or await check_consent(*at, saved.version) is not None:
        await ask_if_wider(*at, agreed, owner, tell=False)
    return saved


def _reason(state: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Why a version must not be replaced by the way; empty when it may."""
    if state == "active":
        return "is active, and this file says something else"
    triggers = _triggers(before) - _triggers(after)
    if triggers:
        return f"has triggers that this file does not have: {', '.join(sorted(triggers))}"
    granted = set(_granted(before)) - set(_granted(after))
    if granted:
        return f"has written grants that this file does not have: {', '.join(sorted(granted))}"
    return ""


def _triggers(document: Mapping[str, Any]) -> set[str]:
    return {entry["id"] for entry in document.get("triggers") or ()}


def _granted(document: Mapping[str, Any]) -> Iterator[str]:
    """What somebody wrote down as allowed: for the whole plan, or for one of its scripts."""
    for entry in document.get("grants") or ():
        yield entry["capability"]
    yield from _of_scripts(document)


def _of_scripts(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        config = part.get("config")
        if part.get("action") == "script" and isinstance(config, Mapping):
            yield from (entry["tool"] for entry in config.get("grants") or ())
        else:
            for inner in part.values():
                yield from _of_scripts(inner)
    elif isinstance(part, list | tuple):
        for inner in part:
            yield from _of_scripts(inner)


def _refusal(name: str, reason: str, handed: DefinitionFile) -> Conflict:
    file = "FILE" if handed.file == STDIN else handed.file
    # A file that was renamed for the run would be saved under its own name.
    replace = hint("save", file, "--to", name) if handed.renamed else hint("save", file)
    return Conflict(
        f"There is an automation called {name!r} already. It {reason}. Nothing was saved or run.",
        code="would_replace",
        suggestion=f"{replace} replaces it; "
        f"{hint('run', file, '--name', 'OTHER')} runs the file under another name.",
    )


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
    context: CommandContext,
    screen: Screen,
    file: str,
    words: Sequence[str],
    whole: str | None,
    seconds: float | None,
    mode: Mode = "live",
    name: str | None = None,
) -> int:
    """Judges the file and the inputs, saves, runs, and shows how it goes."""
    document = read_definition_file(file, context.limits(), name)
    wanted = _validate_run(context, document, words, whole)
    async with _open(context, screen) as services:
        wanted = await _validate_with_server(services, screen, wanted, document)
        await _tell_of_earlier_runs(services, screen)
        saved = await _saved(services, wanted, DefinitionFile(file, renamed=name is not None))
        version = _version_words(wanted, saved)
        doubts = (*wanted.report.warnings, *saved.warnings)
        _tell_of_saving(screen, version, doubts)
        request = RunRequest(
            services.workspace_id,
            saved.automation_id,
            inputs=wanted.inputs,
            mode=mode,
            own_file=True,
        )
        dispatched = await services.dispatcher.dispatch(request)
        told = {"run_id": str(dispatched.run_id)}
        await local(services, AuditedAction("run_automation", saved.automation_id, told)).note()
        more = {
            "saved_version": saved.version if saved.changed else None,
            "warnings": [finding.as_dict() for finding in doubts],
        }
        return await _see_through(
            services, screen, dispatched.run_id, seconds, beside=RunSideEffects(version, more)
        )


def _validate_run(
    context: CommandContext, document: Any, words: Sequence[str], whole: str | None
) -> ValidatedRun:
    """Judged before the house is opened: a bad file costs nothing and makes nothing."""
    limits = context.limits()
    report = validate_offline(document, context.doors.vocabulary(limits), limits).report
    definition = report.accepted()
    inputs = read_inputs(words, whole, definition.inputs.shape, limits)
    # Judged again when the run is accepted; here so that nothing is stored before.
    now = datetime.now(UTC)
    tokens = RuntimeTokens(None, now, str(FIRST_MEMBER), str(FIRST_WORKSPACE))
    resolve_inputs(definition.inputs.shape, {}, inputs, tokens, limits)
    return ValidatedRun(report, inputs)


async def _validate_with_server(
    services: ApplicationServices, screen: Screen, validated: ValidatedRun, document: Any
) -> ValidatedRun:
    """Judged by the house, which alone knows its tools and models, and shown as it will be."""
    space = services.workspace_id
    vocabulary = await load_vocabulary(services.registry, space, document)
    whose, gate = DefinitionOwner(space, author_id=FIRST_MEMBER), services.gate
    report = await validate_in_workspace(
        document, whose, vocabulary, gate.models, services.limits, gate.preflight
    )
    screen.say(*introduction(report.accepted(), report.grants, vocabulary), "")
    return replace(validated, report=report)


async def _saved(
    services: ApplicationServices, validated: ValidatedRun, handed: DefinitionFile
) -> SavedAutomation:
    await check_builds(services.script_runner, services.workspace_id, validated.definition)
    deed = AuditedAction("create_automation")
    async with local(services, deed).transaction() as tx:
        saved = await save_to_run(
            tx, services.workspace_id, validated.report, handed, local_owner(services)
        )
        deed.subject = saved.automation_id
        deed.detail = describe_save(saved, validated.definition.name)
        deed.idle = is_unchanged(saved)
    return saved


def _tell_of_saving(screen: Screen, version: str, doubts: Sequence[Finding]) -> None:
    if version:
        screen.say(f"  {version}")
    screen.say(*warning_lines(doubts, screen))
    if version or doubts:
        screen.say("")


def _version_words(validated: ValidatedRun, saved: SavedAutomation) -> str:
    """What the file became; nothing when it is what was there."""
    name = one_line(validated.definition.name)
    return f"saved as version {saved.version} of {name}" if saved.changed else ""


async def retry(
    context: CommandContext, screen: Screen, text: str, *, wait: bool, seconds: float | None
) -> int:
    """Sends a run round again from where it broke off."""
    async with _open(context, screen) as services:
        run_id = await find(services, text)
        before = await _read(services, run_id)
        async with local(services).acquire() as connection:
            owner = local_owner(services)
            await check_may_repeat(connection, services.workspace_id, run_id, owner, own_file=True)
        await services.control.retry(services.workspace_id, run_id)
        await local(services, AuditedAction("retry_run", run_id)).note()
        if not wait:
            screen.say(f"The run {run_id} is queued again. A worker continues it.")
            if screen.for_programs:
                screen.answer({"id": str(run_id), "status": "pending"})
            return exits.DONE
        return await _see_through(services, screen, run_id, seconds, before)


async def _see_through(
    services: ApplicationServices,
    screen: Screen,
    run_id: UUID,
    seconds: float | None,
    before: dict[str, Any] | None = None,
    beside: RunSideEffects = NOTHING_BESIDE,
) -> int:
    """Works in this process until the run has ended, then says what became of it."""
    follower = RunFollower(services, run_id, RunDisplay(screen))
    if before is not None:
        _tell_of_kept_steps(before, follower, screen)
        await follower.pass_over()
    async with _working(services.hire(follower.hear)) as worker:
        following = asyncio.create_task(follower.until_end(seconds), name="follow")
        await asyncio.wait({worker, following}, return_when=asyncio.FIRST_COMPLETED)
        if not following.done():
            following.cancel()
            worker.result()
            raise InternalError("The worker ended before the run did.", code="worker_ended")
        run = following.result()
    run = run or await _read(services, run_id)
    now = await version_in_force(services, run)
    return _close(screen, run, beside, asked=follower.cancelling, in_force=now)


async def _read(services: ApplicationServices, run_id: UUID) -> dict[str, Any]:
    async with local(services).acquire() as connection:
        return await read_run(connection, services.workspace_id, run_id)


def _close(
    screen: Screen, run: dict[str, Any], beside: RunSideEffects, *, asked: bool, in_force: int
) -> int:
    """The last words; a run that was left may still have ended on the way out."""
    if screen.for_programs:
        screen.answer({**run, **beside.told})
    elif run["status"] in FINAL:
        screen.say(*closing_lines(run, screen, in_force=in_force, saved=beside.version))
    else:
        end = "ends it" if asked else "continues it"
        screen.say("", f"The run {run['id']} is not finished; the next worker {end}.")
        screen.say(f"  {hint('worker')}")
    return exits.of_run(run["status"], run["outcome"])


@asynccontextmanager
async def _open(context: CommandContext, screen: Screen) -> AsyncIterator[ApplicationServices]:
    settings = context.settings()
    if settings.database_url is None and not settings.home.exists():
        text = f"The database is made in {settings.home}, which takes a few seconds once."
        screen.say(paint(TimelineEntry("told", "", words=text), screen))
    short = replace(settings, stop_seconds=min(settings.stop_seconds, _STOP_SECONDS))
    async with context.doors.open(short) as services:
        yield services


@asynccontextmanager
async def _working(worker: Worker) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(worker.run(), name="worker")
    try:
        yield task
    finally:
        worker.stop()
        # What goes wrong from here on cannot change the run, which is recorded.
        await asyncio.gather(task, return_exceptions=True)


async def _tell_of_earlier_runs(services: ApplicationServices, screen: Screen) -> None:
    """Only the owner of the database can tell: nobody else is at work then."""
    if services.database.server is None:
        return
    async with local(services).acquire() as connection:
        found = 0
        for status in ("pending", "running"):
            rows = await list_runs(
                connection, services.workspace_id, status=status, most=_MOST_COUNTED
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
