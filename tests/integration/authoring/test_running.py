"""A single run, awaited: what it did, what it only pretended, and what to do next."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.authoring.running import wait_for_end
from mainspring.contracts.context import ClientWait
from mainspring.contracts.errors import Invalid, NotFound, PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.runs.run_requests import RunRequest
from mainspring.store.database import WorkspaceDatabase
from tests.kit.api import Api, api
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench
from tests.kit.members import member

__all__ = ["api"]

FIELDS = {
    "run_id",
    "status",
    "terminal",
    "timed_out",
    "timeout_reason",
    "next_step",
    "exit_code",
    "duration_ms",
    "cost_usd",
    "stdout",
    "stderr",
    "error",
    "admin_url",
    "suppressed",
}
APPEND = (
    "const done = await brains.append_board_rows({ board_id: input?.board ?? BOARD, "
    'rows: [{ company: "Acme" }] });\nconsole.log(`appended ${done.appended}`);\nreturn done;'
)


def _append(board: str, **changes: Any) -> dict[str, Any]:
    return {
        "source": f'const BOARD = "{board}";\n{APPEND}',
        "tool_grants": [{"tool": "append_board_rows", "params": {"board_id": board}}],
        **changes,
    }


async def test_bad_arguments_are_refused_and_start_nothing(bench: Bench) -> None:
    client = CapabilityClient(bench)
    one = await client.save(source="return 1;")
    for wrong, pointer in (
        ({}, "/automation_id"),
        ({"automation_id": "count rows"}, "/automation_id"),
        ({"automation_id": one, "wait_seconds": 9}, "/wait_seconds"),
        ({"automation_id": one, "wait_seconds": 361}, "/wait_seconds"),
        ({"automation_id": one, "dry_run": "no"}, "/dry_run"),
        ({"automation_id": one, "verify_mode": 1}, "/verify_mode"),
    ):
        with pytest.raises(Invalid) as refused:
            await client.call("run_automation_once", wrong)
        assert pointer in {finding.pointer for finding in refused.value.findings}
    with pytest.raises(NotFound):
        await client.call("run_automation_once", {"automation_id": str(UUID(int=7))})
    viewer = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.VIEWER)
    )
    with pytest.raises(PermissionDenied):
        await viewer.call("run_automation_once", {"automation_id": one})
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 0


async def test_a_dry_run_changes_nothing_and_lists_what_it_pretended(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    one = await client.save(**_append(board))
    operator = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.OPERATOR)
    )
    async with bench.worker():
        dry = await operator.call("run_automation_once", {"automation_id": one})
        assert await client.rows(board) == []
        both = await client.call(
            "run_automation_once", {"automation_id": one, "dry_run": True, "verify_mode": True}
        )
        assert await client.rows(board) == [], "asked for both, nothing is changed"
        verified = await client.call(
            "run_automation_once", {"automation_id": one, "dry_run": False, "verify_mode": True}
        )
        assert len(await client.rows(board)) == 1, "verify mode keeps what is written to boards"
        real = await client.call("run_automation_once", {"automation_id": one, "dry_run": False})
        assert len(await client.rows(board)) == 2

    for result in (dry, both, verified, real):
        assert result.keys() == FIELDS
        assert (result["status"], result["terminal"], result["timed_out"]) == (
            "succeeded",
            True,
            False,
        )
        assert (result["timeout_reason"], result["exit_code"], result["error"]) == (None, 0, None)
        assert result["stdout"].startswith("appended ")
        assert result["duration_ms"] >= 0
        assert result["admin_url"].endswith(f"/automations/{one}")
    for result in (dry, both):
        [call] = result["suppressed"]
        assert call["capability"] == "append_board_rows"
        assert call["arguments"]["rows"] == [{"company": "Acme"}]
        assert "dry run" in result["next_step"]
        assert "dry_run: false" in result["next_step"]
    assert (verified["suppressed"], real["suppressed"]) == ([], [])
    modes = [
        (await bench.read(UUID(result["run_id"])))["mode"] for result in (dry, both, verified, real)
    ]
    assert modes == ["dry_run", "dry_run", "verify", "live"]


async def test_verify_mode_sends_nothing_outside_and_keeps_what_is_written(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    source = f"""
await brains.telegram_push({{ text: "hello" }});
await brains.act_on_integration({{
  install_id: "6237258d-f06e-5c3f-b02b-2de8231e2326", action_name: "send_email",
  input: {{ to: ["ada@example.com"], subject: "Hello", body: "Hello." }},
}});
await brains.http_fetch({{ url: "https://a.example/", method: "POST", json: {{}} }});
await brains.append_board_rows({{ board_id: "{board}", rows: [{{ company: "Acme" }}] }});
"""
    tools = ("telegram_push", "act_on_integration", "append_board_rows")
    one = await client.save(
        source=source,
        tool_grants=[
            *({"tool": tool} for tool in tools),
            {"tool": "http_fetch", "params": {"hosts": ["a.example"]}},
        ],
        acknowledged_http_fetch_hosts=["a.example"],
    )
    async with bench.worker():
        result = await client.call(
            "run_automation_once", {"automation_id": one, "dry_run": False, "verify_mode": True}
        )

    assert result["status"] == "succeeded", result
    suppressed = [call["capability"] for call in result["suppressed"]]
    assert suppressed == ["telegram_push", "act_on_integration", "http_fetch"]
    assert len(await client.rows(board)) == 1


async def test_each_end_has_its_word(bench: Bench) -> None:
    client = CapabilityClient(bench)
    sources = {
        "partial": 'console.error("one row looked odd"); return 1;',
        "failed": 'console.log("before"); throw new Error("broken on purpose");',
        "cut": 'console.log("é".repeat(20000)); return 1;',
    }
    ids = {name: await client.save(name=name, source=source) for name, source in sources.items()}
    async with bench.worker():
        result = {
            name: await client.call("run_automation_once", {"automation_id": one})
            for name, one in ids.items()
        }

    assert result["partial"]["status"] == "partial"
    assert result["partial"]["stderr"] == "one row looked odd\n"
    assert (result["failed"]["status"], result["failed"]["exit_code"]) == ("failed", 1)
    assert "broken on purpose" in result["failed"]["error"]
    assert result["failed"]["stdout"] == "before\n"
    assert "at most three times" in result["failed"]["next_step"]
    assert result["cut"]["status"] == "succeeded"
    assert 8_000 < len(result["cut"]["stdout"].encode()) <= 8_192
    assert "cut here" in result["cut"]["stdout"][-60:]


async def test_a_caller_that_names_a_run_keeps_waiting_and_starts_no_other(bench: Bench) -> None:
    client = CapabilityClient(bench)
    one = await client.save(source='console.log("done"); return 1;')
    other = await client.save(name="another", source="return 1;")
    made = await bench.application.dispatcher.dispatch(RunRequest(client.space, UUID(one)))
    run_id = str(made.run_id)

    named = {"automation_id": one, "run_id": run_id}
    with pytest.raises(Invalid) as refused:
        await client.call("run_automation_once", {**named, "dry_run": False, "verify_mode": True})
    assert {finding.pointer for finding in refused.value.findings} == {"/dry_run", "/verify_mode"}
    for wrong in ({**named, "automation_id": other}, {**named, "run_id": str(UUID(int=7))}):
        with pytest.raises(NotFound):
            await client.call("run_automation_once", wrong)
    viewer = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.VIEWER)
    )
    looked = await viewer.call("get_automation_run", {"run_id": run_id})
    assert looked.keys() == FIELDS
    assert (looked["status"], looked["timed_out"]) == ("queued", False)
    assert f"run_id {run_id}" in looked["next_step"]
    with pytest.raises(NotFound):
        await viewer.call("get_automation_run", {"run_id": str(UUID(int=7))})
    with pytest.raises(Invalid):
        await viewer.call("get_automation_run", {"run_id": "the last one"})

    async with bench.worker():
        result = await client.call("run_automation_once", {**named, "wait_seconds": 60})
    assert (result["run_id"], result["status"], result["stdout"]) == (run_id, "succeeded", "done\n")
    assert await viewer.call("get_automation_run", {"run_id": run_id}) == result
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 1


async def test_the_automations_there_are_can_be_listed_page_by_page(bench: Bench) -> None:
    client = CapabilityClient(bench)
    ids = [await client.save(name=f"Invoice {number}", source="return 1;") for number in range(3)]
    await client.call("delete_automation", {"automation_id": ids[0]})
    async with bench.worker():
        await client.call("run_automation_once", {"automation_id": ids[2], "dry_run": False})
    viewer = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.VIEWER)
    )

    first = await viewer.call("list_automations", {"name": "invoice", "limit": 1})
    [shown] = first["automations"]
    assert (shown["automation_id"], first["next"]) == (ids[2], ids[2])
    assert (shown["name"], shown["state"], shown["version"]) == ("Invoice 2", "paused", 1)
    assert shown["goal"] == "Invoice 2"
    assert shown["last_run_at"] is not None
    back = {"automation_id": ids[2], "active_version_id": shown["version_id"]}
    assert (await client.call("update_automation", back))["version"] == 1
    second = await viewer.call("list_automations", {"limit": 1, "after": first["next"]})
    assert [one["automation_id"] for one in second["automations"]] == [ids[1]]
    assert (second["automations"][0]["last_run_at"], second["next"]) == (None, None)
    archived = await viewer.call("list_automations", {"state": "archived"})
    assert [one["automation_id"] for one in archived["automations"]] == [ids[0]]
    assert (await viewer.call("list_automations", {"name": "100%"}))["automations"] == []
    for wrong, pointer in (
        ({"state": "killed"}, "/state"),
        ({"limit": 201}, "/limit"),
        ({"after": "x"}, "/after"),
    ):
        with pytest.raises(Invalid) as refused:
            await viewer.call("list_automations", wrong)
        assert pointer in {finding.pointer for finding in refused.value.findings}


async def test_any_number_may_wait_because_waiting_holds_nothing(bench: Bench) -> None:
    client = CapabilityClient(bench)
    ids = [await client.save(name=f"no {number}", source="return 1;") for number in range(3)]
    asked = 60
    waiting = [
        asyncio.create_task(
            client.call(
                "run_automation_once",
                {"automation_id": one, "wait_seconds": 60, "idempotency_key": f"no {number}"},
            )
        )
        for number, one in enumerate((ids * asked)[:asked])
    ]
    async with asyncio.timeout(60):
        while await bench.application.database.fetchval("SELECT count(*) FROM runs") < asked:
            await asyncio.sleep(0.02)
    inside = WorkspaceDatabase(bench.application.database, client.space)
    row = await bench.application.database.fetchrow("SELECT id FROM runs LIMIT 1")
    assert row is not None
    assert await wait_for_end(inside, client.space, row["id"], 0.1) == "pending"
    for one in waiting:
        one.cancel()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == asked


def _client(
    bench: Bench, client: CapabilityClient, lines: list[str] | None = None
) -> CapabilityClient:
    """The member as a client that gives up soon, and hears of progress if it wants to."""

    async def report(message: str) -> None:
        if lines is not None:
            lines.append(message)

    wait = ClientWait(1.0, None if lines is None else report)
    return CapabilityClient(bench, replace(client.caller, client_wait=wait))


async def test_a_client_that_gives_up_soon_hears_which_run_goes_on(bench: Bench) -> None:
    capabilities, result = CapabilityClient(bench), list[str]()
    client = _client(bench, capabilities, result)
    one = await capabilities.save(source="return 1;")
    late = await client.call("run_automation_once", {"automation_id": one, "wait_seconds": 300})

    assert (late["terminal"], late["timed_out"]) == (False, True)
    assert f"run_id {late['run_id']}" in late["next_step"]
    assert result
    assert late["run_id"] in result[0]
    async with bench.worker():
        named = {"automation_id": one, "run_id": late["run_id"]}
        ended = await capabilities.call("run_automation_once", named)
    assert (ended["run_id"], ended["status"]) == (late["run_id"], "succeeded")


async def test_the_same_call_finds_its_run_while_that_is_going(bench: Bench) -> None:
    capability_client = CapabilityClient(bench)
    client = _client(bench, capability_client)
    one = await capability_client.save(source="return 1;")
    asked = {"automation_id": one}
    first = await client.call("run_automation_once", asked)
    again = await asyncio.gather(
        *(client.call("run_automation_once", {**asked, "wait_seconds": 20}) for _ in range(3))
    )
    assert {result["run_id"] for result in again} == {first["run_id"]}
    assert all(result["next_step"].startswith("An earlier call") for result in again)
    assert not first["next_step"].startswith("An earlier call")

    other_mode = await client.call("run_automation_once", {**asked, "dry_run": False})
    operator = CapabilityClient(
        bench, await member(bench.application.database, capability_client.space, Role.OPERATOR)
    )
    somebody = await _client(bench, operator).call("run_automation_once", asked)
    await capability_client.call("update_automation", {"automation_id": one, "source": "return 2;"})
    changed = await client.call("run_automation_once", asked)
    meant = await client.call("run_automation_once", {**asked, "idempotency_key": "another"})
    others = {result["run_id"] for result in (first, other_mode, somebody, changed, meant)}
    assert len(others) == 5


async def test_the_same_call_starts_another_run_once_the_first_is_over(bench: Bench) -> None:
    client = CapabilityClient(bench)
    one = await client.save(source="return 1;")
    async with bench.worker():
        result = [
            await client.call("run_automation_once", {"automation_id": one}) for _ in range(3)
        ]
        waiting = [client.call("run_automation_once", {"automation_id": one}) for _ in range(5)]
        at_once = await asyncio.gather(*waiting)

    assert len({one["run_id"] for one in result}) == 3
    assert {one["status"] for one in (*result, *at_once)} == {"succeeded"}
    count = await bench.application.database.fetchval("SELECT count(*) FROM runs")
    assert count == len({one["run_id"] for one in (*result, *at_once)})


async def test_an_idempotency_key_finds_its_run_also_when_that_is_over(bench: Bench) -> None:
    client = CapabilityClient(bench)
    one = await client.save(source="return 1;")
    keyed = {"automation_id": one, "idempotency_key": "import of Monday"}
    async with bench.worker():
        result = [await client.call("run_automation_once", keyed) for _ in range(2)]
    assert result[0]["run_id"] == result[1]["run_id"]
    with pytest.raises(Invalid) as refused:
        await client.call("run_automation_once", {**keyed, "dry_run": False})
    [found] = refused.value.findings
    assert (found.pointer, found.code) == ("/idempotency_key", "idempotency_mismatch")
    with pytest.raises(Invalid) as refused:
        await client.call("run_automation_once", {**keyed, "run_id": result[0]["run_id"]})
    assert refused.value.code == "with_run_id"
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 1


async def test_callers_share_the_idempotency_keys_of_an_automation(bench: Bench, api: Api) -> None:
    client = CapabilityClient(bench)
    other = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.OPERATOR)
    )
    one = await client.save(source="return 1;")
    keyed = {"automation_id": one, "idempotency_key": "shared"}
    async with bench.worker():
        result = [await each.call("run_automation_once", keyed) for each in (client, other)]
    assert result[0]["run_id"] == result[1]["run_id"]

    # A call over REST has inputs too, so it is another call, also where the mode is the same.
    body = {"idempotency_key": "over REST"}
    started = await api.client.post(f"/api/v1/automations/{one}/run", json=body)
    assert started.status_code == 202, started.text
    live = {"automation_id": one, "dry_run": False, **body}
    with pytest.raises(Invalid) as refused:
        await client.call("run_automation_once", live)
    [found] = refused.value.findings
    assert (found.pointer, found.code) == ("/idempotency_key", "idempotency_mismatch")
    assert "in another mode or over REST" in found.detail
    assert found.suggestion is not None
    assert found.suggestion.startswith("Give another key")


async def test_a_run_may_start_another_and_never_waits_for_itself(bench: Bench) -> None:
    client = CapabilityClient(bench)
    board = await client.board("CRM")
    inner = await client.save(name="inner", **_append(board))
    calls = 'return await brains.run_automation_once({{ automation_id: "{one}", dry_run: false }});'
    granted = [{"tool": "run_automation_once"}]
    outer = await client.save(name="outer", source=calls.format(one=inner), tool_grants=granted)
    async with bench.worker():
        result = await client.call(
            "run_automation_once", {"automation_id": outer, "dry_run": False}
        )
        assert result["status"] == "succeeded", result
        run = await bench.read(UUID(result["run_id"]))
        child = await bench.read(UUID(run["output"]["run_id"]))
        assert (child["status"], child["parent_id"]) == ("succeeded", run["id"])
        assert len(await client.rows(board)) == 1

        await client.call(
            "update_automation",
            {"automation_id": inner, "source": calls.format(one=outer), "tool_grants": granted},
        )
        round_about = await client.call(
            "run_automation_once", {"automation_id": outer, "dry_run": False}
        )
        run = await bench.read(UUID(round_about["run_id"]))
        assert run["output"]["status"] == "failed"
        assert "wait for itself" in run["output"]["error"]

        pretended = await client.call("run_automation_once", {"automation_id": outer})
        assert [call["capability"] for call in pretended["suppressed"]] == ["run_automation_once"]


async def test_a_run_authors_for_its_owner_and_gives_no_more_than_it_has(bench: Bench) -> None:
    client = CapabilityClient(bench)
    saves = """
const made = await brains.save_automation_draft({
  name: "made by a run", source: SOURCE, tool_grants: GRANTS,
  triggers: [{ kind: "cron", cron: "0 9 * * *", tz: "UTC" }], ...MORE,
});
let active = "no";
try {
  await brains.update_automation({ automation_id: made.automation_id, state: "active" });
} catch (error) {
  active = error.code;
}
return { made, active };
"""
    granted = [
        {"tool": "save_automation_draft"},
        {"tool": "update_automation"},
        {"tool": "get_board"},
    ]

    async def run(name: str, *, tools: str, more: str = "{}") -> dict[str, Any]:
        head = f"const SOURCE = 'return 1;';\nconst GRANTS = {tools};\nconst MORE = {more};\n"
        one = await client.save(name=name, source=head + saves, tool_grants=granted)
        result = await client.call("run_automation_once", {"automation_id": one, "dry_run": False})
        return await bench.read(UUID(result["run_id"]))

    async with bench.worker():
        wide = await run("wide", tools='[{ tool: "list_boards" }]')
        rich = await run("rich", tools='[{ tool: "get_board" }]', more="{ cost_cap_daily_usd: 50 }")
        good = await run("good", tools='[{ tool: "get_board" }]')

    for refused in (wide, rich):
        assert refused["status"] == "failed"
        assert "no more than it has itself" in refused["error"]["detail"]
    assert good["status"] == "succeeded", good["error"]
    assert good["output"]["active"] == "person_needed"
    stored = await client.stored(good["output"]["made"]["automation_id"])
    assert (stored["state"], stored["created_by"]) == ("paused", client.caller.actor.id)
    assert await client.names() == ["wide", "rich", "good", "made by a run"]
