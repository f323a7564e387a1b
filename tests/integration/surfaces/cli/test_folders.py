"""Whole workspaces in folders, by commands: written, compared, changed manually, brought back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automations_app import _version
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.export_import import export
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.workspace_files import (
    bring_folder,
    diff_folders,
    export_folder,
    is_folder_or_file,
)
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards

FETCH = step("get", "http_fetch", {"url": "https://status.example.com/"})
GRANTS = [{"capability": "http_fetch", "params": {"hosts": ["status.example.com"]}}]


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def test_a_workspace_lives_in_a_folder(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = await Boards(bench.application).create("CRM")
    read = step("read", "get_board", {"board_id": board})
    grants = [{"capability": "get_board", "params": {"board_id": board}}]
    await bench.save(document(read, name="Reader", grants=grants))
    folder, other = tmp_path / "repo", tmp_path / "other"

    assert await export_folder(command_context, screen, folder, rows=True) == exits.DONE
    assert set(_answer(capsys)["written"]) == {
        "mainspring.json",
        "automations/reader.json",
        "boards/crm.json",
    }
    await export_folder(command_context, screen, other, rows=False)
    capsys.readouterr()
    for places in ((folder, None), (folder, other)):
        named = [None if place is None else str(place) for place in places]
        assert await diff_folders(command_context, screen, str(named[0]), named[1]) == exits.DONE
        assert _answer(capsys) == {"same": True, "differences": []}

    # A person changes a file: what would be different is reported before anything is.
    path = folder / "automations" / "reader.json"
    written = json.loads(path.read_text())
    written["plan"].append(FETCH)
    written["grants"] += GRANTS
    path.write_text(json.dumps(written))
    for first, second in ((folder, None), (other, folder)):
        last = None if second is None else str(second)
        assert await diff_folders(command_context, screen, str(first), last) == exits.DIFFERS
        (found,) = _answer(capsys)["differences"]
        assert (found["what"], found["path"]) == ("changed", "automations/reader.json")
        assert "/plan/1" in {one["pointer"] for one in found["changes"]}
        assert any("status.example.com" in one["says"] for one in found["widens"])
    assert await diff_folders(command_context, Screen(), str(folder), None) == exits.DIFFERS
    assert "status.example.com" in capsys.readouterr().out

    with pytest.raises(Conflict) as refusal:
        await bring_folder(command_context, screen, str(folder), "refuse", dry_run=False)
    assert "--on-clash" in str(refusal.value.suggestion)
    await bring_folder(command_context, screen, str(folder), "new_version", dry_run=True)
    dry = _answer(capsys)
    assert [one["what"] for one in dry["things"]] == ["unchanged", "changed"]
    assert await diff_folders(command_context, screen, str(folder), None) == exits.DIFFERS
    capsys.readouterr()
    await bring_folder(command_context, Screen(), str(folder), "new_version", dry_run=False)
    assert "Nothing starts before you agree" in capsys.readouterr().out
    assert await diff_folders(command_context, screen, str(folder), None) == exits.DONE
    capsys.readouterr()

    # One file with automations is compared with the automations alone.
    one = tmp_path / "all.json"
    await export(command_context, screen, None, one, over=False)
    capsys.readouterr()
    assert await diff_folders(command_context, screen, str(one), str(one)) == exits.DONE
    assert is_folder_or_file(str(one))
    assert is_folder_or_file(str(folder))
    assert not is_folder_or_file("Reader")
    assert _version("3") == 3


async def test_a_bad_folder_is_reported_by_file_and_place(
    command_context: CommandContext, screen: Screen, tmp_path: Path
) -> None:
    await export_folder(command_context, screen, tmp_path / "a", rows=False)
    bad = tmp_path / "a" / "automations" / "x.json"
    bad.parent.mkdir()
    bad.write_text('{"name": "X", "plan": []}')

    for deed in (
        bring_folder(command_context, screen, str(tmp_path / "a"), "refuse", dry_run=False),
        bring_folder(command_context, screen, str(tmp_path / "a"), "refuse", dry_run=True),
    ):
        with pytest.raises(Invalid) as refusal:
            await deed
        assert all(one.pointer.startswith("automations/x.json#") for one in refusal.value.findings)
