"""The kernel's isolation layers against a program that is not Deno.

Should a script ever get native code to run, this is what it could ask the kernel for. A bare
Python takes the place of Deno behind the same layers, and asks (``native_attempts.py``).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

from mainspring.actions.script.sandbox.confinement import (
    ChildLimits,
    confine_child,
    confine_processes,
    exec_deno,
)
from mainspring.actions.script.sandbox.isolation import IsolationMode
from mainspring.actions.script.sandbox.linux import Kernel
from tests.kit.escapes.battery import Mode
from tests.kit.escapes.planted import planted
from tests.kit.processes import ROOT

_ATTEMPTS: Final = Path(__file__).parent / "native_attempts.py"
_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_SECONDS: Final = 60.0


async def run_native(mode: Mode, worker: int) -> dict[str, Any]:
    """What a program got that runs as the worker's own user, with only the isolation layers."""
    async with planted() as ground:
        result = {
            "worker": worker,
            "priority": os.getpriority(os.PRIO_PROCESS, worker),
            "folder": str(ground.folder),
            "abstract": ground.abstract,
            "tcp": ground.tcp,
            "udp": ground.udp,
            "wanted": mode.requested.value,
        }
        asked = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.kit.escapes.native",
            json.dumps(result),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        output, _ = await asyncio.wait_for(asked.communicate(), _SECONDS)
        walls, got = map(json.loads, output.splitlines())
        leaks = {name: what for name, what in got.items() if what is not None}
        left = ground.left()
    return {
        "mode": f"native, {mode.name}",
        "walls": walls,
        "tried": list(got),
        "leaks": leaks,
        "connections": dict(ground.connections),
        "left": left,
        "held": not (leaks or ground.connections or left),
    }


def main(result: dict[str, Any]) -> None:
    """Becomes what a launcher is, and its child what Deno would be."""
    python, home = Path(sys.executable).resolve(), Path(sys.base_prefix).resolve()
    readable = [str(home / "lib"), "/etc/ld.so.cache", "/dev/urandom", "/dev/null"]
    runnable = [str(python), *(path for path in _LIBRARIES if Path(path).exists())]
    text = _ATTEMPTS.read_text(encoding="utf-8")
    program, kernel = os.open(python, os.O_RDONLY), Kernel()
    # An empty folder that becomes the root folder.
    root = Path(result["folder"]) / "empty"
    raised = confine_processes(kernel, IsolationMode(result["wanted"]), root, readable, runnable)
    sys.stdout.write(json.dumps(raised.isolation.as_dict()) + "\n")
    sys.stdout.flush()
    child = kernel.fork_pid_namespace() if raised.isolation.namespaces else os.fork()
    if child == 0:
        confine_child(kernel, raised, 0)
        arguments = ["python", "-P", "-S", "-s", "-c", text, json.dumps(result)]
        command = (program, arguments, {"PYTHONHOME": str(home)})
        exec_deno(kernel, ChildLimits(1 << 32, 20), [0, 1, 2], command)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
