"""Folders: nothing is followed out of them, and nothing but ours in them is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.contracts.limits import Limits, override_limits
from mainspring.recipes.carrying.folder import _walk, open_folder, read_folder, write_folder
from mainspring.recipes.carrying.model import WorkspaceContent, WorkspaceResource
from mainspring.recipes.carrying.workspace_files import MARKER, to_files

LIMITS = Limits()
CRM = WorkspaceResource("board", "crm", {"name": "CRM"})
PROMPT = WorkspaceResource("prompt", "p", {"name": "P", "text": "x"})
FILES = to_files(WorkspaceContent((CRM, PROMPT)))


def _code(folder: Path, limits: Limits = LIMITS) -> str:
    with pytest.raises(Invalid) as refusal:
        read_folder(folder, limits)
    assert refusal.value.findings
    return refusal.value.code


def test_a_folder_is_written_and_read_back_and_leaves_alone_what_is_not_ours(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "deep" / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref")
    (folder / "README.md").write_text("ours")
    (folder / "src").mkdir()

    first = write_folder(folder, FILES, LIMITS)
    (folder / "boards" / "README.md").write_text("people")
    (folder / "boards" / ".keep").write_text("")
    again = write_folder(folder, FILES, LIMITS)
    fewer = {path: text for path, text in FILES.items() if path != "prompts/p.json"}

    assert set(first.written) == FILES.keys()
    assert (again.written, again.removed) == ((), ())
    assert read_folder(folder, LIMITS) == FILES
    assert write_folder(folder, fewer, LIMITS).removed == ("prompts/p.json",)
    assert not (folder / "prompts").exists()
    assert write_folder(folder, {MARKER: FILES[MARKER]}, LIMITS).removed == ("boards/crm.json",)
    assert (folder / "boards" / "README.md").read_text() == "people"
    assert (folder / ".git" / "HEAD").read_text() == "ref"
    assert (folder / "src").is_dir()


@pytest.mark.parametrize("there", ["boards/x.json", "settings.json", "automations/notes.txt"])
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, there: str) -> None:
    place = tmp_path / there
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine")

    for marker in (None, "{}", "nonsense"):
        if marker is not None:
            (tmp_path / MARKER).write_text(marker)
        with pytest.raises(Conflict) as refusal:
            write_folder(tmp_path, FILES, LIMITS)
        assert refusal.value.code == "folder_taken"
        assert place.read_text() == "mine"


def test_nothing_is_followed_out_of_a_folder(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "secret.json").write_text('{"name": "S"}')
    write_folder(folder, FILES, LIMITS)

    (folder / "boards" / "link.json").symlink_to(outside / "secret.json")
    assert _code(folder) == "file_link"
    with pytest.raises(Invalid):
        write_folder(folder, {MARKER: FILES[MARKER]}, LIMITS)
    (folder / "boards" / "link.json").unlink()
    (folder / "workflows").symlink_to(outside)
    assert _code(folder) == "file_link"
    with pytest.raises(Invalid):
        write_folder(folder, {**FILES, "workflows/w.json": "{}"}, LIMITS)
    assert [one.name for one in outside.iterdir()] == ["secret.json"]
    (folder / "workflows").unlink()
    (folder / MARKER).unlink()
    (folder / MARKER).symlink_to(outside / "secret.json")
    assert _code(folder) == "file_link"
    with pytest.raises(Conflict):
        write_folder(folder, FILES, LIMITS)


def test_a_folder_that_becomes_a_link_after_it_was_listed_leads_nowhere(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "crm.json").write_text("theirs")
    write_folder(folder, FILES, LIMITS)

    with open_folder(folder) as inside:
        assert inside.names("boards", 10) == ["crm.json"]
        (folder / "boards").rename(tmp_path / "moved")
        (folder / "boards").symlink_to(outside)
        for deed in (
            lambda: inside.read("boards/crm.json", 100),
            lambda: inside.write("boards/crm.json", b"ours"),
            lambda: inside.write("boards/deeper/new.json", b"ours"),
            lambda: inside.remove("boards/crm.json"),
            lambda: inside.names("boards", 10),
            lambda: inside.mode("boards/crm.json"),
        ):
            with pytest.raises(OSError, match=r"irectory|symbolic"):
                deed()
        inside.remove_empty("boards")
    assert (outside / "crm.json").read_text() == "theirs"
    assert [one.name for one in outside.iterdir()] == ["crm.json"]


def test_a_folder_with_too_many_entries_is_not_listed_to_its_end(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES, LIMITS)
    boards = tmp_path / "boards"
    with open_folder(tmp_path) as inside:
        assert len(list(_walk(inside, room=2))) == len(FILES)
        # Empty folders count too.
        for name in ("a", "b", "c"):
            (boards / name).mkdir()
        assert len(inside.names("boards", 2)) == 2
        with pytest.raises(Invalid) as refusal:
            list(_walk(inside, room=4))
    assert refusal.value.code == "too_many_files"


def test_what_is_no_text_or_too_much_of_it_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path, FILES, LIMITS)
    odd = tmp_path / "boards" / "odd.json"

    odd.write_bytes(b"\xff\xfe")
    assert _code(tmp_path) == "file_encoding"
    odd.write_bytes(b"x" * 2_000)
    assert _code(tmp_path, override_limits({"import_bytes": 1_000})) == "files_too_large"
    odd.unlink()
    os.mkfifo(odd)
    assert _code(tmp_path) == "file_kind"
    odd.unlink()
    deep = tmp_path / "boards" / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    assert _code(tmp_path) == "file_depth"
    with pytest.raises(NotFound):
        read_folder(tmp_path / "nowhere", LIMITS)
    (tmp_path / "file").write_text("")
    with pytest.raises(Conflict):
        write_folder(tmp_path / "file", FILES, LIMITS)
