"""Commands about people and tokens: the local owner acts, and the audit log says so."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Clash, Invalid, Missing
from mainspring.contracts.roles import Role
from mainspring.settings import Settings
from mainspring.surfaces.cli import people
from mainspring.surfaces.cli.desk import Desk
from mainspring.surfaces.cli.doors import Doors
from mainspring.surfaces.cli.parts import first_link
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.rooms import Rooms
from mainspring.wiring import build_registry, rooms_of
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from mainspring.workspace.people.signing_in import Visit, sign_in_by_link
from mainspring.workspace.people.users import set_password
from mainspring.workspace.tokens import find_holder, token_hash
from tests.kit.house import Bench
from tests.kit.people import make_person

HERE = Visit("127.0.0.1")


@pytest.fixture
def rooms(bench: Bench) -> Rooms:
    return rooms_of(bench.house)


@pytest.fixture
def desk(rooms: Rooms, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Desk:
    """A desk whose door leads into the test's own house."""
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))

    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[Rooms]:
        del settings
        yield rooms

    return Desk(Doors(enter, build_registry))


@pytest.fixture
def screen() -> Screen:
    return Screen(for_programs=True)


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def test_members_are_asked_in_changed_and_removed(
    rooms: Rooms, desk: Desk, screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Invalid):
        await people.invite_member(desk, screen, "no email", Role.EDITOR)
    for work in (people.set_role(desk, screen, "x@y.example", Role.EDITOR),
                 people.drop_member(desk, screen, "x@y.example")):  # fmt: skip
        with pytest.raises(Missing):
            await work
    with pytest.raises(Clash):
        await people.drop_member(desk, screen, "owner@localhost")

    await people.invite_member(desk, screen, "ada@example.org", Role.EDITOR)
    plain = _answer(capsys)["link"].partition("#")[2]
    joined = await sign_in_by_link(rooms.database, HERE, plain)
    assert joined.workspace_id == FIRST_WORKSPACE
    await people.set_role(desk, screen, " ADA@example.org", Role.VIEWER)
    assert _answer(capsys)["role"] == "viewer"
    await people.show_members(desk, screen)
    listed = _answer(capsys)
    assert [row["role"] for row in listed["members"]] == ["owner", "viewer"]
    await people.drop_member(desk, screen, "ada@example.org")

    told = await rooms.database.fetch(
        "SELECT action, actor_id FROM audit_log WHERE actor_id = $1 ORDER BY id", FIRST_MEMBER
    )
    assert [row["action"] for row in told] == ["invite_member", "change_member", "delete_member"]
    await people.show_members(desk, Screen())
    assert "owner@localhost" in capsys.readouterr().out


async def test_tokens_are_made_listed_without_their_text_and_revoked(
    rooms: Rooms, desk: Desk, screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Invalid) as refused:
        await people.create_token(desk, screen, "ci", Role.EDITOR, ["htp_fetch"], None)
    assert refused.value.findings[0].pointer == "/capabilities/0"

    await people.create_token(desk, screen, "ci", Role.OPERATOR, ["http_fetch"], 3)
    made = _answer(capsys)
    holder = await find_holder(rooms.database, token_hash(made["text"]))
    assert holder is not None
    assert (holder.role, holder.capabilities) == (Role.OPERATOR, frozenset({"http_fetch"}))
    await people.show_tokens(desk, Screen())
    shown = capsys.readouterr().out
    assert made["text"] not in shown
    assert made["token"]["hint"] in shown

    with pytest.raises(Invalid) as refused:
        await people.end_token(desk, screen, made["text"])
    assert made["text"] not in refused.value.detail
    await people.end_token(desk, screen, made["token"]["id"])
    assert await find_holder(rooms.database, token_hash(made["text"])) is None


async def test_the_first_start_offers_a_link_until_the_owner_has_another_way_in(
    rooms: Rooms, desk: Desk, screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    before = await first_link(rooms)
    link = await first_link(rooms)
    assert link is not None
    assert link.startswith(f"{rooms.settings.address}/sign-in#msl_")
    # A newer link ends the one before.
    assert before is not None
    with pytest.raises(Exception, match="does not work"):
        await sign_in_by_link(rooms.database, HERE, before.partition("#")[2])
    signed_in = await sign_in_by_link(rooms.database, HERE, link.partition("#")[2])
    assert signed_in.user_id == FIRST_MEMBER
    assert await first_link(rooms) is None
    await rooms.database.execute("DELETE FROM sessions")
    assert await first_link(rooms) is not None
    await set_password(rooms.database, FIRST_MEMBER, "$argon2id$…")
    assert await first_link(rooms) is None

    await people.show_link(desk, screen, forget=True)
    plain = _answer(capsys)["link"].partition("#")[2]
    await sign_in_by_link(rooms.database, HERE, plain)
    assert await rooms.database.fetchval("SELECT password_hash FROM users") is None
    assert (await make_person(rooms.database, "ada@example.org")).administrator is False
