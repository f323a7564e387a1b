"""A newer version of a recipe is tried over what really came in, before it is in force."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mainspring.runs.run_requests import RunRequest
from tests.kit.bench import Bench
from tests.kit.codex import Codex, automation
from tests.kit.consent import agree_to_all

GRANTS = [{"capability": "inbox.post_notification", "params": {}}]


def _teller(version: str, title: str) -> dict[str, Any]:
    result = {"step_id": "tell", "action": "inbox.post_notification", "config": {"title": title}}
    return automation("teller", [result], version=version, grants=GRANTS)


async def test_what_an_upgrade_would_do_is_seen_before_it_is_made(bench: Bench) -> None:
    codex, application = Codex(bench.application), bench.application
    await codex.publish(_teller("1.0.0", "Good morning"))
    made = (await codex.apply("teller"))["created"]
    assert (await codex.check(made))["definition"] is None, "there is nothing newer"
    await agree_to_all(application.database, application.workspace_id)
    async with bench.worker():
        request = RunRequest(application.workspace_id, UUID(made["id"]))
        await bench.until((await application.dispatcher.dispatch(request)).run_id)
        await codex.publish(_teller("1.1.0", "Good night"))

        found = (await codex.check(made))["definition"]
        result = await codex.call(
            "rehearse_automation", automation_id=made["id"], candidate={"definition": found}
        )
    assert (result["done"], result["otherwise"]) == (True, 1)
    [firing] = result["firings"]
    assert "Good night" in str(firing["differences"])
    messages = await application.database.fetch("SELECT title FROM notifications")
    assert "Good night" not in {row["title"] for row in messages}

    await codex.upgrade(made)
    now = await application.database.fetchrow(
        "SELECT d.document FROM automations a JOIN automation_versions v "
        "ON v.automation_id = a.id AND v.version = a.version "
        "JOIN definitions d ON d.hash = v.definition_hash WHERE a.id = $1",
        UUID(made["id"]),
    )
    assert now is not None
    assert now["document"]["plan"] == found["plan"]
