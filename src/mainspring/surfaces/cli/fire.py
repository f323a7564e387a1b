"""``fire``, ``replay`` and ``runs watch``: runs that the workers of a running server have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.definition.validate import read_definition
from mainspring.gate.policy import Mode
from mainspring.runs.dispatch import DispatchResult
from mainspring.runs.history import read_run
from mainspring.runs.replay import Which, replay
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest
from mainspring.runs.story import summarize_run
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.consent_prompt import agree_first
from mainspring.surfaces.cli.documents import read_inputs, read_object, read_value
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.lookup import find_in_use
from mainspring.surfaces.cli.run_result import closing_lines, version_in_force
from mainspring.surfaces.cli.run_watcher import RunWatcher
from mainspring.surfaces.cli.runs import find
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.server_presence import has_worker
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.surfaces.cli.timeline import TimelineEntry, paint
from mainspring.workspace.automation_list import read_automation

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices


async def fire(
    desk: CommandContext,
    screen: Screen,
    text: str,
    words: Sequence[str],
    whole: str | None,
    moment: str | None = None,
    *,
    mode: Mode = "live",
    wait: bool,
    seconds: float | None,
    ask: Ask | None = None,
) -> int:
    """Runs an automation now, also while it is paused; ``moment`` is what a trigger would tell."""
    limits = desk.limits()
    if whole is not None:
        # What cannot be read is refused before the house is opened.
        read_object(whole, limits, "inputs")
    payload = {} if moment is None else read_value(moment, limits, "payload")
    async with desk.doors.open(desk.settings()) as services:
        found = await find_in_use(services, text)
        async with local(services).acquire() as connection:
            now = await read_automation(connection, services.workspace_id, found["id"])
        shape = read_definition(now["definition"]).inputs.shape
        inputs = read_inputs(words, whole, shape, limits)
        if mode == "live" and not await agree_first(
            services, screen, found["id"], now["version"], ask
        ):
            screen.say("Not started: you did not agree.")
            return exits.FAILED
        made = await services.dispatcher.dispatch(
            RunRequest(
                services.workspace_id, found["id"], inputs=inputs, payload=payload, mode=mode
            )
        )
        await local(services, AuditedAction("run_automation", found["id"], _of_run(made))).note()
        _introduce(screen, made, f"{one_line(found['name'])} (version {now['version']})")
        return await _hand_over(services, screen, made, wait=wait, seconds=seconds)


async def replay_run(
    desk: CommandContext,
    screen: Screen,
    text: str,
    whole: str | None,
    *,
    version: Which,
    wait: bool,
    seconds: float | None,
) -> int:
    """Starts a new run with what an earlier one was given."""
    limits = desk.limits()
    inputs = None if whole is None else read_object(whole, limits, "inputs")
    async with desk.doors.open(desk.settings()) as services:
        run_id = await find(services, text)
        made = await replay(
            local(services),
            services.dispatcher,
            limits,
            services.workspace_id,
            run_id,
            version=version,
            inputs=inputs,
            by=local_owner(services),
        )
        told = {**_of_run(made), "version": version}
        await local(services, AuditedAction("replay_run", run_id, told)).note()
        _introduce(screen, made, f"A replay of {run_id}")
        return await _hand_over(services, screen, made, wait=wait, seconds=seconds)


async def watch_run(
    context: CommandContext, screen: Screen, text: str, seconds: float | None
) -> int:
    """Shows a run that others execute, from its first step to its end."""
    async with context.doors.open(context.settings()) as services:
        run_id = await find(services, text)
        run = await _read(services, run_id)
        phrase = f"{one_line(run['automation'])} (version {run['version']}) is run {run_id}."
        screen.say(paint(TimelineEntry("told", "", words=phrase), screen))
        _tell_if_held(screen, run["halted"])
        if run["status"] not in FINAL and not await has_worker(services, patient=False):
            _tell_of_nobody(screen)
        return await _close(
            services, screen, await RunWatcher(services, run_id, screen).until_end(seconds)
        )


def _of_run(made: DispatchResult) -> dict[str, str]:
    return {"run_id": str(made.run_id)}


def _introduce(screen: Screen, made: DispatchResult, what: str) -> None:
    screen.say(paint(TimelineEntry("told", "", words=f"{what} is run {made.run_id}."), screen))


async def _hand_over(
    services: ApplicationServices,
    screen: Screen,
    made: DispatchResult,
    *,
    wait: bool,
    seconds: float | None,
) -> int:
    """Leaves the run to a worker, and stays to see it through if that is wanted."""
    if made.status in FINAL:
        return await _close(services, screen, await _read(services, made.run_id))
    held = (await _read(services, made.run_id))["halted"]
    _tell_if_held(screen, held)
    at_work = await has_worker(services, patient=wait)
    if not at_work:
        _tell_of_nobody(screen)
    if wait and at_work:
        run = await RunWatcher(services, made.run_id, screen).until_end(seconds)
        return await _close(services, screen, run)
    if screen.for_programs:
        told = {"id": made.run_id, "status": made.status, "worker": at_work}
        screen.answer(told if held is None else {**told, "halted": held})
    elif wait:
        # Nobody is there to wait for.
        screen.say("", f"The run {made.run_id} is {made.status}; it starts when there is a worker.")
        screen.say(f"  {hint('logs', '-f', made.run_id)}")
    elif at_work:
        screen.say(f"  {hint('logs', '-f', made.run_id)}")
    return exits.UNFINISHED if wait else exits.DONE


def _tell_if_held(screen: Screen, reason: str | None) -> None:
    """A run that stands still by somebody's wish is not one that hangs."""
    if reason is not None:
        text = f"Held by a halt ({one_line(reason, 300)}). It continues after the release."
        screen.say(paint(TimelineEntry("warning", "", words=text), screen), f"  {hint('halts')}")


def _tell_of_nobody(screen: Screen) -> None:
    text = "No worker is alive: the run is recorded and waits for one."
    screen.say(paint(TimelineEntry("warning", "", words=text), screen))
    screen.say(
        f"  {hint('up')}          the server, with its workers",
        f"  {hint('worker')}      a worker alone",
        f"  {hint('run', 'FILE')}    one run, here and now, without a server",
    )


async def _close(services: ApplicationServices, screen: Screen, run: dict[str, Any]) -> int:
    """The last words about the run; one that was left goes on without us."""
    if screen.for_programs:
        screen.answer({**run, "story": summarize_run(run)})
    elif run["status"] in FINAL:
        in_force = await version_in_force(services, run)
        screen.say(*closing_lines(run, screen, in_force=in_force))
    else:
        screen.say(
            "", f"The run {run['id']} is {run['status']}; it continues without this command."
        )
        screen.say(f"  {hint('logs', '-f', run['id'])}", f"  {hint('cancel', run['id'])}")
    return exits.of_run(run["status"], run["outcome"])


async def _read(services: ApplicationServices, run_id: UUID) -> dict[str, Any]:
    async with local(services).acquire() as connection:
        return await read_run(connection, services.workspace_id, run_id)
