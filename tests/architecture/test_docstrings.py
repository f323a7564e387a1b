"""Every room and every module begins by telling what it is for."""

from __future__ import annotations

import ast

from tests.architecture.tree import CODE_FOLDERS, PACKAGE, modules, parsed, shown

# A package docstring tells the room's story: enough lines for one, and no chapter.
STORY = range(5, 21)


def test_every_module_has_a_docstring() -> None:
    silent = [shown(path) for path in modules(*CODE_FOLDERS) if not ast.get_docstring(parsed(path))]

    assert silent == []


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in modules("src")}

    assert [shown(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_package_docstring_has_about_ten_lines() -> None:
    rooms = sorted(PACKAGE.glob("*/__init__.py"))
    lengths = {
        room.parent.name: len((ast.get_docstring(parsed(room)) or "").splitlines())
        for room in rooms
    }

    assert {name: lines for name, lines in lengths.items() if lines not in STORY} == {}
    assert "contracts" in lengths
