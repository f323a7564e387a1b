"""Recipes as files on the command line: begun, checked, packed, signed, without a server."""

from __future__ import annotations

import json
import stat
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import typer

from mainspring.contracts.limits import Limits
from mainspring.recipes.package import read_package
from mainspring.registry import build_registry
from mainspring.settings import Settings
from mainspring.surfaces.cli import (
    ApplicationFactory,
    build_app,
    exits,
    recipes_app,
    run_cli,
    scaffold_app,
)
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.services import ApplicationServices

KINDS = ("board", "automation", "workflow", "integration", "bundle")


WORDS = build_registry(Limits())


def locked(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError("the house was opened")


DOORS = ApplicationFactory(locked, lambda _: WORDS)


def small_app() -> typer.Typer:
    """The commands of this package alone: building all of them takes long."""
    app = typer.Typer()

    @app.callback()
    def desk(ctx: typer.Context) -> None:
        ctx.obj = CommandContext(DOORS)

    recipes_app.add_to(app, "")
    scaffold_app.add_to(app, "")
    return app


def main(words: list[str]) -> int:
    return run_cli(small_app(), words)


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    code = main([*map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_what_is_begun_passes_the_check_and_is_packed_and_signed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in KINDS:
        code, made = answer(
            capsys, "scaffold", "recipe", f"my-{kind}", "--kind", kind, "--into", tmp_path
        )
        assert code == exits.DONE
        folder = Path(made["folder"])
        code, result = answer(capsys, "recipes", "check", folder)
        assert (code, result["valid"], result["kind"]) == (exits.DONE, True, kind)
    key, packed = tmp_path / "key", tmp_path / "my.json"
    code, made = answer(capsys, "recipes", "new-key", key)
    assert code == exits.DONE
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    code, result = answer(capsys, "recipes", "pack", tmp_path / "my-automation", "-o", packed)
    assert (code, result["signed"]) == (exits.DONE, False)
    code, result = answer(capsys, "recipes", "sign", packed, "--key", key)
    assert (code, result["signed"]) == (exits.DONE, True)
    document = json.loads(packed.read_text())
    assert document["digest"] == result["digest"]
    assert document["signature"]["public_key"] == made["public_key"]
    assert "brains.list_boards" in document["template"]["script"]["source"]
    read_package(document)
    assert main(["recipes", "check", str(packed)]) == exits.DONE
    text = capsys.readouterr().out
    assert "list_boards" in text


def test_nothing_that_is_there_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = ("scaffold", "recipe", "mine", "--kind", "board", "--into", tmp_path)
    answer(capsys, *board)
    code, output = answer(capsys, *board)
    assert (code, output["code"]) == (exits.FAILED, "folder_there")
    key, packed = tmp_path / "key", tmp_path / "mine.json"
    answer(capsys, "recipes", "new-key", key)
    before = key.read_bytes()
    code, output = answer(capsys, "recipes", "new-key", key)
    assert (code, output["code"]) == (exits.FAILED, "file_exists")
    assert key.read_bytes() == before
    packed.write_text("mine")
    code, output = answer(capsys, "recipes", "pack", tmp_path / "mine", "-o", packed)
    assert (code, output["code"]) == (exits.FAILED, "file_exists")
    code, output = answer(capsys, "recipes", "sign", packed, "--key", key)
    assert code == exits.INVALID
    assert packed.read_text() == "mine"
    code, output = answer(capsys, "recipes", "sign", tmp_path / "mine", "--key", key)
    assert (code, output["code"]) == (exits.INVALID, "not_packed")


def test_what_is_wrong_is_reported_at_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, made = answer(capsys, "scaffold", "recipe", "mine", "--into", tmp_path)
    file = Path(made["folder"]) / "recipe.json"
    document = json.loads(file.read_text())
    changed = {"grants": document["grants"][1:], "hosts": ["a.example"]}
    file.write_text(json.dumps({**document, **changed}))
    code, output = answer(capsys, "recipes", "check", file.parent)
    assert code == exits.INVALID
    assert {(one["pointer"], one["code"]) for one in output["errors"]} == {
        ("/grants", "hidden_grant"),
        ("/hosts/0", "unused_host"),
    }
    stored = {key: value for key, value in document.items() if key != "grants"}
    file.write_text(json.dumps({**stored, "grnats": []}))
    code, output = answer(capsys, "recipes", "pack", file.parent, "-o", tmp_path / "out.json")
    (wrong,) = output["errors"]
    assert (wrong["pointer"], wrong["suggestion"]) == ("/grnats", "Did you mean 'grants'?")
    assert not (tmp_path / "out.json").exists()
    for name in ("Mine", "../mine", "a b"):
        code, output = answer(capsys, "scaffold", "recipe", name, "--into", tmp_path)
        assert (code, output["errors"][0]["pointer"]) == (exits.INVALID, "/name")
    code, output = answer(capsys, "recipes", "check", tmp_path / "nowhere")
    assert (code, output["code"]) == (exits.FAILED, "no_recipe")


def test_a_key_that_others_can_read_signs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    answer(capsys, "recipes", "new-key", key)
    key.chmod(0o644)
    code, output = answer(capsys, "recipes", "sign", tmp_path / "x.json", "--key", key)
    assert (code, output["code"]) == (exits.INVALID, "key_unguarded")
    code, output = answer(capsys, "recipes", "sign", tmp_path / "x.json", "--key", tmp_path / "no")
    assert output["code"] == "no_key"


def test_the_whole_command_line_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(build_app(DOORS), ["recipes", "schema"]) == exits.DONE
    assert json.loads(capsys.readouterr().out)["$id"] == "urn:mainspring:recipe:1"
