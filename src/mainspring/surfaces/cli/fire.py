"""``fire``, ``replay`` and ``runs watch``: runs that the workers of a running server have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import ConsentRequired, PermissionDenied
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.connection import enter_event_loop, open_client
from mainspring.surfaces.cli.documents import read_inputs, read_object, read_value
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.lookup import find_in_use_at
from mainspring.surfaces.cli.pages_of_rows import FINAL, read_run_at
from mainspring.surfaces.cli.person_prompt import agree_if_required
from mainspring.surfaces.cli.run_result import closing_lines
from mainspring.surfaces.cli.run_watcher import RunWatcher
from mainspring.surfaces.cli.running_server import find_running_server
from mainspring.surfaces.cli.runs import find_run_at
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.states import local_home
from mainspring.surfaces.cli.terminal_prompt import Ask
from mainspring.surfaces.cli.timeline import TimelineEntry, paint

if TYPE_CHECKING:
    from mainspring.gate.policy import Mode
    from mainspring.runs.replay import Which
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

# A worker that has just been started needs a moment to be seen.
_PATIENCE_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.1


async def fire(
    context: CommandContext,
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
    """Runs an automation now, also while it is paused; ``moment`` is what a trigger would send."""
    limits = context.limits()
    if whole is not None:
        # What cannot be read is refused before a server is asked.
        read_object(whole, limits, "inputs")
    body: dict[str, Any] = {"dry_run": mode == "dry_run", "verify_mode": mode == "verify"}
    if moment is not None:
        body["payload"] = read_value(moment, limits, "payload")
    async with open_client(context) as client:
        found = await find_in_use_at(client, text)
        path = f"/automations/{found['id']}"
        now = await client.request("GET", path)
        shape = (now["definition"].get("inputs") or {}).get("schema") or {}
        body["inputs"] = read_inputs(words, whole, shape, limits)
        try:
            made = await client.request("POST", f"{path}/run", body)
        except ConsentRequired as problem:
            if not await agree_if_required(client, screen, problem, ask):
                screen.say("Not started: you did not agree.")
                return exits.FAILED
            made = await client.request("POST", f"{path}/run", body)
        _introduce(screen, made, f"{one_line(found['name'])} (version {now['version']})")
        return await _hand_over(context, client, screen, made, wait=wait, seconds=seconds)


async def fire_by_options(
    context: CommandContext,
    screen: Screen,
    text: str,
    words: Sequence[str] | None,
    inputs: str | None,
    payload: str | None,
    *,
    dry_run: bool,
    verify: bool,
    wait: bool,
    seconds: float | None,
) -> int:
    # A dry run sends nothing either.
    mode: Mode = "dry_run" if dry_run else "verify" if verify else "live"
    return await fire(
        context, screen, text, words or (), inputs, payload, mode=mode, wait=wait, seconds=seconds
    )


async def replay_run(
    context: CommandContext,
    screen: Screen,
    text: str,
    whole: str | None,
    *,
    version: Which,
    wait: bool,
    seconds: float | None,
) -> int:
    """Starts a new run with what an earlier one was given."""
    body: dict[str, Any] = {"version": version}
    if whole is not None:
        body["inputs"] = read_object(whole, context.limits(), "inputs")
    async with open_client(context) as client:
        run_id = await find_run_at(client, text)
        made = await client.request("POST", f"/runs/{run_id}/replay", body)
        _introduce(screen, made, f"A replay of {run_id}")
        return await _hand_over(context, client, screen, made, wait=wait, seconds=seconds)


async def watch_run(
    context: CommandContext, screen: Screen, text: str, seconds: float | None
) -> int:
    """Shows a run that others execute, from its first step to its end."""
    async with open_client(context) as client:
        run_id = await find_run_at(client, text)
        run = await read_run_at(client, run_id)
        phrase = f"{one_line(run['automation'])} (version {run['version']}) is run {run_id}."
        screen.say(paint(TimelineEntry("told", "", words=phrase), screen))
        _tell_if_held(screen, run["halted"])
        if run["status"] not in FINAL and not await has_worker(context, client):
            _tell_of_nobody(screen)
        return await _close(client, screen, await watch(client, screen, run_id, seconds))


async def watch(
    client: ApiClient, screen: Screen, run_id: str, seconds: float | None = None
) -> dict[str, Any]:
    """The run as it is when it has ended, or when it was left before."""
    await enter_event_loop()
    return await RunWatcher(client, run_id, screen).until_end(seconds)


async def has_worker(context: CommandContext, client: ApiClient, *, patient: bool = False) -> bool:
    """Whether a worker is alive. Who may not list workers is told nothing about them."""
    home = local_home(context)
    may_come = patient and home is not None and find_running_server(home) is not None
    deadline = time.monotonic() + (_PATIENCE_SECONDS if may_come else 0.0)
    while True:
        try:
            listed = await client.call("admin_list_workers", {})
        except PermissionDenied:
            return True
        alive = bool(listed["workers"])
        if alive or time.monotonic() >= deadline:
            return alive
        await enter_event_loop()
        await asyncio.sleep(_PAUSE_SECONDS)


def _introduce(screen: Screen, made: Mapping[str, Any], what: str) -> None:
    screen.say(paint(TimelineEntry("told", "", words=f"{what} is run {made['run_id']}."), screen))


async def _hand_over(
    context: CommandContext,
    client: ApiClient,
    screen: Screen,
    made: Mapping[str, Any],
    *,
    wait: bool,
    seconds: float | None,
) -> int:
    """Leaves the run to a worker, and stays to see it through if that is wanted."""
    run_id, status = made["run_id"], made["status"]
    run = await read_run_at(client, run_id)
    if status in FINAL:
        return await _close(client, screen, run)
    held = run["halted"]
    _tell_if_held(screen, held)
    at_work = await has_worker(context, client, patient=wait)
    if not at_work:
        _tell_of_nobody(screen)
    if wait and at_work:
        return await _close(client, screen, await watch(client, screen, run_id, seconds))
    if screen.for_programs:
        told = {"id": run_id, "status": status, "worker": at_work}
        screen.answer(told if held is None else {**told, "halted": held})
    elif wait:
        # Nobody is there to wait for.
        screen.say("", f"The run {run_id} is {status}; it starts when there is a worker.")
        screen.say(f"  {hint('logs', '-f', run_id)}")
    elif at_work:
        screen.say(f"  {hint('logs', '-f', run_id)}")
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


async def _close(client: ApiClient, screen: Screen, run: dict[str, Any]) -> int:
    """The last words about the run; one that was left goes on without us."""
    if screen.for_programs:
        screen.answer({name: run[name] for name in run if name not in ("usage", "transcripts")})
    elif run["status"] in FINAL:
        now = await client.request("GET", f"/automations/{run['automation_id']}")
        screen.say(*closing_lines(run, screen, in_force=now["version"]))
    else:
        screen.say(
            "", f"The run {run['id']} is {run['status']}; it continues without this command."
        )
        screen.say(f"  {hint('logs', '-f', run['id'])}", f"  {hint('cancel', run['id'])}")
    return exits.of_run(run["status"], run["outcome"])
