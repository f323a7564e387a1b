"""``mainspring models``: a key comes by a pipe, and what there is can be read and tried."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from tests.integration.surfaces.cli.conftest import Command
from tests.kit.model_connections import KEY
from tests.kit.model_server import model_server


async def test_models_are_connected_priced_tried_and_disconnected(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(text: bytes) -> None:
        given = SimpleNamespace(buffer=io.BytesIO(text), isatty=lambda: False)
        monkeypatch.setattr("sys.stdin", given)

    async with model_server("echo", models=["qwen3"]) as server:
        empty = await command("models")
        piped(f"{KEY}\n".encode())
        made = await command("models", "connect", "anthropic")
        piped(b"")
        without = await command("models", "connect", "openai")
        application = await command(
            "models",
            "connect",
            "house",
            "--url",
            server.openai_url,
            "--model",
            "qwen3",
            "--for-everyone",
            "--no-key",
            "--json",
        )
        tried = await command("models", "test", "house")
        half = await command("models", "price", "house/qwen3", "--input", "3")
        priced = await command("models", "price", "house/qwen3", "--input", "3", "--output", "15")
        listed = await command("models")
        prices = await command("models", "prices")
        doctor = await command("doctor")
        gone = await command("models", "disconnect", "anthropic")
        missing = await command("models", "disconnect", "house")
        forgotten = await command("models", "price", "house/qwen3", "--delete")
        left = await command("models", "list", "--json")

    assert (empty[0], "models connect anthropic" in empty[1]) == (0, True), empty
    assert (made[0], "its key is in the vault" in made[1]) == (0, True), made
    assert without[0] != 0
    assert "without a key" in without[1]
    assert json.loads(application[1])["connection"]["has_key"] is False
    assert (tried[0], "house/qwen3" in tried[1]) == (0, True), tried
    assert (half[0] != 0, "--output is missing" in half[1]) == (True, True), half
    assert priced[0] == 0, priced
    assert "anthropic/claude-sonnet-4-6" in listed[1]
    assert "price set here" in listed[1]
    assert "house/qwen3" in prices[1]
    assert "2 model connections, and their keys open." in doctor[1]
    assert gone[0] == 0, gone
    assert (missing[0] != 0, "--for-everyone" in missing[1]) == (True, True), missing
    assert forgotten[0] == 0, forgotten
    assert [one["name"] for one in json.loads(left[1])["connections"]] == ["house"]
    result = (
        empty,
        made,
        without,
        application,
        tried,
        half,
        priced,
        listed,
        prices,
        doctor,
        gone,
        left,
    )
    assert all(KEY not in output for _, output in result)
