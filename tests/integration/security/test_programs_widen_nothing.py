"""Only a person agrees to more: ways around the agreement that change no definition.

Each test tries the same as a program and as a person. One server for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
import pytest_asyncio

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer
from mainspring.workspace.accounts import rows
from mainspring.workspace.accounts.rows import AccountRow
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, open_bench, step
from tests.kit.codex import Codex, automation
from tests.kit.configured_bench import open_own_application
from tests.kit.consent import agree_to_all
from tests.kit.doubles.discord import TOKEN as DISCORD
from tests.kit.doubles.discord import discord_double
from tests.kit.people import ROOT, browser, make_person, token_of
from tests.kit.postgres import LOCK_WAITS, fresh_database

pytestmark = pytest.mark.asyncio(loop_scope="module")

Answer = tuple[int, Any]


@dataclass(slots=True)
class ConsentHarness:
    """A served application, asked by a person or by a program of the same member."""

    api: Api
    bench: Bench

    async def person(self, method: str, path: str, body: Any = None) -> Answer:
        return await _ask(self.api.client, method, path, body)

    async def program(self, method: str, path: str, body: Any = None) -> Answer:
        return await _ask(self.api.program, method, path, body)

    async def agreed(self, *steps: Any, **more: Any) -> str:
        """An automation that a person made, and agreed to with that."""
        status, made = await self.person("POST", "/automations", document(*steps, **more))
        assert (status, made["consent"]) == (201, None), made
        return f"/automations/{made['id']}"


async def _ask(client: httpx2.AsyncClient, method: str, path: str, body: Any) -> Answer:
    answer = await client.request(method, f"{ROOT}{path}", json=body)
    return answer.status_code, answer.json() if answer.content else None


def _code(answer: Answer) -> tuple[int, str | None]:
    status, result = answer
    return status, result.get("code") if isinstance(result, dict) else None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(
    postgres_server: EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ConsentHarness]:
    async with fresh_database(postgres_server, migrated_template) as url:
        database = await Database.open(Settings(database_url=url))
        try:
            async with (
                discord_double() as discord,
                open_bench(database, url, tmp_path_factory.mktemp("house")) as bench,
                open_own_application(
                    bench,
                    integration_urls={"discord": discord.url},
                    egress_allow=frozenset({discord.pair}),
                ) as here,
                served(here.application, own_app=True) as api,
            ):
                yield ConsentHarness(api, here)
        finally:
            await database.close()


SLACK = step("post", "slack_post", {"channel": "#a", "text": "hi"}, approval="automatic")
MESSAGE = {"channel_id": "1100000000000000001", "content": "hi"}
POST = step("post", "discord.post", MESSAGE, approval="automatic")
ASK = step("ask", "automation_llm_complete", {"prompt": "What is new?"})
NOTE = step("note", "transform_data", {"output": "x"})
SET = "/capabilities/automation_secret_set"
CONNECT = "/capabilities/connect_integration"
DISCONNECT = "/capabilities/disconnect_integration"
CONNECT_MODEL = "/capabilities/connect_model"
PRICE = "/capabilities/admin_set_model_price"
NO_PRICE = "/capabilities/admin_delete_model_price"
PERSON = (403, "person_needed")


def _model(name: str) -> dict[str, Any]:
    """A connection to models of a kind that has no address of its own."""
    address = f"https://{name}.example/v1"
    return {"name": name, "kind": "compatible", "base_url": address, "usual_model": name}


@pytest.mark.parametrize("way", ["archived", "in another version"])
@pytest.mark.parametrize(
    ("used", "path", "value"),
    [
        (SLACK, SET, {"name": "slack_bot_token", "value": "xoxb-0123456789"}),
        (POST, CONNECT, {"integration": "discord", "fields": {"bot_token": DISCORD}}),
        (ASK, CONNECT_MODEL, _model("another")),
    ],
    ids=["secret", "connection", "model"],
)
async def test_a_program_replaces_no_account_while_its_automation_is_out_of_the_way(
    house: ConsentHarness, used: Any, path: str, value: Any, way: str
) -> None:
    """It would bring the automation back as it was agreed to, and start it."""
    name = f"{way} {used['action']}"
    place = await house.agreed(used, name=name)
    if way == "archived":
        assert (await house.program("POST", f"{place}/archive"))[0] == 200
    else:
        wider = document(NOTE, name=name, execution={"cost_cap_daily_usd": 9})
        status, saved = await house.program("PUT", place, wider)
        assert (status, saved["consent"] is not None) == (200, True), saved
    status, refused = await house.program("POST", path, value)
    assert (status, refused["code"]) == PERSON, refused
    assert way in refused["detail"]
    assert (await house.person("POST", path, value))[0] == 200
    # As it was before, for the other way.
    await house.person("POST", DISCONNECT, {"integration": "discord"})
    await house.person("POST", "/capabilities/disconnect_model", {"name": "another"})


async def test_a_program_leads_no_agreed_automation_to_another_model_by_removing_one(
    house: ConsentHarness,
) -> None:
    one, two = _model("one"), _model("two")
    remove = "/capabilities/disconnect_model"
    await house.agreed(ASK, name="asks a model")
    for given in (one, two):
        assert (await house.person("POST", CONNECT_MODEL, given))[0] == 200
    _, before = await house.person("GET", "/models")
    assert before["usual_model"] == "one/one"
    assert _code(await house.program("POST", remove, {"name": "one"})) == PERSON
    _, after = await house.person("GET", "/models")
    assert after["usual_model"] == "one/one"
    assert (await house.person("POST", remove, {"name": "one"}))[0] == 200
    # Without another one nothing is asked instead.
    status, gone = await house.program("POST", remove, {"name": "two"})
    assert (status, gone["disconnected"]) == (200, True)


async def test_a_program_lowers_no_price_by_which_agreed_spending_is_counted(
    house: ConsentHarness,
) -> None:
    def price(usd: float, **more: float) -> dict[str, Any]:
        named = {"model": "priced", "input_usd_per_million": usd, "output_usd_per_million": 9}
        return {**named, **more}

    await house.agreed(ASK, name="asks a priced model")
    assert _code(await house.program("POST", PRICE, price(0))) == PERSON
    assert (await house.person("POST", PRICE, price(5)))[0] == 200
    for wrong in (price(4), price(6, output_usd_per_million=8), price(6, cached_usd_per_million=1)):
        assert _code(await house.program("POST", PRICE, wrong)) == PERSON
    assert (await house.program("POST", PRICE, price(6)))[0] == 200
    assert _code(await house.program("POST", NO_PRICE, {"model": "priced"})) == PERSON
    _, stored = await house.person("POST", "/capabilities/admin_list_model_prices", {})
    assert [one["input_usd_per_million"] for one in stored["prices"]] == ["6"]
    assert (await house.person("POST", NO_PRICE, {"model": "priced"}))[0] == 200


async def test_a_program_raises_no_limit_of_what_a_workspace_spends(house: ConsentHarness) -> None:
    place = f"/workspaces/{house.api.application.workspace_id}"

    def limit(usd: float | None) -> dict[str, Any]:
        return {"cost_cap_daily_usd": usd}

    assert (await house.program("PATCH", place, limit(3)))[0] == 200
    assert (await house.program("PATCH", place, limit(2)))[0] == 200
    for wrong in (2.01, None):
        assert _code(await house.program("PATCH", place, limit(wrong))) == PERSON
    status, stored = await house.person("PATCH", place, limit(4))
    assert (status, stored["cost_cap_daily_usd"]) == (200, 4)
    assert (await house.person("PATCH", place, limit(None)))[0] == 200


async def test_a_program_gives_no_role_back_to_somebody_who_was_disabled(
    house: ConsentHarness,
) -> None:
    ada = await make_person(house.api.application.database, "ada@example.org")
    place = f"/admin/users/{ada.id}"
    assert (await house.program("POST", f"{place}/disable"))[0] == 200
    assert _code(await house.program("POST", f"{place}/enable")) == PERSON
    assert (await house.person("POST", f"{place}/enable"))[0] == 200


async def _connected(
    session: ConsentHarness, integration: str, account: str, owner: UUID
) -> AccountRow:
    """A connection as it is kept after its owner has signed in."""
    database, space = session.api.application.database, session.api.application.workspace_id
    async with database.transaction() as tx:
        made = await rows.begin_connection(tx, space, owner, integration, account, "oauth")
        await rows.mark_connected(
            tx, made, label=account, account=account, auth="oauth", settings={}
        )
    return made


async def test_a_program_removes_no_account_where_another_would_be_used_instead(
    house: ConsentHarness,
) -> None:
    """Neither that of the workspace, nor a secret that a program may have set before."""
    database, space = house.api.application.database, house.api.application.workspace_id
    await house.agreed(SLACK, name="posts over a connection")
    ours = await _connected(house, "slack", "ours", FIRST_MEMBER)
    remove, withdraw = f"{DISCONNECT}", "/capabilities/withdraw_integration_connection"
    named = {"integration": "slack"}

    async def forgets(secret: bool) -> None:
        path = "/capabilities/automation_secret_delete"
        await house.person("POST", path, {"name": "slack_bot_token"})
        if secret:
            value = {"name": "slack_bot_token", "value": "xoxb-0123456789"}
            assert (await house.person("POST", SET, value))[0] == 200

    await forgets(secret=True)
    assert _code(await house.program("POST", remove, named)) == PERSON
    await forgets(secret=False)
    ada = await make_person(database, "shares@example.org", workspace_id=space, role=Role.EDITOR)
    theirs = await _connected(house, "slack", "theirs", ada.id)
    async with database.transaction() as tx:
        await rows.set_shared(tx, theirs, shared=True)
    assert _code(await house.program("POST", remove, named)) == PERSON
    # Others may have a secret of their own.
    assert _code(await house.program("POST", withdraw, named)) == PERSON
    assert (await house.person("POST", withdraw, named))[0] == 200
    status, gone = await house.program("POST", remove, named)
    assert (status, gone["disconnected"]) == (200, True), ours


async def test_a_recovered_recipe_under_another_name_waits_for_what_it_may_do_beyond_before(
    house: ConsentHarness,
) -> None:
    """A pattern of tools may represent more by now, also where only the name was taken."""
    database, space = house.api.application.database, house.api.application.workspace_id
    config = {"prompt": "Do it.", "tools": ["automation_kv.*"]}
    agent = step("think", "agent_task", config)
    await Codex(house.api.application).publish(
        automation("keeper", [agent], grants=[{"capability": "agent.run", "params": {}}])
    )
    _, made = await house.program("POST", "/recipes/keeper/apply", {})
    one = made["created"]["id"]
    assert await agree_to_all(database, space)
    started: Answer = (0, None)
    for grown in (False, True):
        if grown:
            await database.execute(
                "UPDATE automation_versions SET grants = "
                "jsonb_path_query_array(grants, '$[*] ? (@.capability != \"automation_kv.set\")') "
                "WHERE automation_id = $1",
                UUID(one),
            )
        assert (await house.program("DELETE", f"/installs/{one}"))[0] == 200
        await house.agreed(NOTE, name="Keeper" if not grown else "Keeper (2)")
        status, back = await house.program("POST", f"/uninstalled/{one}/recover", {})
        assert status == 200, back
        started = await house.program("POST", f"/automations/{one}/run", {"dry_run": False})
        assert _code(started) == ((409, "consent_needed") if grown else (202, None))
    digest = started[1]["consent"]["digest"]
    assert (await house.person("POST", f"/automations/{one}/run", {"digest": digest}))[0] == 202


def _nested(said: str = "hi", items: Any = "x", on_failure: Any = None, **more: Any) -> Any:
    """An automation that sends inside of a loop, and after a failure."""
    push = step("tell", "telegram_push", {"text": said}, approval="automatic")
    inner = [step("ask", "approval", {"title": "May it?"}), push]
    loop = step("each", "for_each", {"items": [items], "steps": more.pop("steps", inner)})
    failed = [on_failure or step("sorry", "telegram_push", {"text": "Sorry"})]
    return document(NOTE, loop, execution={"on_failure": failed}, **more)


SORRY = step("sorry", "telegram_push", {"text": "Sorry"}, approval="automatic")
FETCH = step("sorry", "http_fetch", {"url": "https://a.example/", "method": "POST"})
PUSH = step("tell", "telegram_push", {"text": "hi"}, approval="automatic")


@pytest.mark.parametrize(
    "changed",
    [
        {"said": "Send money"},
        {"steps": [PUSH]},
        {"on_failure": SORRY},
        {"on_failure": FETCH},
        {
            "on_failure": step(
                "again", "for_each", {"items": [1], "steps": [{**PUSH, "step_id": "more"}]}
            )
        },
    ],
    ids=["text in a loop", "no question in a loop", "mode", "request", "loop after a failure"],
)
async def test_a_program_widens_nothing_inside_of_loops_and_after_failures(
    house: ConsentHarness, changed: Any
) -> None:
    name = f"nested {sorted(changed)} {len(str(changed))}"
    status, made = await house.person("POST", "/automations", _nested(name=name))
    assert status == 201, made
    place = f"/automations/{made['id']}"
    status, saved = await house.program("PUT", place, _nested(name=name, **changed))
    assert status == 200, saved
    assert saved["consent"] is not None
    for way in ("activate", "run"):
        assert _code(await house.program("POST", f"{place}/{way}")) == (409, "consent_needed")
    assert (await house.program("PUT", place, _nested(name=name)))[1]["consent"] is None
    status, saved = await house.person("PUT", place, _nested(name=name, **changed))
    assert (status, saved["consent"]) == (200, None), saved


async def test_nobody_reaches_the_questions_of_another_workspace(house: ConsentHarness) -> None:
    """Neither an owner's token there, nor a token there that names an automation of ours."""
    status, made = await house.program("POST", "/automations", document(NOTE, name="theirs"))
    assert status == 201, made
    consent, place = made["consent"], f"/automations/{made['id']}"
    status, space = await house.person("POST", "/workspaces", {"name": "Next door"})
    assert status == 201, space
    there, database = UUID(space["id"]), house.api.application.database
    header = await token_of(database, there, FIRST_MEMBER, role=Role.OWNER)
    named = await token_of(
        database,
        there,
        FIRST_MEMBER,
        role=Role.OWNER,
        approves=(UUID(made["id"]),),
        expires_at=datetime.now(UTC) + timedelta(hours=1),
    )
    given = {"digest": consent["digest"], "agree": True}
    answer = f"/consents/{consent['consent_id']}/answer"
    tried = [
        ("GET", f"/consents/{consent['consent_id']}", None),
        ("POST", answer, given),
        ("POST", f"{place}/activate", {"digest": consent["digest"]}),
        ("POST", f"{place}/run", {"digest": consent["digest"]}),
        ("PUT", place, document(NOTE, name="theirs")),
        ("POST", f"{place}/rollback", {"version": 1}),
        ("POST", f"{place}/reviewed", None),
    ]
    for shown in (header, named):
        for method, path, body in tried:
            result = await house.api.anonymous.request(
                method, f"{ROOT}{path}", json=body, headers=shown
            )
            asked = shown is header and path == answer
            assert result.status_code == (403 if asked else 404), (path, result.text)
    # Here it is answered by a person, and by nobody else.
    assert _code(await house.program("POST", answer, given)) == PERSON
    assert (await house.person("POST", answer, given))[0] == 200


async def test_what_refreshes_a_dataset_for_a_program_waits_for_a_person(
    house: ConsentHarness,
) -> None:
    named = [{"name": "a"}, {"name": "b"}]
    status, board = await house.person("POST", "/boards", {"name": "Prices", "datasets": named})
    assert status == 201, board
    ref = {"url": "https://prices.example/all.json"}
    link = {"kind": "http_json", "ref": ref, "display_name": "Prices"}
    status, linked = await house.program("POST", f"/boards/{board['id']}/links", link)
    assert status == 201, linked
    states = {}
    for who, name in ((house.program, "a"), (house.person, "b")):
        recipe = {"dataset_name": name, "adapter_op": "http_json.get", "refresh_cron": "0 * * * *"}
        status, made = await who("POST", f"/board-links/{linked['id']}/recipes", recipe)
        assert status == 201, made
        _, shown = await house.person("GET", f"/automations/{made['automation_id']}")
        states[name] = shown["state"], shown["agreed"] is not None
        if name == "a":
            place = f"/automations/{made['automation_id']}"
            for way in ("activate", "run"):
                assert _code(await house.program("POST", f"{place}/{way}"))[0] == 409
    assert states == {"a": ("paused", False), "b": ("active", True)}


async def test_nothing_of_a_leaver_is_set_going_by_a_program(house: ConsentHarness) -> None:
    database, space = house.api.application.database, house.api.application.workspace_id
    ada = await make_person(database, "leaves@example.org", workspace_id=space, role=Role.EDITOR)
    hook = {"id": "hook", "type": "webhook", "config": {}}
    async with browser(house.api, ada.id) as page:
        moved = {"workspace_id": str(space)}
        await page.ask("POST", "/session/workspace", json=moved)
        plan = document(NOTE, name="hers", triggers=[hook])
        made = (await page.ask("POST", "/automations", json=plan)).json()
        place = f"/automations/{made['id']}"
        assert (await page.ask("POST", f"{place}/activate")).status_code == 200
    assert (await house.person("DELETE", f"/members/{ada.id}"))[0] == 204
    status, token = await house.program("POST", f"{place}/triggers/hook/token")
    assert status == 201, token
    active = {"automation_id": made["id"], "state": "active"}
    for path, given in (
        (f"{place}/activate", None),
        ("/capabilities/update_automation", active),
    ):
        _, result = await house.program("POST", path, given)
        assert result["code"] == "owner_left", result
    shown = {"Authorization": f"Bearer {token['token']}"}
    fired = await house.api.anonymous.post(f"{ROOT}{place}/fire", json={}, headers=shown)
    assert fired.json()["code"] == "owner_left", fired.text
    _, left = await house.person("GET", f"/members/{ada.id}/takeover")
    shown = {"digest": left["digest"]}
    takeover = f"/members/{ada.id}/takeover"
    assert _code(await house.program("POST", takeover, shown)) == PERSON
    status, accepted = await house.person("POST", takeover, shown)
    assert (status, accepted["automations"][0]["state"]) == (200, "active")


PEOPLES = (
    "answer_consent",
    "answer_approval",
    "decide_standing_rule",
    "set_approval_policy",
    "save_proposal",
    "agree_to_tools",
    "set_connection_token",
    "share_integration_connection",
    "connect_integration",
    "connect_model",
    "automation_secret_set",
    "admin_set_model_price",
)


@pytest.mark.parametrize("way", ["step", "script", "agent"])
async def test_what_people_decide_is_no_tool_of_a_run(way: str) -> None:
    """Neither of a step, nor of a script, nor of a model; the control is a tool that all have."""
    words = await build_registry(Limits()).of(FIRST_WORKSPACE)

    def is_granted(name: str) -> bool:
        one = {
            "step": step("a", name, {}),
            "script": step("a", "script", {"source": "return 1;", "grants": [{"tool": name}]}),
            "agent": step("a", "agent_task", {"prompt": "Do it.", "tools": [name]}),
        }[way]
        found = validate(document(one), words, Limits()).findings
        return "never_granted" not in {finding.code for finding in found}

    assert is_granted("list_boards")
    assert [name for name in PEOPLES if is_granted(name)] == []


async def test_a_program_restores_nothing_that_a_person_is_just_taking_away(
    house: ConsentHarness,
) -> None:
    """Both changes wait for the same row: the program's is compared with the person's."""
    name = "Restored"
    wide = document(step("get", "http_fetch", {"url": "https://b.example/"}), name=name)
    narrow = document(NOTE, name=name)
    path = await house.agreed(*wide["plan"], name=name)
    database = house.bench.application.database

    async def waiting(most: int) -> None:
        async with asyncio.timeout(60):
            while await database.fetchval(LOCK_WAITS) < most:
                await asyncio.sleep(0.01)

    async with database.transaction() as tx:
        await tx.execute(
            "SELECT FROM automations WHERE id = $1 FOR UPDATE", UUID(path.rpartition("/")[2])
        )
        person = asyncio.create_task(house.person("PUT", path, narrow))
        await waiting(1)
        program = asyncio.create_task(house.program("PUT", path, wide))
        await waiting(2)
    status, made = await person
    assert (status, made["consent"]) == (200, None)
    status, made = await program
    assert (status, made["consent"] is None) == (200, False), made
