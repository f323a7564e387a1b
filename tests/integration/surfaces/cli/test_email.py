"""``email``: a person at a terminal sets and verifies the address; a program does not."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.errors import Conflict, PermissionDenied
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, email
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.bench import Bench
from tests.kit.gate import Market, gate_bench
from tests.kit.mail import MailServerDouble, mail_server

CODE = re.compile(r"Your code is (\S+)")


@asynccontextmanager
async def _desk(bench: Bench, post: MailServerDouble) -> AsyncIterator[CommandContext]:
    async with (
        mail_server(post) as port,
        gate_bench(bench, Market(), smtp_url=f"smtp://127.0.0.1:{port}") as one,
    ):

        @asynccontextmanager
        async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
            del settings
            yield application_services(one.application)

        yield CommandContext(ApplicationFactory(enter, build_registry))


def _sit_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends are a terminal."""
    for stream in ("sys.stdin", "sys.stdout"):
        monkeypatch.setattr(f"{stream}.isatty", lambda: True)


async def test_a_person_sets_an_address_and_verifies_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    post = MailServerDouble()
    async with _desk(bench, post) as context:
        _sit_down(monkeypatch)
        await email.show_email(context, Screen())
        assert "goes nowhere yet" in capsys.readouterr().out
        await email.set_email(context, Screen(), "ada@example.com")
        assert "A code was mailed to ada@example.com" in capsys.readouterr().out
        await email.send_code(context, Screen())
        capsys.readouterr()
        found = CODE.search(post.messages[-1].get_content())
        assert found is not None
        await email.verify_email(context, Screen(), found[1])
        assert "ada@example.com is verified" in capsys.readouterr().out
        await email.show_email(context, Screen())
        assert "ada@example.com (verified)" in capsys.readouterr().out


async def test_a_program_neither_sets_nor_verifies_an_address(
    command_context: CommandContext, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for asked in (screen, Screen()):
        for act in (
            email.set_email(command_context, asked, "eve@example.com"),
            email.send_code(command_context, asked),
            email.verify_email(command_context, asked, "AAAAA-AAAAA"),
        ):
            with pytest.raises(PermissionDenied) as refused:
                await act
            assert refused.value.code == "person_needed"
    _sit_down(monkeypatch)
    with pytest.raises(PermissionDenied):
        await email.set_email(command_context, screen, "eve@example.com")


async def test_without_a_mail_server_the_way_out_is_named(
    command_context: CommandContext,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _sit_down(monkeypatch)
    await email.set_email(command_context, Screen(), "ada@example.com")
    assert "MAINSPRING_SMTP_URL" in capsys.readouterr().out
    with pytest.raises(Conflict) as refused:
        await email.send_code(command_context, Screen())
    assert refused.value.code == "mail_not_set_up"


async def test_a_token_at_a_terminal_is_a_program_too(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_TOKEN", "msp_" + "a" * 43)
    code, output = await command("email", "set", "eve@example.com", answers=[])
    assert code == 1, output
    monkeypatch.delenv("MAINSPRING_TOKEN")
    code, output = await command("email", "show", "--json")
    assert (code, "eve@example.com" in output) == (0, False), output
