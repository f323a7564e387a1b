"""Commands about people and tokens: the local owner acts, and the audit log says so."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.runs.run_requests import RunRequest
from mainspring.surfaces.cli import people, tokens
from mainspring.surfaces.cli.audit import show_audit
from mainspring.surfaces.cli.context import UNUSED_TOKEN, CommandContext
from mainspring.surfaces.cli.parts import first_link
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.secrets import list_secrets
from mainspring.surfaces.cli.takeover import take_over
from mainspring.surfaces.cli.tokens import TokenOptions
from mainspring.surfaces.cli.workspace_selection import select_workspace
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE, save, set_state
from mainspring.workspace.people.sign_in import SignInOrigin, sign_in_by_link
from mainspring.workspace.people.users import set_password
from mainspring.workspace.tokens import find_holder, hash_token
from tests.kit.bench import document, step
from tests.kit.people import make_person

HERE = SignInOrigin("127.0.0.1")


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def test_members_are_asked_in_changed_and_removed(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Invalid):
        await people.invite_member(command_context, screen, "no email", Role.EDITOR)
    for work in (
        people.set_role(command_context, screen, "x@y.example", Role.EDITOR),
        people.drop_member(command_context, screen, "x@y.example"),
    ):
        with pytest.raises(NotFound):
            await work
    with pytest.raises(Conflict):
        await people.drop_member(command_context, screen, "owner@localhost")

    await people.invite_member(command_context, screen, "ada@example.org", Role.EDITOR)
    plain = _answer(capsys)["link"].partition("#")[2]
    joined = await sign_in_by_link(services.database, HERE, plain)
    assert joined.workspace_id == FIRST_WORKSPACE
    await people.set_role(command_context, screen, " ADA@example.org", Role.VIEWER)
    assert _answer(capsys)["role"] == "viewer"
    await people.show_members(command_context, screen)
    listed = _answer(capsys)
    assert [row["role"] for row in listed["members"]] == ["owner", "viewer"]
    # Anyone who is named by an email is found by it, in every command.
    with pytest.raises(NotFound):
        await list_secrets(command_context, screen, "x@y.example")
    await list_secrets(command_context, screen, "Ada@example.org")
    assert _answer(capsys)["secrets"] == []
    with pytest.raises(NotFound):
        await show_audit(command_context, screen, limit=9, actor="x@y.example")
    await show_audit(command_context, screen, limit=9, actor="ada@example.org")
    assert {row["actor_id"] for row in _answer(capsys)["entries"]} == {str(joined.user_id)}
    # A way back in by command, for somebody who lost theirs.
    with pytest.raises(NotFound):
        await people.show_link_for(command_context, screen, "x@y.example")
    await people.show_link_for(command_context, screen, "ada@example.org")
    plain = _answer(capsys)["link"].partition("#")[2]
    again = await sign_in_by_link(services.database, HERE, plain)
    assert (again.user_id, again.workspace_id) == (joined.user_id, FIRST_WORKSPACE)
    await people.drop_member(command_context, screen, "ada@example.org")

    told = await services.database.fetch(
        "SELECT action FROM audit_log WHERE actor_id = $1 AND action LIKE '%member' ORDER BY id",
        FIRST_MEMBER,
    )
    assert [row["action"] for row in told] == [
        "invite_member",
        "change_member",
        "delete_member",
    ]
    await people.show_members(command_context, Screen())
    assert "owner@localhost" in capsys.readouterr().out


async def test_tokens_are_made_listed_without_their_text_and_revoked(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Invalid) as refused:
        await tokens.create_token(
            command_context, screen, TokenOptions("ci", Role.EDITOR, ("htp_fetch",))
        )
    assert refused.value.findings[0].pointer == "/capabilities/0"

    with pytest.raises(Invalid) as refused:
        await tokens.create_token(
            command_context, screen, TokenOptions("ci", Role.EDITOR, ("http_fetch",))
        )
    assert "http_fetch" in refused.value.findings[0].detail

    await tokens.create_token(
        command_context, screen, TokenOptions("ci", Role.OPERATOR, ("search",), 3)
    )
    made = _answer(capsys)
    holder = await find_holder(services.database, hash_token(made["text"]))
    assert holder is not None
    assert (holder.role, holder.capabilities) == (Role.OPERATOR, frozenset({"search"}))
    await tokens.show_tokens(command_context, Screen())
    shown = capsys.readouterr().out
    assert made["text"] not in shown
    assert made["token"]["hint"] in shown
    assert "until" in shown
    await services.database.execute("UPDATE access_tokens SET expires_at = now()")
    await tokens.show_tokens(command_context, Screen())
    shown = capsys.readouterr().out
    assert "ended" in shown
    assert "until" not in shown
    # The text alone where a shell takes it, and what it gives where a person reads it.
    await tokens.create_token(
        command_context, Screen(), TokenOptions("other", Role.VIEWER, None, 3)
    )
    said = capsys.readouterr()
    assert re.fullmatch(r"msk_\S{43}\n", said.out)
    assert "viewer" in said.err
    assert said.out.strip() not in said.err

    with pytest.raises(Invalid) as refused:
        await tokens.end_token(command_context, screen, made["text"])
    assert made["text"] not in refused.value.detail
    await tokens.end_token(command_context, screen, made["token"]["id"])
    assert await find_holder(services.database, hash_token(made["text"])) is None


async def test_the_first_start_offers_a_link_until_the_owner_has_another_way_in(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = await first_link(services)
    link = await first_link(services)
    assert link is not None
    assert link.startswith(f"{services.settings.address}/sign-in#msl_")
    # A newer link ends the one before.
    assert before is not None
    with pytest.raises(Exception, match="does not work"):
        await sign_in_by_link(services.database, HERE, before.partition("#")[2])
    signed_in = await sign_in_by_link(services.database, HERE, link.partition("#")[2])
    assert signed_in.user_id == FIRST_MEMBER
    assert await first_link(services) is None
    await services.database.execute("DELETE FROM sessions")
    assert await first_link(services) is not None
    await set_password(services.database, FIRST_MEMBER, "$argon2id$…")
    assert await first_link(services) is None

    await people.show_link(command_context, screen, forget=True)
    plain = _answer(capsys)["link"].partition("#")[2]
    await sign_in_by_link(services.database, HERE, plain)
    assert await services.database.fetchval("SELECT password_hash FROM users") is None
    assert (await make_person(services.database, "ada@example.org")).administrator is False


async def test_another_workspace_is_made_listed_and_worked_in_by_command(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Invalid):
        await people.create_workspace(command_context, screen, " ")
    await people.create_workspace(command_context, screen, "Lab")
    made = _answer(capsys)["id"]
    foreign = await make_person(services.database, "ada@example.org")

    def goes(command: str) -> CommandContext:
        return CommandContext(select_workspace(command_context.doors, command))

    async def current(command: str = "workspaces") -> list[str]:
        await people.show_workspaces(goes(command), screen)
        return [row["name"] for row in _answer(capsys)["workspaces"] if row["current"]]

    assert await current() == ["Home"]
    for wanted in (made, "lab", " LAB "):
        monkeypatch.setenv("MAINSPRING_WORKSPACE", wanted)
        assert await current() == ["Lab"]
        # A server works for all of them.
        assert await current("up") == ["Home"]
    await people.invite_member(goes("members"), screen, "bo@example.org", Role.VIEWER)
    _answer(capsys)
    for where, invited in ((made, 1), (str(FIRST_WORKSPACE), 0)):
        monkeypatch.setenv("MAINSPRING_WORKSPACE", where)
        await people.show_members(goes("members"), screen)
        assert len(_answer(capsys)["invitations"]) == invited

    # Neither one that is not there nor one of somebody else, and never a guess between two.
    for wanted in ("nowhere", str(foreign.default_workspace_id)):
        monkeypatch.setenv("MAINSPRING_WORKSPACE", wanted)
        with pytest.raises(NotFound):
            await current()
    monkeypatch.setenv("MAINSPRING_WORKSPACE", "Lab")
    await people.create_workspace(command_context, screen, "Lab")
    _answer(capsys)
    with pytest.raises(Invalid):
        await current()

    # A token that is set and not used is said not to be, next to the answer and never in it.
    monkeypatch.delenv("MAINSPRING_WORKSPACE")
    monkeypatch.setenv("MAINSPRING_TOKEN", "msk_any")
    for command, said in (("members", f"{UNUSED_TOKEN}\n"), ("boards", ""), ("up", "")):
        await people.show_members(goes(command), screen)
        written = capsys.readouterr()
        assert written.err == said
        assert json.loads(written.out)["members"]


async def test_what_a_member_left_is_taken_over_after_a_yes(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ada = await make_person(
        services.database, "ada@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    await _automation_of(services, ada.id)
    with pytest.raises(NotFound) as nothing:
        await take_over(command_context, screen, "ada@example.org")
    assert nothing.value.code == "nothing_left"

    shown = Screen()
    await people.drop_member(command_context, shown, "ada@example.org")
    assert "members takeover ada@example.org" in capsys.readouterr().out
    with pytest.raises(Invalid) as refused:
        await take_over(command_context, screen, "ada@example.org")
    assert refused.value.code == "not_asked"
    await make_person(
        services.database, "bo@example.org", workspace_id=FIRST_WORKSPACE, role=Role.EDITOR
    )
    with pytest.raises(Invalid) as refused:
        await take_over(command_context, screen, "ada@example.org", to="bo@example.org")
    assert refused.value.code == "not_yourself"
    await take_over(command_context, screen, "ada@example.org", show=True)
    (left,) = _answer(capsys)["automations"]
    assert (left["name"], left["stopped"]) == ("Digest", True)

    async def no(question: str) -> str:
        return "no"

    async def yes(question: str) -> str:
        return "yes"

    made = await services.database.fetchval("SELECT id FROM automations")
    event = RunRequest(FIRST_WORKSPACE, made, trigger_type="event", payload={"n": 1})
    await services.dispatcher.dispatch(event)
    await take_over(command_context, shown, "ada@example.org", ask=no)
    assert "Nothing was taken over" in capsys.readouterr().out
    await take_over(command_context, shown, "ada@example.org", names=["Digest"], ask=yes)
    text = capsys.readouterr().out
    assert "Digest is yours now, and active." in text
    assert "1 missed run can be started again now" in text
    assert "1 missed run started again." in text
    replayed = await services.database.fetch(
        "SELECT r.payload, r.status FROM runs r WHERE r.replay_of IS NOT NULL"
    )
    assert [tuple(one) for one in replayed] == [({"n": 1}, "pending")]
    row = await services.database.fetchrow("SELECT created_by, state FROM automations")
    assert row is not None
    assert tuple(row) == (FIRST_MEMBER, "active")
    result = await services.database.fetchval(
        "SELECT subject FROM audit_log WHERE action = 'take_over_from_member'"
    )
    assert result == str(ada.id)


async def _automation_of(services: ApplicationServices, owner: UUID) -> None:
    words = await services.registry.of(FIRST_WORKSPACE)
    echo = step("say", "transform_data", {"output": 1})
    report = validate(document(echo, name="Digest"), words, services.limits)
    assert report.definition is not None
    async with services.database.transaction() as tx:
        saved = await save(tx, FIRST_WORKSPACE, report.definition, report.grants, owner, via="page")
        await set_state(tx, FIRST_WORKSPACE, saved.automation_id, "active")
