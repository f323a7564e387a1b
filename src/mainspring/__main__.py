"""``python -m mainspring``, and the command ``mainspring``: the house, given its front door.

The wiring is imported when a command needs it, so that help answers at once, and a
definition is judged with its vocabulary alone.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mainspring.surfaces.cli import ApplicationFactory, build_app, run_cli

if TYPE_CHECKING:
    import typer

    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Registry
    from mainspring.settings import Settings
    from mainspring.surfaces.services import ApplicationServices


@asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[ApplicationServices]:
    """Attached: several commands may stand beside each other on one data folder."""
    from mainspring.app import application_services, open_application

    async with open_application(settings, attach=True) as house:
        yield application_services(house)


def _vocabulary(limits: Limits) -> Registry:
    from mainspring.registry import build_registry

    return build_registry(limits)


def command_line() -> typer.Typer:
    """The command line over the real house."""
    return build_app(ApplicationFactory(_open, _vocabulary))


def main() -> None:
    sys.exit(run_cli(command_line(), sys.argv[1:]))


if __name__ == "__main__":
    main()
