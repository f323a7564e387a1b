"""``mainspring pages``: a text goes in from a file or a pipe, is found, shown and deleted."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.integration.surfaces.cli.conftest import Command


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
    back = await command("pages", "restore", "the-plan")
    file.write_text("---\ntitle: The plan\n---\n\nTea at ten.\n", encoding="utf-8")
    changed = await command("pages", "add", str(file))
    without = await command("pages", "search", "--", "tea", "-ten")

    assert first[0] == 0, first
    assert "The page the-plan is created." in first[1]
    assert "tags: a, b" in shown[1]
    assert (back[0], "there again" in back[1]) == (0, True), back
    assert "The page the-plan is changed." in changed[1]
    assert (without[0], "Nothing was found." in without[1]) == (0, True), without
    assert json.loads(again[1])["became"] == "unchanged"
    assert json.loads(piped[1])["slug"] == "from-a-pipe"
    assert "the-plan" in listed[1]
    assert "memo" in listed[1]
    assert "Tea at nine." in shown[1]
    assert "created by member" in shown[1]
    assert "tags: [a, b]\n---\n\nTea at nine." in raw[1]
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
    for words, output in (
        (("add", str(binary)), "not UTF-8"),
        (("add", str(large)), "larger than"),
        (("add", str(broken)), "Line 2 of the front matter"),
        (("add", str(tmp_path / "none.md")), "There is no file"),
        (("add", str(tmp_path)), "is a folder"),
        (("search", " "), "nothing to look for"),
        (("list", "--type", "No Type"), "type"),
    ):
        code, result = await command("pages", *words)
        assert code != 0, words
        assert output in result, result
        assert "Traceback" not in result
