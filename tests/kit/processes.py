"""Processes that tests start and kill, and facts about processes that tests wait for."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def module_process(module: str, arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Runs a module of ours as a process of its own; whatever is left of it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, "the process ended before it said anything"
    return line


def end_in_order(process: subprocess.Popen[str]) -> int:
    """Ends the process's input, which is how ours are asked to stop; answers its exit code."""
    assert process.stdin is not None
    process.stdin.close()
    return process.wait(30)


def is_running(pid: int) -> bool:
    """A process that has ended and waits to be asked how is not running any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def session_nice(pid: int) -> int | None:
    """How nice the session of a process is; None where processors are not shared by session."""
    with contextlib.suppress(OSError):
        output = Path(f"/proc/{pid}/autogroup").read_text().split()
        return int(output[-1]) if output else None
    return None


def wait_until(fact: Callable[[], bool], seconds: float, what: str) -> None:
    """Waits for something that can be seen; never longer than is promised."""
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)
