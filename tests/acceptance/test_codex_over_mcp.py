"""The codex over MCP, with a member's own token: what is documented of each tool, and the life of
an install of each kind: made, changed manually, overtaken, upgraded, taken away and brought back.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.accounts import Caller, Person, member_of_a_server
from tests.acceptance.server import Json
from tests.kit.codex import automation, board, bundle, recipe, says

RECIPE = {
    "id",
    "slug",
    "name",
    "kind",
    "category",
    "tags",
    "version",
    "description_excerpt",
    "preview_image_url",
    "author",
    "created_at",
    "updated_at",
}
HOURLY = [{"kind": "cron", "cron": "0 * * * *", "tz": "UTC"}]


@pytest.fixture(scope="module")
def person() -> Iterator[Person]:
    with member_of_a_server() as made:
        yield made


def _feed(limit: int) -> Json:
    """A declarative integration, with the fields of the documented one."""
    url = f"https://api.example.com/v1/coins?limit={limit}"
    return {
        "auth": {"type": "api_key", "header": "X-Key", "secret_name": "COINS_KEY"},
        "trigger": {"kind": "cron", "cron": "0 * * * *"},
        "endpoints": [
            {
                "op": "snapshot",
                "method": "GET",
                "url": url,
                "headers": {"X-Key": "{{publisher.COINS_KEY}}"},
            }
        ],
        "mapping": {
            "iterate": "$.data[*]",
            "page_type": "coin",
            "source_ref_prefix": "coin:",
            "source_ref": "{{symbol}}@{{last_updated}}",
            "title": "{{name}} — ${{price}}",
            "frontmatter": {"symbol": "{{symbol}}"},
        },
    }


def _of_kind(kind: str, version: str, *, newer: bool) -> Json:
    """A recipe of each kind; the newer version says something else."""
    slug = f"story-{kind}"
    match kind:
        case "board":
            columns = ("site", "owner") if newer else ("site",)
            return board(slug, columns, version=version)
        case "automation":
            return automation(slug, [says("new" if newer else "old")], version=version)
        case "script":
            source = f"return {{ said: {'new' if newer else 'old'!r} }};\n"
            script = {
                "source": source,
                "triggers": HOURLY,
                "tool_grants": [{"tool": "list_boards"}],
            }
            grants = [{"capability": "list_boards", "params": {}}]
            return recipe(slug, "automation", {"script": script}, version=version, grants=grants)
        case "integration":
            feed = _feed(20 if newer else 10)
            [endpoint] = feed["endpoints"]
            asked: Json = {
                "grants": [
                    {
                        "capability": "ingest_from_endpoint",
                        "params": {
                            "hosts": ["api.example.com"],
                            "method": "GET",
                            "url": endpoint["url"],
                        },
                    }
                ],
                "requires": {"publisher_secrets": [{"name": "COINS_KEY", "reason": "To get in."}]},
                "hosts": ["api.example.com"],
            }
            return recipe(slug, "integration", feed, version=version, **asked)
        case "workflow":
            charter = "A hundred customers." if newer else "Ten customers."
            kpis = [{"name": "customers", "target": 100 if newer else 10}]
            template = {"title": "Story", "charter": charter, "kpis": kpis, "deadlines": []}
            return recipe(slug, "workflow", template, version=version)
    raise AssertionError(kind)


async def _change(call: Caller, kind: str, entity_id: str) -> None:
    """Something that a person here would change."""
    if kind == "board":
        columns = [{"key": "site"}, {"key": "mine"}]
        await call(
            "update_board", board_id=entity_id, datasets=[{"name": "default", "columns": columns}]
        )
    elif kind == "workflow":
        await call("update_workflow", workflow_id=entity_id, charter="Our own words.")
    else:
        await call("update_automation", automation_id=entity_id, description="Our own words.")


def _entity(made: Json) -> Json:
    return {"entity_id": made["id"], "entity_kind": made["kind"]}


@pytest.mark.parametrize("kind", ["board", "automation", "script", "workflow"])
def test_an_install_lives_through_changes_upgrades_and_being_taken_back(
    person: Person, kind: str
) -> None:
    async def story(call: Caller) -> None:
        await call("publish_recipe", package=_of_kind(kind, "1.0.0", newer=False))
        applied = await call("apply_starter_recipe", slug=f"story-{kind}")
        made = applied["created"]
        assert made["source_recipe_slug"] == f"story-{kind}"
        await _change(call, kind, made["id"])
        await call("publish_recipe", package=_of_kind(kind, "1.1.0", newer=True))

        result = await call("check_recipe_upgrade", **_entity(made))
        assert (result["installed"], result["latest"]) == ("1.0.0", "1.1.0")
        assert (result["has_upgrade"], result["has_user_changes"]) == (True, True)
        assert result["change_summary"]["recipe"]
        stands = await call.refused("upgrade_recipe", **_entity(made))
        assert (stands["status"], stands["code"]) == (409, "user_changes")
        done = await call("upgrade_recipe", **_entity(made), force=True)
        assert done.keys() >= {"entity_id", "entity_kind"}
        assert (done["upgraded_from_version"], done["upgraded_to_version"]) == ("1.0.0", "1.1.0")
        assert (await call("check_recipe_upgrade", **_entity(made)))["has_user_changes"] is False

        gone = await call("uninstall_recipe", entity_id=made["id"])
        assert [one["id"] for one in gone["uninstalled"]] == [made["id"]]
        assert gone["uninstalled"][0].keys() >= {"kind", "id", "name", "recoverable_until"}
        left = (await call("list_uninstalled"))["uninstalled"]
        [mine] = [one for one in left if one["id"] == made["id"]]
        assert mine.keys() >= {
            "kind",
            "id",
            "name",
            "source_recipe_slug",
            "uninstalled_at",
            "expires_at",
        }
        back = await call("recover_recipe", entity_id=made["id"])
        assert (back["id"], back["source_recipe_slug"]) == (made["id"], f"story-{kind}")
        if made["kind"] == "automation":
            assert back["state"] == "paused"
        again = await call.refused("recover_recipe", entity_id=made["id"])
        assert again["status"] in (404, 409)

    person.over_mcp(story)


def test_an_integration_is_data_and_a_bundle_moves_as_one(person: Person) -> None:
    async def story(call: Caller) -> None:
        applied: Json = {}
        for version, newer in (("1.0.0", False), ("1.1.0", True)):
            listing = _of_kind("integration", version, newer=newer)
            sites = board(
                "bundled-sites", ("site", "owner") if newer else ("site",), version=version
            )
            for package in (
                listing,
                sites,
                bundle("story-bundle", "story-integration", "bundled-sites", version=version),
            ):
                await call("publish_recipe", package=package)
            if not newer:
                applied = await call("apply_starter_recipe", slug="story-bundle")
        made = applied["created"]
        assert made["kind"] == "bundle"
        members = {one["source_recipe_slug"]: one for one in applied["cascade_installed"]}
        assert members.keys() == {"story-integration", "bundled-sites"}
        await _change(call, "integration", members["story-integration"]["id"])

        alone = await call.refused("upgrade_recipe", **_entity(members["bundled-sites"]))
        assert alone["status"] == 409
        assert "bundle" in alone["detail"].lower()
        result = await call("check_recipe_upgrade", **_entity(made))
        assert (result["has_upgrade"], result["has_user_changes"]) == (True, True)
        stands = await call.refused("upgrade_recipe", **_entity(made))
        assert stands["code"] == "user_changes"
        await call("upgrade_recipe", **_entity(made), force=True)
        installs = {
            one["source_recipe_slug"]: one["source_recipe_version"]
            for one in (await call("list_installs"))["installs"]
        }
        assert installs["story-integration"] == installs["bundled-sites"] == "1.1.0"

        gone = await call("uninstall_recipe", entity_id=made["id"])
        assert (len(gone["uninstalled"]), gone["cascade_count"]) == (3, 2)
        back = await call("recover_recipe", entity_id=made["id"])
        assert {one["source_recipe_slug"] for one in back["recovered"]} == members.keys()

    person.over_mcp(story)


def test_the_documented_tools_answer_what_is_documented(person: Person) -> None:
    async def story(call: Caller) -> None:
        found = (await call("list_starter_recipes", limit=100))["recipes"]
        assert all(one.keys() >= RECIPE for one in found)
        slugs = {one["slug"] for one in found}
        assert len({one for one in slugs if not one.startswith("story")}) >= 25
        only = await call("list_starter_recipes", kind="automation", search="uptime", limit=1)
        assert [one["slug"] for one in only["recipes"]] == ["uptime-check"]
        both = await call.refused("get_starter_recipe", slug="uptime-check", id=found[0]["id"])
        assert both["status"] == 422
        unknown = await call.refused("get_starter_recipe", slug="uptime-chek")
        assert (unknown["status"], "uptime-check" in str(unknown)) == (404, True)
        one = (await call("get_starter_recipe", slug="uptime-check"))["recipe"]
        assert one["template"]

        needs = await call("check_recipe_dependencies", slug="uptime-check")
        assert needs.keys() >= {"recipe", "declared", "satisfied", "missing", "chain"}
        assert needs["missing"][0]["available"] == {"has_recipe": True, "latest_version": "1.0.0"}
        applied = await call(
            "apply_starter_recipe",
            slug="uptime-check",
            overrides={"settings": {"host": "shop.example.com"}},
        )
        assert [one["source_recipe_slug"] for one in applied["cascade_installed"]] == [
            "uptime-board"
        ]
        made = applied["created"]
        stands = await call.refused("update_automation", automation_id=made["id"], state="active")
        assert stands["code"] == "consent_needed"
        assert any("shop.example.com" in each["detail"] for each in stands["errors"])

    person.over_mcp(story)
    # A person sees each addition, agrees to exactly these, and sets it going.
    [waiting] = [
        one
        for one in person.ask("GET", "/consents")["consents"]
        if any("shop.example.com" in each["says"] for each in one["additions"])
    ]
    answer = {"digest": waiting["digest"], "agree": True, "activate": True}
    person.ask("POST", f"/consents/{waiting['consent_id']}/answer", answer)
    state = person.ask("GET", f"/automations/{waiting['automation_id']}")["state"]
    assert state == "active"
