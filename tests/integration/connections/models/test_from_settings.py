"""Keys given as settings: in the vault after the start, and nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mainspring.app import open_application
from mainspring.connections.models.from_settings import take_in
from mainspring.settings import Settings, read_settings, setting_names
from mainspring.workspace.model_connections import API_KEY, ModelConnection, list_all_connections
from tests.kit.bench import Bench

KEY, OTHER = "sk-from-the-environment", "sk-another-one"


async def _there(bench: Bench) -> list[tuple[ModelConnection, str | None]]:
    """Every connection with its key."""
    vault, found = bench.application.vault, await list_all_connections(bench.application.database)
    return [
        (one, (await vault.reveal(one.secret_scope, [API_KEY]))[API_KEY] if one.has_key else None)
        for one in found
    ]


async def test_a_key_is_taken_into_the_vault_at_the_start_and_forgotten(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_ANTHROPIC_KEY", KEY)
    settings = replace(bench.application.settings, anthropic_key=read_settings().anthropic_key)
    async with open_application(settings) as application:
        shown = repr(application.settings) + repr(application)
        [(made, key)] = await _there(bench)

    assert (made.name, made.workspace_id, key) == ("anthropic", None, KEY)
    assert made.base_url == "https://api.anthropic.com"
    assert "MAINSPRING_ANTHROPIC_KEY" not in os.environ
    assert KEY not in shown
    assert KEY not in repr(settings)


async def test_the_same_key_changes_nothing_and_another_takes_its_place(bench: Bench) -> None:
    database, vault = bench.application.database, bench.application.vault
    # Somebody led the connection elsewhere; the key of the settings does not follow.
    elsewhere = Settings(openai_key=OTHER, openai_url="https://elsewhere.example/v1/")
    for settings in (elsewhere, Settings(openai_key=KEY), Settings(openai_key=KEY)):
        await take_in(database, vault, settings)
    [(made, key)] = await _there(bench)
    result = await database.fetchval("SELECT count(*) FROM audit_log WHERE action LIKE '%model'")

    assert (made.base_url, key) == ("https://api.openai.com/v1", KEY)
    assert result == 2


async def test_what_cannot_be_used_is_reported_without_the_key_and_keeps_nobody_from_starting(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bad = Settings(anthropic_key="two words", groq_key=KEY, groq_url="ftp://nowhere")
    await take_in(bench.application.database, bench.application.vault, bad)

    assert await _there(bench) == []
    assert "MAINSPRING_ANTHROPIC_KEY was not used" in caplog.text
    assert "MAINSPRING_GROQ_KEY was not used" in caplog.text
    assert "two words" not in caplog.text
    assert KEY not in caplog.text


LOOK = """
import pathlib, subprocess, sys
from mainspring.settings import forget_model_keys, read_settings, without_model_keys
settings = read_settings()
assert settings.groq_key == "sk-from-the-environment", settings.groq_key
assert without_model_keys(settings).groq_key is None
forget_model_keys()
own = pathlib.Path("/proc/self/environ")
print(own.read_bytes() if own.exists() else b"")
print(subprocess.run(["/usr/bin/env"], capture_output=True, check=True).stdout)
"""


def test_neither_the_process_nor_what_it_starts_has_the_key_in_its_environment(
    tmp_path: Path,
) -> None:
    given = {**os.environ, "MAINSPRING_GROQ_KEY": KEY, "MAINSPRING_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env=given, capture_output=True, text=True, check=True
    )

    assert "PATH=" in done.stdout
    assert KEY not in done.stdout
    assert {"MAINSPRING_ANTHROPIC_KEY", "MAINSPRING_OPENAI_URL"} <= set(setting_names())
