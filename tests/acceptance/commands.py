"""The command line from outside: a process, its arguments, its output and its exit code."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.acceptance.warm_process import Warm
from tests.kit.postgres import quickest_place
from tests.kit.terminals import Typed, terminal

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
# Settings by their short names: slots, egress_allow …
Settings = Mapping[str, str]
NO_SETTINGS: Settings = MappingProxyType({})
# A machine under load may be slow; nothing here waits for this long when all is well.
PATIENCE = 120.0
# How a line begins that only tells what is being waited for.
NOTE = "· "


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def output(self) -> str:
        return self.out + self.err

    @property
    def answer(self) -> str:
        """What it answered, without notes."""
        return _without_notes(self.out)

    @property
    def complaints(self) -> str:
        """What it wrote next to its answer, without notes."""
        return _without_notes(self.err)


def _without_notes(text: str) -> str:
    """Without the lines that only tell what is waited for, which a slow machine brings about."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.lstrip().startswith(NOTE))


class Mainspring:
    """The command, on one data folder."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(
        self, *words: str | Path, stdin: bytes = b"", settings: Settings = NO_SETTINGS
    ) -> Ended:
        """Runs one command to its end, out of a process that has the product loaded."""
        given = list(map(str, words))
        code, out, err = warm().run(given, self.environment(settings), stdin, PATIENCE)
        return Ended(code, out.decode(), err.decode())

    def cold(
        self, *words: str | Path, stdin: bytes = b"", settings: Settings = NO_SETTINGS
    ) -> Ended:
        """The same as a program of its own, from its first import on."""
        ended = subprocess.run(
            self.command(*words),
            input=stdin,
            capture_output=True,
            env=self.environment(settings),
            timeout=PATIENCE,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def asked(
        self,
        *words: str | Path,
        answers: Sequence[str | Typed] = ("y",),
        settings: Settings = NO_SETTINGS,
    ) -> Ended:
        """The same as a person gives it: at a terminal, answering what it asks.

        An answer alone is to the next question with y or N; a pair names its question.
        """
        with terminal(answers) as (theirs, talk):
            files = (theirs, theirs, theirs)
            given, environment = list(map(str, words)), self.environment(settings)
            code = warm().run_on(files, given, {**environment, "TERM": "dumb"}, PATIENCE)
        assert talk.unasked == [], f"never asked: {talk.unasked}\n{talk.text}"
        return Ended(code, talk.text, "")

    @contextlib.contextmanager
    def started(
        self, *words: str | Path, settings: Settings = NO_SETTINGS
    ) -> Iterator[subprocess.Popen[str]]:
        """Starts a command and lets the test deal with it; what is left of it is killed."""
        process = subprocess.Popen(
            self.command(*words),
            env=self.environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def command(self, *words: str | Path) -> list[str]:
        return [sys.executable, "-m", "mainspring", *map(str, words)]

    def environment(self, settings: Settings = NO_SETTINGS) -> dict[str, str]:
        """Nothing of the tester's own settings, and these instead."""
        ours = {f"MAINSPRING_{name.upper()}": text for name, text in settings.items()}
        stored = {
            name: text for name, text in os.environ.items() if not name.startswith("MAINSPRING_")
        }
        return {
            **stored,
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONIOENCODING": "utf-8",
            "MAINSPRING_HOME": str(self.home),
            **ours,
        }


@cache
def warm() -> Warm:
    """The process that this test process has its commands from."""
    return Warm()


def line_with(process: subprocess.Popen[str], piece: str) -> str:
    """The first line that holds this piece; the process must say it before it ends."""
    assert process.stdout is not None
    output = []
    for line in process.stdout:
        output.append(line)
        if piece in line:
            return line
    raise AssertionError(f"{piece!r} was not said in:\n{''.join(output)}")


def rest_of(process: subprocess.Popen[str]) -> str:
    """Everything until the end."""
    assert process.stdout is not None
    output = process.stdout.read()
    process.wait(PATIENCE)
    return output


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that the database's user may pass through when root tests."""
    folder = Path(tempfile.mkdtemp(prefix="mainspring-cli-", dir=quickest_place()))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """A port on loopback that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def definition(name: str, plan: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A small definition around a plan."""
    return {"schema_version": "1.2", "name": name, "goal": "A test.", "plan": list(plan), **more}


def step(step_id: str, action: str, **config: Any) -> dict[str, Any]:
    return {"step_id": step_id, "action": action, "config": config}


def nap(name: str, seconds: float, **more: Any) -> dict[str, Any]:
    """A definition that waits, and then goes on."""
    plan = [step("nap", "delay", seconds=seconds), step("after", "transform_data", output="awake")]
    return definition(name, plan, **more)
