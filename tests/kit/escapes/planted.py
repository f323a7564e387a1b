"""What is planted where a script might find it: files, an environment, sockets, another run.

Every planted thing has a text of its own, so that a leak can be distinguished from all others.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = "MAINSPRING_PLANTED"
# Where something may be left behind, outside of the planted folder.
_ELSEWHERE: Final = (Path("/tmp"), Path("/dev/shm"))


def _text(of: str) -> str:
    return f"planted-{of}-{secrets.token_hex(12)}"


@dataclass(slots=True)
class Planted:
    """The planted texts, where they are, and who connected."""

    folder: Path
    texts: dict[str, str]
    tcp: int = 0
    udp: int = 0
    abstract: str = ""
    connections: dict[str, int] = field(default_factory=dict)
    _before: set[str] = field(default_factory=set)

    @property
    def passing(self) -> str:
        """How everything is called that is left where others leave things, too."""
        return f"left-{self.folder.name}"

    @property
    def names(self) -> dict[str, str]:
        """What replaces a name in capitals in a script."""
        at = self.folder
        return {
            "OPEN": f"{at}/open.txt",
            "JSON": f"{at}/open.json",
            "TS": f"{at}/open.ts",
            "DB": f"{at}/open.db",
            "ENVFILE": f"{at}/open.env",
            "MASTER": f"{at}/master.key",
            "ROWS": f"{at}/database/rows",
            "FOLDER": str(at),
            "SPARE": f"{at}/spare",
            "UNIX": f"{at}/socket",
            "ABSTRACT": self.abstract,
            "TCP": str(self.tcp),
            "UDP": str(self.udp),
            "LEFT": self.passing,
            "REACHED": self.texts["reached"],
        }

    def found_in(self, message: str) -> list[str]:
        """Which of the planted texts are in a text."""
        return sorted(name for name, text in self.texts.items() if text in message)

    def left(self) -> list[str]:
        """What is there now and was not there before, or the other way round."""
        return sorted(self._before ^ self._there())

    def _there(self) -> set[str]:
        found = {str(path) for path in self.folder.rglob("*") if "socket" not in path.name}
        files = [*self.folder.glob("open.*"), *self.folder.glob("spare/*.txt")]
        contents = {f"{path}: {path.stat().st_size}" for path in files}
        return found | contents | self._passing()

    def _passing(self) -> set[str]:
        return {str(path) for place in _ELSEWHERE for path in place.glob(f"{self.passing}*")}


@asynccontextmanager
async def planted() -> AsyncIterator[Planted]:
    """Plants everything for as long as it is needed, with the rights of who calls."""
    folder = Path(tempfile.mkdtemp(prefix="planted-"))
    names = ("open", "master", "rows", "reached", "left", "source", "token", "run")
    made = Planted(folder, {name: _text(name) for name in names})
    made.texts["environment"] = os.environ.get(ENVIRONMENT) or _text("nowhere")
    made.abstract = _text("abstract")
    try:
        _plant_files(folder, made.texts)
        made._before = made._there()
        async with _listening(made):
            yield made
    finally:
        for path in made._passing() - made._before:
            _remove(Path(path))
        shutil.rmtree(folder)


def _plant_files(folder: Path, texts: dict[str, str]) -> None:
    secret = texts["open"]
    folder.chmod(0o755)
    module = f'export const x: string = "{secret}"; export default x;\n'
    module += "export function told() { globalThis.told = x; console.log(x); }\n"
    for name, text in {
        "open.txt": secret,
        "open.json": json.dumps({"kept": secret}),
        "open.ts": module,
        "open.env": f"PLANTED={secret}\n",
        "master.key": texts["master"],
        "database/rows": texts["rows"],
        "node_modules/pkg/package.json": '{"name": "pkg", "main": "../../open.json"}',
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600 if name in ("master.key", "database/rows") else 0o644)
    (folder / "database").chmod(0o700)
    (folder / "empty").mkdir()
    _plant_spare(folder / "spare")
    with closing(sqlite3.connect(folder / "open.db")) as database, database:
        database.execute("CREATE TABLE kept (text)")
        database.execute("INSERT INTO kept VALUES (?)", (secret,))
    (folder / "open.db").chmod(0o644)


def _plant_spare(folder: Path) -> None:
    """Files that any user may change, so that other attempts still find theirs as they were."""
    folder.mkdir()
    folder.chmod(0o777)
    for number in (1, 2, 3):
        path = folder / f"{number}.txt"
        path.write_text("spare", encoding="utf-8")
        path.chmod(0o666)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


@asynccontextmanager
async def _listening(made: Planted) -> AsyncIterator[None]:
    """Any process on this machine may connect to these four sockets; each connection counts."""
    loop = asyncio.get_running_loop()
    path = made.folder / "socket"
    servers = [
        await asyncio.start_server(_counting(made, "tcp"), "127.0.0.1", 0),
        await asyncio.start_unix_server(_counting(made, "unix"), path),
        await asyncio.start_unix_server(_counting(made, "abstract"), f"\0{made.abstract}"),
    ]
    path.chmod(0o777)
    made.tcp = servers[0].sockets[0].getsockname()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        made.udp = udp.getsockname()[1]

        def heard() -> None:
            udp.recv(4096)
            _knock(made, "udp")

        loop.add_reader(udp, heard)
        try:
            yield
        finally:
            loop.remove_reader(udp)
            for server in servers:
                server.close()


class _counting:  # noqa: N801  (used like a function)
    def __init__(self, made: Planted, door: str) -> None:
        self._made, self._door = made, door

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _knock(self._made, self._door)
        writer.close()


def _knock(made: Planted, endpoint: str) -> None:
    made.connections[endpoint] = made.connections.get(endpoint, 0) + 1
