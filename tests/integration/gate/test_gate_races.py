"""Two who meet at one moment: what one of them ends, the other does not use any more."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.errors import Expired
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.standing.rules import ENOUGH, end_rule
from mainspring.outbound.object_storage.blob_stores import FolderStore
from mainspring.workspace.artifacts.blobs import BlobKey
from mainspring.workspace.artifacts.expiry import expire_artifacts
from mainspring.workspace.artifacts.rows import delete_artifact, read_artifact, read_content
from mainspring.workspace.artifacts.save import artifacts_capability
from mainspring.workspace.automations import FIRST_MEMBER
from tests.integration.gate.test_standing_rules import World, world
from tests.kit.artifacts import Call
from tests.kit.bench import Bench
from tests.kit.drafts import office
from tests.kit.lock_waits import until_in_line

__all__ = ["world"]


async def test_a_draft_that_ran_out_while_its_confirmer_stood_in_line_is_not_sent(
    bench: Bench,
) -> None:
    database = bench.application.database
    async with office(bench) as here:
        draft = await here.nudge("once")
        await here.change(draft, "expires_at = now() + interval '1 second'")
        ends = (await here.row(draft))["expires_at"]
        async with database.transaction() as tx:
            await tx.execute("SELECT FROM drafts WHERE id = $1 FOR UPDATE", UUID(draft))
            confirming = asyncio.create_task(here.confirm(draft))
            await until_in_line(database)
            while await database.fetchval("SELECT clock_timestamp()") <= ends:
                await asyncio.sleep(0.05)
        with pytest.raises(Expired):
            await confirming
        # Only the text of a new draft is sent.
        again = (await here.ask("redraft_action", {"draft_id": draft}))["draft_id"]
        assert (await here.confirm(again))["outcome"] == "sent"
        assert [sent["text"] for sent in here.telegram.messages] == ["once"]


async def test_nothing_leaves_under_a_rule_that_was_taken_back(world: World) -> None:
    await world.confirmed(ENOUGH)
    (rule,) = await world.rules("proposed")
    await world.call("decide_standing_rule", rule_id=rule["rule_id"], decision="accept")
    sent = len(world.slack.messages)
    application = world.bench.application
    actor = Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    async with application.database.transaction() as tx:
        # The run still finds the rule, and then wants to note that it uses it.
        await end_rule(tx, actor, UUID(rule["rule_id"]))
        running = asyncio.create_task(world.run(text="Once more"))
        await until_in_line(application.database)
    run = await running
    assert (run["outcome"], len(world.slack.messages) - sent) == ("drafts_waiting", 0)


class Slow(FolderStore):
    """A store that takes its time to delete."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def delete(self, key: BlobKey) -> None:
        self.asked.set()
        await self.goes_on.wait()
        await super().delete(key)


@pytest.mark.parametrize("how", ["by hand", "by time"])
async def test_what_is_saved_again_while_it_is_deleted_has_its_bytes(
    bench: Bench, tmp_path: Path, how: str
) -> None:
    database, space = bench.application.database, bench.application.workspace_id
    blobs = Slow(tmp_path / "artifacts")
    save = artifacts_capability(blobs, Limits()).handler
    # One place of one run: a second try saves under the same id.
    ref = RunRef(generate_id(), generate_id(), "keep", "", 1)

    async def saved() -> UUID:
        async with database.transaction() as tx:
            answer = await save(Call(bench, tx, ref), {"name": "a.txt", "text": "Dear diary"})
        return UUID(answer["artifact_id"])

    artifact = await saved()
    deleting: asyncio.Future[Any]
    if how == "by hand":
        deleting = asyncio.ensure_future(delete_artifact(database, blobs, space, artifact))
    else:
        later = datetime.now(UTC) + timedelta(days=400)
        deleting = asyncio.ensure_future(expire_artifacts(database, blobs, later))
    await blobs.asked.wait()
    saving = asyncio.create_task(saved())
    # It comes to its end, or waits in the queue behind the deleting.
    in_line = asyncio.create_task(until_in_line(database))
    await asyncio.wait({saving, in_line}, return_when=asyncio.FIRST_COMPLETED)
    in_line.cancel()
    blobs.goes_on.set()
    await asyncio.gather(deleting, saving)
    async with database.acquire() as connection:
        there = await read_artifact(connection, space, artifact)
    assert await read_content(blobs, there) == b"Dear diary"
