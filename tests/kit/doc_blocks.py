"""Runs the code blocks of a documentation page, in order, against a server.

Shell blocks (``sh``, ``bash`` and ``console``) run in one folder, and their variables last to the
end of the page. A comment directly above a block tells how it is treated:

    <!-- not run: REASON -->    the block is left out
    <!-- file: NAME -->         the block is saved as a file; so is one after "Save this as `NAME`"
    <!-- fails -->              the last command fails

Ids and tokens in commands are examples. They are replaced by those that earlier output shows at the
same place of an address. ``kill -9`` gets the process id of the worker. A page can have a script
that runs before its blocks, and values for other placeholders, both given by the test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
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
_COMMENT: Final = re.compile(r"<!--\s*((?:(?!-->).)*?)\s*-->\s*\Z", re.DOTALL)
_NAMED: Final = re.compile(r"[Ss]ave (?:this|it) as `([\w.-]+)`[^`]*\Z")
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_IN_ADDRESS: Final = re.compile(rf"(?P<place>[a-z]+)/(?P<id>{_UUID})")
_TOKEN: Final = re.compile(r"mwh_(?:[\w-]+|…)")
_KILL: Final = re.compile(r"(?<=kill -9 )\d+")
# Every question that a command asks at a terminal, and the reader's answer.
_ANSWERS: Final = (
    ("[y/N]", "y"),
    ("[y/N] ", "y"),
    # A hidden prompt discards what was typed before its last space.
    ("Value: ", "sk-0123456789abcdef"),
    ("Repeat for confirmation: ", "sk-0123456789abcdef"),
    ("current one): ", "sk-0123456789abcdef"),
    ("Token: ", "sk-0123456789abcdef"),
    # A proposal: its questions, then whether to save it.
    ("  > ", "1"),
    ("[q]uit: ", "y"),
)
# The command of a page, which runs in a process that has the product loaded already.
_COMMAND: Final = """\
#!{python} -IS
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect({address!r})
socket.send_fds(line, [b"."], [0, 1, 2])
order = {{"words": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}}
line.sendall(json.dumps(order).encode() + b"\\n")
code = int(line.makefile().readline())
sys.exit(code if code >= 0 else 128 - code)
"""
# A response with an error makes curl fail.
_CURL: Final = '#!/bin/sh\nPATH=${PATH#*:} exec curl --silent --show-error --fail-with-body "$@"\n'
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
        return self.comment.strip() == "fails"

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
    """A reader of one page: a folder, the command, and what was shown so far.

    ``commands`` is the socket of the process that runs ``mainspring`` (see ``warm_process``).
    ``values`` replaces texts of the page's commands.
    """

    folder: Path
    address: str
    worker: int
    environment: Mapping[str, str]
    commands: str
    values: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""
    ran: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        command = _COMMAND.format(python=sys.executable, address=self.commands)
        for path, text in (
            (programs / "mainspring", command),
            (self.folder / "start", command),
            (programs / "curl", _CURL),
        ):
            path.write_text(text)
            path.chmod(0o755)

    def read(self, page: Path, before: str = "") -> None:
        """Does what the page says, after a script that prepares for it."""
        if before:
            code, shown = self._execute(before)
            assert code == 0, f"before {page.name}:\n{before}\n{shown}"
        for block in read_blocks(page.read_text(encoding="utf-8")):
            if block.reason is not None:
                continue
            if block.file is not None:
                (self.folder / block.file).write_text(block.text, encoding="utf-8")
            elif block.language in SHELL:
                self._run(page, block)

    def _run(self, page: Path, block: Block) -> None:
        script = _SERVER.sub("", self._with_values(block.script))
        code, shown = self._execute(script)
        self.ran.append(block.line)
        place = f"{page.name}:{block.line}"
        assert (code != 0) == block.fails, f"{place} ended with {code}:\n{script}\n{shown}"
        assert "Traceback" not in shown, f"{place}:\n{shown}"

    def _execute(self, script: str) -> tuple[int, str]:
        state = "set -a; [ ! -f .state ] || . ./.state; set -eo pipefail"
        text = f"{state}\n{script}\nset +e; export -p > .state\n"
        programs = (self.folder / "bin", Path(sys.executable).parent, self.environment["PATH"])
        path = os.pathsep.join(map(str, programs))
        with terminal((), _ANSWERS) as (theirs, talk):
            try:
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
            except subprocess.TimeoutExpired:
                raise AssertionError(f"it did not end:\n{script}\n{talk.text}") from None
        self.shown += talk.text
        return ended.returncode, talk.text

    def _with_values(self, script: str) -> str:
        script = script.replace(ADDRESS, self.address)
        script = script.replace(ADDRESS.partition("//")[2], self.address.partition("//")[2])
        script = _KILL.sub(str(self.worker), script)
        for old, new in self.values.items():
            script = script.replace(old, new)
        return _TOKEN.sub(self._token, _IN_ADDRESS.sub(self._id, script))

    def _id(self, found: re.Match[str]) -> str:
        known = _IN_ADDRESS.finditer(self.shown)
        seen = [one["id"] for one in known if one["place"] == found["place"]]
        assert seen, f"no output shows an id of {found['place']}:\n{self.shown}"
        return f"{found['place']}/{seen[-1]}"

    def _token(self, found: re.Match[str]) -> str:
        seen = [one for one in _TOKEN.findall(self.shown) if one != "mwh_…"]
        assert seen, f"no output shows a token like {found[0]}:\n{self.shown}"
        return str(seen[-1])
