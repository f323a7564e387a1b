"""Recipes are found, installed with what they need, taken away and brought back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.roles import Role
from mainspring.recipes.package import read_package
from mainspring.recipes.package.signing import add_signature, generate_key
from mainspring.workspace.automation_states import restore
from mainspring.workspace.automations import ensure_workspace
from tests.kit.bench import Bench
from tests.kit.boards import Boards
from tests.kit.codex import Codex, automation, board, bundle, needs, says
from tests.kit.declarative_integration import PRINTED
from tests.kit.tenants import NEIGHBOUR

ON_BOARD: dict[str, Any] = {
    "dependencies": [needs("sites", **{"as": "board"})],
    "plan": [says("{{ install.board.id }} is {{ install.board.name }}")],
}


AT_HOURS = {
    "type": "schedule",
    "config": {
        "cron": "{{ install.settings.hours }}",
        "timezone": "{{ install.settings.zone }}",
    },
}


async def _refused(codex: Codex, capability: str, **arguments: object) -> Problem:
    with pytest.raises(Problem) as refused:
        await codex.call(capability, **arguments)
    return refused.value


async def _check_timed(codex: Codex) -> None:
    """What only fails once it is filled in is said at the settings, each by itself."""
    names = ("hours", "0 9 * * *"), ("zone", "UTC")
    settings = [
        {"name": name, "label": name, "type": "string", "default": usual} for name, usual in names
    ]
    await codex.publish(automation("timed", settings=settings, definition={"triggers": [AT_HOURS]}))
    apply = "apply_starter_recipe"
    for given in ({"hours": "at nine"}, {"hours": "at nine", "zone": "Nowhere/At_All"}):
        wrong = await _refused(codex, apply, slug="timed", overrides={"settings": given})
        assert [one.pointer for one in wrong.findings] == [
            f"/overrides/settings/{name}" for name in given
        ]
        assert "as it was filled in" in wrong.findings[0].detail
    may = (await codex.call("get_starter_recipe", slug="timed"))["recipe"]["may"]
    assert "It may spend up to $1.00 a day if its steps cost anything." in may
    assert may[-1] == "When it starts is also said by <hours>, <zone>."


async def test_what_cannot_be_is_refused_and_nothing_is_left_behind(bench: Bench) -> None:
    codex = Codex(bench.application)
    made = await Boards(bench.application).create("By hand")
    await codex.publish(
        board(),
        automation("round", dependencies=[needs("sites"), needs("about")]),
        automation("about", dependencies=[needs("round")]),
        automation("lonely", dependencies=[needs("sites"), needs("nobody-has-it")]),
        automation("eager", dependencies=[needs("sites", "2.0.0")]),
    )
    apply = "apply_starter_recipe"

    typo = await _refused(codex, apply, slug="sitse")
    assert (typo.code, typo.suggestion) == ("no_recipe", "Did you mean 'sites'?")
    assert isinstance(typo, NotFound)
    assert typo.findings[0].pointer == "/slug"
    both = await _refused(codex, "get_starter_recipe", slug="sites", id=str(uuid4()))
    assert isinstance(both, Invalid)
    assert [one.pointer for one in both.findings] == ["/slug", "/id"]
    assert (await _refused(codex, "get_starter_recipe")).code == "one_of"
    elsewhere = await _refused(codex, apply, slug="sites", brain_id=str(NEIGHBOUR))
    assert elsewhere.code == "no_workspace"
    circle = await _refused(codex, apply, slug="round")
    assert isinstance(circle, Conflict)
    assert "round → about → round" in circle.detail
    lonely = await _refused(codex, apply, slug="lonely")
    assert lonely.code == "dependencies_missing"
    assert "nobody-has-it" in lonely.detail
    eager = await _refused(codex, apply, slug="eager")
    assert [one.code for one in eager.findings] == ["dependency_too_old"]
    unused = await _refused(codex, apply, slug="sites", overrides={"charter": "Win."})
    assert unused.findings[0].pointer == "/overrides/charter"
    await _check_timed(codex)
    for capability in ("check_recipe_upgrade", "upgrade_recipe"):
        problem = await _refused(codex, capability, entity_id=made, entity_kind="board")
        assert problem.code == "no_install"
    assert (await _refused(codex, "uninstall_recipe", entity_id=made)).code == "no_install"
    assert (await _refused(codex, "recover_recipe", entity_id=made)).code == "no_install"
    assert (await _refused(codex, "uninstall_recipe", slug="sites")).code == "brain_needed"
    viewer = Codex(bench.application, role=Role.VIEWER)
    assert isinstance(await _refused(viewer, apply, slug="sites"), PermissionDenied)

    assert await codex.call("list_installs") == {"installs": []}
    boards = await Boards(bench.application).call("list_boards")
    assert [one["name"] for one in boards["boards"]] == ["By hand"]


async def test_recipes_are_browsed_by_kind_tag_and_words(bench: Bench) -> None:
    codex = Codex(bench.application, role=Role.VIEWER)
    owner = Codex(bench.application)
    await owner.publish(
        board("orchards", name="Orchards", description="Counting apples.", tags=["fruit"]),
        automation("picker", description="Picks pears.", tags=["fruit"], category="gardening"),
    )

    async def slugs(**given: object) -> list[str]:
        found = await codex.call("list_starter_recipes", **given)
        return [one["slug"] for one in found["recipes"]]

    assert await slugs(tag="fruit") == ["orchards", "picker"]
    assert await slugs(tag="fruit", kind="board") == ["orchards"]
    assert await slugs(category="gardening") == ["picker"]
    assert await slugs(search="counted apple") == ["orchards"]
    assert await slugs(search="pears OR apples", limit=1) in (["orchards"], ["picker"])
    assert len(await slugs(limit=3)) == 3
    assert "uptime-board" in await slugs(kind="board")
    by_slug = await codex.call("get_starter_recipe", slug="uptime-board")
    by_id = await codex.call("get_starter_recipe", id=by_slug["recipe"]["id"])
    assert by_id == by_slug
    assert by_slug["recipe"]["template"]["datasets"]
    assert by_slug["recipe"]["origin"] == "starter"


@pytest.mark.parametrize(
    ("search", "slug"),
    [
        ("crypto", "coinmarketcap-top10"),
        ("coin", "coinmarketcap-top10"),
        ("Bitcoin", "coinmarketcap-top10"),
        ("coin prices", "coinmarketcap-top10"),
        ("coinmarketcap-top10", "coinmarketcap-top10"),
        ("crm", "contact-board"),
        ("bookkeeping", "invoice-logging"),
        ("subscr", "subscription-board"),
    ],
)
async def test_a_recipe_is_found_by_its_tags_its_slug_and_beginnings_of_words(
    bench: Bench, search: str, slug: str
) -> None:
    found = await Codex(bench.application).call("list_starter_recipes", search=search)

    assert slug in [one["slug"] for one in found["recipes"]]


@pytest.mark.parametrize("search", ["'", "!!", "a & | b:*", "\\", "<->", "-", "ü:*", "the"])
async def test_no_search_is_an_error(bench: Bench, search: str) -> None:
    await Codex(bench.application).call("list_starter_recipes", search=search)


async def test_whole_words_come_before_beginnings_and_operators_are_kept(bench: Bench) -> None:
    codex = Codex(bench.application)
    await codex.publish(
        board(slug="keeper", name="Uptimekeepers"), board(slug="other", name="Uptime")
    )

    async def slugs(search: str) -> list[str]:
        found = await codex.call("list_starter_recipes", search=search, kind="board")
        return [one["slug"] for one in found["recipes"]]

    found = await slugs("uptime")
    assert found.index("other") < found.index("keeper")
    assert "uptime-board" not in await slugs("uptime -watched")
    assert await slugs('"mark coin"') == []


async def test_an_automation_comes_with_its_board_leaves_and_comes_back(bench: Bench) -> None:
    codex, boards = Codex(bench.application), Boards(bench.application)
    await codex.publish(board(), automation(**ON_BOARD))
    before = await codex.call("check_recipe_dependencies", slug="checker")
    assert [one["slug"] for one in before["missing"]] == ["sites"]
    assert before["missing"][0]["available"] == {"has_recipe": True, "latest_version": "1.0.0"}
    assert [(one["slug"], one["way"]) for one in before["chain"]] == [
        ("sites", "install"),
        ("checker", "install"),
    ]

    first = await codex.apply("checker")
    made, sites = first["created"], first["cascade_installed"][0]
    assert (made["state"], made["name"]) == ("paused", "Checker")
    assert made["source_recipe_slug"] == "checker"
    assert [one["kind"] for one in made["asks_for"]] == ["spend"]
    stored = await bench.application.database.fetchrow(
        "SELECT d.document FROM automations a JOIN automation_versions v "
        "ON v.automation_id = a.id JOIN definitions d ON d.hash = v.definition_hash "
        "WHERE a.id = $1",
        UUID(made["id"]),
    )
    assert stored is not None
    output = stored["document"]["plan"][0]["config"]["output"]
    assert output == f"{sites['id']} is Sites"

    # A second one is another automation, with the board that is there.
    second = await codex.apply("checker")
    assert second["created"]["name"] == "Checker (2)"
    assert [one["id"] for one in second["dependencies_used"]] == [sites["id"]]
    # Unless a board of its own is asked for by name.
    third = await codex.apply("checker", board_name="Campaign", name="Third")
    assert third["created"]["name"] == "Third"
    assert [one["name"] for one in third["cascade_installed"]] == ["Campaign"]
    assert third["cascade_installed"][0]["id"] != sites["id"]

    await boards.append(sites["id"], {"site": "a.example"})
    looked = await codex.call("uninstall_recipe", entity_id=sites["id"], dry_run=True)
    assert {one["name"] for one in looked["still_needed_by"]} == {"Checker", "Checker (2)"}
    assert (await codex.call("list_uninstalled"))["uninstalled"] == []
    gone = await codex.call("uninstall_recipe", entity_id=sites["id"])
    assert [one["name"] for one in gone["uninstalled"]] == ["Sites"]
    assert {one["name"] for one in gone["still_needed_by"]} == {"Checker", "Checker (2)"}
    await boards.create("Sites")
    half = await _refused(codex, "update_board", board_id=sites["id"], archived=False)
    assert (half.code, "recover_recipe" in str(half.suggestion)) == ("uninstalled", True)
    listed = (await codex.call("list_uninstalled"))["uninstalled"]
    assert [(one["id"], one["source_recipe_slug"]) for one in listed] == [(sites["id"], "sites")]
    back = await codex.call("recover_recipe", entity_id=sites["id"])
    assert (back["name"], back["renamed_from"]) == ("Sites (2)", "Sites")
    assert [row["site"] for row in await boards.rows(sites["id"])] == ["a.example"]
    assert (await _refused(codex, "recover_recipe", entity_id=sites["id"])).code == (
        "not_uninstalled"
    )


async def test_an_uninstalled_automation_stops_and_is_recovered_paused(bench: Bench) -> None:
    codex = Codex(bench.application)
    timed = {"triggers": [{"type": "schedule", "config": {"cron": "* * * * *", "timezone": "UTC"}}]}
    await codex.publish(board(), automation(definition=timed, **ON_BOARD))
    first = await codex.apply("checker")
    made, sites = first["created"], first["cascade_installed"][0]
    database = bench.application.database
    await database.execute("UPDATE consents SET status = 'agreed'")
    await database.execute(
        "UPDATE automations SET agreed_version = version, agreed_via = 'page', state = 'active'"
    )
    await database.execute("UPDATE triggers SET next_due_at = now() + interval '1 minute'")

    gone = await codex.call("uninstall_recipe", entity_id=made["id"], cascade=True)
    assert gone["cascade_count"] == 1
    row = await database.fetchrow(
        "SELECT a.state, t.next_due_at FROM automations a JOIN triggers t "
        "ON t.automation_id = a.id WHERE a.id = $1",
        UUID(made["id"]),
    )
    assert row is not None
    assert (row["state"], row["next_due_at"]) == ("archived", None)
    assert (await _refused(codex, "uninstall_recipe", entity_id=made["id"])).code == "uninstalled"
    assert (
        await _refused(codex, "upgrade_recipe", entity_id=made["id"], entity_kind="automation")
    ).code == "uninstalled"

    # Restoring it manually would undo only half of that.
    async with database.transaction() as tx:
        with pytest.raises(Conflict, match="uninstalled") as half:
            await restore(tx, bench.application.workspace_id, UUID(made["id"]))
    assert "codex recover" in str(half.value.suggestion)

    await bench.save(
        {
            "schema_version": "1.2",
            "name": "Checker",
            "goal": "Take the name.",
            "plan": [says("x")],
        }
    )
    back = await codex.call("recover_recipe", entity_id=made["id"])
    assert (back["name"], back["renamed_from"], back["state"]) == (
        "Checker (2)",
        "Checker",
        "paused",
    )
    assert [one["id"] for one in back["recovered"]] == [sites["id"]]

    # What a new install needs is brought back rather than made again.
    await codex.call("uninstall_recipe", entity_id=sites["id"])
    again = await codex.apply("checker")
    assert [one["id"] for one in again["recovered"]] == [sites["id"]]

    # After seven days nothing comes back by itself.
    await codex.call("uninstall_recipe", entity_id=sites["id"])
    await database.execute(
        "UPDATE recipe_installs SET uninstalled_at = uninstalled_at - $1::interval "
        "WHERE uninstalled_at IS NOT NULL",
        timedelta(days=7, seconds=1),
    )
    late = await _refused(codex, "recover_recipe", entity_id=sites["id"])
    assert isinstance(late, Expired)
    assert (await codex.call("list_uninstalled"))["uninstalled"] == []
    fresh = await codex.apply("checker")
    assert fresh["cascade_installed"][0]["id"] != sites["id"]


async def test_a_bundle_is_one_install_with_members_of_its_own(bench: Bench) -> None:
    codex = Codex(bench.application)
    await codex.publish(
        board(), automation(**ON_BOARD), bundle("kit", "checker", "sites", name="Kit")
    )
    alone = (await codex.apply("sites"))["created"]
    one = (await codex.apply("kit"))["created"]
    two = (await codex.apply("kit", name="Second kit"))["created"]
    members = [
        {part["source_recipe_slug"]: part["id"] for part in made["members"]} for made in (one, two)
    ]
    assert len({alone["id"], members[0]["sites"], members[1]["sites"]}) == 3
    assert members[0]["checker"] != members[1]["checker"]
    here = {row["id"]: row for row in (await codex.call("list_installs"))["installs"]}
    assert here[members[0]["sites"]]["bundle"] == {"id": one["id"], "name": "Kit"}
    assert here[alone["id"]]["bundle"] is None

    gone = await codex.call("uninstall_recipe", entity_id=one["id"])
    assert gone["cascade_count"] == 2
    assert {row["id"] for row in gone["uninstalled"]} == {one["id"], *members[0].values()}
    back = await codex.call("recover_recipe", entity_id=one["id"])
    assert {row["id"] for row in back["recovered"]} == set(members[0].values())
    stored = await codex.call("uninstall_recipe", entity_id=two["id"], cascade=False)
    assert stored["cascade_count"] == 0
    space = str(bench.application.workspace_id)
    rest = await codex.call("uninstall_recipe", slug="sites", brain_id=space)
    assert {row["id"] for row in rest["uninstalled"]} == {
        alone["id"],
        members[0]["sites"],
        members[1]["sites"],
    }


async def test_two_who_install_at_once_share_what_is_needed(bench: Bench) -> None:
    codex = Codex(bench.application)
    await codex.publish(board(), automation(**ON_BOARD))
    made = await asyncio.gather(*(codex.apply("checker") for _ in range(4)))

    assert sorted(one["created"]["name"] for one in made) == [
        "Checker",
        "Checker (2)",
        "Checker (3)",
        "Checker (4)",
    ]
    boards = await Boards(bench.application).call("list_boards")
    assert [one["name"] for one in boards["boards"]] == ["Sites"]


async def test_a_recipe_of_another_workspace_is_seen_when_it_is_shared(bench: Bench) -> None:
    codex, other_tenant = Codex(bench.application), Codex(bench.application, NEIGHBOUR)
    async with bench.application.database.transaction() as tx:
        await ensure_workspace(tx, NEIGHBOUR, "Next door")
    await other_tenant.publish(board("private-thing"))
    await other_tenant.publish(board("lent-thing"), shared=True)
    assert (await _refused(codex, "get_starter_recipe", slug="private-thing")).code == "no_recipe"
    lent = (await codex.call("get_starter_recipe", slug="lent-thing"))["recipe"]
    assert lent["origin"] == "shared"
    made = (await codex.apply("lent-thing"))["created"]
    foreign = await _refused(other_tenant, "uninstall_recipe", entity_id=made["id"])
    assert foreign.code == "no_install"

    accepted = await _refused(codex, "publish_recipe", package=board("lent-thing"))
    assert accepted.code == "slug_taken"
    starter = await _refused(codex, "publish_recipe", package=board("uptime-board"))
    assert starter.code == "slug_taken"
    # What is not shared is nobody else's business.
    await codex.publish(board("private-thing"))
    await other_tenant.publish(board("lent-thing", ("site", "state"), version="1.1.0"))
    assert (await codex.check(made))["latest"] == "1.1.0"
    await other_tenant.publish(board("lent-thing", version="1.2.0"), shared=False)
    hidden = await codex.check(made)
    assert (hidden["latest"], hidden["has_upgrade"]) == (None, False)


async def test_a_slug_alone_does_not_say_which_recipe(bench: Bench) -> None:
    codex, other_tenant = Codex(bench.application), Codex(bench.application, NEIGHBOUR)
    async with bench.application.database.transaction() as tx:
        await ensure_workspace(tx, NEIGHBOUR, "Next door")
    await codex.publish(automation("sites"), automation("hello"))
    mine = (await codex.apply("sites"))["created"]
    reads = automation("reads", [says("{{ install.sites.id }}")], dependencies=[needs("sites")])
    key = generate_key()
    await other_tenant.publish(board(), reads, add_signature(automation("hello"), key), shared=True)
    assert (await other_tenant.call("get_starter_recipe", slug="hello"))["recipe"]["signed"]
    assert not (await codex.call("get_starter_recipe", slug="hello"))["recipe"]["signed"]

    looked = await codex.call("check_recipe_dependencies", slug="reads")
    assert [one["way"] for one in looked["chain"]] == ["install", "install"]
    made = await codex.apply("reads")
    (brought,) = made["cascade_installed"]
    assert (brought["kind"], brought["id"] != mine["id"]) == ("board", True)
    second = await codex.apply("reads")
    assert [one["id"] for one in second["dependencies_used"]] == [brought["id"]]

    # Anyone who had a slug for themselves goes on with it, and shares it with nobody.
    await codex.publish(automation("sites", [says("again")], version="1.1.0"))
    newer = automation("sites", version="1.2.0")
    shared = await _refused(codex, "publish_recipe", package=newer, shared=True)
    assert shared.code == "slug_taken"


async def test_a_long_row_of_recipes_is_refused_by_its_beginning(bench: Bench) -> None:
    codex, database = Codex(bench.application), bench.application.database
    await codex.publish(automation("c0"))
    row = await database.fetchrow("SELECT * FROM recipe_versions")
    assert row is not None
    async with database.transaction() as tx:
        for number in range(1, 55):
            package = read_package(automation(f"c{number}", dependencies=[needs(f"c{number - 1}")]))
            await tx.execute(
                "INSERT INTO recipes (workspace_id, id, slug, kind, shared) "
                "VALUES ($1, $2, $3, 'automation', false)",
                row["workspace_id"],
                UUID(int=number),
                package.slug,
            )
            await tx.execute(
                "INSERT INTO recipe_versions (workspace_id, recipe_id, version, rank, package, "
                "digest, published_by) VALUES ($1, $2, '1.0.0', $3, $4, $5, $6)",
                row["workspace_id"],
                UUID(int=number),
                row["rank"],
                dict(package.document),
                package.digest,
                row["published_by"],
            )
    for capability in ("check_recipe_dependencies", "apply_starter_recipe"):
        long = await _refused(codex, capability, slug="c54")
        assert isinstance(long, Conflict)
        assert "c54 → c53 → c52" in long.detail
    found = await codex.call("check_recipe_dependencies", slug="c49")
    assert len(found["chain"]) == 50


async def test_an_integration_without_an_envelope_is_published_and_installed(bench: Bench) -> None:
    codex = Codex(bench.application)
    accepted = await _refused(codex, "publish_recipe", package=PRINTED)
    assert (accepted.code, accepted.findings[0].pointer) == ("slug_taken", "/package/slug")
    await codex.publish({**PRINTED, "slug": "coins-of-ours"})
    shown = (await codex.call("get_starter_recipe", slug="coins-of-ours"))["recipe"]
    assert (shown["kind"], shown["name"]) == ("integration", PRINTED["name"])
    expected = [one["name"] for one in shown["requires"]["publisher_secrets"]]
    assert expected == ["CMC_API_KEY"]
    made = await codex.apply("coins-of-ours")
    assert made["created"]["kind"] == "automation"
    wrong = await _refused(
        codex, "publish_recipe", package={**PRINTED, "slug": "other", "endpoints": []}
    )
    assert wrong.findings[0].pointer.startswith("/package/template/endpoints")
