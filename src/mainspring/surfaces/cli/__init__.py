"""The command line, a client of the REST API.

``command_table`` declares commands; ``app`` adds those that are written with the parser.
``connection`` chooses the server. What a command needs of the application is passed in as an
``ApplicationFactory``, so this package imports fast. An error is a message with a remedy and an
exit code (``exits``), never a stack trace.
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
