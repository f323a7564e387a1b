"""``members takeover``: shows what a member left, and takes it over after a yes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.local import AuditedAction, local, local_owner
from mainspring.surfaces.cli.member_lookup import member_called
from mainspring.surfaces.cli.person_prompt import confirm
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask, TerminalPrompt, at_terminal
from mainspring.surfaces.takeover import replay_missed, show_departed_member, take
from mainspring.workspace.departed_members import list_leavers

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.services import ApplicationServices


async def take_over(
    desk: CommandContext,
    screen: Screen,
    email: str,
    *,
    to: str | None = None,
    names: Sequence[str] | None = None,
    show: bool = False,
    ask: Ask | None = None,
) -> int:
    """Shows what somebody left, asks, and makes the local owner its owner."""
    async with desk.doors.open(desk.settings()) as services:
        actor = local_owner(services)
        await _check_new_owner(services, to, actor.id)
        leaver = await _leaver(services, email)
        unowned = await show_departed_member(services, local(services), actor, leaver["id"])
        wanted = _resolve_automations(unowned, names) if names else None
        if show:
            _show(screen, unowned, wanted)
            return exits.DONE
        if not await _confirm_takeover(screen, unowned, wanted, ask, email):
            screen.say("Nothing was taken over.")
            return exits.DONE
        ids = None if wanted is None else [str(one) for one in wanted]
        deed = AuditedAction("take_over_from_member", leaver["id"], {"automations": ids})
        taken = await take(
            services, local(services, deed), actor, leaver["id"], unowned["digest"], wanted
        )
        taken = await _offer_replay(services, screen, taken, leaver["id"], ask)
    if screen.for_programs:
        screen.answer(taken)
    else:
        _tell(screen, taken)
    return exits.DONE


async def _offer_replay(
    services: ApplicationServices,
    screen: Screen,
    taken: dict[str, Any],
    member_id: UUID,
    ask: Ask | None,
) -> dict[str, Any]:
    """Asks whether the missed runs are started again; a no leaves them to be replayed later."""
    missed = sum(one["replayable"] for one in taken["automations"])
    text = (
        f"{count(missed, 'missed run')} can be started again now: every webhook call and event, "
        "and what the schedules make up for."
    )
    if not missed or not await confirm(screen, [text], "Start them?", ask):
        return taken
    done = await replay_missed(services, local(services), local_owner(services), taken)
    started = sum(one["replayed"] for one in done["automations"])
    await local(
        services, AuditedAction("replay_missed_runs", member_id, {"replayed": started})
    ).note()
    return done


async def _leaver(services: ApplicationServices, email: str) -> Mapping[str, Any]:
    async with local(services).acquire() as connection:
        found = await list_leavers(connection, services.workspace_id)
    for one in found:
        if email.strip().lower() in (one["email"].lower(), str(one["id"])):
            return one
    raise NotFound(
        f"No user has the email {email[:254]!r} left anything to take over.",
        code="nothing_left",
        suggestion=f"{hint('members', 'list')} shows who left something.",
    )


async def _check_new_owner(services: ApplicationServices, to: str | None, own: UUID) -> None:
    """The new owner agrees to what the automations may do, so nobody else can do it for them."""
    if to is None:
        return
    async with local(services).acquire() as connection:
        found = await member_called(connection, services.workspace_id, to)
    if found["id"] != own:
        raise Invalid(
            "The new owner agrees to what the automations may do, so they take them over "
            "themselves.",
            code="not_yourself",
            suggestion=f"{one_line(found['email'])} signs in and opens Settings, Members.",
        )


def _resolve_automations(unowned: Mapping[str, Any], names: Sequence[str]) -> list[UUID]:
    known = {
        key: one["id"] for one in unowned["automations"] for key in (one["name"], str(one["id"]))
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise NotFound(
            f"They left no automation called {unknown[0][:200]!r}.",
            code="no_automation",
            suggestion=f"They left {', '.join(one['name'] for one in unowned['automations'])}.",
        )
    return [known[name] for name in names]


async def _confirm_takeover(
    screen: Screen,
    unowned: Mapping[str, Any],
    wanted: Sequence[UUID] | None,
    ask: Ask | None,
    email: str,
) -> bool:
    if ask is None:
        if not at_terminal(screen):
            raise Invalid(
                "A person must agree to what the automations may do, and this is not a terminal.",
                code="not_asked",
                suggestion=f"{hint('members', 'takeover', email, '--show')} shows it. Answer at a "
                "terminal, or sign in and open Settings, Members.",
            )
        ask = TerminalPrompt(screen)
    _show(screen, unowned, wanted)
    said = await ask("Take this over, and agree to what it may do? Type yes:")
    return (said or "").strip().lower() == "yes"


def _show(screen: Screen, unowned: Mapping[str, Any], wanted: Sequence[UUID] | None) -> None:
    if screen.for_programs:
        screen.answer(unowned)
        return
    for one in unowned["automations"]:
        if wanted is not None and one["id"] not in wanted:
            continue
        was = "stopped when they left" if one["stopped"] else one["state"]
        screen.say(f"{one_line(one['name'], 200)} ({was})")
        screen.say(*(f"  may: {one_line(says, 300)}" for says in one["may"]))
        screen.say(*(f"  missing: {one_line(lack['detail'], 300)}" for lack in one["missing"]))
        if one["missed"]:
            screen.say(f"  {count(one['missed'], 'missed run')}")
    for hook in unowned["webhooks"] if wanted is None else ():
        screen.say(f"The webhook token of {one_line(hook['automation'], 200)} ({hook['slug']})")


def _tell(screen: Screen, taken: Mapping[str, Any]) -> None:
    for one in taken["automations"]:
        screen.say(f"{one_line(one['name'], 200)} is yours now, and {one['state']}.")
        if one["stopped"] and one["state"] != "active":
            lacks = [lack["detail"] for lack in one["missing"]] or [
                (one["problem"] or {}).get("detail", "")
            ]
            screen.say(*(f"  missing: {one_line(lack, 300)}" for lack in lacks))
            screen.say(f"  {hint('activate', one['name'])}")
        if one["replayed"]:
            screen.say(f"  {count(one['replayed'], 'missed run')} started again.")
        left = one["missed"] - one["replayed"]
        if left:
            screen.say(f"  {count(left, 'missed run')} can be replayed one by one:")
            screen.say(f"  {hint('runs', '--status', 'skipped')}, {hint('replay', 'RUN')}")
    if taken["webhooks"]:
        screen.say(f"{count(taken['webhooks'], 'webhook token')} taken over.")
