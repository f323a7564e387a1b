"""Runs the code blocks of a documentation page, in order, against a server.

Shell blocks (``sh``, ``bash`` and ``console``) run in one folder, and their variables last to the
end of the page. A comment directly above a block tells how it is treated:

    <!-- not run: REASON -->    the block is left out
    <!-- file: NAME -->         the block is saved as a file; so is one after "Save this as `NAME`"
    <!-- fails -->              the last command fails; so do blocks whose output begins with ✗

Ids and tokens in commands are examples. They are replaced by those that earlier output shows at the
same place of an address. ``kill -9`` gets the process id of the worker.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.kit.terminals import terminal

SHELL: Final = frozenset({"sh", "bash", "console"})
ADDRESS: Final = "http://127.0.0.1:8420"
# One block; each of its commands starts a process, which takes long on a busy machine.
SECONDS: Final = 120
_BLOCK: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_COMMENT: Final = re.compile(r"<!--\s*(.*?)\s*-->\s*\Z", re.DOTALL)
_NAMED: Final = re.compile(r"[Ss]ave (?:this|it) as `([\w.-]+)`[^`]*\Z")
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IN_ADDRESS: Final = re.compile(rf"(?P<place>[a-z]+)/(?P<id>{_UUID})")
_TOKEN: Final = re.compile(r"mwh_[\w-]+")
_KILL: Final = re.compile(r"(?<=kill -9 )\d+")
# Commands of the server itself, which runs already.
_SERVER: Final = re.compile(r"^(?:\./start|mainspring up)(?: --port \d+)?\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One code block with what surrounds it."""

    line: int
    language: str
    text: str
    comment: str = ""
    file: str | None = None
    # What the page shows as its output.
    output: str = ""

    @property
    def reason(self) -> str | None:
        """Why the block is not run."""
        name, _, reason = self.comment.partition(":")
        return reason.strip() if name.strip() == "not run" else None

    @property
    def fails(self) -> bool:
        return self.comment.strip() == "fails" or self.output.lstrip().startswith("✗")

    @property
    def script(self) -> str:
        """The commands, without the output of a console."""
        if self.language != "console":
            return self.text
        lines: list[str] = []
        for line in self.text.splitlines():
            continued = bool(lines) and lines[-1].endswith("\\")
            if line.startswith("$ ") or continued:
                lines.append(line.removeprefix("$ "))
        return "\n".join(lines) + "\n"


def read_blocks(text: str) -> list[Block]:
    """The code blocks of a page."""
    found = list(_BLOCK.finditer(text))
    made = []
    for number, one in enumerate(found):
        before = text[: one.start()].rstrip()
        comment = _COMMENT.search(before[-400:])
        note = comment[1] if comment else ""
        named = _NAMED.search(before[-400:])
        file = note.partition(":")[2].strip() if note.startswith("file:") else named and named[1]
        body = textwrap.dedent(one["text"])
        after = found[number + 1] if number + 1 < len(found) else None
        follows = after is not None and not text[one.end() : after.start()].strip()
        shows = follows and after is not None and after["language"] == "text"
        output = after["text"] if shows and after is not None else ""
        if one["language"] == "console":
            output = "\n".join(line for line in body.splitlines() if not line.startswith("$ "))
        line = text.count("\n", 0, one.start()) + 1
        made.append(Block(line, one["language"], body, note, file or None, output))
    return made


@dataclass(slots=True)
class PageSession:
    """A reader of one page: a folder, the command, and what was shown so far."""

    folder: Path
    address: str
    worker: int
    environment: Mapping[str, str]
    shown: str = ""
    ran: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        for path in (programs / "mainspring", self.folder / "start"):
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mainspring "$@"\n')
            path.chmod(0o755)

    def read(self, page: Path) -> None:
        """Does what the page says."""
        for block in read_blocks(page.read_text(encoding="utf-8")):
            if block.reason is not None:
                continue
            if block.file is not None:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.language in SHELL:
                self._run(page, block)

    def _run(self, page: Path, block: Block) -> None:
        script = _SERVER.sub("", "".join(self._with_values(block.script)))
        state = "set -a; [ ! -f .state ] || . ./.state; set -e"
        text = f"{state}\n{script}\nset +e; export -p > .state\n"
        path = f"{self.folder / 'bin'}{os.pathsep}{self.environment['PATH']}"
        with terminal(("y",) * 8) as (theirs, talk):
            ended = subprocess.run(
                ["bash", "-c", text],
                cwd=self.folder,
                env={**self.environment, "PATH": path, "TERM": "dumb", "NO_COLOR": "1"},
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                timeout=SECONDS,
                check=False,
            )
        self.shown += talk.text
        self.ran.append(block.line)
        failed = ended.returncode != 0
        assert failed == block.fails, (
            f"{page.name}:{block.line} ended with {ended.returncode}:\n{script}\n{talk.text}"
        )

    def _with_values(self, script: str) -> Iterator[str]:
        script = script.replace(ADDRESS, self.address)
        script = _KILL.sub(str(self.worker), script)
        yield _TOKEN.sub(self._token, _IN_ADDRESS.sub(self._id, script))

    def _id(self, found: re.Match[str]) -> str:
        known = _IN_ADDRESS.finditer(self.shown)
        seen = [one["id"] for one in known if one["place"] == found["place"]]
        assert seen, f"no output shows an id of {found['place']}:\n{self.shown}"
        return f"{found['place']}/{seen[-1]}"

    def _token(self, found: re.Match[str]) -> str:
        seen = _TOKEN.findall(self.shown)
        assert seen, f"no output shows a token like {found[0]}:\n{self.shown}"
        return str(seen[-1])
