"""Upgrades keep what belongs to people here, and say what is in their way."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, Problem
from mainspring.recipes.package.signing import add_signature, generate_key
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench
from tests.kit.boards import Boards
from tests.kit.codex import Codex, automation, board, bundle, needs, recipe, says
from tests.kit.consent import agree_to_all


async def _refused(codex: Codex, capability: str, **arguments: Any) -> Problem:
    with pytest.raises(Problem) as refused:
        await codex.call(capability, **arguments)
    return refused.value


def _sites(version: str, *columns: str, **more: Any) -> dict[str, Any]:
    return board("sites", columns or ("site",), version=version, **more)


def _checker(version: str, word: str = "hello", **more: Any) -> dict[str, Any]:
    return automation("checker", [says(word)], version=version, **more)


async def _state(bench: Bench, automation_id: str) -> Any:
    return await bench.application.database.fetchrow(
        "SELECT state, paused_reason, version, name FROM automations WHERE id = $1",
        UUID(automation_id),
    )


async def test_a_board_keeps_its_rows_and_what_people_added(bench: Bench) -> None:
    codex, boards = Codex(bench.application), Boards(bench.application)
    old = [{"name": "notes", "columns": [{"key": "text"}]}]
    skill = {"name": "score", "prompt": "Score {{ row.site }}."}
    await codex.publish(
        _sites(
            "1.0.0",
            "site",
            "state",
            datasets=old,
            template={"skills": [skill], "dashboard": "<p>one</p>"},
        )
    )
    made = (await codex.apply("sites", board_name="Ours", board_description="For us."))["created"]
    added = await boards.append(made["id"], {"site": "a.example", "state": "up"})
    await boards.append(made["id"], {"text": "remember"}, dataset="notes")
    unchanged = await codex.upgrade(made)
    assert unchanged["upgraded_from_version"] == unchanged["upgraded_to_version"] == "1.0.0"

    await codex.publish(
        _sites(
            "1.1.0",
            "site",
            "owner",
            template={"skills": [{**skill, "prompt": "Score it."}], "dashboard": "<p>two</p>"},
        )
    )
    # Rows, names and datasets of their own are no changes of the recipe's.
    await boards.call(
        "update_board",
        board_id=made["id"],
        name="Renamed",
        datasets=[{"name": "mine", "columns": [{"key": "x"}]}],
    )
    result = await codex.check(made)
    assert (result["installed"], result["latest"], result["has_upgrade"]) == (
        "1.0.0",
        "1.1.0",
        True,
    )
    assert (result["has_user_changes"], result["change_summary"]["yours"]) == (False, [])
    assert result["change_summary"]["orphaned_datasets"] == ["notes"]
    assert {one["place"] for one in result["change_summary"]["recipe"]} >= {
        "/datasets/default/columns/owner",
        "/datasets/default/columns/state",
        "/skills/score/prompt",
        "/dashboard",
    }
    listed = (await codex.call("list_installs"))["installs"][0]
    assert (listed["update_available"], listed["latest_version"]) == (True, "1.1.0")
    shown = await codex.call("list_starter_recipes", search="sites")
    marked = [one["slug"] for one in shown["recipes"] if one["update_available"]]
    assert marked == ["sites"]

    done = await codex.upgrade(made)
    assert (done["upgraded_from_version"], done["upgraded_to_version"]) == ("1.0.0", "1.1.0")
    assert (done["orphaned_datasets"], done["name"]) == (["notes"], "Renamed")
    now = await boards.call("get_board", board_id=made["id"])
    columns = {one["name"]: [c["key"] for c in one["columns"]] for one in now["schema"]["datasets"]}
    assert columns == {"default": ["site", "owner"], "notes": ["text"], "mine": ["x"]}
    assert now["description"] == "For us."
    [row] = await boards.rows(made["id"])
    assert (row["row_id"], row["state"]) == (added["row_ids"][0], "up")
    assert len(await boards.rows(made["id"], "notes")) == 1
    dashboard = await boards.call("get_board_dashboard", board_id=made["id"])
    assert dashboard["html"] == "<p>two</p>"
    # A dataset that comes back is not orphaned any more, and one of people's never was.
    await codex.publish(_sites("1.2.0", "site", "owner", datasets=old))
    again = await codex.upgrade(made)
    assert "orphaned_datasets" not in again
    assert (await codex.call("list_installs"))["installs"][0]["orphaned_datasets"] == []


async def test_changes_by_people_block_an_upgrade_unless_they_may_be_dropped(bench: Bench) -> None:
    codex, boards = Codex(bench.application), Boards(bench.application)
    await codex.publish(_sites("1.0.0", "site"))
    made = (await codex.apply("sites"))["created"]

    async def columns(*keys: str) -> None:
        await boards.call(
            "update_board",
            board_id=made["id"],
            datasets=[{"name": "default", "columns": [{"key": key} for key in keys]}],
        )

    await columns("site", "mine")
    await codex.publish(_sites("1.1.0", "site", "owner"))
    assert (await codex.check(made))["change_summary"]["yours"] == [
        {"place": "/datasets/default/columns/mine", "change": "added"}
    ]
    stands = await _refused(codex, "upgrade_recipe", entity_id=made["id"], entity_kind="board")
    assert isinstance(stands, Conflict)
    assert (stands.code, stands.findings[0].pointer) == (
        "user_changes",
        "/datasets/default/columns/mine",
    )
    wrong = await _refused(codex, "upgrade_recipe", entity_id=made["id"], entity_kind="workflow")
    assert wrong.code == "other_kind"
    # A change that the newer version makes too is none.
    await columns("site", "owner")
    assert (await codex.check(made))["has_user_changes"] is False
    await columns("site", "mine")
    forced = await codex.upgrade(made, force=True)
    assert forced["discarded"] == [{"place": "/datasets/default/columns/mine", "change": "added"}]
    assert (await codex.check(made))["has_user_changes"] is False
    # Force also brings back what the version that is installed says.
    await columns("site")
    await codex.upgrade(made, force=True)
    now = await boards.call("get_board", board_id=made["id"])
    assert [one["key"] for one in now["schema"]["datasets"][0]["columns"]] == ["site", "owner"]


async def test_an_automation_keeps_its_state_and_asks_for_what_is_more(bench: Bench) -> None:
    codex, database = Codex(bench.application), bench.application.database
    capped: dict[str, Any] = {"definition": {"execution": {"cost_cap_daily_usd": 2}}}
    await codex.publish(_checker("1.0.0", **capped))
    made = (await codex.apply("checker", name="Ours"))["created"]
    space, own = bench.application.workspace_id, UUID(made["id"])
    await database.execute("UPDATE consents SET status = 'agreed'")
    await database.execute(
        "UPDATE automations SET agreed_version = version, agreed_via = 'page', "
        "state = 'active', paused_reason = NULL"
    )
    await database.execute(
        "INSERT INTO automation_kv (workspace_id, automation_id, key, value) "
        "VALUES ($1, $2, 'cursor', '7'::text::jsonb)",
        space,
        own,
    )

    await codex.publish(
        _checker("1.1.0", "hi", definition={"execution": {"cost_cap_daily_usd": 1}})
    )
    assert (await codex.check(made))["asks_for"] == []
    narrower = await codex.upgrade(made)
    assert (narrower["state"], narrower["name"]) == ("active", "Ours")
    assert (await _state(bench, made["id"]))["version"] == 2
    stored = await database.fetchrow(
        "SELECT value FROM automation_kv WHERE automation_id = $1", own
    )
    assert stored is not None
    assert stored["value"] == 7

    await codex.publish(
        board(),
        _checker(
            "2.0.0",
            "{{ install.sites.id }}",
            dependencies=[needs("sites")],
            definition={"execution": {"cost_cap_daily_usd": 5}},
        ),
    )
    result = await codex.check(made)
    assert [one["kind"] for one in result["asks_for"]] == ["spend"]
    assert result["change_summary"]["new_dependencies"] == ["sites"]
    wider = await codex.upgrade(made)
    assert wider["state"] == "paused"
    assert [one["says"] for one in wider["asks_for"]] == [one["says"] for one in result["asks_for"]]
    assert [one["source_recipe_slug"] for one in wider["cascade_installed"]] == ["sites"]
    assert (await _state(bench, made["id"]))["paused_reason"] == "consent"
    waiting = await database.fetchrow(
        "SELECT origin FROM consents WHERE automation_id = $1 AND status = 'waiting'", own
    )
    assert waiting is not None
    assert waiting["origin"] == "upgrade"

    # Somebody who changes the plan has made it theirs.
    found = await database.fetchrow(
        "SELECT d.document FROM automations a JOIN automation_versions v ON v.automation_id = a.id "
        "AND v.version = a.version JOIN definitions d ON d.hash = v.definition_hash "
        "WHERE a.id = $1",
        own,
    )
    assert found is not None
    await bench.save({**found["document"], "goal": "Something else."})
    await codex.publish(_checker("2.1.0", "hello again"))
    stands = await _refused(codex, "upgrade_recipe", entity_id=made["id"], entity_kind="automation")
    assert [one.pointer for one in stands.findings] == ["/definition/goal"]


async def test_two_upgrades_at_once_are_one(bench: Bench) -> None:
    codex = Codex(bench.application)
    await codex.publish(_checker("1.0.0"))
    made = (await codex.apply("checker"))["created"]
    await codex.publish(_checker("1.1.0", "hi"))
    both = await asyncio.gather(codex.upgrade(made), codex.upgrade(made))

    assert sorted(one["upgraded_from_version"] for one in both) == ["1.0.0", "1.1.0"]
    assert (await _state(bench, made["id"]))["version"] == 2


async def test_a_new_setting_needs_a_value_and_a_failed_upgrade_changes_nothing(
    bench: Bench,
) -> None:
    codex = Codex(bench.application)
    site = {"name": "site", "type": "string", "label": "Which site"}
    more = {"name": "word", "type": "string", "label": "Which word"}
    await codex.publish(
        automation("checker", [says("{{ install.settings.site }}")], settings=[site])
    )
    made = (await codex.apply("checker", settings={"site": "a.example"}))["created"]
    await codex.publish(
        automation(
            "checker",
            [says("{{ install.settings.site }} {{ install.settings.word }}")],
            settings=[site, more],
            version="1.1.0",
        )
    )
    stands = await _refused(codex, "upgrade_recipe", entity_id=made["id"], entity_kind="automation")
    assert (stands.code, stands.findings[0].pointer) == ("setting_needed", "/settings/word")
    assert (await _state(bench, made["id"]))["version"] == 1
    assert (await codex.check(made))["has_upgrade"] is True
    await codex.upgrade(made, settings={"word": "up"})
    assert (await codex.check(made))["has_upgrade"] is False
    installed = await bench.application.database.fetchrow("SELECT base FROM recipe_installs")
    assert installed is not None
    assert installed["base"]["definition"]["plan"][0]["config"]["output"] == "a.example up"


async def test_members_of_a_bundle_are_upgraded_with_it(bench: Bench) -> None:
    codex = Codex(bench.application)
    await codex.publish(
        _sites("1.0.0"),
        _checker("1.0.0"),
        board("other"),
        bundle("kit", "sites", "checker", name="Kit"),
    )
    kit = (await codex.apply("kit"))["created"]
    sites, checker = kit["members"]
    await codex.publish(_sites("1.1.0", "site", "owner"), _checker("1.1.0", "hi"))
    alone = await _refused(codex, "upgrade_recipe", entity_id=sites["id"], entity_kind="board")
    assert alone.code == "bundled"
    assert "'Kit'" in alone.detail
    assert (await codex.check(sites))["bundle"]["id"] == kit["id"]
    assert (await codex.check(kit))["has_upgrade"] is True
    done = await codex.upgrade(kit)
    assert [one["upgraded_to_version"] for one in done["members"]] == ["1.1.0", "1.1.0"]
    assert (await codex.check(kit))["has_upgrade"] is False

    # A member that is new comes along, one that left is alone from then on.
    await codex.publish(bundle("kit", "sites", "other", version="2.0.0", name="Kit"))
    after = await codex.upgrade(kit)
    assert [one["source_recipe_slug"] for one in after["cascade_installed"]] == ["other"]
    assert [one["id"] for one in after["left_behind"]] == [checker["id"]]
    here = {
        row["source_recipe_slug"]: row for row in (await codex.call("list_installs"))["installs"]
    }
    assert here["other"]["bundle"]["id"] == kit["id"]
    assert here["checker"]["bundle"] is None
    await codex.publish(_checker("1.2.0", "hey"))
    assert (await codex.upgrade(checker))["upgraded_to_version"] == "1.2.0"
    # What a member needs from now on and the bundle has too is made once.
    await codex.publish(
        board("third"),
        _sites("1.2.0", "site", dependencies=[needs("third")]),
        bundle("kit", "sites", "other", "third", version="3.0.0", name="Kit"),
    )
    await codex.upgrade(kit)
    thirds = [
        row
        for row in (await codex.call("list_installs"))["installs"]
        if row["source_recipe_slug"] == "third"
    ]
    assert [one["bundle"]["id"] for one in thirds] == [kit["id"]]


async def test_what_is_published_never_changes_and_has_one_key(bench: Bench) -> None:
    codex = Codex(bench.application)
    key, other = generate_key(), generate_key()
    await codex.publish(add_signature(_sites("1.1.0"), key))
    publish = "publish_recipe"

    for version in ("1.1.0", "1.0.9"):
        older = await _refused(codex, publish, package=add_signature(_sites(version), key))
        assert older.code == "version_not_newer"
    for package in (add_signature(_sites("1.2.0"), other), _sites("1.2.0")):
        assert (await _refused(codex, publish, package=package)).code == "other_key"
    kind = await _refused(
        codex, publish, package=add_signature(automation("sites", version="2.0.0"), key)
    )
    assert kind.code == "kind_changed"
    changed = {**add_signature(_sites("1.2.0"), key), "description": "Something else."}
    sealed = await _refused(codex, publish, package=changed)
    assert sealed.findings[0].pointer == "/package/digest"
    broken = await _refused(codex, publish, package={"format": "mainspring.recipe"})
    assert broken.code == "invalid_recipe"
    assert all(one.pointer.startswith("/package") for one in broken.findings)
    found = await codex.call("get_starter_recipe", slug="sites")
    assert (found["recipe"]["versions"], found["recipe"]["signed"]) == (["1.1.0"], True)
    await codex.publish(add_signature(_sites("1.2.0"), key))
    audit = await bench.application.database.fetch(
        "SELECT subject FROM audit_log WHERE action LIKE '%publish_recipe%'"
    )
    assert {row["subject"] for row in audit} >= {"sites"}


async def test_a_workflow_keeps_its_roster_and_its_title(bench: Bench) -> None:
    codex = Codex(bench.application)

    def launch(version: str, **more: Any) -> dict[str, Any]:
        template = {
            "title": "Launch",
            "charter": "Go.",
            "board": "sites",
            "automations": ["checker"],
            **more,
        }
        return recipe(
            "launch",
            "workflow",
            template,
            version=version,
            dependencies=[needs("sites"), needs("checker")],
        )

    await codex.publish(_sites("1.0.0"), _checker("1.0.0"), launch("1.0.0"))
    roster = [{"user_id": str(FIRST_MEMBER), "role": "owner"}]
    applied = await codex.apply("launch", title="Ours", roster=roster)
    made = applied["created"]
    parts = {one["kind"]: one["id"] for one in applied["cascade_installed"]}
    assert (made["kind"], made["name"], made["board_id"]) == ("workflow", "Ours", parts["board"])
    assert made["automation_ids"] == [parts["automation"]]
    await codex.publish(launch("1.1.0", charter="Go further."))
    (change,) = (await codex.check(made))["change_summary"]["recipe"]
    assert (change["place"], change["change"]) == ("/charter", "changed")
    done = await codex.upgrade(made)
    assert (done["upgraded_to_version"], done["name"]) == ("1.1.0", "Ours")
    shown = await codex.call("get_workflow", workflow_id=made["id"])
    assert shown["charter"] == "Go further."
    assert [one["user_id"] for one in shown["roster"]] == [str(FIRST_MEMBER)]
    gone = await codex.call("uninstall_recipe", entity_id=made["id"], cascade=True)
    assert gone["cascade_count"] == 2
    for status in ("active", "paused"):
        again = await _refused(codex, "set_workflow_status", workflow_id=made["id"], status=status)
        assert (again.code, "recover_recipe" in str(again.suggestion)) == ("uninstalled", True)
    back = await codex.call("recover_recipe", entity_id=made["id"])
    assert {one["kind"] for one in back["recovered"]} == {"board", "automation"}


async def test_settings_are_changed_without_a_newer_version(bench: Bench) -> None:
    codex = Codex(bench.application)

    def site(name: str) -> dict[str, Any]:
        return {"name": name, "label": name, "type": "string", "default": "api"}

    host = "{{ install.settings.site }}.example.com"
    result = [{"capability": "http_fetch", "params": {"hosts": [host]}}]
    config = {"url": f"https://{host}/{{{{ install.settings.path }}}}"}
    await codex.publish(
        automation(
            "checker",
            [{"step_id": "ask", "action": "http_fetch", "config": config}],
            settings=[site("site"), site("path")],
            grants=result,
            hosts=[host],
            definition={"grants": result},
        )
    )
    made = (await codex.apply("checker"))["created"]

    await agree_to_all(bench.application.database, bench.application.workspace_id)

    async def kept() -> Any:
        async with bench.application.database.transaction() as tx:
            found = await read_automation(tx, bench.application.workspace_id, UUID(made["id"]))
        return found["definition"]

    async def asks() -> Any:
        return (await kept())["plan"][0]["config"]["url"]

    for odd in ("evil.example/?", "me@evil.example/#", "a:8443/"):
        for capability, more in (
            ("apply_starter_recipe", {"slug": "checker", "overrides": {"settings": {"site": odd}}}),
            (
                "upgrade_recipe",
                {"entity_id": made["id"], "entity_kind": "automation", "settings": {"site": odd}},
            ),
        ):
            refused = await _refused(codex, capability, **more)
            at = "/overrides/settings/site" if "slug" in more else "/settings/site"
            assert [one.pointer for one in refused.findings] == [at], (odd, refused.detail)
    unknown = await _refused(
        codex,
        "upgrade_recipe",
        entity_id=made["id"],
        entity_kind="automation",
        settings={"sight": "x"},
    )
    assert [one.code for one in unknown.findings] == ["unknown_setting"]
    assert await asks() == "https://api.example.com/api"

    done = await codex.upgrade(made, settings={"path": "status"})
    assert (done["upgraded_to_version"], done["asks_for"]) == ("1.0.0", [])
    assert await asks() == "https://api.example.com/status"
    # What is kept is asked for again by nobody, and another host by a person.
    same = await codex.upgrade(made, settings={"path": "status"})
    assert "asks_for" not in same
    wider = await codex.upgrade(made, settings={"site": "blog"})
    assert any("blog.example.com" in str(one) for one in wider["asks_for"])
    assert await asks() == "https://blog.example.com/status"
    await bench.save({**await kept(), "goal": "Something else."})
    mine = await _refused(
        codex,
        "upgrade_recipe",
        entity_id=made["id"],
        entity_kind="automation",
        settings={"path": "other"},
    )
    assert mine.code == "user_changes"
