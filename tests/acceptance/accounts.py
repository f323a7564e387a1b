"""A started server, a member of it with a browser and a token, and their accounts outside.

Google is on loopback in four parts: one that signs people in, a mailbox, calendars and files.
Those accept every valid token of the first. GitHub runs next to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import Client
from mcp_types import ElicitResult

from tests.acceptance.commands import PATIENCE, Mainspring, open_folder
from tests.acceptance.server import OVER, PREFIX, SOON, Json, Started, started
from tests.kit.doubles.calendar import CalendarDouble
from tests.kit.doubles.drive import DriveDouble
from tests.kit.doubles.github import GitHubDouble, Repository
from tests.kit.doubles.gmail import GmailDouble, leaf
from tests.kit.doubles.google import TOKEN, GoogleDouble
from tests.kit.doubles.oauth_provider import CLIENT, CLIENT_SECRET, OAuthProvider
from tests.kit.mcp import connected
from tests.kit.scripted_server import ScriptedDouble, serving

MEMBER = "noor@example.org"
THREAD = "18f2c0ffee"
REPO = "ssvlabs/brains"
# So much of the server's log is shown next to what went wrong.
_MOST_LOG = 3_000
# A worker that was killed is not waited for longer than this.
_QUICK = {"lease_seconds": "4", "heartbeat_seconds": "0.5"}


@dataclass(slots=True)
class Guarded(ScriptedDouble):
    """One of Google's APIs behind tokens that were really handed out."""

    provider: OAuthProvider = field(default_factory=OAuthProvider)
    inside: GoogleDouble = field(default_factory=GoogleDouble)
    # The next request after one with this in its first line gets no answer.
    silent_after: bytes | None = None

    @property
    def is_silent(self) -> bool:
        """Whether somebody waits for the answer that they do not get."""
        return self.silent_after is None and not self.script

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        if self.silent_after is not None and self.silent_after in head.partition(b"\r\n")[0]:
            self.script.append(None)
            self.silent_after = None
        shown = headers.get("authorization", "").removeprefix("Bearer ")
        known = {"authorization": f"Bearer {TOKEN}"} if self.provider._lets_in(shown) else {}
        plain = {name: text for name, text in headers.items() if name != "authorization"}
        return self.inside._respond(head, {**plain, **known}, body)


@dataclass(slots=True)
class Outside:
    """Everything outside of the server that it may reach."""

    google: OAuthProvider = field(default_factory=OAuthProvider)
    gmail: GmailDouble = field(default_factory=GmailDouble)
    calendar: CalendarDouble = field(default_factory=CalendarDouble)
    drive: DriveDouble = field(default_factory=DriveDouble)
    github: GitHubDouble = field(default_factory=GitHubDouble)
    gmail_guard: Guarded = field(init=False)
    calendar_guard: Guarded = field(init=False)
    drive_guard: Guarded = field(init=False)

    def __post_init__(self) -> None:
        self.gmail_guard = Guarded(provider=self.google, inside=self.gmail)
        self.calendar_guard = Guarded(provider=self.google, inside=self.calendar)
        self.drive_guard = Guarded(provider=self.google, inside=self.drive)

    @property
    def settings(self) -> dict[str, str]:
        """What the operator of the server sets, so that it finds all of this."""
        places = {
            "gmail": self.gmail_guard.url,
            "calendar": self.calendar_guard.url,
            "drive": self.drive_guard.url,
            "github": self.github.url,
            **{
                f"google.{name}_url": f"{self.google.url}/{name}"
                for name in ("authorize", "token", "revoke")
            },
        }
        doubles = (
            self.google,
            self.gmail_guard,
            self.calendar_guard,
            self.drive_guard,
            self.github,
        )
        return {
            "integration_urls": ",".join(f"{name}={url}" for name, url in places.items()),
            "egress_allow": ",".join(one.pair for one in doubles),
            **_QUICK,
        }

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        async with (
            serving(self.google),
            serving(self.gmail_guard),
            serving(self.calendar_guard),
            serving(self.drive_guard),
            serving(self.github),
        ):
            yield

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Serves until the block ends, on a loop of its own."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        serving_all = self._open()
        try:
            asyncio.run_coroutine_threadsafe(serving_all.__aenter__(), loop).result()
            yield
        finally:
            ending = serving_all.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(ending, loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


class Person:
    """A member: a browser that is signed in, and a token of their own for programs."""

    def __init__(self, server: Started, outside: Outside, email: str = MEMBER) -> None:
        self.server, self.outside = server, outside
        asked = {"email": email, "role": "editor"}
        link = str(server.post("/invitations", asked, 201)["link"])
        self.browser = httpx2.Client(base_url=server.address, timeout=PATIENCE)
        signed = self.browser.post(
            f"{PREFIX}/session/link", json={"token": urlsplit(link).fragment}
        )
        assert signed.status_code == 200, signed.text
        self.browser.headers["X-CSRF-Token"] = signed.json()["csrf_token"]
        made = self.browser.post(f"{PREFIX}/tokens", json={"name": "my assistant"})
        assert made.status_code == 201, made.text
        self.token = str(made.json()["text"])
        # Everything that a client of theirs was ever answered.
        self.heard: list[str] = []
        # The page that they ended on, by what they are connected to.
        self.pages: dict[str, str] = {}

    def close(self) -> None:
        self.browser.close()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What their browser is answered, which is no problem."""
        answer = self.browser.request(method, PREFIX + path, json=body)
        assert answer.status_code < 400, (answer.text, self.server.log[-_MOST_LOG:])
        return answer.json()

    def refused(self, method: str, path: str, body: Any = None) -> Json:
        """The problem that their browser is answered."""
        answer = self.browser.request(method, PREFIX + path, json=body)
        assert 400 <= answer.status_code < 500, answer.text
        result: Json = answer.json()
        return result

    def saved(self, document: Json) -> str:
        """A new automation of theirs."""
        return str(self.ask("POST", "/automations", document)["id"])

    def drafts(self) -> list[Json]:
        found: list[Json] = self.ask("GET", "/drafts?limit=200")["items"]
        return found

    def told(self, kind: str) -> list[Json]:
        """The events of one type."""
        found: list[Json] = self.ask("GET", f"/events?type={kind}&limit=200")["items"]
        return found

    def connect(self, integration: str) -> str:
        """Signs in unless they have; answers the page that they ended on."""
        if integration not in self.pages:
            self.pages[integration] = self.sign_in(integration)
        return self.pages[integration]

    def sign_in(self, integration: str) -> str:
        """Goes the whole way of a person who connects; answers the page they end on."""
        link = str(self.ask("POST", f"/integrations/{integration}/sign-in")["sign_in_url"])
        with httpx2.Client(timeout=PATIENCE) as away:
            agreed = away.get(link)
        assert agreed.status_code == 302, agreed.text
        place = urlsplit(agreed.headers["location"])
        query = dict(parse_qsl(place.query))
        # The first page comes without the cookie, as a browser does that another site sent.
        with httpx2.Client(base_url=self.server.address, timeout=PATIENCE) as sent:
            first = sent.get(place.path, params=query)
        assert (first.status_code, "refresh" in first.text) == (200, True)
        back = self.browser.get(place.path, params={**query, "again": "1"})
        assert back.status_code == 200, back.text
        return back.text

    def over_mcp(self, story: Callable[[Caller], Awaitable[None]]) -> None:
        """Lets a client with their token tell a story."""

        async def told() -> None:
            opens = self._agrees
            address, query = self.server.address, "toolset=all"
            async with connected(address, self.token, opens=opens, query=query) as client:
                await story(Caller(self, client))

        asyncio.run(told())

    async def _agrees(self, context: Any, params: Any) -> ElicitResult:
        """Their client opens the page of a draft; they read it there, and agree.

        Where it would open the whole inbox, for several drafts, they close it.
        """
        draft = dict(parse_qsl(urlsplit(params.url).query)).get("draft")
        if draft is None:
            return ElicitResult(action="cancel")
        shown = await asyncio.to_thread(self.ask, "GET", f"/drafts/{draft}")
        seen = {"hash": shown["hash"]}
        await asyncio.to_thread(self.ask, "POST", f"/drafts/{draft}/confirm", seen)
        return ElicitResult(action="accept")

    def ran(self, automation_id: str) -> Json:
        """Runs an automation of theirs; the run, once it is over."""
        return self.over(self.begun(automation_id))

    def begun(self, automation_id: str) -> str:
        return str(self.ask("POST", f"/automations/{automation_id}/run", {})["run_id"])

    def over(self, run_id: str) -> Json:
        deadline = time.monotonic() + SOON
        while True:
            run: Json = self.ask("GET", f"/runs/{run_id}")
            if run["status"] in OVER:
                return run
            assert time.monotonic() < deadline, run
            time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Caller:
    """The official client with a member's own token."""

    person: Person
    client: Client

    async def __call__(self, name: str, /, **arguments: Any) -> Json:
        result, wrong = await self._asked(name, arguments)
        assert not wrong, (name, result, self.person.server.log[-_MOST_LOG:])
        return result

    async def refused(self, name: str, /, **arguments: Any) -> Json:
        result, wrong = await self._asked(name, arguments)
        assert wrong, (name, result)
        return result

    async def _asked(self, name: str, arguments: Json) -> tuple[Json, bool]:
        result = await self.client.call_tool(name, arguments)
        summary: Json = result.structured_content
        self.person.heard.append(json.dumps(summary))
        return summary, bool(result.is_error)

    async def sources(self, tool: str) -> list[str]:
        """What a tool says its source may be, for this caller and now."""
        cursor: str | None = None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            for one in page.tools:
                if one.name == tool:
                    shown: Json = one.input_schema["properties"]["source"]
                    return list(shown.get("enum", ()))
            cursor = page.next_cursor
            assert cursor is not None, f"there is no {tool}"


@contextlib.contextmanager
def member_of_a_server() -> Iterator[Person]:
    """A member without any connection, of a server whose owner has set Google's client."""
    outside = Outside()
    _fill(outside)
    with (
        outside.open(),
        open_folder() as folder,
        started(Mainspring(folder / "home"), outside.settings) as server,
    ):
        client = {"client_id": CLIENT, "client_secret": CLIENT_SECRET}
        answer = server.owner.put("/oauth-clients/google", json=client)
        assert answer.status_code == 200, answer.text
        outside.google.redirect_uri = answer.json()["redirect_url"]
        person = Person(server, outside)
        try:
            yield person
        finally:
            person.close()


def _fill(outside: Outside) -> None:
    """What is there before anybody looks: a thread, two calendars and a repository."""
    gmail, calendar, github = outside.gmail, outside.calendar, outside.github
    gmail.put(
        "m1",
        THREAD,
        leaf("text/plain", b"Are you in for the ethera round?"),
        From="noah@a16z.com",
        To="ada@example.com",
        Subject="ethera next week",
        Message_ID="<m1@a16z.com>",
    )
    for name in ("Ada", "Team"):
        calendar.calendar(name.lower(), name)
    calendar.put(
        "ada",
        "standup",
        summary="Stand-up",
        start={"dateTime": "2026-06-02T08:00:00Z"},
        end={"dateTime": "2026-06-02T08:15:00Z"},
    )
    calendar.put(
        "team",
        "off",
        summary="Offsite",
        start={"date": "2026-06-04"},
        end={"date": "2026-06-05"},
        location="Lisbon",
        attendees=[{"email": "noah@a16z.com"}],
    )
    calendar.put(
        "team", "july", summary="July", start={"date": "2026-07-01"}, end={"date": "2026-07-02"}
    )
    github.repositories[REPO] = Repository(pulls=[_pull(one) for one in (1, 2, 3)])


def _pull(number: int) -> Json:
    at = f"2026-03-0{number}T09:00:00Z"
    return {
        "id": 7_000_000_000 + number,
        "number": number,
        "title": f"Change {number}",
        "state": "open",
        "user": {"login": "mona"},
        "labels": [],
        "assignees": [],
        "created_at": at,
        "updated_at": at,
        "closed_at": None,
        "merged_at": None,
        "draft": False,
        "html_url": f"https://github.com/{REPO}/pull/{number}",
        "head": {"ref": f"change-{number}"},
        "base": {"ref": "main"},
    }
