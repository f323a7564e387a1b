"""A person at the page: a started server, a workspace of their own, and a real browser.

The server and the browser are shared by the tests of one process; each test gets a workspace
that nobody else has seen, so lists begin empty and nothing is left over. Whatever the page says
on its console as an error, and whatever its policy refuses, fails the test at its end.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from scripts.test_services import chromium
from tests.acceptance.commands import Mainspring, open_folder
from tests.acceptance.loopback_servers import Web, mailbox, on_own_loop, web
from tests.acceptance.server import OVER, PREFIX, SOON, Started, started
from tests.kit.doubles.discord import TOKEN as DISCORD_TOKEN
from tests.kit.doubles.discord import DiscordDouble, discord_double
from tests.kit.doubles.slack_app import SlackApp, slack_app
from tests.kit.mail import MailServerDouble
from tests.kit.processes import wait_until
from tests.kit.push_service import PushServiceDouble, push_service

ROOT: Final = Path(__file__).resolve().parents[2]
AXE: Final = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PASSWORD: Final = "a few words in a row"
PHONE: Final = {"width": 390, "height": 844}
DESK: Final = {"width": 1360, "height": 900}
# A page that waits for the server is patient; a fact that is there ends the wait at once.
PATIENCE_MS: Final = 45_000
_FLAGS: Final = (
    # Root may not have a sandbox of its own, and nothing may ask the network.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# A refusal by the server that a test provokes is said by the browser too.
_EXPECTED: Final = re.compile(r"Failed to load resource")


@dataclass(slots=True)
class BrowserEnvironment:
    """Everything that the tests of one process share."""

    server: Started
    browser: Browser
    post: MailServerDouble
    web: Web
    push: PushServiceDouble
    discord: DiscordDouble
    slack: SlackApp
    # Who is signed in: the browser's cookies as the first of the contexts had them.
    state: Any


@contextlib.contextmanager
def open_environment() -> Iterator[BrowserEnvironment]:
    """A server with mail and the web around it, and a browser whose owner has signed in."""
    post = MailServerDouble()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        outside = stack.enter_context(web())
        port = stack.enter_context(mailbox(post))
        push = stack.enter_context(on_own_loop(push_service()))
        chat = stack.enter_context(on_own_loop(discord_double()))
        slack = stack.enter_context(on_own_loop(slack_app()))
        urls = {
            "discord": chat.url,
            "slack.authorize_url": f"{slack.url}/authorize",
            "slack.token_url": f"{slack.url}/oauth.v2.access",
        }
        allowed = (outside.pair, f"127.0.0.1:{port}", push.pair, chat.pair, slack.pair)
        settings = {
            "smtp_url": f"smtp://127.0.0.1:{port}",
            "egress_allow": ",".join(allowed),
            "integration_urls": ",".join(f"{name}={url}" for name, url in urls.items()),
            "slack_url": slack.url,
            "mail_from": "house@example.org",
        }
        server = stack.enter_context(started(Mainspring(folder / "home"), settings))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(_FLAGS))
        stack.callback(browser.close)
        state = signed_in(server, browser)
        yield BrowserEnvironment(server, browser, post, outside, push, chat, slack, state)


def signed_in(server: Started, browser: Browser) -> Any:
    """What a browser keeps whose owner has signed in at this server."""
    link = server.mainspring("sign-in", "--json").json
    with contextlib.closing(browser.new_context(base_url=server.address)) as context:
        token = str(link["link"]).partition("#")[2]
        answer = context.request.post(f"{PREFIX}/session/link", data={"token": token})
        assert answer.ok, answer.text()
        return context.storage_state()


@dataclass(slots=True)
class BrowserSession:
    """One workspace, and somebody in it who has a browser."""

    environment: BrowserEnvironment
    context: BrowserContext
    workspace_id: str
    csrf: str
    complaints: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.environment.server.address

    # --- what is there before somebody looks

    def ask(self, method: str, path: str, body: Any = None, status: int | None = None) -> Any:
        """What the signed-in person is answered; paths are below /api/v1."""
        answer = self.context.request.fetch(
            PREFIX + path, method=method, data=body, headers={"X-CSRF-Token": self.csrf}
        )
        assert answer.ok if status is None else answer.status == status, answer.text()
        return answer.json() if answer.body() else None

    def saved(self, document: Mapping[str, Any], *, active: bool = False) -> str:
        """Saves an automation; answers its id."""
        made = str(self.ask("POST", "/automations", document)["id"])
        if active:
            self.ask("POST", f"/automations/{made}/activate")
        return made

    def started_run(self, automation_id: str, **inputs: Any) -> str:
        body = {"inputs": inputs} if inputs else None
        return str(self.ask("POST", f"/automations/{automation_id}/run", body)["run_id"])

    def ended(self, run_id: str) -> dict[str, Any]:
        """The run, once it is over."""
        wait_until(lambda: self.run(run_id)["status"] in OVER, SOON, f"the end of {run_id}")
        return self.run(run_id)

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"/runs/{run_id}")
        return found

    # --- looking

    def open(self, path: str = "/", *, viewport: Mapping[str, int] | None = None) -> Page:
        """A new tab at this address."""
        page = self.context.new_page()
        if viewport is not None:
            page.set_viewport_size({"width": viewport["width"], "height": viewport["height"]})
        page.set_default_timeout(PATIENCE_MS)
        # The dataclass has slots, so the library cannot set an attribute on a method of its own.
        page.on("console", lambda message: self._hear(message))  # noqa: PLW0108
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(path)
        # Every screen has a heading; without one there is nobody yet who hears a key.
        page.wait_for_selector("h1, h2")
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _EXPECTED.search(message.text):
            self.complaints.append(message.text)


@contextlib.contextmanager
def opened_house(environment: BrowserEnvironment, **looks: Any) -> Iterator[BrowserSession]:
    """A new workspace and a browser in it; console errors of the page fail the test."""
    with contextlib.closing(
        environment.browser.new_context(
            base_url=environment.server.address,
            storage_state=environment.state,
            viewport=looks.pop("viewport", DESK),
            locale=looks.pop("locale", "en-GB"),
            timezone_id="Europe/Berlin",
            permissions=["clipboard-read", "clipboard-write"],
            **looks,
        )
    ) as context:
        who = context.request.get(f"{PREFIX}/session").json()
        session = BrowserSession(environment, context, "", who["csrf_token"])
        made = session.ask("POST", "/workspaces", {"name": "Clockmakers"})
        session.workspace_id = str(made["id"])
        session.ask("POST", "/session/workspace", {"workspace_id": made["id"]})
        yield session
        assert session.complaints == [], session.complaints


def state_of(session: BrowserSession, made: str) -> str:
    """Whether an automation is active, paused or archived."""
    return str(session.ask("GET", f"/automations/{made}")["state"])


def connect_discord(session: BrowserSession) -> None:
    """Connects the bot of the Discord double; its account is called spring."""
    session.ask("POST", "/integrations/discord/connect", {"fields": {"bot_token": DISCORD_TOKEN}})


def joined(session: BrowserSession, strangers: BrowserContext, email: str) -> Page:
    """A new editor of this workspace, signed in with a password."""
    invited = session.ask("POST", "/invitations", {"email": email, "role": "editor"})
    oauth_client = strangers.new_page()
    oauth_client.goto("/sign-in#" + str(invited["link"]).partition("#")[2])
    oauth_client.get_by_role("button", name=re.compile("^Join")).click()
    oauth_client.get_by_role("textbox", name="Your name").fill(email.partition("@")[0].capitalize())
    oauth_client.get_by_label(re.compile("^Password")).fill(PASSWORD)
    oauth_client.get_by_role("button", name="Save and continue").click()
    expect(oauth_client.get_by_role("link", name="Home")).to_be_visible()
    return oauth_client


def settle(page: Page, path: str) -> None:
    """Goes to a screen, and waits until nothing is missing on it any more."""
    page.goto(path)
    page.wait_for_selector("h1")
    page.wait_for_function(
        "() => !document.querySelector('[aria-busy=true], .mantine-Skeleton-root')"
    )


def violations(page: Page) -> list[str]:
    """What axe finds wrong with the page as it is, one line each."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {node['html'][:200]} ({one['help']})"
        for one in found
        for node in one["nodes"]
    ]
