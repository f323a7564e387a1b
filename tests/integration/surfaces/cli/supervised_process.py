"""A supervisor over small parts, as a process of its own for a test to signal and to kill.

    python -m tests.integration.surfaces.cli.supervised_process STOP_SECONDS NAME:HOW ...

It writes one JSON line at every change and for everything a part says. A part is steady
(ends when asked to), slow (takes a moment), stubborn (does not end), frail (never gets
ready) or drained (ends as one that an operator sent away). With a part called "echo" every
stop comes twice.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import time
from typing import Any

from mainspring.contracts.errors import Problem
from mainspring.surfaces.cli import supervisor as supervising
from mainspring.surfaces.cli.children import SENT_AWAY, ParentPipe, ServerPart
from mainspring.surfaces.cli.log_format import keep_logbook
from mainspring.surfaces.cli.supervisor import ServerStateChange, Supervisor


def say(**result: Any) -> None:
    os.write(1, json.dumps(result).encode() + b"\n")


def live(name: str, how: str, line: ParentPipe) -> int:
    if how == "frail":
        return 3
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    files = sorted(int(entry) for entry in os.listdir("/dev/fd") if int(entry) > 2)
    say(part=name, says="here", files=[file for file in files if _is_open(file)])
    line.ready()
    signal.sigwait([signal.SIGTERM])
    say(part=name, says="told to stop")
    while how == "stubborn":
        signal.pause()
    time.sleep(0.2 if how == "slow" else 0.0)
    say(part=name, says="goes")
    return SENT_AWAY if how == "drained" else 0


def _is_open(file: int) -> bool:
    """The listing itself had one open."""
    try:
        os.fstat(file)
    except OSError:
        return False
    return True


def tell(echo: bool, change: ServerStateChange) -> None:
    say(state=change.state, parts=dict(change.parts))
    if echo and change.state == "stopping":
        os.kill(os.getpid(), signal.SIGTERM)


def main(stop_seconds: float, words: list[str]) -> int:
    keep_logbook("supervisor")
    # Parts of a test have no runs to hand back.
    supervising._HAND_BACK_SECONDS = min(stop_seconds, supervising._HAND_BACK_SECONDS)
    parts = []
    for word in words:
        name, how = word.split(":")
        parts.append(ServerPart(name, name.partition("-")[0], functools.partial(live, name, how)))
    supervisor = Supervisor(
        parts,
        server=None,
        stop_seconds=stop_seconds,
        tell=functools.partial(tell, any(part.name == "echo" for part in parts)),
    )
    try:
        in_order = supervisor.run()
    except Problem as problem:
        say(state="given up", code=problem.code)
        return 1
    say(state="stopped", in_order=in_order)
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
