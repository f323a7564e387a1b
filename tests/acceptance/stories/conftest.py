"""One server for all stories: they live side by side in it, as automations do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.acceptance.commands import Mainspring, open_folder
from tests.acceptance.loopback_servers import Web, mailbox, web
from tests.acceptance.server import Started, started
from tests.kit.mail import MailServerDouble

OWNER = "owner@example.org"


@dataclass(slots=True)
class World:
    """Everything outside of the server that it may reach."""

    web: Web
    post: MailServerDouble = field(default_factory=MailServerDouble)


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with web() as pages:
        yield World(pages)


@pytest.fixture(scope="session")
def server(world: World) -> Iterator[Started]:
    with open_folder() as folder, mailbox(world.post) as port:
        settings = {
            "egress_allow": f"{world.web.pair},127.0.0.1:{port}",
            "smtp_url": f"smtp://127.0.0.1:{port}",
            "owner_mail": OWNER,
        }
        with started(Mainspring(folder / "home"), settings) as server:
            yield server


@pytest.fixture
def pages(world: World) -> Web:
    """The web server, in its usual mood."""
    world.web.mood = 200
    return world.web


@pytest.fixture
def mainspring(server: Started) -> Mainspring:
    """The command line next to that server."""
    return server.mainspring
