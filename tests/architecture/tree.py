"""The checkout as the laws see it: its files, its parsed modules, its rooms."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from scripts.syntax import nodes_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "mainspring"
# Folders with Python of our own; bench arrives with the first benchmark.
CODE_FOLDERS = ("src", "tests", "scripts", "bench")

_NOT_OURS = {"node_modules", "__pycache__", "build", "dist"}
_HIDDEN_BUT_OURS = {".ci", ".editorconfig", ".gitignore", ".importlinter"}


def files_under(folder: Path) -> Iterator[Path]:
    """Every file that belongs to the project, in a stable order."""
    for path in sorted(folder.iterdir()):
        if path.name in _NOT_OURS:
            continue
        if path.name.startswith(".") and path.name not in _HIDDEN_BUT_OURS:
            continue
        if path.is_dir():
            yield from files_under(path)
        elif path.is_file():
            yield path


@cache
def modules(*folders: str) -> tuple[Path, ...]:
    """The Python files of the named folders of the checkout, where these exist."""
    return tuple(
        path
        for folder in folders
        if (ROOT / folder).is_dir()
        for path in files_under(ROOT / folder)
        if path.suffix == ".py"
    )


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a module; each law looks at all of them."""
    return nodes_of(parsed(path))


def shown(path: Path) -> str:
    """A path as a person would write it."""
    return path.relative_to(ROOT).as_posix()


def room_of(path: Path) -> str:
    """The top-level package or module of the product a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def is_whole() -> bool:
    """Whether the rooms have been put together: laws of "exactly one" hold from then on."""
    return (PACKAGE / "wiring.py").is_file()
