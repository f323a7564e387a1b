"""Laws of "one place": who calls a handler, and who writes a table.

They are read from the parsed source, so a call or a statement that hides behind another
spelling of the same thing (a handler taken as a value, a computed table name) counts too.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.tree import PACKAGE, files_under, is_whole, modules, nodes, room_of, shown

MIGRATIONS = PACKAGE / "store" / "migrations"
CREATED = re.compile(r"(?i)\bCREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)")
PARTITION = re.compile(CREATED.pattern + r"\s+PARTITION\s+OF\b")
COMPUTED = "{computed}"
WRITTEN = re.compile(
    r"(?i)\b(?:INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|TRUNCATE(?:\s+TABLE)?|COPY"
    r"|(?<!FOR )(?<!KEY )UPDATE)\s+(?:ONLY\s+)?(?:public\.)?\"?(\w+|\{computed\})"
)
COPIERS = {"copy_records_to_table", "copy_to_table"}
# It fills an empty database with rows that were written by their rooms elsewhere.
CARRIERS = {"src/mainspring/store/restore.py"}
# Made by the migration runner itself, before any migration has run.
OWN_TABLE_OF_THE_STORE = "schema_migrations"


def _handler_uses() -> dict[str, list[str]]:
    """Where ``something.handler`` is read, by room; to read it is to be able to call it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules("src"):
        for node in nodes(path):
            if _reads_handler(node):
                found[room_of(path)].append(f"{shown(path)}:{getattr(node, 'lineno', 0)}")
    return found


def _reads_handler(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "handler" and isinstance(node.ctx, ast.Load)
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and any(isinstance(a, ast.Constant) and a.value == "handler" for a in node.args)
    )


def test_handlers_are_called_by_the_gate_and_the_runs_only() -> None:
    elsewhere = {
        room: places for room, places in _handler_uses().items() if room not in {"gate", "runs"}
    }

    assert elsewhere == {}


def test_a_capability_handler_is_called_in_one_place_of_the_gate() -> None:
    places = _handler_uses()["gate"]

    assert len(places) == 1 if is_whole() else len(places) <= 1, places


def test_an_action_handler_is_called_in_one_place_of_the_runs() -> None:
    places = _handler_uses()["runs"]

    assert len(places) == 1 if is_whole() else len(places) <= 1, places


def _tables() -> set[str]:
    sql = "\n".join(_without_comments(path) for path in sorted(MIGRATIONS.glob("*.sql")))
    return set(CREATED.findall(sql)) - set(PARTITION.findall(sql)) | {OWN_TABLE_OF_THE_STORE}


def _without_comments(path: Path) -> str:
    return re.sub(r"--[^\n]*", "", path.read_text(encoding="utf-8"))


def _texts(path: Path) -> Iterator[str]:
    """Every string of a module but its docstrings, computed pieces marked as such."""
    skipped = {
        id(node.value)
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    skipped |= {
        id(piece)
        for node in nodes(path)
        if isinstance(node, ast.JoinedStr)
        for piece in node.values
    }
    for node in nodes(path):
        if isinstance(node, ast.JoinedStr):
            yield "".join(map(_piece, node.values))
        elif isinstance(node, ast.Constant) and id(node) not in skipped:
            yield str(node.value)


def _piece(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else COMPUTED


def _copied(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in COPIERS
            and node.args
        ):
            yield _piece(node.args[0])


@cache
def _written_tables() -> dict[str, dict[str, set[str]]]:
    """For each table, the rooms that write it and the files where they do."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in files_under(PACKAGE):
        if path.suffix == ".py":
            names = [name for text in _texts(path) for name in WRITTEN.findall(text)]
            names += _copied(path)
        elif path.suffix == ".sql" and path.parent != MIGRATIONS:
            names = WRITTEN.findall(_without_comments(path))
        else:
            continue
        for name in names:
            found[name.lower()][room_of(path)].add(shown(path))
    return found


def test_each_table_is_written_by_one_package_only() -> None:
    tables = _tables()
    shared = {
        table: {room: sorted(files) for room, files in rooms.items()}
        for table, rooms in _written_tables().items()
        if table in tables and len(rooms) > 1
    }

    assert shared == {}


def test_a_statement_that_writes_names_its_table() -> None:
    found = {path for files in _written_tables()[COMPUTED].values() for path in files}

    assert sorted(found - CARRIERS) == []


def test_the_law_sees_the_tables_and_the_writers() -> None:
    """A law that looks at nothing is kept by everybody."""
    assert len(_tables()) > 1
    assert not is_whole() or {"runs", "steps", "calls", "events"} <= _written_tables().keys()
