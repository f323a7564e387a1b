"""The command line: run a definition, watch it, read what happened.

Every command is a thin skin: it reads its words, asks the rooms below, and shows the
answer to a person or, with ``--json``, to a program. What it needs is handed in as
``Doors``, so this package can be imported in a moment and knows nothing of how the house
is built. A problem is one sentence with a way out and an exit code; nobody ever sees a
stack trace.

``exits`` lists the exit codes, ``app`` the commands, ``timeline`` and ``follow`` show a
run while it goes on, ``closing`` and ``reading`` what is left of it afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mainspring.surfaces.cli.factory import ApplicationFactory

if TYPE_CHECKING:
    from mainspring.surfaces.cli.app import build_app
    from mainspring.surfaces.cli.problems import run_cli

__all__ = ["ApplicationFactory", "build_app", "run_cli"]


def __getattr__(name: str) -> Any:
    """The parser is imported when needed; a declared command does without."""
    if name == "build_app":
        from mainspring.surfaces.cli.app import build_app

        return build_app
    if name == "run_cli":
        from mainspring.surfaces.cli.problems import run_cli

        return run_cli
    raise AttributeError(name)
