"""The escape battery as a program of its own, so that it can be anybody.

    python -m tests.kit.escapes auto none        one line of JSON for each mode
    python -m tests.kit.escapes --all            every mode, as root and as nobody special

A mode is the name of an isolation layer, ``+open`` to give Deno every permission, and ``/2`` for
every second attempt (``/2.1`` for the others). ``bombs:`` before it runs the resource battery,
``native:`` a program that is no Deno.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from mainspring.actions.script.sandbox.isolation import IsolationMode
from tests.kit.escapes.battery import Mode, run_battery
from tests.kit.escapes.bombs import run_bombs
from tests.kit.escapes.native import run_native
from tests.kit.escapes.planted import ENVIRONMENT
from tests.kit.processes import ROOT

EVERY_MODE: Final = (
    *("auto", "namespaces", "landlock", "none"),
    *("auto+open", "namespaces+open", "landlock+open"),
    *("bombs:auto", "bombs:namespaces", "bombs:landlock", "bombs:none", "bombs:none+open"),
)
_PATIENCE: Final = 280.0


def ask(modes: Sequence[str], *, ordinary: bool = False) -> list[dict[str, Any]]:
    """Runs the battery in a process of its own, with a secret in its environment."""
    program = "tests.kit.escapes.unprivileged" if ordinary else "tests.kit.escapes"
    text = subprocess.run(
        [sys.executable, "-m", program, *modes],
        cwd=ROOT,
        env={
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            ENVIRONMENT: f"planted-environment-{secrets.token_hex(12)}",
        },
        stdout=subprocess.PIPE,
        text=True,
        timeout=_PATIENCE,
        check=True,
    ).stdout
    return [json.loads(line) for line in text.splitlines()]


def read_mode(text: str) -> Mode:
    rest, _, part = text.partition("/")
    expected, _, more = rest.partition("+")
    every, _, offset = part.partition(".")
    return Mode(IsolationMode(expected), more == "open", int(every or 1), int(offset or 0))


def _all() -> int:
    """Every mode as everybody, as a table."""
    bad = 0
    for ordinary in (False, True) if os.geteuid() == 0 else (True,):
        for mode in (*EVERY_MODE, "none+open"):
            began = time.monotonic()
            (result,) = ask([mode], ordinary=ordinary and os.geteuid() == 0)
            seconds = time.monotonic() - began
            control = mode == "none+open"
            bad += not result["held"] and not control
            names = ("leaks", "connections", "left", "untried", "burst")
            facts = str([result[name] for name in names if name in result])
            if control:
                facts = f"control: {len(result['leaks'])} leak, as they should"
            sys.stdout.write(
                f"{'ordinary' if ordinary else 'root':9}{result['mode']:32}"
                f"{len(result['tried']):4} tried {seconds:6.1f} s  "
                f"{'held' if result['held'] else facts}\n"
            )
            sys.stdout.flush()
    return int(bad > 0)


def main(arguments: Sequence[str]) -> int:
    if list(arguments) == ["--all"]:
        return _all()
    for text in arguments:
        sys.stdout.write(json.dumps(asyncio.run(_told(text))) + "\n")
    return 0


async def _told(text: str) -> dict[str, Any]:
    kind, _, mode = text.rpartition(":")
    if kind == "bombs":
        return await run_bombs(read_mode(mode))
    if kind == "native":
        return await run_native(read_mode(mode), os.getpid())
    return (await run_battery(read_mode(mode), os.getpid())).as_dict()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
