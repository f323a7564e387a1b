"""Databases that older versions have made are opened by today's code, and everything goes on.

The databases come from the commits themselves; ``scripts/make_level_fixture.py`` makes them.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx2
import pytest

from mainspring.app import build_worker, open_application, run_background_loops
from mainspring.contracts.errors import Conflict
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.downgrade import describe_losses, downgrade, plan_downgrade
from mainspring.store.migrate import DOWN, PACKAGED, migrate, read_migrations, read_schema_version
from scripts.make_level_fixture import SIGNING_KEY, WAIT_SECONDS
from tests.integration.store.test_backup import digests
from tests.kit.api import Api, served
from tests.kit.catalogs import catalog
from tests.kit.mail import MailServerDouble, mail_server
from tests.kit.migration_levels import Level, level_numbers, read_level

# A run may still wait for as long as the fixture's delay, when the fixture was made just now.
PATIENCE: Final = WAIT_SECONDS + 60.0
LAST: Final = len(read_migrations(PACKAGED))
# 1, 3 and 4 have no commit of their own with today's text: 0001 was changed in the commit that
# added 0002, and 0003 to 0005 were finished together. 13 and 14 came out together with 15, 16
# to 19 with 20, 21 with 22, 24 with 25, and 26 and 27 with 28.
NEVER: Final = {1, 3, 4, 13, 14, 16, 17, 18, 19, 21, 24, 26, 27}
# The first level whose drafts can be confirmed; the migration lets older ones expire.
CONFIRMED: Final = 6
# The fixtures grow old, and deadlines in them pass: what was due soon is due soon again.
_LATELY: Final = """
    UPDATE runs SET due_at = now() + interval '1 day' WHERE id IN (SELECT run_id FROM approvals);
    UPDATE drafts SET expires_at = now() + interval '1 day'
        WHERE status = 'pending' AND bound_hash IS NOT NULL;
    UPDATE approvals SET expires_at = now() + interval '1 day' WHERE status = 'pending';
    UPDATE triggers SET next_due_at = date_trunc('hour', now()) WHERE next_due_at IS NOT NULL;
"""


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A server of today over the data of an older one."""

    api: Api
    level: Level
    post: MailServerDouble

    async def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None
    ) -> httpx2.Response:
        shown = {} if token is None else {"Authorization": f"Bearer {token}"}
        client = self.api.client if token is None else self.api.anonymous
        return await client.request(method, f"/api/v1{path}", json=body, headers=shown)

    async def get(self, path: str, token: str | None = None) -> Any:
        answer = await self.ask("GET", path, token=token)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def ended(self, run: str) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while True:
                found: dict[str, Any] = await self.get(f"/runs/{run}")
                if found["finished_at"] is not None:
                    return found
                await asyncio.sleep(0.02)

    async def first_run(self, automation: str) -> dict[str, Any]:
        """The first run of an automation that nobody started through the API."""
        async with asyncio.timeout(PATIENCE):
            while not (runs := await self.get(f"/runs?automation_id={automation}"))["items"]:
                await asyncio.sleep(0.02)
        return await self.ended(runs["items"][0]["id"])


@asynccontextmanager
async def upgraded(
    level: Level, url: str, home: Path, more: Sequence[tuple[Any, ...]] = ()
) -> AsyncIterator[Upgraded]:
    """Today's API, scheduler and worker over an older version's database, and ``more`` in it."""
    post, stop = MailServerDouble(), asyncio.Event()
    level.load(url, home)
    async with mail_server(post) as port:
        settings = Settings(
            home=home,
            database_url=url,
            poll_seconds=0.2,
            smtp_url=f"smtp://127.0.0.1:{port}",
            egress_allow=frozenset({f"127.0.0.1:{port}"}),
        )
        async with _opened(url) as database:
            for statement, *arguments in more:
                await database.execute(statement, *arguments)
            # As up and migrate do before anything else starts.
            await migrate(database)
        async with open_application(settings) as application:
            await application.database.execute(_LATELY)
            worker = build_worker(application)
            work = [
                asyncio.create_task(worker.run()),
                asyncio.create_task(run_background_loops(application, stop)),
            ]
            try:
                async with served(application) as api:
                    yield Upgraded(api, level, post)
            finally:
                stop.set()
                worker.stop()
                await asyncio.gather(*work)


def test_every_level_that_ever_was_has_its_database() -> None:
    """A new migration comes with the database of the level before it."""
    assert set(level_numbers()) >= set(range(1, LAST)) - NEVER


@pytest.mark.parametrize("number", level_numbers())
async def test_everything_goes_on_after_an_upgrade(
    number: int, empty_database_url: str, tmp_path: Path
) -> None:
    level = read_level(number)
    async with upgraded(level, empty_database_url, tmp_path) as today:
        assert await read_schema_version(today.api.application.database) == LAST
        # The owner's token is the one that the older version made.
        assert today.api.token == level.files["owner.token"].strip()
        await _runs_go_on(today)
        await _triggers_fire(today)
        await _draft_is_sent(today)
        await _rest_is_there(today)


async def _runs_go_on(today: Upgraded) -> None:
    facts = today.level.facts
    for run in (facts["waiting_run"], *facts["lane_runs"]):
        found = await today.ended(run)
        assert (found["status"], found["output"]) == ("succeeded", "It went on."), found
        # What was on record is not done again.
        steps = [step["step"] for step in found["steps"] if step["status"] == "succeeded"]
        assert sorted(steps) == ["after", "before", "wait"]
    first, second = [await today.get(f"/runs/{run}") for run in facts["lane_runs"]]
    assert first["finished_at"] <= second["started_at"]

    assert (await today.get(f"/runs/{facts['counted_run']}"))["output"] == 1
    automation = await today.get(f"/automations/{facts['counts']}")
    assert automation["version"] == 2
    again = await today.ask("POST", f"/automations/{facts['counts']}/run")
    assert (await today.ended(again.json()["run_id"]))["output"] == 2
    paused = await today.get(f"/automations/{facts['paused']}")
    assert paused["state"] == "paused"


async def _triggers_fire(today: Upgraded) -> None:
    facts = today.level.facts
    scheduled = await today.first_run(facts["schedule"])
    assert (scheduled["trigger_type"], scheduled["status"]) == ("schedule", "succeeded")

    hook = f"/automations/{facts['webhook']}"
    called = await today.ask("POST", f"{hook}/fire", {"a": 1}, token=facts["webhook_token"])
    assert called.status_code == 202, called.text
    assert (await today.ended(called.json()["run_id"]))["status"] == "succeeded"
    refused = await today.ask("POST", f"{hook}/fire", {"a": 1}, token="mwh_another")
    assert refused.status_code == 401
    signed = await _call_signed(today, f"/api/v1{hook}/hooks/paid")
    assert signed.status_code == 202, signed.text

    event = {"type": "level.reached", "payload": {}}
    assert (await today.ask("POST", "/events", event)).is_success
    heard = await today.first_run(facts["event"])
    assert (heard["trigger_type"], heard["status"]) == ("event", "succeeded")


async def _call_signed(today: Upgraded, path: str) -> httpx2.Response:
    """A call with a signature; its key is in the vault that the older version encrypted."""
    body, at = b'{"invoice": "A-17"}', str(int(time.time()))
    key = base64.b64decode(SIGNING_KEY.removeprefix("whsec_"))
    signature = hmac.digest(key, b".".join([b"msg_1", at.encode(), body]), hashlib.sha256)
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": at,
        "Content-Type": "application/json",
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }
    return await today.api.anonymous.post(path, content=body, headers=headers)


async def _draft_is_sent(today: Upgraded) -> None:
    path = f"/drafts/{today.level.facts['draft']}"
    if today.level.number < CONFIRMED:
        path = f"/drafts/{await _drafted_anew(today, path)}"
    assert (await today.get(path))["status"] == "pending"
    confirmed = await today.ask("POST", f"{path}/confirm", {})
    assert confirmed.status_code == 200, confirmed.text
    assert confirmed.json()["status"] == "confirmed", confirmed.text
    assert [str(mail["to"]) for mail in today.post.messages] == ["ada@example.com"]


async def _drafted_anew(today: Upgraded, path: str) -> str:
    """Nobody could confirm a draft then: it has expired, and replaying its run makes a new one."""
    refused = await today.ask("POST", f"{path}/confirm", {})
    assert (refused.status_code, refused.json()["code"]) == (410, "draft_expired")
    refused = await today.ask("POST", f"{path}/redraft", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "draft_too_old")
    run = (await today.get(path))["run_id"]
    replayed = await today.ask("POST", f"/runs/{run}/replay")
    assert replayed.status_code == 202, replayed.text
    return str((await today.ended(replayed.json()["run_id"]))["output"]["draft_id"])


async def _rest_is_there(today: Upgraded) -> None:
    """What the level had next to runs and triggers."""
    facts = today.level.facts
    if token := facts.get("member_token"):
        assert (await today.get("/automations", token))["items"]
    if board := facts.get("board"):
        assert "4200" in json.dumps(await today.get(f"/boards/{board}/rows"))
    if page := facts.get("page"):
        assert "tower clock" in (await today.get(f"/pages/{page}"))["body"]
    if proposal := facts.get("proposal"):
        assert (await today.get(f"/proposals/{proposal}"))["definition"]["plan"]
    if workflow := facts.get("workflow"):
        assert (await today.get(f"/workflows/{workflow}"))["title"] == "Repair"
    if approval := facts.get("approval"):
        path = f"/approvals/{approval}/answer"
        answered = await today.ask("POST", path, {"decision": "approved"})
        assert answered.status_code == 200, answered.text
        assert (await today.ended(facts["approval_run"]))["status"] == "succeeded"


async def test_what_was_at_work_goes_on_and_is_listed_for_review(
    empty_database_url: str, tmp_path: Path
) -> None:
    """Nothing stops and nothing newly sends; a draft that nobody started starts nothing."""
    level = read_level(15)
    # One that was only saved, and one whose change waits for an answer.
    more = [
        (_DRAFTED, UUID(level.facts["event"]), _DRAFT_ID),
        (_ASKED, UUID(level.facts["webhook"])),
    ]
    async with upgraded(level, empty_database_url, tmp_path, more) as today:
        facts, database = level.facts, today.api.application.database
        rows = await database.fetch("SELECT * FROM automations WHERE state <> 'archived'")
        stored = {str(row["id"]): row for row in rows}
        for name in ("schedule", "event", "counts"):
            row = stored[facts[name]]
            assert (row["agreed_version"], row["agreed_via"]) == (row["version"], "upgrade"), name
            assert row["agreed_by"] == row["created_by"]
        assert stored[str(_DRAFT_ID)]["agreed_version"] is None
        assert stored[facts["webhook"]]["agreed_version"] == 1
        listed = await today.get("/consents")
        at_work = {key for key, row in stored.items() if row["agreed_via"] == "upgrade"}
        assert {one["automation_id"] for one in listed["agreed_by_upgrade"]} == at_work
        assert (await today.first_run(facts["schedule"]))["status"] == "succeeded"
        assert (await today.get(f"/drafts/{facts['draft']}"))["status"] == "pending"
        assert today.post.messages == []

        # A program neither starts what nobody agreed to nor looks at it for anybody.
        draft, program = f"/automations/{_DRAFT_ID}", today.api.token
        refused = await today.ask("POST", f"{draft}/activate", token=program)
        assert (refused.status_code, refused.json()["code"]) == (409, "consent_needed")
        one = f"/automations/{facts['schedule']}"
        refused = await today.ask("POST", f"{one}/reviewed", token=program)
        assert (refused.status_code, refused.json()["code"]) == (403, "person_needed")
        # A person who activates it is shown what it may do first.
        shown = await today.ask("POST", f"{draft}/activate")
        digest = shown.json()["consent"]["digest"]
        done = await today.ask("POST", f"{draft}/activate", {"digest": digest})
        assert done.status_code == 200, done.text
        looked = await today.ask("POST", f"{one}/reviewed")
        assert (looked.status_code, looked.json()["via"]) == (200, "page"), looked.text
        listed = await today.get("/consents")
        left = {one["automation_id"] for one in listed["agreed_by_upgrade"]}
        assert left == at_work - {facts["schedule"]}


_DRAFT_ID: Final = UUID("01900000-0000-7000-8000-0000000000d7")
# The same definition under another name, which nobody has ever started.
_DRAFTED: Final = """
    WITH made AS (
        INSERT INTO automations (workspace_id, id, name, version, created_by)
        SELECT workspace_id, $2, 'a draft', version, created_by FROM automations WHERE id = $1
    )
    INSERT INTO automation_versions (workspace_id, automation_id, version, definition_hash, grants,
        author)
    SELECT workspace_id, $2, version, definition_hash, grants, author
    FROM automation_versions WHERE automation_id = $1
"""
_ASKED: Final = """
    INSERT INTO consents (workspace_id, id, automation_id, version, origin, additions, digest,
        status, agreed_version, asked_kind, asked_by)
    SELECT workspace_id, gen_random_uuid(), id, version, 'edit', '[]', sha256('x'), 'waiting', 1,
        'client', created_by
    FROM automations WHERE id = $1
"""


def _has_way_back(number: int) -> bool:
    return all(
        (PACKAGED / f"{migration.label}{DOWN}").is_file()
        for migration in read_migrations(PACKAGED)[number:]
    )


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    database = await Database.open(Settings(database_url=url))
    try:
        yield database
    finally:
        await database.close()


@pytest.mark.parametrize(
    "number", [one for one in level_numbers() if one < LAST and _has_way_back(one)]
)
async def test_a_downgrade_gives_back_the_database_of_the_level(
    number: int, empty_database_url: str, tmp_path: Path
) -> None:
    """The tables and every row are those of before, and can be upgraded again."""
    read_level(number).load(empty_database_url, tmp_path)
    async with _opened(empty_database_url) as database:
        before = await _whole(database)
        await migrate(database)
        ways = plan_downgrade(LAST, number)
        assert await describe_losses(database, ways) == []
        await downgrade(database, ways)
        assert await read_schema_version(database) == number
        assert await _whole(database) == before
        assert len(await migrate(database)) == LAST - number


async def _whole(database: Database) -> tuple[dict[str, str], dict[str, Any]]:
    async with database.acquire() as connection:
        made_of = await catalog(connection)
    return made_of, await digests(database)


async def test_a_level_without_a_way_back_is_refused_and_left_alone(
    empty_database_url: str, tmp_path: Path
) -> None:
    refused = [one for one in level_numbers() if one < LAST and not _has_way_back(one)]
    read_level(refused[-1]).load(empty_database_url, tmp_path)
    async with _opened(empty_database_url) as database:
        await migrate(database)
        for number in refused:
            with pytest.raises(Conflict, match="cannot be reversed"):
                plan_downgrade(LAST, number)
        assert await read_schema_version(database) == LAST
        run = UUID(read_level(refused[-1]).facts["waiting_run"])
        assert await database.fetchval("SELECT status FROM runs WHERE id = $1", run) == "waiting"
