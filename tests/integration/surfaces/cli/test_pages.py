"""``mainspring pages``: a text goes in from a file or a pipe, is found, shown and deleted."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mainspring.surfaces.cli import Doors, build_app, run_cli
from mainspring.wiring import build_registry, open_house, rooms_of
from tests.kit.house import Bench

Command = Callable[..., Any]


@pytest.fixture
def command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """One command, run to its end in a thread: its code, and what it said."""
    from contextlib import asynccontextmanager

    settings = bench.house.settings
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", str(settings.database_url))
    monkeypatch.setenv("MAINSPRING_HOME", str(settings.home))

    @asynccontextmanager
    async def opened(found: Any) -> Any:
        async with open_house(found) as house:
            yield rooms_of(house)

    app = build_app(Doors(opened, build_registry))

    async def run(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = await asyncio.to_thread(run_cli, app, list(words))
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


async def test_a_text_is_kept_found_shown_and_deleted(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plan.md"
    file.write_text("---\ntitle: The plan\ntags: [a, b]\n---\n\nTea at nine.\n", encoding="utf-8")
    first = await command("pages", "add", str(file))
    again = await command("pages", "add", str(file), "--json")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"# From a pipe\n\ncoffee")))
    piped = await command("pages", "add", "-", "--type", "memo", "--json")
    listed = await command("pages", "list")
    shown = await command("pages", "show", "the-plan")
    raw = await command("pages", "show", "the-plan", "--raw")
    found = await command("pages", "search", "tea", "nine")
    asked = await command("pages", "query", "plann", "--json")
    gone = await command("pages", "delete", "the-plan")
    missing = await command("pages", "show", "the-plan")

    assert first[0] == 0, first
    assert json.loads(again[1])["became"] == "unchanged"
    assert json.loads(piped[1])["slug"] == "from-a-pipe"
    assert "the-plan" in listed[1]
    assert "memo" in listed[1]
    assert "Tea at nine." in shown[1]
    assert "created by member" in shown[1]
    assert file.read_text(encoding="utf-8").strip() in raw[1]
    assert "The plan" in found[1]
    assert [page["slug"] for page in json.loads(asked[1])["pages"]] == ["the-plan"]
    assert gone[0] == 0
    assert missing[0] != 0
    assert "There is no such page" in missing[1]


async def test_what_is_no_text_is_refused_in_a_sentence(command: Command, tmp_path: Path) -> None:
    binary = tmp_path / "binary.md"
    binary.write_bytes(b"\xff\xfe\x00")
    large = tmp_path / "large.md"
    large.write_bytes(b"# x\n" + b"a" * 1_100_000)
    broken = tmp_path / "broken.md"
    broken.write_text("---\nwhat is this\n---\n", encoding="utf-8")
    for words, said in (
        (("add", str(binary)), "not UTF-8"),
        (("add", str(large)), "larger than"),
        (("add", str(broken)), "Line 2 of the front matter"),
        (("add", str(tmp_path / "none.md")), "There is no file"),
        (("add", str(tmp_path)), "is a folder"),
        (("search", " "), "nothing to look for"),
        (("list", "--type", "No Type"), "type"),
    ):
        code, told = await command("pages", *words)
        assert code != 0, words
        assert said in told, told
        assert "Traceback" not in told
