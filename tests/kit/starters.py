"""An application with the codex, doubles on loopback, and an owner who installs starters.

The story of a recipe installs it by the gate, agrees as a person does, lets its trigger go off,
and looks at what was written. All stories of a module share one application::

    made = await shop.install("uptime-check", host=shop.web.pair, scheme="http")
    await shop.fire(made)
    assert await shop.rows(made, "uptime-board") == [...]
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from mainspring.app import Application
from mainspring.contracts.ids import generate_id
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.recipes.codex.starters import read_starters
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.triggers.scheduler import Scheduler
from mainspring.workspace.automation_states import activate
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.sealing import connection_scope
from tests.kit.agents import FINAL, calls
from tests.kit.api import served
from tests.kit.bench import Bench
from tests.kit.boards import Boards, Row
from tests.kit.capabilities import Outside
from tests.kit.consent import agree_to_all
from tests.kit.doubles.calendar import CalendarDouble, calendar_double
from tests.kit.doubles.feeds import MarketDouble, WebDouble, market_double, web_double
from tests.kit.doubles.github import TOKEN as GITHUB_TOKEN
from tests.kit.doubles.github import GitHubDouble, github_double
from tests.kit.doubles.gmail import GmailDouble, gmail_double
from tests.kit.doubles.google import TOKEN as GOOGLE_TOKEN
from tests.kit.events import match_all
from tests.kit.model_doubles import FakeModels
from tests.kit.tool_servers import opened

ACCOUNTS: Final = {"gmail": GOOGLE_TOKEN, "calendar": GOOGLE_TOKEN, "github": GITHUB_TOKEN}
_DUE = "SELECT min(next_due_at) FROM triggers WHERE automation_id = $1 AND next_due_at IS NOT NULL"
_LATEST = "SELECT id FROM runs WHERE automation_id = $1 ORDER BY id DESC LIMIT 1"
# Without the question for consent, which no run has put there.
_TOLD = """
    SELECT level, title, message FROM notifications
    WHERE automation_id = $1 AND run_id IS NOT NULL ORDER BY id
"""
_WRITTEN = """
    SELECT p.slug, p.type, p.title, p.body, p.source_ref FROM pages p JOIN runs r ON r.id = p.run_id
    WHERE r.automation_id = $1 AND p.deleted_at IS NULL AND ($2::text IS NULL OR p.source = $2)
    ORDER BY p.id
"""
_SERVER_KEYS: Final = frozenset({"row_id", "_src", "_updated_at"})


@dataclass(frozen=True, slots=True)
class Installed:
    """An automation that came from a recipe, with the boards that came along, by their slugs."""

    id: UUID
    boards: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Readers(FakeModels):
    """Models that answer by what they are given to read, and know nothing else.

    They replace the clients of providers: loading one of those takes longer than all
    stories together.
    """

    # A piece of the text that is read, and the answer to it; each is given once.
    answers: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How often they were asked."""
        return len(self.requests)

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        read = str(request.messages)
        known = [entry for entry in self.answers if entry[0] in read]
        assert known, f"nobody has said what is answered to {read}"
        self.answers.remove(known[0])
        self.script.append(calls((FINAL, known[0][1])))
        return await FakeModels.complete(self, request, key=key)


@dataclass(slots=True)
class StarterBench:
    """The application, the doubles around it, and its owner."""

    bench: Bench
    web: WebDouble
    github: GitHubDouble
    gmail: GmailDouble
    calendar: CalendarDouble
    market: MarketDouble
    models: Readers

    @property
    def application(self) -> Application:
        return self.bench.application

    @property
    def owner(self) -> Boards:
        return Boards(self.application)

    async def call(self, capability: str, **arguments: Any) -> dict[str, Any]:
        return await self.owner.call(capability, **arguments)

    async def install(self, slug: str, **settings: Any) -> Installed:
        """Applies a starter, agrees to what it asks for, and lets its triggers go off."""
        given = {"overrides": {"settings": settings}} if settings else {}
        made = await self.call("apply_starter_recipe", slug=slug, **given)
        asked = await agree_to_all(self.application.database, self.application.workspace_id)
        automation_id = UUID(made["created"]["id"])
        assert automation_id in {one.automation_id for one in asked}, "installs ask for consent"
        along = [*made.get("cascade_installed", ()), *made.get("dependencies_used", ())]
        boards = {one["source_recipe_slug"]: str(one["id"]) for one in along}
        await self.activate(automation_id)
        return Installed(automation_id, boards)

    async def publish_redirected(self, slug: str, host: str, double: MarketDouble) -> str:
        """The same recipe with a double in place of its host, published by the workspace itself.

        Answers its slug, which is another one: nobody publishes under the slug of a starter.
        """
        (starter,) = read_starters().known[slug].packages
        written = json.dumps(starter.document).replace(f"https://{host}", double.url)
        package = {**json.loads(written.replace(host, double.pair)), "slug": f"{slug}-here"}
        await self.call("publish_recipe", package=package)
        return str(package["slug"])

    async def activate(self, automation_id: UUID) -> None:
        words = await self.application.registry.of(self.application.workspace_id)
        async with self.application.database.transaction() as tx:
            await activate(
                tx, self.application.workspace_id, automation_id, words, self.application.limits
            )

    async def fire(self, made: Installed) -> dict[str, Any]:
        """Its schedule comes due; answers the run once it has ended well."""
        application = self.application
        due = await application.database.fetchval(_DUE, made.id)
        assert (
            await Scheduler(application.database, application.dispatcher, application.limits).once(
                due
            )
            == 1
        )
        return await self.ended(await application.database.fetchval(_LATEST, made.id))

    async def run(self, made: Installed, **payload: Any) -> dict[str, Any]:
        """A manual run, perhaps with a trigger payload."""
        request = RunRequest(self.application.workspace_id, made.id, payload=payload)
        return await self.ended((await self.application.dispatcher.dispatch(request)).run_id)

    async def run_for_event(self, made: Installed) -> dict[str, Any]:
        """The log of events is read to its end, and one of them has started a run of it."""
        await match_all(self.application)
        return await self.ended(await self.application.database.fetchval(_LATEST, made.id))

    async def hooked(self, made: Installed, slug: str, *bodies: Any) -> None:
        """Its webhook is called from outside, once with each body."""
        path = f"/api/v1/automations/{made.id}"
        async with served(self.application) as api:
            shown = await api.client.post(f"{path}/triggers/{slug}/token")
            assert shown.status_code < 400, shown.text
            known = {"Authorization": f"Bearer {shown.json()['token']}"}
            for body in bodies:
                sent = await api.anonymous.post(f"{path}/fire", headers=known, json=body)
                assert sent.status_code < 400, sent.text
                await self.ended(UUID(sent.json()["run_id"]))

    async def ended(self, run_id: UUID) -> dict[str, Any]:
        run = await self.bench.until(run_id)
        assert run["status"] == "succeeded", json.dumps(run["error"], indent=1, default=str)
        return run

    async def rows(self, made: Installed, board: str, dataset: str = "default") -> list[Row]:
        """The rows of a board that came along, without what the server adds to them."""
        found = await self.owner.rows(made.boards[board], dataset)
        return [{k: v for k, v in row.items() if k not in _SERVER_KEYS} for row in found]

    async def append(self, made: Installed, board: str, *rows: Mapping[str, Any]) -> None:
        await self.owner.append(made.boards[board], *rows)

    async def notices(self, made: Installed) -> list[tuple[str, str, str]]:
        """What it has put into the inbox: level, title and message, oldest first."""
        found = await self.application.database.fetch(_TOLD, made.id)
        return [(row["level"], row["title"], row["message"]) for row in found]

    async def pages(
        self, made: Installed, brought_by: str | None = "automation"
    ) -> list[dict[str, Any]]:
        """The pages that its runs have written, oldest first; None: those from outside too."""
        found = await self.application.database.fetch(_WRITTEN, made.id, brought_by)
        return [dict(row) for row in found]

    async def put_away(self) -> None:
        """Nothing of an earlier story goes off in the next one, and no board of it is shared."""
        found = await self.application.database.fetch(
            "SELECT id FROM automations WHERE state = 'active'"
        )
        async with self.application.database.transaction() as tx:
            for row in found:
                await set_state(tx, self.application.workspace_id, row["id"], "paused")
            # Longer ago than what is taken away can be brought back.
            await tx.execute(
                "UPDATE recipe_installs SET uninstalled_at = now() - interval '1 year'"
            )


async def _connect(application: Application) -> None:
    """The owner is signed in wherever a starter may want it."""
    space = application.workspace_id
    for name, token in ACCOUNTS.items():
        own = generate_id()
        await application.database.execute(
            "INSERT INTO integration_connections (workspace_id, id, owner_id, integration, "
            "label, account, auth, state) "
            "VALUES ($1, $2, $3, $4, $4, 'me@example.com', 'oauth', 'ready')",
            space,
            own,
            FIRST_MEMBER,
            name,
        )
        await application.vault.set(connection_scope(space, own), "token", token)


@asynccontextmanager
async def open_shop(url: str, home: Path) -> AsyncIterator[StarterBench]:
    """The whole product over a database of its own, with a worker in it, until the block ends."""
    async with AsyncExitStack() as stack:
        web = await stack.enter_async_context(web_double())
        github = await stack.enter_async_context(github_double())
        gmail = await stack.enter_async_context(gmail_double())
        calendar = await stack.enter_async_context(calendar_double())
        market = await stack.enter_async_context(market_double())
        settings = Settings(
            home=home,
            database_url=url,
            poll_seconds=0.2,
            stop_seconds=1.0,
            lease_seconds=12.0,
            heartbeat_seconds=0.5,
            script_warm=0,
            egress_allow=frozenset(one.pair for one in (web, github, gmail, calendar, market)),
            integration_urls={"github": github.url, "gmail": gmail.url, "calendar": calendar.url},
        )
        models = Readers()
        application = await stack.enter_async_context(opened(settings, models))
        bench = Bench(application, Outside())
        await _connect(application)
        await stack.enter_async_context(bench.worker())
        yield StarterBench(bench, web, github, gmail, calendar, market, models)
