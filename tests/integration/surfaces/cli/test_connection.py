"""Where commands send their requests: the server on the data folder, a named one, or themselves."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.errors import PermissionDenied, Unauthenticated
from mainspring.contracts.roles import Role
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, running_server
from mainspring.surfaces.cli.http_client import ServerClient
from mainspring.surfaces.cli.local_session import ensure_local_session, read_local_session
from mainspring.surfaces.cli.problems import run_declared
from mainspring.surfaces.cli.running_server import find_own_server, hold_data_folder
from mainspring.surfaces.cli.server_presence import expected_address
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.sessions import end_sessions, find_session, has_session
from mainspring.workspace.tokens import TokenLimits, make_token
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.people import make_person


def _closed(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError("the application was opened")


@pytest.fixture
async def api(bench: Bench) -> AsyncIterator[Api]:
    async with served(bench.application) as made:
        yield made


@pytest.fixture
def home(api: Api) -> Iterator[Path]:
    """The data folder, while the server of the test is up on it."""
    home = api.application.settings.home
    home.chmod(0o700)
    port = urlsplit(api.address).port
    assert port is not None
    with hold_data_folder(replace(api.application.settings, host="127.0.0.1", port=port)):
        yield home


@pytest.fixture
async def session(home: Path, command: Command) -> str:
    """The session that the first command keeps."""
    code, said = await command("boards", "list", "--json")
    assert (code, json.loads(said)) == (0, {"boards": []})
    kept = read_local_session(home)
    assert kept is not None
    return kept


@pytest.fixture
def over_http(capsys: pytest.CaptureFixture[str]) -> Command:
    """One command that may not open the application: it has to ask the server."""

    async def run(*words: str) -> tuple[int | None, str]:
        capsys.readouterr()
        factory = ApplicationFactory(_closed, build_registry)
        code = await asyncio.to_thread(run_declared, factory, list(words))
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


async def test_the_first_command_keeps_a_session_and_the_next_asks_the_server(
    api: Api, home: Path, session: str, over_http: Command
) -> None:
    assert os.stat(home / "terminal.session").st_mode & 0o777 == 0o600

    made = await over_http("boards", "create", "Work", "--json")
    listed = await over_http("boards", "list", "--json")

    assert (made[0], json.loads(made[1])["name"]) == (0, "Work")
    assert [one["name"] for one in json.loads(listed[1])["boards"]] == ["Work"]
    assert read_local_session(home) == session
    # The sign-in link of the owner is still offered: nobody signed in at a browser.
    async with api.application.database.acquire() as connection:
        assert not await has_session(connection, FIRST_MEMBER)


async def test_the_kept_session_is_in_the_audit_log(api: Api, session: str) -> None:
    async with api.application.database.acquire() as connection:
        found = await find_session(connection, session, kind="terminal")
        rows = await connection.fetch(
            "SELECT workspace_id, actor_kind, actor_id, subject, detail FROM audit_log "
            "WHERE action = 'sign_in'"
        )
    assert found is not None
    space, by = api.application.workspace_id, {"by": "data_folder"}
    assert [tuple(row) for row in rows] == [(space, "member", FIRST_MEMBER, str(found.id), by)]


@pytest.mark.parametrize(
    "words",
    [
        ("boards", "show", "Nothing"),
        ("--json", "boards", "show", "Nothing"),
        ("boards", "create", ""),
        ("pages", "list", "--type", "a type"),
        ("boards", "list"),
    ],
)
async def test_the_server_and_this_process_answer_the_same(
    session: str, command: Command, over_http: Command, home: Path, words: tuple[str, ...]
) -> None:
    over = await over_http(*words)
    (home / "terminal.session").unlink()

    assert over == await command(*words)


async def test_a_session_that_has_ended_is_renewed(
    api: Api, home: Path, session: str, command: Command, over_http: Command
) -> None:
    async with api.application.database.transaction() as tx:
        await end_sessions(tx, FIRST_MEMBER)

    assert (await command("boards", "list"))[0] == 0

    renewed = read_local_session(home)
    assert renewed not in (None, session)
    assert (await over_http("boards", "list"))[0] == 0


async def test_the_session_is_a_person_only_where_a_person_gives_the_command(
    api: Api, session: str
) -> None:
    space = api.application.workspace_id
    ada = await make_person(api.application.database, "ada@example.org", workspace_id=space)
    path, larger = f"/members/{ada.id}", {"role": "admin"}

    program = ServerClient(api.address, session)
    with pytest.raises(PermissionDenied) as refused:
        await asyncio.to_thread(_send, program, "PATCH", path, larger)
    person = ServerClient(api.address, session, is_person=True)
    changed = await asyncio.to_thread(_send, person, "PATCH", path, larger)

    assert refused.value.code == "person_needed"
    assert changed["role"] == "admin"


def _send(client: ServerClient, method: str, path: str, body: Any = None) -> Any:
    try:
        return client.send(method, path, body)
    finally:
        client.close()


@pytest.mark.parametrize("mode", [0o777, 0o720])
async def test_a_folder_that_others_may_write_names_no_server(home: Path, mode: int) -> None:
    assert find_own_server(home) is not None
    os.chmod(home, mode)
    try:
        assert find_own_server(home) is None
    finally:
        os.chmod(home, 0o700)


async def test_a_folder_of_another_user_names_no_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SimpleNamespace(**{name: getattr(os, name) for name in ("stat", "open", "close")})
    other.geteuid = lambda: os.geteuid() + 1
    monkeypatch.setattr(running_server, "os", other)

    assert find_own_server(home) is None


async def test_a_token_acts_as_its_holder(
    api: Api, home: Path, over_http: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = api.application.workspace_id
    async with api.application.database.transaction() as tx:
        _, plain = await make_token(tx, space, FIRST_MEMBER, "small", TokenLimits(role=Role.VIEWER))
    monkeypatch.setenv("MAINSPRING_TOKEN", plain)
    monkeypatch.setenv("MAINSPRING_HOME", str(home))

    assert (await over_http("boards", "list"))[0] == 0
    code, said = await over_http("boards", "create", "Work")

    assert code == 1
    assert "viewer" in said


async def test_a_named_server_takes_a_token_and_refuses_what_is_not_a_request(
    api: Api,
    command: Command,
    over_http: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MAINSPRING_URL", api.address)

    signed_out = await over_http("boards", "list")
    monkeypatch.setenv("MAINSPRING_TOKEN", api.token)
    made = await over_http("boards", "create", "There")
    local = await command("validate", "--help"), await command("retry", "last")

    assert signed_out[0] == 1
    assert "You are not signed in" in signed_out[1]
    assert (made[0], "The board There is" in made[1]) == (0, True)
    assert local[0][0] == 0
    assert local[1][0] == 2
    assert "works on the data folder of this machine" in local[1][1]


async def test_a_server_that_is_gone_is_reported_by_its_address(api: Api) -> None:
    with pytest.raises(Unauthenticated):
        await asyncio.to_thread(_send, ServerClient(api.address), "GET", "/members")
    nowhere = ServerClient("http://127.0.0.1:1")
    with pytest.raises(Exception, match="cannot be reached") as gone:
        await asyncio.to_thread(_send, nowhere, "GET", "/members")
    assert getattr(gone.value, "code", None) == "no_server"


# --- commands that a server answers

ANSWER = step("answer", "transform_data", {"output": 42})


async def test_up_keeps_a_session_that_still_works(bench: Bench) -> None:
    services = application_services(bench.application)
    folder = services.settings.home

    await ensure_local_session(services)
    first = read_local_session(folder)
    await ensure_local_session(services)
    assert first is not None
    assert read_local_session(folder) == first

    async with bench.application.database.transaction() as tx:
        await end_sessions(tx, FIRST_MEMBER)
    await ensure_local_session(services)
    assert read_local_session(folder) not in (None, first)


async def test_the_life_of_an_automation_over_http(
    bench: Bench, session: str, over_http: Command
) -> None:
    run = await bench.run(document(ANSWER, name="Digest"))

    async def ask(*words: str) -> Any:
        code, text = await over_http(*words, "--json")
        assert code == 0, text
        return json.loads(text)

    assert (await ask("show", "Digest"))["name"] == "Digest"
    assert [one["version"] for one in (await ask("versions", "Digest"))["versions"]] == [1]
    assert (await ask("pause", "Digest"))["state"] == "paused"
    assert (await ask("archive", "Digest"))["state"] == "archived"
    assert (await ask("restore", "Digest"))["state"] == "paused"
    logs = await ask("logs", "last")
    assert (logs["id"], logs["status"]) == (str(run["id"]), "succeeded")
    published = await ask("publish", "orders.paid", "--payload", '{"total": 5}')
    assert (await ask("events", "show", published["id"]))["payload"] == {"total": 5}
    made = await ask("tokens", "create", "ci", "--role", "viewer", "--days", "3")
    assert (await ask("tokens", "revoke", made["token"]["id"]))["revoked_at"] is not None
    for words in ("inbox", "drafts", "consents", "approvals", "rules", "connections", "halts"):
        assert isinstance(await ask(words), dict)
    for group in ("members", "workspaces", "tokens", "workers", "prompts", "proposals"):
        assert isinstance(await ask(group, "list"), dict)


async def test_the_text_of_a_list_takes_one_request_for_all_automations(
    bench: Bench, session: str, over_http: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = {"cron": "0 9 * * *", "timezone": "Asia/Tokyo"}
    for name in ("One", "Two", "Three"):
        trigger = {"id": "daily", "type": "schedule", "config": schedule}
        await bench.save(document(ANSWER, name=name, triggers=[trigger]))
        assert (await over_http("activate", name, "--json"))[0] == 0
    sent: list[str] = []
    send = ServerClient.send

    def count(self: ServerClient, method: str, path: str, *rest: Any, **more: Any) -> Any:
        sent.append(path)
        return send(self, method, path, *rest, **more)

    monkeypatch.setattr(ServerClient, "send", count)
    monkeypatch.setenv("COLUMNS", "200")
    code, text = await over_http("list")

    assert code == 0
    assert text.count("Asia/Tokyo") == 3, text
    assert sent == ["/automations"]


async def test_a_link_names_the_port_of_the_last_server(bench: Bench, tmp_path: Path) -> None:
    settings = replace(bench.application.settings, home=tmp_path, port=8420, public_url=None)
    assert expected_address(settings) == "http://127.0.0.1:8420"
    with hold_data_folder(replace(settings, port=9471)):
        assert expected_address(settings) == "http://127.0.0.1:9471"

    assert expected_address(settings) == "http://127.0.0.1:9471"
    assert expected_address(replace(settings, port=9500)) == "http://127.0.0.1:9500"
