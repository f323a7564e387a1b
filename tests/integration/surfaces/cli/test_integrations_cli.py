"""Integrations at a terminal: a secret is asked for or comes from a pipe, and is never a word."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.errors import Invalid, NotFound
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory
from mainspring.surfaces.cli import integrations as commands
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from tests.kit.accounts import house_of
from tests.kit.doubles.oauth_provider import ACCOUNT, CLIENT, CLIENT_SECRET, oauth_provider

KEY = "key-0123456789"
FIELDS: list[dict[str, Any]] = [
    {
        "name": "token",
        "label": "Key",
        "secret": True,
        "required": True,
        "type": "string",
        "default": None,
    },
    {
        "name": "port",
        "label": "Port",
        "secret": False,
        "required": False,
        "type": "integer",
        "default": None,
    },
]


def pipe(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_secrets_come_from_a_pipe_and_settings_as_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ([f"token={KEY}"], ["port"], ["no_such=1"]):
        with pytest.raises(Invalid) as caught:
            commands.ask_fields(FIELDS, given)
        assert KEY not in str(caught.value.as_dict())
    pipe(monkeypatch, f"{KEY}\n".encode())
    assert commands.ask_fields(FIELDS, ["port=7"]) == {"token": KEY, "port": 7}
    pipe(monkeypatch, json.dumps({"token": KEY, "port": 8}).encode())
    assert commands.ask_fields(FIELDS, []) == {"token": KEY, "port": 8}
    pipe(monkeypatch, b"\xff\xfe")
    with pytest.raises(Invalid):
        commands.ask_fields(FIELDS, [])
    pipe(monkeypatch, b"{half")
    with pytest.raises(Invalid):
        commands.ask_fields(FIELDS, [])
    pipe(monkeypatch, b"")
    assert commands.ask_fields(FIELDS, []) == {}
    assert commands.ask_fields([], []) == {}
    assert commands.read_secret("Secret") is None


async def test_accounts_are_connected_tested_and_forgotten(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    screen = Screen()
    async with oauth_provider() as provider:
        settings = Settings(
            home=tmp_path, database_url=database_url, egress_allow=frozenset({provider.pair})
        )
        async with house_of(settings, provider) as application:
            services = application_services(application)

            @asynccontextmanager
            async def enter(value: Any) -> AsyncIterator[ApplicationServices]:
                del value
                yield services

            context = CommandContext(ApplicationFactory(enter, build_registry))
            with pytest.raises(NotFound, match="no integration called 'keyd'"):
                await commands.fields_of(context, "keyd")
            with pytest.raises(Invalid, match="does not accept"):
                await commands.connect(context, screen, "keyed", {"token": "not-the-key"})
            asked = [one["name"] for one in await commands.fields_of(context, "keyed")]
            codes = [
                await commands.connect(context, screen, "keyed", {"token": KEY, "team": "theirs"}),
                await commands.list_integrations(context, screen, connected=True),
                await commands.test_connection(context, screen, "keyed"),
                await commands.set_client(
                    context, screen, "acme", CLIENT, CLIENT_SECRET, for_everyone=True
                ),
                await commands.list_clients(context, screen),
                await commands.connect(context, screen, "notebook", {}),
            ]
            provider.shut = True
            shut = await commands.test_connection(context, screen, "keyed")
            codes += [
                await commands.list_integrations(context, screen, connected=False),
                await commands.disconnect(context, screen, "keyed"),
                await commands.remove_client(context, screen, "acme", for_everyone=True),
            ]
    shown = capsys.readouterr()
    output = shown.out + shown.err

    assert (asked, set(codes), shut != 0) == (["token", "team"], {0}, True)
    assert f"keyed is connected as {ACCOUNT}" in output
    assert f"You are {ACCOUNT} there" in output
    assert "/api/v1/integrations/callback/acme" in output
    assert f"{provider.url}/authorize?" in output
    assert "integrations connect keyed" in output
    assert "Its credentials are deleted" in output
    assert KEY not in output
    assert CLIENT_SECRET not in output
