"""Stories of starters that bring several things along: workflows and bundles."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.kit.boards import values
from tests.kit.consent import agree_to_all
from tests.kit.starters import Installed, StarterBench

TEMPLATES = ["milestone_reviewer", "progress_scorer", "task_nudger"]


async def _apply(shop: StarterBench, slug: str, asks: int, **settings: Any) -> dict[str, Any]:
    """Installs it and agrees; each automation asks once."""
    made = await shop.call("apply_starter_recipe", slug=slug, overrides={"settings": settings})
    asked = await agree_to_all(shop.application.database, shop.application.workspace_id)
    assert len({one.automation_id for one in asked}) == len(asked) == asks
    return made


async def _workflow(
    shop: StarterBench, made: dict[str, Any], kpi: str
) -> tuple[dict[str, Any], str]:
    """It begins, a number is known and a task is due; each of its automations runs twice."""
    own = made["created"]["id"]
    begun = await shop.call("set_workflow_status", workflow_id=own, status="active")
    assert not begun.get("waiting"), begun
    flow = await shop.call("get_workflow", workflow_id=own)
    by_template = {one["template"]: one["automation_id"] for one in flow["automations"]}
    assert sorted(by_template) == TEMPLATES
    assert {one["state"] for one in flow["automations"]} == {"active"}
    await shop.call("set_workflow_kpi", workflow_id=own, name=kpi, current=5)
    board = str(flow["board_id"])
    (task, *_) = await shop.owner.rows(board, "tasks")
    due = {"row_id": task["row_id"], "due": "2020-01-02", "owner": "Ada"}
    await shop.call("update_board_rows", board_id=board, dataset="tasks", rows=[due])
    for _ in range(2):
        for automation_id in by_template.values():
            await shop.run(Installed(UUID(automation_id)))
    nudged = await shop.notices(Installed(UUID(by_template["task_nudger"])))
    assert [title for _, title, _ in nudged] == [f"Ada: {task['title']}"]
    (page,) = await shop.pages(Installed(UUID(by_template["milestone_reviewer"])))
    assert page["title"].startswith(f"{flow['title']}: ")
    return flow, board


async def product_launch(shop: StarterBench) -> None:
    made = await _apply(
        shop,
        "product-launch",
        3,
        product="Doors",
        test_day="2999-05-01",
        launch_day="2999-06-01",
        customers=50,
    )
    flow, board = await _workflow(shop, made, "Paying customers")
    assert flow["title"] == "Doors: launch"
    assert "Bring Doors to its first paying customers" in flow["charter"]
    assert values(flow["deadlines"], "label", "date") == [
        ("First test", "2999-05-01"),
        ("Launch", "2999-06-01"),
    ]
    assert values(await shop.owner.rows(board, "progress"), "kpi", "current", "target") == [
        ("Paying customers", 5, 50),
        ("People who tried it", None, 500),
        ("Tasks done", None, 7),
    ]
    assert len(await shop.owner.rows(board, "tasks")) == 7


async def hiring_pipeline(shop: StarterBench) -> None:
    made = await _apply(
        shop,
        "hiring-pipeline",
        3,
        role="Carpenter",
        close_day="2999-05-01",
        first_day="2999-08-01",
        places=2,
    )
    flow, board = await _workflow(shop, made, "Interviews")
    assert flow["title"] == "Hiring: Carpenter"
    assert values(await shop.owner.rows(board, "progress"), "kpi", "current", "target") == [
        ("Applications", None, 40),
        ("Interviews", 5, 8),
        ("Hired", None, 2),
    ]
    assert await shop.owner.rows(board) == []


def _members(made: dict[str, Any]) -> dict[str, Installed]:
    along = {
        one["source_recipe_slug"]: str(one["id"])
        for one in [*made.get("cascade_installed", ()), *made.get("dependencies_used", ())]
    }
    return {
        one["source_recipe_slug"]: Installed(UUID(one["id"]), along)
        for one in made["created"]["members"]
    }


async def operations_pack(shop: StarterBench) -> None:
    made = await _apply(shop, "operations-pack", 4, timezone="Asia/Tokyo", days_before=400_000)
    members = _members(made)
    assert sorted(members) == [
        "deadline-nudger",
        "on-call-summary",
        "standup-collector",
        "subscription-renewals",
    ]
    zones = await shop.application.database.fetch(
        "SELECT config->>'timezone' AS zone FROM triggers WHERE automation_id = ANY($1)",
        [one.id for one in members.values()],
    )
    assert {row["zone"] for row in zones} == {"Asia/Tokyo"}
    renewals = members["subscription-renewals"]
    await shop.activate(renewals.id)
    await shop.append(renewals, "subscription-board", {"service": "Locks", "renews": "2999-02-01"})
    for _ in range(2):
        await shop.fire(renewals)
    result = [title for _, title, _ in await shop.notices(renewals)]
    assert result.count("Locks renews on 2999-02-01") == 1


async def research_pack(shop: StarterBench) -> None:
    item = b"<rss><channel><item><guid>p1</guid><title>News of locks</title></item></channel></rss>"
    shop.web.put("/locks.xml", item)
    settings = {"host": shop.web.pair, "scheme": "http", "path": "/locks.xml"}
    made = await _apply(shop, "research-pack", 3, **settings)
    members = _members(made)
    assert sorted(members) == ["changelog-watch", "rss-to-board", "weekly-review"]
    reader = members["rss-to-board"]
    await shop.activate(reader.id)
    for _ in range(2):
        await shop.fire(reader)
    titles = values(await shop.rows(reader, "reading-board"), "title")
    assert titles.count("News of locks") == 1
