"""What every command is handed: the doors, the settings, and a screen to write on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mainspring.surfaces.cli.screen import Screen, is_terminal

if TYPE_CHECKING:
    import asyncio

    from mainspring.contracts.limits import Limits
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.factory import ApplicationFactory

Found = TypeVar("Found")

# These commands act as the holder of the token that is set. All others act as the local owner.
BY_TOKEN: Final = frozenset(
    {"boards", "pages", "usage", "call", "capabilities", "mcp", "consents", "approvals", "rules"}
)
UNUSED_TOKEN: Final = "MAINSPRING_TOKEN is not used here: this command acts as the local owner."  # noqa: S105


@dataclass(frozen=True, slots=True)
class CommandContext:
    """One command's place to work."""

    doors: ApplicationFactory
    home: Path | None = None
    no_color: bool = False
    for_programs: bool = False
    # The server to act at, under the session of ``login``; None: the data folder of this machine.
    server: str | None = None
    # The first word of the command.
    command: str | None = None
    # Whether --json is anywhere in the line.
    has_json: bool = False

    def acts_by_token(self, settings: Settings) -> bool:
        """Whether this command acts as the holder of a token."""
        return settings.token is not None and self.command in BY_TOKEN

    def is_person(self, settings: Settings) -> bool:
        """Whether a person gives this command: at a terminal, without --json and a token."""
        return not self.has_json and settings.token is None and is_terminal()

    def settings(self) -> Settings:
        """The settings, with what the server that is running on the data folder decides.

        Links use that server, whatever port it was given, and the addresses that may be
        reached are those it allows, whatever the shell of this command says.
        """
        from mainspring.surfaces.cli.server_presence import with_running_server

        return with_running_server(self.server_settings())

    def server_settings(self) -> Settings:
        """The settings as they are set, for commands that start a server or check the settings.

        Read when a command begins, so that help works whatever the environment says.
        """
        from mainspring.settings import read_settings

        return read_settings(home=self.home)

    def limits(self) -> Limits:
        from mainspring.contracts.limits import override_limits

        return override_limits(self.settings().limits)

    def screen(self, *, for_programs: bool | None = None) -> Screen:
        """For a program when ``--json`` stands anywhere, unless the command never heard of it."""
        wanted = for_programs is not None and (for_programs or self.for_programs)
        return Screen(for_programs=wanted, no_color=self.no_color)


def finish(work: Coroutine[Any, Any, Found]) -> Found:
    """Runs a command's work to its end, on the quicker loop where there is one."""
    import asyncio

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
