"""The pages of Get started and Guides do what they say: their code blocks run, in order.

Shell blocks run against one server that all pages share, at a terminal where the reader agrees to
everything. Services outside are doubles on loopback. A block that needs something else is marked
in the page with its reason (see ``tests/kit/doc_blocks.py``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.commands import EXAMPLES, ROOT, Mainspring, open_folder, warm
from tests.acceptance.guide_preparations import PREPARED, WEB, Preparation
from tests.acceptance.loopback_servers import Web, mailbox, on_own_loop, web
from tests.acceptance.server import Started, started
from tests.kit.doc_blocks import SHELL, PageSession, read_blocks
from tests.kit.doubles.github import Repository, github_double
from tests.kit.mail import MailServerDouble
from tests.kit.mcp_server import McpDouble, Script, mcp_server
from tests.kit.model_server import ModelServer, model_server
from tests.kit.tool_servers import three

DOCS: Final = ROOT / "docs"
PAGES: Final = sorted((DOCS / "get-started").glob("*.md")) + sorted((DOCS / "guides").glob("*.md"))


# Pages whose preparation is not finished. Their commands are checked by name and option
# (tests/architecture/test_documented_commands.py) and do not run yet.
NOT_YET: Final = frozenset(
    f"guides/{name}"
    for name in (
        "approve-drafts",
        "describe-an-automation",
        "rest-api",
        "scripts",
        "webhook-providers",
    )
)


def _name(page: Path) -> str:
    return f"{page.parent.name}/{page.stem}"


def _commands(page: Path) -> list[int]:
    """The lines of the shell blocks that are run."""
    blocks = read_blocks(page.read_text(encoding="utf-8"))
    return [
        one.line
        for one in blocks
        if one.language in SHELL and one.reason is None and one.file is None
    ]


@dataclass(frozen=True, slots=True)
class Outside:
    """The services that pages use, on loopback."""

    server: Started
    notes: McpDouble
    models: ModelServer
    pages: Web

    def place(self, text: str) -> str:
        """The text with the addresses of the services."""
        places = {
            "{notes}": self.notes.url,
            "{models}": self.models.url,
            "{web}": self.pages.url(""),
        }
        for name, address in places.items():
            text = text.replace(name, address)
        return text


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        post = stack.enter_context(mailbox(MailServerDouble()))
        notes = stack.enter_context(on_own_loop(mcp_server(McpDouble(Script(tools=three())))))
        models = stack.enter_context(on_own_loop(model_server({"then": "obedient"})))
        pages = stack.enter_context(web())
        pages.files |= WEB
        github = stack.enter_context(on_own_loop(github_double()))
        github.repositories["octo/hello"] = Repository()
        allowed = (f"127.0.0.1:{notes.port}", f"127.0.0.1:{models.port}", pages.pair, github.pair)
        settings = {
            "integration_urls": f"github={github.url}",
            "smtp_url": f"smtp://127.0.0.1:{post}",
            "mail_from": "mainspring@example.com",
            "owner_mail": "ada@example.com",
            "egress_allow": ",".join(allowed),
        }
        server = stack.enter_context(started(Mainspring(folder / "home"), settings))
        yield Outside(server, notes, models, pages)


@pytest.mark.parametrize(
    "page", [one for one in PAGES if _commands(one) and _name(one) not in NOT_YET], ids=_name
)
def test_the_commands_of_a_page_work_in_order(page: Path, outside: Outside, tmp_path: Path) -> None:
    server = outside.server
    prepared = PREPARED.get(_name(page), Preparation())
    (tmp_path / "examples").symlink_to(EXAMPLES)
    (tmp_path / "home").mkdir()
    parts = {part["name"]: int(part["pid"]) for part in server.ready["parts"]}
    environment = server.mainspring.environment() | {"HOME": str(tmp_path / "home")}
    session = PageSession(
        tmp_path,
        server.address,
        parts["worker"],
        environment,
        warm().address,
        {old: outside.place(new) for old, new in prepared.values.items()},
    )

    session.read(page, outside.place(prepared.script))

    assert session.ran == _commands(page)
