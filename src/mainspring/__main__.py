"""``python -m mainspring`` and the command ``mainspring``.

The application is imported when a command needs it, so that help answers at once and a definition
is validated without a database.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mainspring import __version__

if TYPE_CHECKING:
    import typer

    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Registry
    from mainspring.settings import Settings
    from mainspring.surfaces.services import ApplicationServices


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[ApplicationServices]:
    """Attached: several commands may use one data folder at the same time."""
    from mainspring.app import application_services, open_application

    async with open_application(settings, attach=True) as application:
        yield application_services(application)


def _build_registry(limits: Limits) -> Registry:
    from mainspring.registry import build_registry

    return build_registry(limits)


def command_line(words: Sequence[str] = ()) -> typer.Typer:
    """The command line over the real application; with ``words``, the part that reads them."""
    from mainspring.surfaces.cli import ApplicationFactory, build_app

    return build_app(ApplicationFactory(_open, _build_registry), words)


def _run(words: Sequence[str]) -> int:
    from mainspring.surfaces.cli import ApplicationFactory
    from mainspring.surfaces.cli.problems import run_cli, run_declared

    # A shell that asks for completions gives no words.
    code = run_declared(ApplicationFactory(_open, _build_registry), words)
    return run_cli(command_line(words), words) if code is None else code


def main() -> None:
    # Without the parser, which takes a third of a second to build.
    if sys.argv[1:] in (["--version"], ["version"]):
        sys.stdout.write(f"mainspring {__version__}\n")
        return
    sys.exit(_run(sys.argv[1:]))


if __name__ == "__main__":
    main()
