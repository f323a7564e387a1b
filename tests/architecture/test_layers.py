"""Who may import whom: the contracts of ``.importlinter`` hold, and they miss no room."""

from __future__ import annotations

import ast
import configparser
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import PACKAGE, ROOT, modules, nodes, room_of, shown

CONTRACTS = ROOT / ".importlinter"
RUN = "from importlinter.cli import lint_imports_command as run; run()"

# import-linter sees an outside package as one piece, so parts of the standard library
# that open connections are looked for here.
# The CLI connects to its own server; importing an HTTP library would take longer than the command.
CLI_CLIENT = "src/mainspring/surfaces/cli/http_client.py"
CONNECTION_MODULES = {"asyncio.open_connection", "http.client", "http.server", "urllib.request"}
CONNECTION_CALLS = {"create_connection", "create_datagram_endpoint", "open_connection"}


def _contract(name: str) -> configparser.SectionProxy:
    read = configparser.ConfigParser()
    read.read(CONTRACTS, encoding="utf-8")
    return read[f"importlinter:contract:{name}"]


def _imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_import_contract_is_kept() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", RUN, "--no-cache", "--no-logo", "--config", str(CONTRACTS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 broken" in ended.stdout


def test_every_package_has_a_layer() -> None:
    layers = _contract("layers")
    listed = {
        name.strip().strip("()")
        for line in (layers["layers"] + layers["exhaustive_ignores"]).splitlines()
        for name in line.split("|")
    } - {""}
    rooms = {room_of(path) for path in modules("src")} - {"__init__"}

    assert rooms <= listed
    assert layers["exhaustive"] == "True"


def test_pure_packages_have_a_contract() -> None:
    held = set(_contract("pure")["source_modules"].split())
    pure = {
        f"mainspring.{room}" for room in ("contracts", "definition") if (PACKAGE / room).is_dir()
    }

    assert pure <= held


def test_only_outbound_opens_a_connection() -> None:
    found = [
        f"{shown(path)}: {name}"
        for path in modules("src")
        if room_of(path) != "outbound" and shown(path) != CLI_CLIENT
        for name in _imports(path)
        if name in CONNECTION_MODULES
        or any(name.startswith(entry_point + ".") for entry_point in CONNECTION_MODULES)
    ]

    assert found == []


def test_only_outbound_and_the_store_dial_through_the_event_loop() -> None:
    found = [
        f"{shown(path)}:{node.lineno}: {node.attr}"
        for path in modules("src")
        if room_of(path) not in {"outbound", "store"}
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in CONNECTION_CALLS
    ]

    assert found == []
