"""A rehearsal shows what a change would have done, and does nothing of it."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.app import build_application
from mainspring.contracts.context import Actor, CallContext, StepContext
from mainspring.contracts.errors import Invalid, NotFound, PermissionDenied
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import find_pass
from mainspring.runs.history import list_runs
from mainspring.runs.retention import expire_runs
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.agents import (
    ALONE,
    Loss,
    ScriptedModels,
    agents_bench,
    calls,
    capability,
    ends,
    thinking,
)
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench, document, step
from tests.kit.loopback_doubles import local_server
from tests.kit.members import member
from tests.kit.model_doubles import asking
from tests.kit.scripts import script


class Shop:
    """A system outside with a number that changes, and a count of who asked for it."""

    def __init__(self) -> None:
        self.orders = 0
        self.asked = 0

    async def __call__(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        del request
        self.asked += 1
        body = json.dumps({"orders": self.orders}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


Outward = tuple[Bench, Shop, str]


@pytest_asyncio.fixture
async def outward(bench: Bench) -> AsyncIterator[Outward]:
    """The bench, with one loopback address that the operator has allowed."""
    shop = Shop()
    async with local_server(shop) as server:
        pair = f"127.0.0.1:{server.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset({pair}))
        application = build_application(
            settings,
            bench.application.limits,
            bench.application.registry,
            bench.application.database,
            bench.application.script_runner,
        )
        yield Bench(application, bench.outside), shop, pair
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


def _watch(pair: str, above: int, board: str, **more: Any) -> dict[str, Any]:
    """Orders are read and noted, and somebody is notified when there are more than so many."""
    return document(
        step("read", "http_fetch", {"url": f"http://{pair}/orders"}),
        step(
            "note",
            "append_board_rows",
            {
                "board_id": board,
                "rows": [{"orders": "{{ read.json.orders }}", "run": "{{ run.id }}"}],
            },
        ),
        step(
            "tell",
            "test.mail",
            {"mark": "{{ read.json.orders }} orders"},
            when=f"{{{{ read.json.orders > {above} }}}}",
        ),
        name="orders",
        **more,
    )


COUNTS = """
    SELECT (SELECT count(*) FROM drafts) AS drafts, (SELECT count(*) FROM events) AS events,
        (SELECT count(*) FROM board_rows) AS rows, (SELECT count(*) FROM notifications) AS told,
        (SELECT count(*) FROM automation_versions) AS versions,
        (SELECT array_agg(state || version || failures) FROM automations) AS automations,
        (SELECT sum(usd) FROM spend) AS spent
"""


async def test_a_changed_threshold_is_caught_by_what_was_read_then(outward: Outward) -> None:
    bench, shop, pair = outward
    client, database = CapabilityClient(bench), bench.application.database
    board = await client.board("Orders")
    saved = await bench.save(_watch(pair, 100, board))
    one = str(saved.automation_id)
    with pytest.raises(Invalid) as refused:
        await client.call("rehearse_automation", {"automation_id": one})
    assert refused.value.code == "no_firings"
    assert "samples" in (refused.value.suggestion or "")
    async with bench.worker():
        for orders in (30, 60, 130):
            shop.orders = orders
            made = await bench.application.dispatcher.dispatch(
                RunRequest(client.space, saved.automation_id)
            )
            run = await bench.until(made.run_id)
            assert run["status"] == "succeeded", run["error"]
        # What the shop says now would hide everything.
        shop.orders, asked = 0, shop.asked
        before = dict(await database.fetchrow(COUNTS) or {})

        same = await client.call("rehearse_automation", {"automation_id": one})
        assert (same["done"], same["otherwise"]) == (True, 0), same["summary"]
        assert same["summary"] == "3 firings were rehearsed, with no differences."
        lower = {"definition": _watch(pair, 50, board)}
        result = await client.call(
            "rehearse_automation", {"automation_id": one, "candidate": lower, "last": 2}
        )
    assert [firing["otherwise"] for firing in result["firings"]] == [True, False]
    first, second = result["firings"]
    assert first["differences"] == [
        {
            "kind": "added",
            "step": "tell",
            "capability": "test.mail",
            "says": "It would have drafted test.mail, which it did not then.",
        }
    ]
    assert first["now"]["deeds"][-1] == {
        "what": "drafted",
        "step": "tell",
        "capability": "test.mail",
        "arguments": {"mark": "60 orders"},
    }
    assert [deed["what"] for deed in second["then"]["deeds"]] == ["written", "drafted"]
    assert second["then"]["deeds"] == second["now"]["deeds"], "the run is told as the one of then"
    assert (first["now"]["recorded"], first["now"]["live"]) == (1, [])
    assert result["summary"].startswith("1 of 2 firings would have differed: It would have")
    assert (result["spent_usd"], result["version_in_force"]) == ("0", 1)
    assert result["candidate"] == {"kind": "definition"}

    # Nothing was asked, written, drafted, told or saved.
    assert shop.asked == asked
    assert dict(await database.fetchrow(COUNTS) or {}) == before
    assert await client.call("get_rehearsal", {"rehearsal_id": result["rehearsal_id"]}) == result
    await _counts_for_nothing(bench, result)
    await _goes_with_its_runs(bench, UUID(result["rehearsal_id"]))


async def _counts_for_nothing(bench: Bench, result: Any) -> None:
    client, one = CapabilityClient(bench), UUID(result["automation_id"])
    async with bench.application.database.acquire() as connection:
        shown = await list_runs(connection, client.space)
        tried = await list_runs(connection, client.space, rehearsal_id=UUID(result["rehearsal_id"]))
        automation = await read_automation(connection, client.space, one)
    assert [run["mode"] for run in shown] == ["live"] * 3
    assert [run["mode"] for run in tried] == ["dry_run"] * 2
    assert automation["last_run"]["id"] == shown[0]["id"]
    anonymous = CapabilityClient(
        bench, CapabilityCaller(Actor(generate_id(), "member", FIRST_MEMBER, role=Role.OWNER))
    )
    with pytest.raises(NotFound):
        await anonymous.call("get_rehearsal", {"rehearsal_id": result["rehearsal_id"]})
    with pytest.raises(NotFound):
        await anonymous.call("rehearse_automation", {"automation_id": result["automation_id"]})


async def _goes_with_its_runs(bench: Bench, rehearsal_id: UUID) -> None:
    database, later = bench.application.database, bench.application.clock.now() + timedelta(days=2)
    await expire_runs(database, later)
    assert await database.fetchval("SELECT count(*) FROM rehearsals") == 2
    for table in ("calls", "steps"):
        await database.execute(f"DELETE FROM {table}")
    await database.execute("DELETE FROM runs WHERE rehearsal_id = $1", rehearsal_id)
    await expire_runs(database, later)
    assert await database.fetchval("SELECT count(*) FROM rehearsals") == 1


def _sampled(pair: str, path: str, condition: str, *more: Any) -> dict[str, Any]:
    shape = {"type": "object", "properties": {"above": {"type": "integer", "default": 10}}}
    return document(
        step("read", "http_fetch", {"url": f"http://{pair}/{path}"}),
        step(
            "tell",
            "test.mail",
            {"mark": "{{ trigger.who }} {{ run.trigger_type }}"},
            when=f"{{{{ read.json.orders {condition} inputs.above }}}}",
        ),
        *more,
        name="sampled",
        inputs={"schema": shape},
    )


async def test_what_is_wrong_is_reported_with_its_place_and_nothing_stays_of_it(
    outward: Outward,
) -> None:
    bench, _, pair = outward
    client, database = CapabilityClient(bench), bench.application.database
    plan = _sampled(pair, "a", ">")
    one = str((await bench.save(plan)).automation_id)
    for wrong, pointer in (
        (
            {"samples": [{"inputs": {"above": 1}}, {"inputs": {"above": "x"}}]},
            "/samples/1/inputs/above",
        ),
        ({"samples": [{"inputs": {"abov": 1}}]}, "/samples/0/inputs/abov"),
        ({"samples": []}, "/samples"),
        ({"candidate": {"version": 1, "definition": {}}}, "/candidate"),
        (
            {"candidate": {"definition": {**plan, "plan": [step("x", "nowhere")]}}},
            "/candidate/definition/plan/0/action",
        ),
    ):
        with pytest.raises(Invalid) as refused:
            await client.call("rehearse_automation", {"automation_id": one, **wrong})
        assert pointer in {finding.pointer for finding in refused.value.findings}, wrong
    for missing in (
        {"version": 9},
        {"proposal_id": str(generate_id())},
        {"consent_id": str(generate_id())},
    ):
        with pytest.raises(NotFound):
            await client.call("rehearse_automation", {"automation_id": one, "candidate": missing})
    given = {"automation_id": one, "samples": [{"inputs": {}}]}
    viewer = CapabilityClient(bench, await member(database, client.space, Role.VIEWER))
    with pytest.raises(PermissionDenied):
        await viewer.call("rehearse_automation", given)
    operator = CapabilityClient(bench, await member(database, client.space, Role.OPERATOR))
    with pytest.raises(PermissionDenied):
        await operator.call("rehearse_automation", {**given, "candidate": {"definition": plan}})
    # Whoever is not the owner lets the owner's secrets go nowhere else.
    await bench.application.vault.set(bench.secret_scope, "token", "s3cr3t-value-42")
    leak = step(
        "leak",
        "http_fetch",
        {
            "url": f"http://{pair}/",
            "headers": {"Authorization": "{{ secrets.token }}"},
        },
    )
    editor = CapabilityClient(bench, await member(database, client.space, Role.EDITOR))
    with pytest.raises(PermissionDenied):
        await editor.call(
            "rehearse_automation",
            {
                **given,
                "candidate": {"definition": _sampled(pair, "a", ">", leak)},
            },
        )
    for table in ("rehearsals", "runs"):
        assert await database.fetchval(f"SELECT count(*) FROM {table}") == 0


async def test_samples_are_run_by_what_is_tried_and_by_what_is_in_force(outward: Outward) -> None:
    bench, shop, pair = outward
    client, shop.orders = CapabilityClient(bench), 20
    one = str((await bench.save(_sampled(pair, "a", ">"))).automation_id)
    samples = [{"payload": {"who": "Ada"}}, {"inputs": {"above": 40}, "payload": {"who": "Bob"}}]
    given = {"automation_id": one, "samples": samples}
    operator = CapabilityClient(
        bench, await member(bench.application.database, client.space, Role.OPERATOR)
    )
    async with bench.worker():
        alone = await operator.call("rehearse_automation", given)
        candidate = {"definition": _sampled(pair, "b", "<")}
        result = await client.call("rehearse_automation", {**given, "candidate": candidate})
    assert "with nothing to compare them with" in alone["summary"]
    assert [one["then"] for one in alone["firings"]] == [None, None]
    marks = [
        [deed["arguments"]["mark"] for deed in firing[side]["deeds"]]
        for firing in result["firings"]
        for side in ("then", "now")
    ]
    assert marks == [["Ada manual"], [], [], ["Bob manual"]]
    assert [one["kind"] for firing in result["firings"] for one in firing["differences"]] == [
        "removed",
        "added",
    ]
    assert result["firings"][0]["now"]["live"] == [
        {"step": "read", "capability": "http_fetch", "cost_usd": "0"}
    ]


async def test_what_nobody_agreed_to_reaches_nobody(outward: Outward) -> None:
    bench, shop, pair = outward
    capability_client = CapabilityClient(bench)
    client = CapabilityClient(
        bench, CapabilityCaller(replace(capability_client.caller.actor, kind="client"))
    )
    saved = await bench.save(_sampled(pair, "a", ">"))
    one = str(saved.automation_id)
    wider = {"definition": _sampled(pair, "c", ">", step("more", "test.echo", {"x": 1}))}
    other = {"definition": _sampled(pair, "b", ">")}
    async with bench.worker():
        made = await bench.application.dispatcher.dispatch(
            RunRequest(capability_client.space, saved.automation_id)
        )
        await bench.until(made.run_id)
        asked = shop.asked
        shut = await client.call(
            "rehearse_automation", {"automation_id": one, "candidate": other, "live_reads": False}
        )
        careful = await client.call(
            "rehearse_automation", {"automation_id": one, "candidate": wider}
        )
        with pytest.raises(PermissionDenied, match="agreed"):
            await client.call(
                "rehearse_automation",
                {"automation_id": one, "candidate": wider, "live_reads": True},
            )
        assert shop.asked == asked
        expected = await capability_client.call(
            "rehearse_automation", {"automation_id": one, "candidate": wider, "live_reads": True}
        )
        assert shop.asked == asked + 1, "a person may want it all the same"
    for result in (shut, careful):
        [firing] = result["firings"]
        assert result["live_reads"] is False
        assert (firing["now"]["status"], firing["now"]["reason"]) == ("failed", "not_recorded")
        assert firing["now"]["live"] == []
        run = await bench.read(UUID(firing["now"]["run_id"]))
        assert "live_reads" in run["error"]["suggestion"]
    assert [one["capability"] for one in expected["firings"][0]["now"]["live"]] == ["http_fetch"]


async def test_nobody_waits_in_a_rehearsal_and_people_are_not_asked_again(bench: Bench) -> None:
    client, database = CapabilityClient(bench), bench.application.database
    plan = document(
        step("ask", "approval", {"title": "Shall we?", "on_decline": "continue"}),
        step("mail", "test.mail", {"mark": "{{ ask.approved }} {{ run.id }}"}),
        name="asks",
    )
    saved = await bench.save(plan)
    slow = {**plan, "plan": [step("nap", "delay", {"seconds": 86_400}), *plan["plan"]]}
    given = {"automation_id": str(saved.automation_id), "candidate": {"definition": slow}}
    async with bench.worker():
        made = await bench.application.dispatcher.dispatch(
            RunRequest(client.space, saved.automation_id)
        )
        await bench.until(made.run_id, "waiting")
        question = await database.fetchval("SELECT id FROM approvals")
        await client.call("answer_approval", {"approval_id": str(question), "decision": "declined"})
        await bench.until(made.run_id)
        await database.execute(
            "INSERT INTO runs (workspace_id, id, automation_id, version, trigger_type, queue, "
            "status, reason, outcome, finished_at) VALUES ($1, $2, $3, 1, 'schedule', 'fast', "
            "'skipped', 'paused', 'failed', now())",
            client.space,
            generate_id(),
            saved.automation_id,
        )
        result = await client.call("rehearse_automation", given)
    assert (result["done"], result["otherwise"]) == (True, 0), result["firings"]
    asked, skipped = result["firings"]
    question_put, deed = asked["now"]["deeds"]
    assert question_put["capability"] == "approval.ask"
    assert deed["arguments"] == {"mark": f"false {made.run_id}"}
    assert (skipped["now"], skipped["then"]["status"]) == (None, "skipped")
    assert skipped["note"] == "It was not started: The automation is paused."
    assert await database.fetchval("SELECT count(*) FROM approvals") == 1


async def test_a_held_write_that_was_approved_then_is_answered_with_its_result(
    bench: Bench,
) -> None:
    client, database = CapabilityClient(bench), bench.application.database
    saved = await bench.save(
        document(
            step("mail", "test.mail", {"mark": "one"}),
            step("note", "notification", {"title": "{{ mail.noted }} {{ mail.sent.mark }}"}),
        )
    )
    async with bench.worker():
        made = await bench.application.dispatcher.dispatch(
            RunRequest(client.space, saved.automation_id)
        )
        await bench.until(made.run_id, "waiting")
        draft = await database.fetchval("SELECT id FROM drafts")
        edits = {"draft_id": str(draft), "edits": {"mark": "two"}}
        await client.call("confirm_action", edits)
        assert (await bench.until(made.run_id))["status"] == "succeeded"
        result = await client.call(
            "rehearse_automation", {"automation_id": str(saved.automation_id)}
        )

    assert (result["done"], result["otherwise"]) == (True, 0), result["firings"]
    note = result["firings"][0]["now"]["deeds"][-1]
    assert note["arguments"]["title"] == "true two"
    assert await database.fetchval("SELECT count(*) FROM drafts") == 1
    assert bench.outside.order == ["two"]


async def test_turns_of_agents_and_calls_of_scripts_are_answered_from_the_record(
    bench: Bench,
) -> None:
    models = ScriptedModels(
        script=[calls(("test_echo", {"q": 1}), ("test_mail", {"mark": "m"})), ends(7)]
    )
    async with agents_bench(bench, models) as one:
        client = CapabilityClient(one)
        agent = thinking("test.echo", "test.mail")
        agent["plan"].append(step("after", "test.echo", {"n": "{{ think.n }}"}))
        saved = await one.save(agent)
        source = (
            "const now = Date.now(); const chance = Math.random();\n"
            "const was = await kv.get('seen');\n"
            "await kv.set('seen', { now, chance });\n"
            "const is = await kv.get('seen');\n"
            "return { was: was ?? null, is, now, chance };"
        )
        scripted = await one.save({**script(source), "name": "scripted"})
        async with one.worker():
            dispatch = one.application.dispatcher.dispatch
            made = [
                await dispatch(RunRequest(client.space, which.automation_id))
                for which in (saved, scripted)
            ]
            runs = [await one.until(which.run_id) for which in made]
            assert [run["status"] for run in runs] == ["succeeded"] * 2, [r["error"] for r in runs]
            asked, tries = len(models.requests), sum(bench.outside.tries.values())
            result, again = [
                await client.call(
                    "rehearse_automation", {"automation_id": str(which.automation_id)}
                )
                for which in (saved, scripted)
            ]
            assert len(models.requests) == asked, "no model was asked"
            assert sum(bench.outside.tries.values()) == tries
            agent["plan"][0]["config"]["prompt"] = "Do it better."
            models.script = [ends(8)]
            asks = await client.call(
                "rehearse_automation",
                {
                    "automation_id": str(saved.automation_id),
                    "candidate": {"definition": agent},
                },
            )
            shut = await client.call(
                "rehearse_automation",
                {
                    "automation_id": str(saved.automation_id),
                    "candidate": {"definition": agent},
                    "live_reads": False,
                },
            )
        assert len(models.requests) == asked + 1
        [firing] = result["firings"]
        assert (result["otherwise"], firing["differences"], result["spent_usd"]) == (0, [], "0")
        assert firing["now"]["deeds"] == firing["then"]["deeds"]
        assert [deed["capability"] for deed in firing["now"]["deeds"]] == ["test.mail"]
        assert firing["now"]["cost_usd"] == firing["then"]["cost_usd"] == "0.0003"
        assert again["otherwise"] == 0, again["firings"]
        rehearsed = await one.read(UUID(again["firings"][0]["now"]["run_id"]))
        assert rehearsed["output"] == runs[1]["output"], "the clock and the chance of then"
        [firing] = asks["firings"]
        assert [one["capability"] for one in firing["now"]["live"]] == ["agent.run"]
        assert (firing["now"]["cost_usd"], firing["now"]["spent_usd"]) == ("0.00015", "0.00015")
        assert [one["kind"] for one in firing["differences"]] == ["removed", "cost"]
        assert shut["firings"][0]["now"]["reason"] == "not_recorded"
        spent = await bench.application.database.fetchval("SELECT sum(usd) FROM spend")
        assert str(spent.normalize()) == "0.00045"


async def test_a_rehearsal_survives_the_loss_of_its_worker(bench: Bench) -> None:
    """What was answered before the loss is not answered a second time."""
    loss = Loss(bench)
    seen: list[Any] = []

    async def wait(ctx: StepContext) -> Any:
        first = await ctx.called("test.count", {})
        if ctx.run.id not in live and not loss.happened.is_set():
            await loss.happen()
        second = await ctx.called("test.count", {})
        seen.append((first.value["n"], second.value["n"]))
        await ctx.called("test.mail", {"mark": "done"})
        return {"ok": True}

    live: set[UUID] = set()
    counted = itertools.count(1)

    async def count(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return {"n": next(counted)}

    word = asking(wait, "test.a", uses=("test.count", "test.mail"))
    async with agents_bench(bench, None, word, capability("test.count", count)) as one:
        client = CapabilityClient(one)
        saved = await one.save(document(step("a", "test.a", max_retries=0)))
        async with one.worker():
            run_id = generate_id()
            live.add(run_id)
            await one.application.dispatcher.dispatch(
                RunRequest(client.space, saved.automation_id, run_id=run_id)
            )
            await one.until(run_id)
        given = {"automation_id": str(saved.automation_id), "wait_seconds": 10}
        async with one.worker(hook=loss.hook, **ALONE):
            asked = asyncio.create_task(client.call("rehearse_automation", given))
            async with asyncio.timeout(60):
                await loss.happened.wait()
        async with one.worker():
            result = await asked
            if not result["done"]:
                run = UUID(result["firings"][0]["now"]["run_id"])
                await one.until(run)
                result = await client.call(
                    "get_rehearsal", {"rehearsal_id": result["rehearsal_id"]}
                )
    assert (result["done"], result["otherwise"]) == (True, 0), result["firings"]
    assert result["firings"][0]["now"]["recorded"] == 2
    assert (seen[0], seen[-1], next(counted)) == ((1, 2), (1, 2), 3)


async def test_a_program_with_the_token_of_a_rehearsal_is_answered_and_bounded_alike(
    bench: Bench,
) -> None:
    counted, applications, seen = itertools.count(1), list[Bench](), list[Any]()

    async def count(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        return {"n": next(counted)}

    async def work(ctx: StepContext) -> Any:
        gate = applications[0].application.gate
        held = await find_pass(bench.application.database, (await ctx.start()).token)
        assert held is not None
        caller = CapabilityCaller(held.actor, held=held)
        output = [(await gate.serve(caller, "test.count", {}))["n"] for _ in range(2)]
        seen.append((output, {grant.capability for grant in held.posture.grants}))
        await gate.serve(caller, "test.mail", {"mark": "m"})
        return {"ok": True}

    words = (
        asking(work, "test.a", uses=("test.count", "test.mail")),
        asking(work, "test.b", uses=("test.count", "test.mail", "test.echo")),
        capability("test.count", count),
    )
    async with agents_bench(bench, None, *words) as one:
        applications.append(one)
        saved = await one.save(document(step("a", "test.a")))
        other = {"definition": document(step("renamed", "test.b"))}
        async with one.worker():
            made = await one.application.dispatcher.dispatch(
                RunRequest(one.application.workspace_id, saved.automation_id)
            )
            assert (await one.until(made.run_id))["drafts"] == 1
            result = await CapabilityClient(one).call(
                "rehearse_automation",
                {"automation_id": str(saved.automation_id), "candidate": other},
            )
    assert [output for output, _ in seen] == [[1, 2], [1, 2]]
    assert [grants - {"test.count", "test.mail"} for _, grants in seen] == [set(), {"test.echo"}]
    assert (result["otherwise"], next(counted)) == (0, 3), result["firings"]
    assert await bench.application.database.fetchval("SELECT count(*) FROM drafts") == 1
